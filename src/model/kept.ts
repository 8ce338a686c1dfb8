/** Something that is kept in memory to save work, and that can be had again. */
export interface Forgettable {
  forget(): void;
}

/**
 * How much is kept in memory to save work, over all that share it: what was used longest ago is forgotten first. One that is larger than
 * all of the room is forgotten as well.
 */
export class KeptRoom {
  readonly #entries: number;
  /** In the order of their last use. */
  readonly #sizes = new Map<Forgettable, number>();
  #sum = 0;

  /** @param entries records, links and the like that may be kept in all */
  constructor(entries: number) {
    this.#entries = entries;
  }

  /** Takes note that something was used, and of the entries that it keeps now. */
  use(kept: Forgettable, entries: number): void {
    this.#drop(kept);
    this.#sizes.set(kept, entries);
    this.#sum += entries;
    for (const oldest of this.#sizes.keys()) {
      if (this.#sum <= this.#entries) break;
      this.#drop(oldest);
      oldest.forget();
    }
  }

  #drop(kept: Forgettable): void {
    this.#sum -= this.#sizes.get(kept) ?? 0;
    this.#sizes.delete(kept);
  }
}
