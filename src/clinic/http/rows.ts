import type { InvalidRow } from '../../core/model/records.ts';
import { STORED_LIMITS } from '../../core/model/stored-limits.ts';
import { VISIT_SEPARATOR } from '../../core/model/visits.ts';
import { followPath, type JsonObject, parsePath } from '../../described-api/paths.ts';

/** Reads one value of a JSON object; null if absent. */
export type ValueReader = (row: JsonObject) => unknown;
/**
 * A record with the names of unreadable fields (treated as absent), or the reason why the row is unusable. `deleted`: readable content of a
 * record that the clinic marks as deleted.
 */
export type Mapped<Model> = { record: Model; unread?: readonly string[] } | { unusable: InvalidRow; deleted?: Model };
/** Converts a row to a record. */
export type RowMapper<Model> = (row: unknown) => Mapped<Model>;

/** Separator between a date and its time, in paths and in values. */
export const APART = ' + ';
const NEGATIVE = /^-\d+$/;

/**
 * Compiles paths that are tried in order. The first value applies, then an empty text, and otherwise null. A separate date and time result
 * in one text with the separator of their path: `2026-03-29 + 09:00`, and `2026-03-29 + ` without a time.
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

/** A list with one text, number or flag is treated as its element. */
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

/**
 * Removes spelling differences between clinics: case, spaces, hyphens and underscores. Numbers, and words of only such characters, are
 * unchanged.
 */
export function folded(word: string): string {
  const bare = word.toLowerCase().replaceAll(/[\s_-]/g, '');
  return bare === '' || NEGATIVE.test(word) ? word : bare;
}

const YES = new Set(['1', 'true', 's', 'si', 'sì', 'y', 'yes', 'vero']);
const NO = new Set(['0', 'false', 'n', 'no', 'falso']);

/** Parses a boolean, a number or a word for yes or no; null for other values. */
export function asFlag(value: unknown): boolean | null {
  if (typeof value === 'boolean') return value;
  const word = isPlain(value) ? String(value).trim().toLowerCase() : '';
  if (YES.has(word)) return true;
  return NO.has(word) ? false : null;
}

/**
 * Parses an id: a text, or a whole number in digits. Returns null for values that cannot be part of a path, and for texts that look like
 * the id of one patient's visit.
 */
export function asId(value: unknown): string | null {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? String(value) : null;
  if (typeof value !== 'string' || value.length > STORED_LIMITS.recordId || value.includes(VISIT_SEPARATOR))
    return null;
  return value.trim() === '' || value === '.' || value === '..' ? null : value;
}
