/** Rows locked by writes that have started and are not finished. */
export class RowLocks {
  readonly #holders = new Map<string, object>();

  /** Locks all rows for a write. If another write holds one of the rows, locks none and returns the id of that row. */
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
