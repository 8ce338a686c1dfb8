import { followPath, isJsonObject, type JsonObject, parsePath, valueAt } from '../../described-api/paths.ts';
import { nextLink, parseLinks } from '../../http/answer.ts';
import type { InvalidRow } from '../../model/records.ts';
import { STORED_LIMITS } from '../../model/stored-limits.ts';
import { VISIT_SEPARATOR } from '../../model/visits.ts';
import type { Paging } from '../schema/paging.ts';

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

/** One answer of a list: its parsed JSON and its headers. */
export interface PageAnswer {
  body: unknown;
  headers: Pick<Headers, 'get'>;
  /** The requested URL, if known. */
  url?: string;
}

const HEADER = 'header:';
/** Relations between pages (RFC 5005, RFC 8288). */
const PAGES: ReadonlySet<string> = new Set(['next', 'prev', 'previous', 'first', 'last']);

/** Returns the answer's value at a place of the profile, in the body or a header, or undefined. */
export function answerValue({ body, headers }: PageAnswer, path: string): unknown {
  const header = headerOf(path);
  return header === null ? valueAt(body, path) : (headers.get(header) ?? undefined);
}

/** Parses a total: a number, digits, or the part after the slash of a range (`items 0-24/319`, RFC 9110 section 14.4). */
export function readCount(value: unknown): number | null {
  const digits = typeof value === 'string' ? /^(?:[\w-]+ +(?:\d+-\d+|\*)\/)?(\d+)$/.exec(value.trim())?.[1] : undefined;
  const count = digits === undefined ? value : Number(digits);
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

const TOTAL_HEADER =
  /^(?:x-)?(?:pagination-|paging-|page-|wp-|list-)?total(?!.*page)(?:-?(?:count|items|records|rows|results|elements))?$|^x-count$|^record-?count$/;

/** Returns the header with a total: by its name, otherwise `Content-Range`; null for none. */
export function totalHeader(names: readonly string[]): string | null {
  const found = names.find((name) => TOTAL_HEADER.test(name.toLowerCase()));
  const name = found ?? names.find((each) => each.toLowerCase() === 'content-range');
  return name === undefined ? null : `${HEADER}${name}`;
}

/** Returns a page's cursor or URL of the next page, for styles in which each page gives the next; null at the end. */
export function readNext(paging: Paging, answer: PageAnswer): string | null {
  switch (paging.style) {
    case 'cursor':
      return asCursor(answerValue(answer, paging.cursorPath));
    case 'next-link':
      return addressIn(answerValue(answer, paging.linkPath));
    case 'link-header':
      return nextLink(answer.headers.get('link'));
    default:
      return null;
  }
}

/** Returns whether an answer contains the style's field, even if the field marks the end. */
export function showsNext(paging: Paging, answer: PageAnswer): boolean {
  switch (paging.style) {
    case 'cursor':
      return answerValue(answer, paging.cursorPath) !== undefined;
    case 'next-link':
      return answerValue(answer, paging.linkPath) !== undefined;
    case 'link-header':
      return parseLinks(answer.headers.get('link')).some(({ relations }) => relations.some((one) => PAGES.has(one)));
    default:
      return false;
  }
}

/**
 * Returns whether "not modified" confirms everything that an answer contained. Such an answer may omit headers and refer only to the rows.
 * The absence of a next page, or an old total, would then be unproven. If headers contain the total or the next page, two kinds of pages
 * are safe: a page with a next page, and a last page with capacity for more rows. Any other page would appear or change with the list.
 */
export function isShownByRows(
  paging: Paging,
  headers: PageAnswer['headers'],
  page: { isFollowed: boolean; hasRoom: boolean },
): boolean {
  const leadsByHeader = paging.style === 'link-header' || nextPaths(paging).some((path) => headerOf(path) !== null);
  if (leadsByHeader) return readNext(paging, { body: null, headers }) !== null;
  return headersOf(paging).length === 0 || page.isFollowed || page.hasRoom;
}

/** Returns the paths of the next page, for styles in which each page gives the next. */
function nextPaths(paging: Paging): string[] {
  if (paging.style === 'cursor') return [paging.cursorPath];
  return paging.style === 'next-link' ? [paging.linkPath] : [];
}

/** Returns names of paging headers, in addition to those that all styles read. */
export function headersOf(paging: Paging): string[] {
  const paths = [paging.hasMorePath, paging.totalPath, ...nextPaths(paging)];
  return paths.flatMap((path) => (path === null ? [] : (headerOf(path) ?? [])));
}

/**
 * Returns the link to the next page in a body's links. Supported are a text, an object with `href` or `url`, and a list of links with
 * relations, as in FHIR's Bundle (`relation`, https://hl7.org/fhir/R4/bundle.html) and Oracle's REST Data Services (`rel`). Null for no
 * link.
 */
export function addressIn(links: unknown): string | null {
  const link = Array.isArray(links) ? links.find((one) => isJsonObject(one) && saysNext(one)) : links;
  return asCursor(isJsonObject(link) ? (link.href ?? link.url) : link);
}

function saysNext({ rel, relation }: Record<string, unknown>): boolean {
  return [rel, relation].some((word) => typeof word === 'string' && word.toLowerCase() === 'next');
}

function headerOf(path: string): string | null {
  return path.startsWith(HEADER) ? path.slice(HEADER.length).toLowerCase() : null;
}

function asCursor(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}
