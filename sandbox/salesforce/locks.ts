/** Rows that are locked by writes that have begun and are not finished. */
export class RowLocks {
  readonly #holders = new Map<string, object>();

  /** Locks all these rows for a write, or none: then returns the id of one that another write holds. */
  take(holder: object, ids: readonly string[]): string | undefined {
    const blocked = ids.find((id) => (this.#holders.get(id) ?? holder) !== holder);
    if (blocked === undefined) {
      for (const id of ids) {
        this.#holders.set(id, holder);
      }
    }
    return blocked;
  }

  giveBack(holder: object): void {
    for (const [id, other] of this.#holders) {
      if (other === holder) {
        this.#holders.delete(id);
      }
    }
  }
}
