/** A stored record. Each write replaces the object with a new one. Times are epoch ms. */
export interface StoredRecord {
  readonly id: string;
  /** Stored values; an empty value is absent. */
  readonly properties: Readonly<Record<string, string>>;
  readonly createdAt: number;
  readonly updatedAt: number;
  readonly archivedAt: number | undefined;
}

/** Functions of the world that a store calls. */
export interface StoreParts {
  /** Returns the names of the properties whose values are unique among live records. */
  uniqueProperties(): string[];
  /** Runs after each write. `record` is undefined after a permanent deletion. */
  onWrite(id: string, record: StoredRecord | undefined): void;
}

/** The records of one object type, with an index of their unique values. Additional e-mail addresses are indexed as `email`. */
export class RecordStore {
  readonly #parts: StoreParts;
  readonly #records = new Map<string, StoredRecord>();
  readonly #byKey = new Map<string, string>();
  readonly #mergedInto = new Map<string, string>();
  readonly #mergedKeys = new Map<string, string>();
  #undo: (() => void)[] | undefined;

  constructor(parts: StoreParts) {
    this.#parts = parts;
  }

  /** Returns all records, oldest first, with archived records. */
  values(): StoredRecord[] {
    return [...this.#records.values()];
  }

  /** Returns a record by its id, even if archived. The id of a merged record leads to the winner. */
  get(id: string): StoredRecord | undefined {
    let current = id;
    for (let next = this.#mergedInto.get(current); next !== undefined; next = this.#mergedInto.get(current)) {
      current = next;
    }
    return this.#records.get(current);
  }

  /** Returns the live record with this value; `email` also matches additional e-mails. */
  findBy(property: string, value: string): StoredRecord | undefined {
    return this.#records.get(this.#byKey.get(keyOf(property, value)) ?? '');
  }

  /** Returns the live winner over a merged record that had this unique value. */
  findMergedBy(property: string, value: string): StoredRecord | undefined {
    const found = this.get(this.#mergedKeys.get(keyOf(property, value)) ?? '');
    return found?.archivedAt === undefined ? found : undefined;
  }

  put(record: StoredRecord): void {
    const before = this.#records.get(record.id);
    this.#undo?.push(() => (before ? this.put(before) : this.remove(record.id)));
    this.#dropKeys(before);
    this.#records.set(record.id, record);
    for (const key of record.archivedAt === undefined ? this.#keysOf(record) : []) {
      this.#byKey.set(key, record.id);
    }
    this.#parts.onWrite(record.id, record);
  }

  /** Removes a record permanently. */
  remove(id: string): void {
    const before = this.#records.get(id);
    if (before) {
      this.#undo?.push(() => this.put(before));
      this.#dropKeys(before);
      this.#records.delete(id);
      this.#parts.onWrite(id, undefined);
    }
  }

  /** Removes a record that was merged into another record. */
  mergeAway(record: StoredRecord, winnerId: string): void {
    for (const key of this.#keysOf(record)) {
      this.#mergedKeys.set(key, winnerId);
    }
    this.remove(record.id);
    this.#mergedInto.set(record.id, winnerId);
  }

  /** Runs several writes and undoes every write if `run` throws. */
  atomically<T>(run: () => T): T {
    const undo: (() => void)[] = [];
    this.#undo = undo;
    try {
      return run();
    } catch (error) {
      this.#undo = undefined;
      for (const step of undo.reverse()) {
        step();
      }
      throw error;
    } finally {
      this.#undo = undefined;
    }
  }

  #dropKeys(record: StoredRecord | undefined): void {
    for (const key of record ? this.#keysOf(record) : []) {
      if (this.#byKey.get(key) === record?.id) {
        this.#byKey.delete(key);
      }
    }
  }

  #keysOf(record: StoredRecord): string[] {
    const unique = this.#parts.uniqueProperties().flatMap((name) => {
      const value = record.properties[name];
      return value === undefined ? [] : [keyOf(name, value)];
    });
    return [...unique, ...emailsOf(record).map((email) => keyOf('email', email))];
  }
}

/** Returns the primary and the additional e-mail addresses of a contact. */
export function emailsOf({ properties }: StoredRecord): string[] {
  return [properties.email ?? '', ...(properties.hs_additional_emails ?? '').split(';')].filter((each) => each !== '');
}

function keyOf(property: string, value: string): string {
  return `${property}\n${property === 'email' ? value.trim().toLowerCase() : value}`;
}
