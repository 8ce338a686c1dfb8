/** Something that is kept in memory to save work, and that can be had again once it is invalidated. */
export interface Cached {
  invalidate(): void;
}

/** What is small: of fewer entries than `under`, and so many `entries` of it are kept in all. */
export interface SmallThings {
  under: number;
  entries: number;
}

/**
 * How much is kept in memory to save work, over all that share it: what was used longest ago is dropped first. One that is larger than
 * all of the room is dropped as well. Small ones push out nothing: thousands of them in turn would each be dropped before their next
 * use, and they are had again in a few milliseconds. Those that came first stay.
 */
export class CacheBudget {
  readonly #entries: number;
  readonly #small: SmallThings;
  /** In the order of their last use. */
  readonly #sizes = new Map<Cached, { entries: number; isSmall: boolean }>();
  #sum = 0;
  #sumOfSmall = 0;

  /** @param entries records, links and the like that may be kept in all */
  constructor(entries: number, small: SmallThings = { under: 0, entries: 0 }) {
    this.#entries = entries;
    this.#small = small;
  }

  /**
   * Takes note that something was used, and of the entries that it keeps now.
   * @param options.isDear to have it again others must be asked for more: it is not small, however few its entries are
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

/** Makes something when it is first asked for: a tenant of which only the status is wanted needs little of itself. */
export function lazily<Value>(make: () => Value): () => Value {
  let made: { value: Value } | null = null;
  return () => {
    made ??= { value: make() };
    return made.value;
  };
}

/**
 * What is made of a text or of another value that equals itself, kept for when the same one comes again.
 * @param most values that are kept; at one more all are dropped, since those of today come again at once
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
