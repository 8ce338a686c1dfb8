/** Type and limits of a field. */
export interface Field {
  type: 'text' | 'number' | 'boolean' | 'date' | 'instant' | 'link';
  /** Two records can't have the same value. */
  unique?: boolean;
  required?: boolean;
  /** Options of a selection list: the API value and the displayed label. Any other value is refused. */
  options?: readonly { value: string; label: string }[];
  /** Highest number of characters of a text. */
  maxLength?: number;
  /** Format of a text. A text in another format is refused. */
  form?: keyof typeof FORMS;
}

const FORMS = {
  email: /^[^\s@<>(),;:"]+@[^\s@<>(),;:"]+\.[^\s@<>(),;:".]{2,}$/,
  phone: /^[\d\s+()./-]+$/,
};

/** Highest number of characters of a text whose field has no `maxLength`. */
export const USUAL_LENGTH = 255;

/** A record's values by field name. The name of a field with several parts contains a dot. */
export type Values = Record<string, unknown>;

export interface StoredRecord {
  id: string;
  values: Values;
  createdAt: number;
  updatedAt: number;
  /** A deleted record stays stored, and no call shows it. */
  isDeleted: boolean;
}

/** The reason for a refused write. */
export interface Refusal {
  field: string;
  why: 'required' | 'too-long' | 'wrong-type' | 'not-unique' | 'not-an-option';
}

/** The current time, the current delay of searches, and the fields whose written values are passed over. */
interface Clock {
  now(): number;
  searchLagMs: number;
  notWritable: readonly string[];
}

/**
 * A property that belongs to the value of another property, such as an opt-out to an email address. All records with an equal value share
 * the property, and their change time stays.
 */
export interface KeptWith {
  property: string;
  by: string;
}

/** The records of one kind. */
export class Table {
  readonly fields: Map<string, Field>;
  readonly #keptWith: readonly KeptWith[];
  readonly #records = new Map<string, StoredRecord>();
  readonly #newId: () => string;
  readonly #clock: Clock;

  constructor(fields: Record<string, Field>, newId: () => string, clock: Clock, keptWith: readonly KeptWith[] = []) {
    this.#keptWith = keptWith;
    this.fields = new Map(Object.entries(fields));
    this.#newId = newId;
    this.#clock = clock;
  }

  get(id: string): StoredRecord | undefined {
    const record = this.#records.get(id);
    return record?.isDeleted === false ? record : undefined;
  }

  /** Returns the records in order of creation. */
  all(): StoredRecord[] {
    return [...this.#records.values()].filter(({ isDeleted }) => !isDeleted);
  }

  /** Returns the records that a filter finds. Records newer than the search delay are missing. */
  search(fits: (record: StoredRecord) => boolean): StoredRecord[] {
    const indexedUntil = this.#clock.now() - this.#clock.searchLagMs;
    return this.all().filter((record) => record.updatedAt <= indexedUntil && fits(record));
  }

  insert(given: Values): StoredRecord {
    const values = this.#writable(given);
    const at = this.#clock.now();
    const record = { id: this.#newId(), values: { ...values }, createdAt: at, updatedAt: at, isDeleted: false };
    this.#records.set(record.id, record);
    this.#share(record, values);
    return record;
  }

  change(record: StoredRecord, given: Values): StoredRecord {
    const values = this.#writable(given);
    Object.assign(record.values, values);
    record.updatedAt = this.#clock.now();
    this.#share(record, values);
    return record;
  }

  remove(record: StoredRecord): void {
    record.isDeleted = true;
  }

  /**
   * Returns the first reason to refuse a write.
   * @param isTyped tests whether an API value has the field's type
   * @param deletedCount whether deleted records keep their unique values
   */
  refuse(
    id: string | null,
    values: Values,
    isTyped: (value: unknown, type: Field['type']) => boolean,
    deletedCount = false,
  ): Refusal | undefined {
    for (const [name, field] of this.fields) {
      const value = values[name];
      const isGiven = name in values;
      if (field.required && (isGiven || id === null) && isEmpty(value)) return { field: name, why: 'required' };
      if (!isGiven || isEmpty(value)) continue;
      if (!isTyped(value, field.type)) return { field: name, why: 'wrong-type' };
      if (field.form !== undefined && !FORMS[field.form].test(String(value))) return { field: name, why: 'wrong-type' };
      if (typeof value === 'string' && value.length > (field.maxLength ?? USUAL_LENGTH))
        return { field: name, why: 'too-long' };
      if (field.options?.every((option) => option.value !== value)) return { field: name, why: 'not-an-option' };
      if (field.unique && this.#isTaken(id, name, value, deletedCount)) return { field: name, why: 'not-unique' };
    }
    return undefined;
  }

  /**
   * Applies the last written property to all records with an equal value. A record that receives the value without a written property
   * inherits the stored property.
   */
  #share(record: StoredRecord, written: Values): void {
    for (const { property, by } of this.#keptWith) {
      const value = record.values[by];
      const same = this.all().filter((other) => other !== record && !isEmpty(value) && isSame(other.values[by], value));
      if (property in written) for (const other of same) other.values[property] = written[property];
      else if (by in written && !isEmpty(value)) record.values[property] = same[0]?.values[property] ?? false;
    }
  }

  #writable(values: Values): Values {
    const { notWritable } = this.#clock;
    return Object.fromEntries(Object.entries(values).filter(([name]) => !notWritable.includes(name)));
  }

  #isTaken(id: string | null, name: string, value: unknown, deletedCount: boolean): boolean {
    return [...this.#records.values()].some(
      (record) => record.id !== id && (deletedCount || !record.isDeleted) && record.values[name] === value,
    );
  }
}

function isSame(one: unknown, other: unknown): boolean {
  return String(one).toLowerCase() === String(other).toLowerCase();
}

/** Returns true if the value means that the field is empty. */
export function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}
