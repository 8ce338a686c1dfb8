import type { SetAside } from '../../model/records.ts';

/** Reads one value out of a JSON object; undefined or null when it is not there. */
export type ValueReader = (row: JsonObject) => unknown;
/** A JSON object of unknown content. */
export type JsonObject = Record<string, unknown>;
/** A row that became a record, or why it did not. */
export type Mapped<Model> = { record: Model } | { setAside: SetAside };
/** Makes a record of a row. */
export type RowMapper<Model> = (row: unknown) => Mapped<Model>;

/** Longest id that is taken for one. */
const LONGEST_ID = 200;

/** Whether a JSON value is an object (and no array). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path of field names joined by dots; undefined when the path leads nowhere. */
export function valueAt(value: unknown, path: string): unknown {
  return follow(value, path.split('.'));
}

/** A reader that tries the paths in order: the first that holds a value wins. */
export function compilePaths(paths: readonly string[]): ValueReader {
  const routes = paths.map((path) => path.split('.'));
  return (row) => {
    for (const route of routes) {
      const value = follow(row, route);
      if (value !== undefined && value !== null) return value;
    }
    return null;
  };
}

/** Readers for a whole field map. */
export function compileFields<Name extends string>(fields: Record<Name, readonly string[]>): Map<Name, ValueReader> {
  const readers = new Map<Name, ValueReader>();
  for (const name in fields) readers.set(name, compilePaths(fields[name]));
  return readers;
}

/** A word without what clinics spell differently: case, spaces, hyphens and underscores. */
export function folded(word: string): string {
  return word.toLowerCase().replaceAll(/[\s_-]/g, '');
}

/** An id as an opaque string: a text as it is, a whole number in digits; null when it is neither or could not stand in a path. */
export function asId(value: unknown): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  if (typeof value !== 'string' || value.length > LONGEST_ID) return null;
  return value.trim() === '' || value === '.' || value === '..' ? null : value;
}

/**
 * Reads the fields of one row and remembers the first fault instead of throwing, so that bad rows cost nothing.
 * Every method gives null when the field holds nothing; what it gives after a fault means nothing.
 */
export class RowReader<Name extends string> {
  /** The first fault: its code and the field's name, never its value. */
  fault: { code: string; field: string } | null = null;
  readonly #row: JsonObject;
  readonly #readers: ReadonlyMap<Name, ValueReader>;

  constructor(row: JsonObject, readers: ReadonlyMap<Name, ValueReader>) {
    this.#row = row;
    this.#readers = readers;
  }

  value(field: Name): unknown {
    return this.#readers.get(field)?.(this.#row) ?? null;
  }

  text(field: Name): string | null {
    const value = this.value(field);
    if (value === null || typeof value === 'string') return value;
    return this.fail('wrong-type', field);
  }

  id(field: Name): string | null {
    const value = this.value(field);
    if (value === null) return null;
    return asId(value) ?? this.fail('wrong-type', field);
  }

  neededId(field: Name): string {
    return this.id(field) ?? this.fail('missing-field', field) ?? '';
  }

  neededText(field: Name): string {
    return this.text(field) ?? this.fail('missing-field', field) ?? '';
  }

  flag(field: Name): boolean | null {
    const value = this.value(field);
    if (value === null || typeof value === 'boolean') return value;
    return this.fail('wrong-type', field);
  }

  /** A number, also when it is written as a text. */
  number(field: Name): number | null {
    const value = this.value(field);
    if (value === null) return null;
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    return typeof number === 'number' && Number.isFinite(number) ? number : this.fail('wrong-type', field);
  }

  fail(code: string, field: Name): null {
    this.fault ??= { code, field };
    return null;
  }
}

function follow(value: unknown, route: readonly string[]): unknown {
  let current = value;
  for (const name of route) {
    if (!isJsonObject(current) || !Object.hasOwn(current, name)) return undefined;
    current = current[name];
  }
  return current;
}
