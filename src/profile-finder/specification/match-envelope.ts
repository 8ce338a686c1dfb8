import { folded } from '../../clinic/http/rows.ts';
import { type Paging, pagingSchema } from '../../clinic/schema/paging.ts';
import { spotsOf } from './match-fields.ts';
import type { ValueSchema } from './schemas.ts';
import type { QueryParameter } from './specification.ts';

/** How one list answers: where its rows are and what stands beside them. */
export interface Envelope {
  /** Null: the answer is the array itself. */
  listPath: string | null;
  row: ValueSchema;
  hasMorePath: string | null;
  totalPath: string | null;
  /** A cursor or an address of the next page. */
  cursorPath: string | null;
  linkPath: string | null;
}

const words = (text: string) => text.split(' ');
const LISTS = words('data items results value _items rows records content elements list entries elenco risultati dati');
const HAS_MORE = words('hasmore hasnext hasnextpage more morepages altri');
const TOTALS = words(
  'total totalcount totalitems totalelements totalresults totalrows totalrecords totalentries totale totalerecord recordcount',
);
const CURSORS = words('nextcursor cursor nextpagetoken nexttoken continuationtoken continuation endcursor');
const LINKS = words('next nextlink nextpage nextpageurl nexturl nexthref');
/** Of paging; what stands before a name in an envelope such as `meta.total`. */
const BESIDE = /^(meta|metadata|pagination|paging|page|pageinfo|links|details)+/;

/** Finds the rows in a list's answer; null when it holds none, or several and nothing tells which. */
export function envelopeOf(answer: ValueSchema, list: string): Envelope | null {
  if (answer.type === 'array') {
    const none = { hasMorePath: null, totalPath: null, cursorPath: null, linkPath: null };
    return answer.rows === null ? null : { listPath: null, row: answer.rows, ...none };
  }
  const spots = spotsOf(answer);
  const arrays = spots.filter(({ schema }) => schema.type === 'array' && schema.rows !== null && isRow(schema.rows));
  const usual = arrays.find(({ path }) => [...LISTS, folded(list)].includes(folded(path.split('.').at(-1) ?? '')));
  const rows = arrays.length === 1 ? arrays[0] : usual;
  if (rows?.schema.rows == null) return null;
  const at = (names: readonly string[], types: readonly ValueSchema['type'][]) =>
    spots.find(({ path, schema }) => [...types, null].includes(schema.type) && names.includes(lastOf(path)))?.path ??
    null;
  return {
    listPath: rows.path,
    row: rows.schema.rows,
    hasMorePath: at(HAS_MORE, ['boolean']),
    totalPath: at(TOTALS, ['integer', 'number', 'string']),
    cursorPath: at(CURSORS, ['string', 'integer']),
    linkPath: at(LINKS, ['string']) ?? at(words('href'), ['string']),
  };
}

function isRow({ type, members }: ValueSchema): boolean {
  return type === 'object' || members.size > 0 || type === null;
}

/** `meta.total_count` as `totalcount`. */
function lastOf(path: string): string {
  const joined = path.split('.').map(folded).join('');
  return joined.replace(BESIDE, '') || joined;
}

const OFFSETS = words('offset pageoffset skip startindex startrow firstresult first from_index');
const PAGES = words('page pagenumber pageindex pageno pagina numeropagina p currentpage');
const CURSOR_PARAMETERS = words(
  'cursor pagecursor after pageafter pagetoken continuation continuationtoken startingafter nextcursor nexttoken',
);
const SIZES = words(
  'limit pagelimit take pagesize perpage size top count maxresults max rows pagelength itemsperpage numrows righeperpagina dimensionepagina',
);

/** How a list pages, and what could not be told of it. */
export interface PagingFound {
  /** Null: it has parameters of paging, and nothing tells how they work. */
  paging: Paging | null;
  asks: string[];
}

/** Tells the paging of a list from its parameters and its envelope, in the terms of the profile. */
export function pagingOf(query: readonly QueryParameter[], envelope: Envelope, hasLinkHeader: boolean): PagingFound {
  const find = (names: readonly string[]) => query.find(({ name }) => names.includes(plain(name)));
  const [offset, page, cursor, size] = [find(OFFSETS), find(PAGES), find(CURSOR_PARAMETERS), find(SIZES)];
  const { hasMorePath, totalPath, cursorPath, linkPath } = envelope;
  const told = { hasMorePath, totalPath };
  const counted = { ...told, ...sizesOf(size), ends: endsOf(envelope) };
  const asks = size !== undefined && size.maximum === null ? [`what is the largest ${size.name}?`] : [];
  const followed = { ...told, ...sizesOf(size), sizeParameter: size?.name ?? null, ends: ['no-next'] };
  if (hasLinkHeader) return { paging: pagingSchema.parse({ style: 'link-header', ...followed }), asks };
  if (page !== undefined && size !== undefined) {
    const startIndex = (page.minimum ?? page.default) === 0 ? 0 : 1;
    const isTold = page.minimum !== null || page.default !== null;
    const names = { pageParameter: page.name, sizeParameter: size.name, startIndex };
    if (!isTold) asks.push(`is the first page ${page.name}=0 or ${page.name}=1? (taken for 1)`);
    return { paging: pagingSchema.parse({ style: 'page-size', ...names, ...counted }), asks };
  }
  if (offset !== undefined && size !== undefined) {
    const startIndex = (offset.minimum ?? offset.default) === 1 ? 1 : 0;
    const names = { offsetParameter: offset.name, limitParameter: size.name, startIndex };
    return { paging: pagingSchema.parse({ style: 'offset-limit', ...names, ...counted }), asks };
  }
  if (cursor !== undefined && cursorPath !== null) {
    const names = { cursorParameter: cursor.name, cursorPath };
    return { paging: pagingSchema.parse({ style: 'cursor', ...names, ...followed }), asks };
  }
  if (linkPath !== null) return { paging: pagingSchema.parse({ style: 'next-link', linkPath, ...followed }), asks };
  const half = [offset, page, cursor, size].flatMap((one) => (one === undefined ? [] : [one.name]));
  if (half.length > 0) {
    asks.push(`how does the list page? Of its parameters only ${half.join(', ')} speaks of it`);
    return { paging: null, asks };
  }
  asks.push('does it give every list whole, however long? Then set paging.cap to a number that no list reaches');
  return { paging: pagingSchema.parse({ style: 'none', ...told }), asks };
}

/** `$top` (OData) and `page[size]` (JSON:API) as `top` and `pagesize`. */
function plain(name: string): string {
  return folded(name.replaceAll(/[$[\]]/g, ''));
}

function endsOf({ hasMorePath, totalPath }: Envelope): string[] {
  if (hasMorePath !== null) return ['has-more', 'empty-page'];
  return totalPath === null ? ['empty-page'] : ['total', 'empty-page'];
}

/** As many rows as usual, and no more than the server says that it gives. */
function sizesOf(size: QueryParameter | undefined): object {
  const maximum = size?.maximum;
  if (maximum == null || !Number.isInteger(maximum) || maximum < 1) return {};
  return { size: Math.min(USUAL_SIZE, maximum), cap: maximum };
}

const USUAL_SIZE = 200;
