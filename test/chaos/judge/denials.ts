/**
 * What the promise calls believable (docs/safety.md, one wrong 404): denied in a list and alone by two readings that began half a cycle
 * apart, by a clock that nobody sets ahead. Cycles begin every ten seconds here.
 */
const BELIEVABLE_AFTER_MS = 5_000;

/** Appointments that one lie of a clinic denied, in lists and alone. */
export class Denials {
  readonly #firstReading = new Map<string, number>();
  readonly #believableAt = new Map<string, number>();

  /** Denied alone. @param readingAt epoch ms at which the reading began whose list did not show it */
  deny(id: string, readingAt: number, at: number): void {
    const first = this.#firstReading.get(id);
    if (first === undefined) this.#firstReading.set(id, readingAt);
    else if (readingAt - first >= BELIEVABLE_AFTER_MS && !this.#believableAt.has(id)) this.#believableAt.set(id, at);
  }

  /** Whether nobody could know at a time (epoch ms) that the appointment is there. */
  isBelievable(id: string, at: number): boolean {
    return (this.#believableAt.get(id) ?? Infinity) <= at;
  }
}
