import { addressIn, type PageAnswer } from './answer-places.ts';
import { folded, isJsonObject } from './rows.ts';

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
const BESIDE = new Set(['link', 'links', 'meta', 'metadata', 'paging', 'pagination', 'page', 'pageinfo', 'cursors']);
/** Headers that tell how many rows a list has. */
export const COUNT_HEADERS = ['x-total-count', 'x-total'];

/** Whether an answer tells, in one of the usual ways, of more rows than came, whatever the profile knows of them. */
export function tellsMore({ body, headers }: PageAnswer, rows: number): boolean {
  return COUNT_HEADERS.some((name) => Number(headers.get(name) ?? 0) > rows) || namesNext(body);
}

function namesNext(value: unknown): boolean {
  if (!isJsonObject(value)) return false;
  return Object.entries(value).some(([name, inner]) => {
    const word = folded(name.replace(/^@odata\./i, ''));
    if (HAS_MORE.has(word)) return inner === true;
    if (NEXT.has(word)) return leadsOn(inner);
    return BESIDE.has(word) && (Array.isArray(inner) ? addressIn(inner) !== null : namesNext(inner));
  });
}

/** An address, a cursor or a page's number, or an object with `href` (as of HAL). */
function leadsOn(value: unknown): boolean {
  if (isJsonObject(value)) return leadsOn(value.href);
  return typeof value === 'number' || (typeof value === 'string' && value !== '');
}
