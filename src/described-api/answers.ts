import { nextLink, parseLinks } from './links.ts';
import { isJsonObject, type JsonObject, valueAt } from './paths.ts';

/** Where the answers of a list have the values for paging. */
export type PagingPaths = {
  hasMorePath?: string | null;
  totalPath?: string | null;
} & (
  | { style: 'none' | 'offset-limit' | 'page-size' | 'link-header' }
  | { style: 'cursor'; cursorPath: string }
  | { style: 'next-link'; linkPath: string }
);

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

/** Returns whether the answer's flag announces further pages; null without a flag. */
export function hasMore({ hasMorePath = null }: PagingPaths, answer: PageAnswer): boolean | null {
  const value = hasMorePath === null ? null : answerValue(answer, hasMorePath);
  if (typeof value === 'boolean') return value;
  if (value === 'true') return true;
  return value === 'false' ? false : null;
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
export function readNext(paging: PagingPaths, answer: PageAnswer): string | null {
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
export function showsNext(paging: PagingPaths, answer: PageAnswer): boolean {
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
  paging: PagingPaths,
  headers: PageAnswer['headers'],
  page: { isFollowed: boolean; hasRoom: boolean },
): boolean {
  const leadsByHeader = paging.style === 'link-header' || nextPaths(paging).some((path) => headerOf(path) !== null);
  if (leadsByHeader) return readNext(paging, { body: null, headers }) !== null;
  return headersOf(paging).length === 0 || page.isFollowed || page.hasRoom;
}

/** Returns the paths of the next page, for styles in which each page gives the next. */
function nextPaths(paging: PagingPaths): string[] {
  if (paging.style === 'cursor') return [paging.cursorPath];
  return paging.style === 'next-link' ? [paging.linkPath] : [];
}

/** Returns names of paging headers, in addition to those that all styles read. */
export function headersOf(paging: PagingPaths): string[] {
  const paths = [paging.hasMorePath ?? null, paging.totalPath ?? null, ...nextPaths(paging)];
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

function saysNext({ rel, relation }: JsonObject): boolean {
  return [rel, relation].some((word) => typeof word === 'string' && word.toLowerCase() === 'next');
}

function headerOf(path: string): string | null {
  return path.startsWith(HEADER) ? path.slice(HEADER.length).toLowerCase() : null;
}

function asCursor(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}
