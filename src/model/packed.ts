import { constants, zstdCompressSync, zstdDecompressSync } from 'node:zlib';

/** So many values of one kind a tenant has laid out; those beyond are packed, and take a little longer. */
export const AT_HAND = 20_000;
/** So many are packed or laid out without letting others have their turn; what one target has of more is not packed. */
const IN_ONE_GO = 5_000;

/**
 * Whether to pack what one target has: the tenant has many in all, and looks at them target by target.
 * @param sum of those that are laid out, these among them
 */
export function isWorthPacking(size: number, sum: number): boolean {
  return sum > AT_HAND && size <= IN_ONE_GO;
}

/** Values in a block: it is laid out whole, so one of more takes longer, and one of fewer more bytes. */
const BLOCK = 64;
/** A chunk is what the result is put into at first. */
const QUICKLY = { params: { [constants.ZSTD_c_compressionLevel]: 1 }, chunkSize: 8_192 };

/**
 * Many values of JSON's kinds in a tenth of the memory: their texts, compressed. Whoever goes through them gets copies, which go when
 * nobody uses them. A value costs about three microseconds to put in, and two to get.
 */
export class PackedList<Value> {
  readonly #blocks: Uint8Array[] = [];
  #last: Value[] = [];

  get length(): number {
    return this.#blocks.length * BLOCK + this.#last.length;
  }

  /** @param value nobody changes it afterwards */
  push(value: Value): void {
    this.#last.push(value);
    if (this.#last.length === BLOCK) {
      const lines = this.#last.map((one) => JSON.stringify(one));
      // A copy: what comes is part of a larger buffer.
      this.#blocks.push(new Uint8Array(zstdCompressSync(lines.join('\n'), QUICKLY)));
      this.#last = [];
    }
  }

  *[Symbol.iterator](): Generator<Value> {
    for (const block of this.#blocks) {
      for (const line of zstdDecompressSync(block).toString().split('\n')) yield JSON.parse(line) as Value;
    }
    yield* this.#last;
  }

  filter(isWanted: (value: Value) => boolean): Value[] {
    return [...this].filter(isWanted);
  }

  map<Made>(make: (value: Value) => Made): Made[] {
    return Array.from(this, make);
  }
}

/**
 * A map that is packed. It is laid out whole when it is asked for an entry, and goes again when the work at hand is done with it: nobody
 * holds what was laid out. Its values are copies, so that of two askers each may get another object for the same key.
 */
export class PackedMap<Value> implements ReadonlyMap<string, Value> {
  readonly #entries = new PackedList<readonly [string, Value]>();
  #open: WeakRef<ReadonlyMap<string, Value>>;

  constructor(map: ReadonlyMap<string, Value>) {
    for (const entry of map) this.#entries.push(entry);
    this.#open = new WeakRef(map);
  }

  get size(): number {
    return this.#entries.length;
  }

  get(key: string): Value | undefined {
    return this.#map().get(key);
  }

  has(key: string): boolean {
    return this.#map().has(key);
  }

  keys(): MapIterator<string> {
    return this.#map().keys();
  }

  values(): MapIterator<Value> {
    return this.#map().values();
  }

  entries(): MapIterator<[string, Value]> {
    return this.#map().entries();
  }

  forEach(tell: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this) tell(value, key, this);
  }

  [Symbol.iterator](): MapIterator<[string, Value]> {
    return this.entries();
  }

  #map(): ReadonlyMap<string, Value> {
    const open = this.#open.deref();
    if (open !== undefined) return open;
    const map = new Map(this.#entries);
    this.#open = new WeakRef(map);
    return map;
  }
}
