/** What a field of a record holds. */
export interface Field {
  type: 'text' | 'number' | 'boolean' | 'date' | 'instant' | 'link';
  /** Two records can't have the same value. */
  unique?: boolean;
  required?: boolean;
  /** Of a list that people choose from: what goes over the wire, and what people see. Anything else is refused. */
  options?: readonly { value: string; label: string }[];
  /** Most characters of a text. */
  maxLength?: number;
  /** What a text is looked at for; one of another form is refused. */
  form?: keyof typeof FORMS;
}

const FORMS = {
  email: /^[^\s@<>(),;:"]+@[^\s@<>(),;:"]+\.[^\s@<>(),;:".]{2,}$/,
  phone: /^[\d\s+()./-]+$/,
};

/** Most characters of a text whose field says nothing else. */
export const USUAL_LENGTH = 255;

/** A record by the names of its fields; a field of several parts is named with a dot. */
export type Values = Record<string, unknown>;

/** A record as it is kept. */
export interface StoredRecord {
  id: string;
  values: Values;
  createdAt: number;
  updatedAt: number;
  /** Still there, and shown to nobody. */
  isDeleted: boolean;
}

/** Why a record can't be written. */
export interface Refusal {
  field: string;
  why: 'required' | 'too-long' | 'wrong-type' | 'not-unique' | 'not-an-option';
}

/** The time, and how late searches are, as they are just now. */
interface Clock {
  now(): number;
  searchLagMs: number;
}

/** A property that is kept with the value of another: whoever has the same value has it too, and their records don't count as changed. */
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

  /** In the order of their making. */
  all(): StoredRecord[] {
    return [...this.#records.values()].filter(({ isDeleted }) => !isDeleted);
  }

  /** Those that a filter finds: what was written a moment ago may not be among them yet. */
  search(fits: (record: StoredRecord) => boolean): StoredRecord[] {
    const indexedUntil = this.#clock.now() - this.#clock.searchLagMs;
    return this.all().filter((record) => record.updatedAt <= indexedUntil && fits(record));
  }

  insert(values: Values): StoredRecord {
    const at = this.#clock.now();
    const record = { id: this.#newId(), values: { ...values }, createdAt: at, updatedAt: at, isDeleted: false };
    this.#records.set(record.id, record);
    this.#share(record, values);
    return record;
  }

  change(record: StoredRecord, values: Values): StoredRecord {
    Object.assign(record.values, values);
    record.updatedAt = this.#clock.now();
    this.#share(record, values);
    return record;
  }

  remove(record: StoredRecord): void {
    record.isDeleted = true;
  }

  /**
   * The first thing that stands against a write.
   * @param isTyped what values of a type look like on the wire
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

  /** What was written last counts for all; who comes to a value without a say takes what is kept with it. */
  #share(record: StoredRecord, written: Values): void {
    for (const { property, by } of this.#keptWith) {
      const value = record.values[by];
      const same = this.all().filter((other) => other !== record && !isEmpty(value) && isSame(other.values[by], value));
      if (property in written) for (const other of same) other.values[property] = written[property];
      else if (by in written && !isEmpty(value)) record.values[property] = same[0]?.values[property] ?? false;
    }
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

/** Whether a field without this value counts as empty. */
export function isEmpty(value: unknown): boolean {
  return value === undefined || value === null || value === '';
}
