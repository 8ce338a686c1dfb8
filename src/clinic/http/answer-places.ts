import { nextLink, parseLinks } from '../../http/link-header.ts';
import type { Paging } from '../schema/paging.ts';
import { folded, isJsonObject, valueAt } from './rows.ts';

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
