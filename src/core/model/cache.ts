/** A cached value that can be rebuilt after invalidation. */
export interface Cached {
  invalidate(): void;
}

/** Values with fewer entries than `under` are small. Small values share a budget of `entries`. */
export interface SmallThings {
  under: number;
  entries: number;
}

/**
 * Limits the memory of all caches that share a budget. The least recently used value is dropped first, and a value above the whole budget
 * is dropped at once. Small values displace nothing: thousands of small values in rotation would each be dropped before the next use,
 * although a rebuild takes milliseconds. The earliest small values remain.
 */
export class CacheBudget {
  readonly #entries: number;
  readonly #small: SmallThings;
  /** Ordered by last use. */
  readonly #sizes = new Map<Cached, { entries: number; isSmall: boolean }>();
  #sum = 0;
  #sumOfSmall = 0;

  /** @param entries total number of records, links and similar objects that may be cached */
  constructor(entries: number, small: SmallThings = { under: 0, entries: 0 }) {
    this.#entries = entries;
    this.#small = small;
  }

  /**
   * Records a use and the current number of entries.
   * @param options.isDear a rebuild queries another server: never treated as small
   */
  use(cached: Cached, entries: number, { isDear = false }: { isDear?: boolean } = {}): void {
    this.#drop(cached);
    const isSmall = entries < this.#small.under && !isDear;
    if (isSmall && this.#sumOfSmall + entries > this.#small.entries) {
      cached.invalidate();
      return;
    }
    this.#sizes.set(cached, { entries, isSmall });
    this.#count(entries, isSmall);
    for (const oldest of this.#sizes.keys()) {
      if (this.#sum <= this.#entries) break;
      this.#drop(oldest);
      oldest.invalidate();
    }
  }

  #drop(cached: Cached): void {
    const existing = this.#sizes.get(cached);
    if (existing === undefined) return;
    this.#sizes.delete(cached);
    this.#count(-existing.entries, existing.isSmall);
  }

  #count(entries: number, isSmall: boolean): void {
    this.#sum += entries;
    if (isSmall) this.#sumOfSmall += entries;
  }
}

/** Creates a value at first use: a tenant that only shows a status needs few values. */
export function lazily<Value>(make: () => Value): () => Value {
  let made: { value: Value } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * Caches the results of a function by input.
 * @param most cached results; one more clears the cache, because current inputs return at once
 */
export function remembered<Value, Input = string>(
  most: number,
  make: (input: Input) => Value,
): (input: Input) => Value {
  const made = new Map<Input, Value>();
  return (input) => {
    const cached = made.get(input);
    if (cached !== undefined) return cached;
    if (made.size >= most) made.clear();
    const value = make(input);
    made.set(input, value);
    return value;
  };
}

/** Caches the result of a function for each input object, as long as the object exists. The input never changes. */
export function perObject<Input extends object, Value>(make: (input: Input) => Value): (input: Input) => Value {
  const made = new WeakMap<Input, { value: Value }>();
  return (input) => {
    const cached = made.get(input) ?? { value: make(input) };
    made.set(input, cached);
    return cached.value;
  };
}
