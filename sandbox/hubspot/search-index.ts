import type { StoredRecord } from './record-store.ts';

interface Write {
  id: string;
  record: StoredRecord | undefined;
  at: number;
}

/** The live records of an object type as search sees them: every write becomes visible late. */
export class SearchIndex {
  readonly #records = new Map<string, StoredRecord>();
  #pending: Write[] = [];

  /** Records a write at epoch ms `at`; undefined removes the record. */
  note(id: string, record: StoredRecord | undefined, at: number): void {
    this.#pending.push({ id, record, at });
  }

  /** Returns the records with all writes up to epoch ms `until`. */
  records(until: number): StoredRecord[] {
    const due = this.#pending.findIndex(({ at }) => at > until);
    for (const { id, record } of this.#pending.splice(0, due === -1 ? this.#pending.length : due)) {
      if (record && record.archivedAt === undefined) {
        this.#records.set(id, record);
      } else {
        this.#records.delete(id);
      }
    }
    return [...this.#records.values()];
  }
}
