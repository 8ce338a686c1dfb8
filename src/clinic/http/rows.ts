import type { SetAside } from '../../model/records.ts';

/** Reads one value out of a JSON object; null when it is not there. */
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

/** A reader that tries the paths in order: the first that holds a value wins, an empty text where none holds more; else it gives null. */
export function compilePaths(paths: readonly string[]): ValueReader {
  const routes = paths.map((path) => path.split('.'));
  return (row) => {
    let told: unknown = null;
    for (const route of routes) {
      const value = follow(row, route) ?? null;
      if (value !== null && value !== '') return value;
      told ??= value;
    }
    return told;
  };
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

function follow(value: unknown, route: readonly string[]): unknown {
  let current = value;
  for (const name of route) {
    if (!isJsonObject(current) || !Object.hasOwn(current, name)) return undefined;
    current = current[name];
  }
  return current;
}
