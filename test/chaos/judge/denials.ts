/**
 * Believable absence (docs/safety.md, one wrong 404): absent in a list and in a single request, in two reads that began half a cycle apart,
 * by a clock that was not set ahead. Cycles begin every ten seconds here.
 */
const BELIEVABLE_AFTER_MS = 5_000;

/** Appointments that one lie of a clinic denied, in lists and in single requests. */
export class Denials {
  readonly #firstReading = new Map<string, number>();
  readonly #believableAt = new Map<string, number>();

  /** Records a denial in a single request. @param readingAt epoch ms at which the read began whose list lacked the record */
  deny(id: string, readingAt: number, at: number): void {
    const first = this.#firstReading.get(id);
    if (first === undefined) this.#firstReading.set(id, readingAt);
    else if (readingAt - first >= BELIEVABLE_AFTER_MS && !this.#believableAt.has(id)) this.#believableAt.set(id, at);
  }

  /** Returns whether no daemon could know at a time (epoch ms) that the appointment exists. */
  isBelievable(id: string, at: number): boolean {
    return (this.#believableAt.get(id) ?? Infinity) <= at;
  }
}
