/** Something that is kept in memory to save work, and that can be had again. */
export interface Forgettable {
  forget(): void;
}

/**
 * How much is kept in memory to save work, over all that share it: what was used longest ago is forgotten first. One that is larger than
 * all of the room is forgotten as well, and so is one that is small: thousands of them would fill the room, each forgotten before its next
 * use, and it is had again in a few milliseconds.
 */
export class KeptRoom {
  readonly #entries: number;
  readonly #fewest: number;
  /** In the order of their last use. */
  readonly #sizes = new Map<Forgettable, number>();
  #sum = 0;

  /**
   * @param entries records, links and the like that may be kept in all
   * @param fewest of one that is worth keeping
   */
  constructor(entries: number, fewest = 0) {
    this.#entries = entries;
    this.#fewest = fewest;
  }

  /**
   * Takes note that something was used, and of the entries that it keeps now.
   * @param options.isDear to have it again others must be asked for more: it is worth keeping however small it is
   */
  use(kept: Forgettable, entries: number, { isDear = false }: { isDear?: boolean } = {}): void {
    this.#drop(kept);
    if (entries < this.#fewest && !isDear) {
      kept.forget();
      return;
    }
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
