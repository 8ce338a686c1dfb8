import { nextLink, parseLinks } from '../../http/answer.ts';
import type { InvalidRow } from '../../model/records.ts';
import type { Paging } from '../schema/paging.ts';
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

/** One answer of a list: its JSON, parsed, and its headers. */
export interface PageAnswer {
  body: unknown;
  headers: Pick<Headers, 'get'>;
}

const HEADER = 'header:';
/** Relations between pages (RFC 5005, RFC 8288). */
const PAGES: ReadonlySet<string> = new Set(['next', 'prev', 'previous', 'first', 'last']);

/** What an answer tells at a place of the profile, in its body or in a header; undefined where there is nothing of the kind. */
export function answerValue({ body, headers }: PageAnswer, path: string): unknown {
  const header = headerOf(path);
  return header === null ? valueAt(body, path) : (headers.get(header) ?? undefined);
}

/** A total as a place tells it: a number, a text of digits, or behind the slash of a range (`items 0-24/319`, RFC 9110 section 14.4). */
export function readCount(value: unknown): number | null {
  const digits = typeof value === 'string' ? /^(?:[\w-]+ +(?:\d+-\d+|\*)\/)?(\d+)$/.exec(value.trim())?.[1] : undefined;
  const count = digits === undefined ? value : Number(digits);
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

const TOTAL_HEADER =
  /^(?:x-)?(?:pagination-|paging-|page-|wp-|list-)?total(?!.*page)(?:-?(?:count|items|records|rows|results|elements))?$|^x-count$|^record-?count$/;

/** The place of a total in headers: of those whose names speak of one, else `Content-Range`; null for none. */
export function totalHeader(names: readonly string[]): string | null {
  const found = names.find((name) => TOTAL_HEADER.test(name.toLowerCase()));
  const name = found ?? names.find((each) => each.toLowerCase() === 'content-range');
  return name === undefined ? null : `${HEADER}${name}`;
}

/** What a page tells of the next one under a style that goes where it leads: a cursor, or an address; null at the end. */
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

/** Whether an answer holds what the style follows, be it the end of it. */
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
 * Whether "not modified" would say all that an answer told. It may leave out headers, and be said of the rows alone: that no page follows
 * would then be believed without being told, or an old total. If a header holds the total or whether more follow, that is covered for a page
 * that another one follows, and for a last page with room for more rows: any other page would appear or change with what changes it.
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

/** Where a page tells the next one, under a style that goes where it leads. */
function nextPaths(paging: Paging): string[] {
  if (paging.style === 'cursor') return [paging.cursorPath];
  return paging.style === 'next-link' ? [paging.linkPath] : [];
}

/** Names of the headers that tell of paging, beside those that all styles read. */
export function headersOf(paging: Paging): string[] {
  const paths = [paging.hasMorePath, paging.totalPath, ...nextPaths(paging)];
  return paths.flatMap((path) => (path === null ? [] : (headerOf(path) ?? [])));
}

/**
 * The link to the next page in what a body holds for links: a text, an object with `href` or `url`, or a list of links that say what
 * they lead to, as in FHIR's Bundle (`relation`, https://hl7.org/fhir/R4/bundle.html) and Oracle's REST Data Services (`rel`). Null:
 * there is none.
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

/** What leads to a next page under its usual names; any value but none says that there is one. */
const NEXT = new Set([
  'next',
  'nextlink',
  'nextpage',
  'nexturl',
  'nexthref',
  'nextpageurl',
  'nextcursor',
  'nextpagetoken',
  'nexttoken',
  'continuationtoken',
]);
const HAS_MORE = new Set(['hasmore', 'hasnext', 'hasnextpage', 'morepages']);
/** What such words stand in beside the rows, `_links` among them. */
const PAGING_WORDS = new Set([
  'link',
  'links',
  'meta',
  'metadata',
  'paging',
  'pagination',
  'page',
  'pageinfo',
  'cursors',
]);
/** Headers that tell how many rows a list has. */
export const COUNT_HEADERS = ['x-total-count', 'x-total'];

/** Whether an answer tells, in one of the usual ways, of more rows than came, whatever the profile knows of them. */
export function announcesMore({ body, headers }: PageAnswer, rows: number): boolean {
  return COUNT_HEADERS.some((name) => Number(headers.get(name) ?? 0) > rows) || namesNext(body);
}

function namesNext(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([name, inner]) => {
    const word = folded(name.replace(/^@odata\./i, ''));
    if (HAS_MORE.has(word)) return inner === true;
    if (NEXT.has(word)) return leadsOn(inner);
    return PAGING_WORDS.has(word) && (Array.isArray(inner) ? addressIn(inner) !== null : namesNext(inner));
  });
}

/** An address, a cursor or a page's number, or an object with `href` (as of HAL). */
function leadsOn(value: unknown): boolean {
  if (isJsonObject(value)) return leadsOn(value.href);
  return typeof value === 'number' || (typeof value === 'string' && value !== '');
}
