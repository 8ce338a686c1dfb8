import { hash } from 'node:crypto';
import { MirrorError } from '../../core/model/errors.ts';
import type { Pieces } from '../../core/model/pieces.ts';
import type { PartialReason } from '../../core/model/snapshots.ts';
import { inPieces } from '../../core/pieces/in-pieces.ts';
import { answerValue, hasMore, type PageAnswer, readCount, readNext, showsNext } from '../../described-api/answers.ts';
import { nextLink } from '../../described-api/links.ts';
import type { EndRule, Paging } from '../schema/paging.ts';
import { type CountedPages, DistinctRows } from './distinct-rows.ts';
import { anySign } from './more-rows.ts';

/** The next page: parameters in addition to the list's own, or the clinic's link. */
export type PageTarget = { parameters: [name: string, value: string][] } | { link: string };

/** End of a list: proven, or the reason against it. */
export type ListEnd = { proved: true } | { proved: false; reason: PartialReason };

/** One page with its rows. For the last page, `end` shows how the list ended. */
export interface Page<Row> {
  rows: readonly Row[];
  end: ListEnd | null;
  /** Number of rows that came before in the same list. */
  repeated: number;
}

/** One received page. */
export interface ReceivedPage<Row> extends PageAnswer {
  rows: readonly Row[];
  /** Identities of the rows; null for a row without one. */
  ids: readonly (string | null)[];
}

/**
 * Evidence about the way to a next page. `seen`: answers had the field or header; `unseen`: not yet; `not-told`: absent although one of
 * several rows was requested; `not-asked`: the clinic returned all rows anyway.
 */
export interface PagingMemory {
  next: 'seen' | 'unseen' | 'not-told' | 'not-asked';
  /** Field or header that announced more rows, and the number of rows, until a complete read. */
  announced?: { path: string; rows: number } | null;
}

/** Input for reading a list's pages. */
export interface PageSource<Row> {
  paging: Paging;
  /** Meaning of repeated rows, and whether a total includes them. */
  repeats: 'unexpected' | 'counted-each' | 'counted-once';
  maxPages: number;
  memory: PagingMemory;
  /** Sizes of all pages of the read; new pages are added. */
  pageSizes: number[];
  /** Counts of cached pages; absent without a cache. */
  counted?: CountedPages | undefined;
  /** Requests one page; throws if the answer contains no list. */
  load(target: PageTarget): Promise<ReceivedPage<Row>>;
}

/** Progress in a list. */
interface Progress {
  pages: number;
  rows: number;
  distinct: DistinctRows;
  /** Number of rows as a total counts them, while more follow. */
  counted: number;
  /** Digests of each page's ids and of each cursor or link: a repetition means an endless loop. */
  seen: Set<string>;
  lastTotal: number | null;
  totalFell: boolean;
  /** Size of the largest earlier page. */
  fullest: number;
}

/**
 * Reads the pages of one list in sequence until a rule of the profile proves the end, or an end is impossible. The last page has the
 * result. Offsets advance by received rows, so that a server with a page limit skips none.
 */
export async function* readPages<Row>(source: PageSource<Row>): AsyncGenerator<Page<Row>, void> {
  const { paging } = source;
  const progress = startProgress(source.counted ?? new WeakMap());
  let target: PageTarget | null = firstTarget(paging);
  while (target !== null) {
    const page = await source.load(target);
    const { rows } = page;
    const before = progress.distinct.count;
    const { digest } = await inPieces(recordPage(progress, page, source));
    const repeated = before + rows.length - progress.distinct.count;
    const next: PageTarget | null = nextTarget(paging, progress, page);
    const isCircle = rows.length === 0 ? goesBack(progress, next) : cameBefore(progress, digest);
    const end = isCircle ? partial('repeated-page') : await endOf(source, progress, { page, next });
    source.pageSizes.push(rows.length);
    progress.fullest = Math.max(progress.fullest, rows.length);
    yield { rows, end, repeated };
    target = end === null ? next : null;
  }
}

/** Returns whether a new read may be complete: the list changed, or the server failed once. */
export function isPassing(reason: PartialReason): boolean {
  return reason === 'total-mismatch' || reason === 'repeated-page';
}

function startProgress(counted: CountedPages): Progress {
  return {
    pages: 0,
    rows: 0,
    distinct: new DistinctRows(counted),
    counted: 0,
    seen: new Set(),
    lastTotal: null,
    totalFell: false,
    fullest: 0,
  };
}

function* recordPage(progress: Progress, page: ReceivedPage<unknown>, source: Walk): Pieces<{ digest: string }> {
  if (showsNext(source.paging, page)) source.memory.next = 'seen';
  const total = source.paging.totalPath === null ? null : readCount(answerValue(page, source.paging.totalPath));
  progress.pages += 1;
  progress.rows += page.rows.length;
  const counted = yield* progress.distinct.add(page.ids);
  progress.counted = source.repeats === 'counted-once' ? progress.distinct.count : progress.rows;
  if (total === null) return counted;
  progress.totalFell ||= progress.lastTotal !== null && total < progress.lastTotal;
  progress.lastTotal = total;
  return counted;
}

/** An empty page is valid if the clinic gives a new next page. */
function goesBack(progress: Progress, next: PageTarget | null): boolean {
  return next !== null && cameBefore(progress, hash('sha256', JSON.stringify(next), 'base64url'));
}

function cameBefore(progress: Progress, digest: string): boolean {
  if (progress.seen.has(digest)) return true;
  progress.seen.add(digest);
  return false;
}

type Walk = PageSource<unknown>;

/** A received page, and its next page. */
interface Received {
  page: ReceivedPage<unknown>;
  next: PageTarget | null;
}

async function endOf(source: Walk, progress: Progress, received: Received): Promise<ListEnd | null> {
  const { page, next } = received;
  const isLast = judge(source, progress, received);
  if (isLast === true) {
    if (!agreesWithTotal(source, progress)) return partial('total-mismatch');
    if (hasMoved(source, progress)) return partial('repeated-page');
    const reason = await partialReasonOf(source, progress, page);
    return reason === null ? { proved: true } : partial(reason);
  }
  if (isLast === null || next === null) return partial('end-unproved');
  const isStalled = page.rows.length === 0 && 'parameters' in next && source.paging.style !== 'cursor';
  if (isStalled) return partial('end-unproved');
  return progress.pages >= source.maxPages ? partial('page-cap') : null;
}

/**
 * Returns evidence against an end found by a rule. A `Link` header outside the paging style always counters the end, and so does any
 * sign in an answer without paging. Without a total or a more-rows field, any named sign of a next page counters it too, and so does a full page. A field or header that no answer ever had proves
 * nothing by its absence.
 */
async function partialReasonOf(
  source: Walk,
  progress: Progress,
  page: ReceivedPage<unknown>,
): Promise<PartialReason | null> {
  const { paging, memory } = source;
  const { rows } = page;
  const path = signOfMore(paging, progress, page);
  if (path !== null) {
    memory.announced = { path, rows: progress.rows };
    return 'next-page-told';
  }
  if (progress.lastTotal !== null || hasMore(paging, page) === false) return null;
  if (paging.style === 'offset-limit' || paging.style === 'page-size') return null;
  if (paging.style !== 'none') {
    if (memory.next === 'unseen') memory.next = await askForNext(source, paging, rows);
    if (memory.next === 'seen') return null;
    if (memory.next === 'not-told' && rows.length > 1) return 'end-unproved';
  }
  return isFull(source, rows.length) ? 'full-page' : null;
}

/** Without paging, anything outside the rows can be the sign; otherwise the profile names the signs, or usual ones apply. */
function signOfMore(paging: Paging, progress: Progress, page: ReceivedPage<unknown>): string | null {
  if (paging.style !== 'link-header' && nextLink(page.headers.get('link')) !== null) return 'header:link';
  if (paging.style === 'none') {
    const total = progress.lastTotal === null ? null : paging.totalPath;
    return anySign(page, { rows: progress.rows, pages: null }, [
      ...paging.ignoredPaths,
      ...(total === null ? [] : [total]),
    ]);
  }
  if (progress.lastTotal !== null || hasMore(paging, page) === false) return null;
  return anySign(page, { rows: progress.rows, pages: progress.pages }, paging.ignoredPaths);
}

/** Requests one of several rows, so that a paging server must show its method. */
async function askForNext({ load }: Walk, paging: Followed, rows: readonly unknown[]): Promise<PagingMemory['next']> {
  if (rows.length < 2) return 'unseen';
  if (paging.sizeParameter === null) return 'not-asked';
  const answer = await load({ parameters: [[paging.sizeParameter, '1']] }).catch(refusedSize);
  if (answer === null) return 'not-asked';
  if (showsNext(paging, answer)) return 'seen';
  return answer.rows.length < rows.length ? 'not-told' : 'not-asked';
}

/** A refused page size proves nothing. */
function refusedSize(error: unknown): null {
  if (error instanceof MirrorError && (error.status === 400 || error.status === 422)) return null;
  throw error;
}

/** Usual page sizes of servers. */
const USUAL_SIZES: ReadonlySet<number> = new Set([
  10, 20, 25, 30, 50, 100, 150, 200, 250, 300, 400, 500, 1_000, 2_000, 2_500, 5_000, 10_000,
]);
/** Smaller pages have equal sizes by chance. */
const SIGNIFICANT_SIZE = 10;

/**
 * Returns whether a page is full: by the known limit; otherwise by a usual page size, or because another page of the read had this size and
 * none was larger.
 */
function isFull({ paging, pageSizes }: Walk, size: number): boolean {
  if (paging.cap !== null) return size >= paging.cap;
  if (USUAL_SIZES.has(size) || (paging.style !== 'none' && size >= paging.size)) return true;
  return size >= SIGNIFICANT_SIZE && pageSizes.includes(size) && Math.max(...pageSizes) <= size;
}

/** A page of a usual size, or no smaller than an earlier page, may be full: the real limit may differ from the profile. */
function isShort(paging: { size: number; cap: number | null }, progress: PagesSeen, size: number): boolean {
  return size < askedSize(paging) && !mayBeFull(progress, size);
}

/** Number of pages of a read, and the size of the largest. */
export type PagesSeen = Pick<Progress, 'pages' | 'fullest'>;

/**
 * Returns whether a received page could contain more rows. A server may return fewer rows than requested, so only the limit or a larger
 * earlier page proves that one more row would fit.
 */
export function hasRoom(paging: Paging, seen: PagesSeen, size: number): boolean {
  if (paging.style === 'none') return size < (paging.cap ?? Infinity) && !mayBeFull(seen, size);
  return isShort(paging, seen, size) && (paging.cap !== null || size < seen.fullest);
}

function mayBeFull({ pages, fullest }: PagesSeen, size: number): boolean {
  return USUAL_SIZES.has(size) || (pages > 1 && size >= fullest);
}

/** Returns whether the page is the last; null if no rule can decide. */
function judge({ paging }: Walk, progress: Progress, received: Received): boolean | null {
  if (paging.style === 'none') return hasMore(paging, received.page) === true ? null : true;
  for (const rule of paging.ends) {
    const result = applyRule(rule, paging, progress, received);
    if (result !== null) return result;
  }
  return null;
}

function applyRule(
  rule: EndRule,
  paging: Exclude<Paging, { style: 'none' }>,
  progress: Progress,
  { page, next }: Received,
): boolean | null {
  switch (rule) {
    case 'has-more': {
      const more = hasMore(paging, page);
      return more === null ? null : !more;
    }
    case 'total':
      return progress.lastTotal === null ? null : progress.counted >= progress.lastTotal || page.rows.length === 0;
    case 'short-page':
      return paging.cap === null ? null : isShort(paging, progress, page.rows.length);
    case 'empty-page':
      return page.rows.length === 0;
    case 'no-next':
      return next === null;
  }
}

/**
 * The total of the last page must equal the number of distinct rows, or of all rows if the total includes repetitions. A total that
 * decreased means that rows moved up during the read, so that some were skipped although the number may match.
 */
function agreesWithTotal({ repeats }: Walk, progress: Progress): boolean {
  if (progress.lastTotal === null) return true;
  const rows = repeats === 'counted-each' ? progress.rows : progress.distinct.count;
  return !progress.totalFell && progress.lastTotal === rows;
}

/** Repeated rows moved down during the read; only a total could prove that no other row was skipped. */
function hasMoved({ repeats }: Walk, progress: Progress): boolean {
  return repeats === 'unexpected' && progress.lastTotal === null && progress.rows > progress.distinct.count;
}

function firstTarget(paging: Paging): PageTarget {
  switch (paging.style) {
    case 'none':
      return { parameters: [] };
    case 'offset-limit':
      return atOffset(paging, paging.startIndex);
    case 'page-size':
      return atPage(paging, paging.startIndex);
    case 'cursor':
    case 'next-link':
    case 'link-header':
      return { parameters: sizeParameter(paging) };
  }
}

/** Returns the next page; null if the style has none. `progress` includes the current page. */
function nextTarget(paging: Paging, progress: Progress, answer: PageAnswer): PageTarget | null {
  switch (paging.style) {
    case 'none':
      return null;
    case 'offset-limit':
      return atOffset(paging, paging.startIndex + progress.rows);
    case 'page-size':
      return atPage(paging, paging.startIndex + progress.pages);
    case 'cursor': {
      const cursor = readNext(paging, answer);
      return cursor === null ? null : { parameters: [...sizeParameter(paging), [paging.cursorParameter, cursor]] };
    }
    case 'next-link':
    case 'link-header': {
      const link = readNext(paging, answer);
      return link === null ? null : { link };
    }
  }
}

function atOffset(paging: Extract<Paging, { style: 'offset-limit' }>, offset: number): PageTarget {
  return {
    parameters: [
      [paging.offsetParameter, String(offset)],
      [paging.limitParameter, String(askedSize(paging))],
    ],
  };
}

function atPage(paging: Extract<Paging, { style: 'page-size' }>, page: number): PageTarget {
  return {
    parameters: [
      [paging.pageParameter, String(page)],
      [paging.sizeParameter, String(askedSize(paging))],
    ],
  };
}

/** Styles in which each page gives the next page. */
type Followed = Extract<Paging, { style: 'cursor' | 'next-link' | 'link-header' }>;

function sizeParameter(paging: Followed): [string, string][] {
  return paging.sizeParameter === null ? [] : [[paging.sizeParameter, String(askedSize(paging))]];
}

function askedSize(paging: { size: number; cap: number | null }): number {
  return paging.cap === null ? paging.size : Math.min(paging.size, paging.cap);
}

function partial(reason: PartialReason): ListEnd {
  return { proved: false, reason };
}
