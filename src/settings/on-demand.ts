/** How a map of what is made on demand keeps it. */
export interface OnDemandOptions<Value> {
  /** How many are kept; those that were asked for longest ago go first. */
  keep: number;
  /** Whether one may go now; always when absent. One that may not stays beyond the number. */
  mayGo?(value: Value): boolean;
}

/** A map whose keys are known and whose values are made when they are asked for, one after the other by who goes through all of them. */
export class OnDemand<Value> implements ReadonlyMap<string, Value> {
  #keys: ReadonlySet<string>;
  readonly #make: (key: string) => Value;
  readonly #options: OnDemandOptions<Value>;
  /** In the order of their last use. */
  readonly #kept = new Map<string, Value>();

  constructor(keys: Iterable<string>, make: (key: string) => Value, options: OnDemandOptions<Value>) {
    this.#keys = new Set(keys);
    this.#make = make;
    this.#options = options;
  }

  get size(): number {
    return this.#keys.size;
  }

  has(key: string): boolean {
    return this.#keys.has(key);
  }

  get(key: string): Value | undefined {
    if (!this.#keys.has(key)) return undefined;
    const value = this.#kept.get(key) ?? this.#make(key);
    this.#kept.delete(key);
    this.#kept.set(key, value);
    this.#letGo();
    return value;
  }

  /** Has other keys from here on; what is kept under `changed`, or under a key that is gone, is made anew when it is asked for. */
  change(keys: Iterable<string>, changed: Iterable<string>): void {
    this.#keys = new Set(keys);
    for (const key of changed) this.#kept.delete(key);
    for (const key of this.#kept.keys()) if (!this.#keys.has(key)) this.#kept.delete(key);
  }

  /** What is made and kept under a key; it isn't made for this. */
  peek(key: string): Value | undefined {
    return this.#kept.get(key);
  }

  /** Those that are made and kept. */
  kept(): Value[] {
    return [...this.#kept.values()];
  }

  keys(): SetIterator<string> {
    return this.#keys.values();
  }

  *values(): Generator<Value, undefined> {
    for (const [, value] of this) yield value;
  }

  entries(): Generator<[string, Value], undefined> {
    return this[Symbol.iterator]();
  }

  *[Symbol.iterator](): Generator<[string, Value], undefined> {
    for (const key of this.#keys) yield [key, this.get(key) as Value];
  }

  forEach(visit: (value: Value, key: string, map: ReadonlyMap<string, Value>) => void): void {
    for (const [key, value] of this) visit(value, key, this);
  }

  #letGo(): void {
    const { keep, mayGo = () => true } = this.#options;
    for (const [key, value] of this.#kept) {
      if (this.#kept.size <= keep) break;
      if (mayGo(value)) this.#kept.delete(key);
    }
  }
}
