import type { InvalidRow } from '../../model/records.ts';
import { followPath, parsePath } from '../schema/paths.ts';

/** Reads one value out of a JSON object; null when it is not there. */
export type ValueReader = (row: JsonObject) => unknown;
/** A JSON object of unknown content. */
export type JsonObject = Record<string, unknown>;
/** A row that became a record, with the fields that could not be read and count as not told, or why it did not. */
export type Mapped<Model> = { record: Model; unread?: readonly string[] } | { unusable: InvalidRow };
/** Makes a record of a row. */
export type RowMapper<Model> = (row: unknown) => Mapped<Model>;

/** The path of what is the answer itself. */
export const ITSELF = '.';
/** Between the places of a date and its time of day, and between the two as they were read. */
export const APART = ' + ';
const NEGATIVE = /^-\d+$/;
/** Longest text that counts as an id. */
const LONGEST_ID = 200;

/** Whether a JSON value is an object (and no array). */
export function isJsonObject(value: unknown): value is JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** The value at a path of a profile; undefined when the path leads nowhere. */
export function valueAt(value: unknown, path: string): unknown {
  return followPath(value, parsePath(path));
}

/**
 * A reader that tries the paths in order: the first that holds a value wins, an empty text where none holds more; else it gives null.
 * Of a date and a time of day that come apart it gives both in one text, as their path has them: `2026-03-29 + 09:00`, and
 * `2026-03-29 + ` where there is no time.
 */
export function compilePaths(paths: readonly string[]): ValueReader {
  const readers = paths.map(compilePath);
  return (row) => {
    let found: unknown = null;
    for (const read of readers) {
      const value = onlyOne(read(row) ?? null);
      if (value !== null && value !== '') return value;
      found ??= value;
    }
    return found;
  };
}

/** A list of one text, number or flag stands for what it holds. */
function onlyOne(value: unknown): unknown {
  if (!Array.isArray(value) || value.length !== 1) return value;
  const [only] = value as unknown[];
  return isPlain(only) || typeof only === 'boolean' ? only : value;
}

function compilePath(path: string): ValueReader {
  const [route = [], clock] = path.split(APART).map(parsePath);
  if (clock === undefined) return (row) => followPath(row, route);
  return (row) => {
    const [date, time] = [followPath(row, route), followPath(row, clock) ?? ''];
    if (!isPlain(date) || date === '') return date;
    return `${date}${APART}${isPlain(time) ? time : '?'}`;
  };
}

function isPlain(value: unknown): value is string | number {
  return typeof value === 'string' || typeof value === 'number';
}

/** A word without what clinics spell differently: case, spaces, hyphens and underscores. Numbers, and what holds nothing else, stay. */
export function folded(word: string): string {
  const bare = word.toLowerCase().replaceAll(/[\s_-]/g, '');
  return bare === '' || NEGATIVE.test(word) ? word : bare;
}

const YES = new Set(['1', 'true', 's', 'si', 'sì', 'y', 'yes', 'vero']);
const NO = new Set(['0', 'false', 'n', 'no', 'falso']);

/** Yes or no, also as a number or a word; null for anything else. */
export function asFlag(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value;
  const word = isPlain(value) ? String(value).trim().toLowerCase() : '';
  if (YES.has(word)) return true;
  return NO.has(word) ? false : null;
}

/** An id as an opaque string: a text as it is, a whole number in digits; null when it is neither or could not stand in a path. */
export function asId(value: unknown): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  if (typeof value !== 'string' || value.length > LONGEST_ID) return null;
  return value.trim() === '' || value === '.' || value === '..' ? null : value;
}
