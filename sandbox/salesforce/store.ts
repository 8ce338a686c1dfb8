import { comparable, type Field, type FieldValue } from './fields.ts';
import { newRecordId, toLongId } from './ids.ts';
import type { SObject } from './schema.ts';

/** One version of a record; a change replaces the object with a new one. Field names have the exact case. Times are epoch ms. */
export interface StoredRecord {
  readonly id: string;
  readonly type: string;
  readonly fields: Readonly<Record<string, FieldValue>>;
  readonly createdAt: number;
  readonly modifiedAt: number;
  /** Set for a record in the recycle bin. Records that were deleted together carry the same number. */
  readonly deletion?: number | undefined;
  /** The winner of a merge, set on a merged record. */
  readonly masterRecordId?: string | undefined;
}

/** All records, live and in the recycle bin, with an index of their keys. */
export class RecordStore {
  readonly #byId = new Map<string, StoredRecord>();
  readonly #byType = new Map<string, Map<string, StoredRecord>>();
  readonly #keys = new Map<string, Set<string>>();
  readonly #keyFields: (type: string) => readonly Field[];
  /** Steps that undo the writes since the innermost attempt began; undefined outside of an attempt. */
  #undo: (() => void)[] | undefined;
  #serial = 0;

  constructor(keyFields: (type: string) => readonly Field[]) {
    this.#keyFields = keyFields;
  }

  newId(object: SObject): string {
    this.#serial += 1;
    return newRecordId(object.keyPrefix, this.#serial);
  }

  /** Returns the record with an id of 15 or 18 characters, including the recycle bin. */
  find(id: string): StoredRecord | undefined {
    return this.#byId.get(toLongId(id) ?? '');
  }

  /** Returns the records of an object, including the recycle bin. */
  all(type: string): StoredRecord[] {
    return [...(this.#byType.get(type)?.values() ?? [])];
  }

  live(type: string): StoredRecord[] {
    return this.all(type).filter(isLive);
  }

  /** Returns the records whose key field (external id or unique) has this value, including the recycle bin. */
  withKey(type: string, field: Field, value: FieldValue): StoredRecord[] {
    const ids = this.#keys.get(keyOf(type, field, value)) ?? [];
    return [...ids].map((id) => this.#byId.get(id)!);
  }

  /** Stores a record and replaces an older version. */
  put(record: StoredRecord): void {
    const before = this.#byId.get(record.id);
    this.#replace(before, record);
    this.#undo?.push(() => this.#replace(record, before));
  }

  /** Removes a record permanently. */
  remove(record: StoredRecord): void {
    this.#replace(record, undefined);
    this.#undo?.push(() => this.#replace(undefined, record));
  }

  /** Runs `work` and undoes its writes if `work` returns false or throws. */
  attempt(work: () => boolean): boolean {
    const outer = this.#undo;
    const mine: (() => void)[] = [];
    this.#undo = mine;
    let isKept = false;
    try {
      isKept = work();
    } finally {
      this.#undo = outer;
      if (isKept) {
        outer?.push(...mine);
      } else {
        for (const undo of mine.reverse()) {
          undo();
        }
      }
    }
    return isKept;
  }

  #replace(before: StoredRecord | undefined, after: StoredRecord | undefined): void {
    const id = (after ?? before)!.id;
    const { type } = (after ?? before)!;
    for (const field of this.#keyFields(type)) {
      this.#unindex(before, field);
      this.#index(after, field);
    }
    const ofType = this.#byType.get(type) ?? new Map<string, StoredRecord>();
    this.#byType.set(type, ofType);
    if (after) {
      this.#byId.set(id, after);
      ofType.set(id, after);
    } else {
      this.#byId.delete(id);
      ofType.delete(id);
    }
  }

  #index(record: StoredRecord | undefined, field: Field): void {
    const value = record?.fields[field.name] ?? null;
    if (record && value !== null) {
      const key = keyOf(record.type, field, value);
      this.#keys.set(key, (this.#keys.get(key) ?? new Set()).add(record.id));
    }
  }

  #unindex(record: StoredRecord | undefined, field: Field): void {
    const value = record?.fields[field.name] ?? null;
    if (record && value !== null) {
      const key = keyOf(record.type, field, value);
      const ids = this.#keys.get(key);
      ids?.delete(record.id);
      if (ids?.size === 0) {
        this.#keys.delete(key);
      }
    }
  }
}

/** Decides whether a record is outside the recycle bin. */
export function isLive(record: StoredRecord): boolean {
  return record.deletion === undefined;
}

function keyOf(type: string, field: Field, value: FieldValue): string {
  return `${type}.${field.name} ${comparable(field, value)}`;
}
