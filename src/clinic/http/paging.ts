import { hash } from 'node:crypto';
import { nextLink } from '../../http/answer.ts';
import { MirrorError } from '../../model/errors.ts';
import type { PartialReason } from '../../model/snapshots.ts';
import type { EndRule, Paging } from '../schema/paging.ts';
import { announcesMore, answerValue, type PageAnswer, readCount, readNext, showsNext } from './rows.ts';

/** Which page to ask for: by parameters beside the list's own, or by a link that the clinic gave. */
export type PageTarget = { parameters: [name: string, value: string][] } | { link: string };

/** How a list ended: proved, or why it is not. */
export type ListEnd = { proved: true } | { proved: false; reason: PartialReason };

/** One page: its rows, and how the list ended when this page is its last. */
export interface Page<Row> {
  rows: readonly Row[];
  end: ListEnd | null;
  /** How many of the rows came before in the same list. */
  repeated: number;
}

/** One page as it was received. */
export interface ReceivedPage<Row> extends PageAnswer {
  rows: readonly Row[];
  /** What tells each row from others; null where it has nothing of the kind. */
  ids: readonly (string | null)[];
}

/**
 * What a list's answers showed of the way to the next page: `seen`, there is such a field or header; `unseen` so far; `not-told`, the
 * clinic was asked for one row of several and did not show it, `not-asked`, it gave them all.
 */
export interface PagingMemory {
  next: 'seen' | 'unseen' | 'not-told' | 'not-asked';
}

/** What the walk through a list's pages needs. */
export interface PageSource<Row> {
  paging: Paging;
  /** What it means that a row comes twice, and how a total counts it. */
  repeats: 'doubted' | 'in-total' | 'beside-total';
  maxPages: number;
  memory: PagingMemory;
  /** Rows of each page of the same reading; this walk's are added. */
  pageSizes: number[];
  /** Asks for one page; throws when it holds no rows to find. */
  load(target: PageTarget): Promise<ReceivedPage<Row>>;
}

/** What was seen of a list so far. */
interface Progress {
  pages: number;
  rows: number;
  ids: Set<string>;
  rowsWithoutId: number;
  /** The rows as a total counts them while more follow. */
  counted: number;
  /** Digests of each page's ids and of each cursor or link: the same again means that the server goes in a circle. */
  seen: Set<string>;
  lastTotal: number | null;
  totalFell: boolean;
  /** Most rows of a page before the current one. */
  fullest: number;
}

/**
 * Walks through the pages of one list, one at a time, until a rule of the profile proves the end or it is plain that none will.
 * The last page carries the verdict. Offsets advance by the rows received, so a server that caps pages skips nothing.
 */
export async function* readPages<Row>(source: PageSource<Row>): AsyncGenerator<Page<Row>, void> {
  const { paging } = source;
  const progress = startProgress();
  let target: PageTarget | null = firstTarget(paging);
  while (target !== null) {
    const page = await source.load(target);
    const { rows } = page;
    const before = distinctRows(progress);
    recordPage(progress, page, source);
    const repeated = before + rows.length - distinctRows(progress);
    const next: PageTarget | null = nextTarget(paging, progress, page);
    const isCircle = rows.length === 0 ? goesBack(progress, next) : cameBefore(progress, JSON.stringify(page.ids));
    const end = isCircle ? partial('repeated-page') : await endOf(source, progress, { page, next });
    source.pageSizes.push(rows.length);
    progress.fullest = Math.max(progress.fullest, rows.length);
    yield { rows, end, repeated };
    target = end === null ? next : null;
  }
}

/** Whether a list may come whole when it is begun again: it moved, or the server stumbled once. */
export function isPassing(reason: PartialReason): boolean {
  return reason === 'total-mismatch' || reason === 'repeated-page';
}

function startProgress(): Progress {
  return {
    pages: 0,
    rows: 0,
    ids: new Set(),
    rowsWithoutId: 0,
    counted: 0,
    seen: new Set(),
    lastTotal: null,
    totalFell: false,
    fullest: 0,
  };
}

function recordPage(progress: Progress, page: ReceivedPage<unknown>, source: Walk): void {
  if (showsNext(source.paging, page)) source.memory.next = 'seen';
  const total = source.paging.totalPath === null ? null : readCount(answerValue(page, source.paging.totalPath));
  progress.pages += 1;
  progress.rows += page.rows.length;
  for (const id of page.ids) {
    if (id === null) progress.rowsWithoutId += 1;
    else progress.ids.add(id);
  }
  progress.counted = source.repeats === 'beside-total' ? distinctRows(progress) : progress.rows;
  if (total === null) return;
  progress.totalFell ||= progress.lastTotal !== null && total < progress.lastTotal;
  progress.lastTotal = total;
}

/** An empty page is lawful where the clinic gives the way on, unless that way was walked already. */
function goesBack(progress: Progress, next: PageTarget | null): boolean {
  return next !== null && cameBefore(progress, JSON.stringify(next));
}

function cameBefore(progress: Progress, text: string): boolean {
  const digest = hash('sha256', text, 'base64url');
  if (progress.seen.has(digest)) return true;
  progress.seen.add(digest);
  return false;
}

/** A walk, whatever its rows are. */
type Walk = PageSource<unknown>;

/** A page just received, and where the next one would be. */
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
 * What speaks against an end that a rule found. A `Link` header that the style doesn't follow always does. Where no total and no word of
 * more confirms the end, so does what the answer tells in any usual way, and a page as full as pages get; and a field or header that no
 * answer ever held proves nothing by its absence.
 */
async function partialReasonOf(
  source: Walk,
  progress: Progress,
  page: ReceivedPage<unknown>,
): Promise<PartialReason | null> {
  const { paging, memory } = source;
  const { rows } = page;
  if (paging.style !== 'link-header' && nextLink(page.headers.get('link')) !== null) return 'next-page-told';
  if (progress.lastTotal !== null || hasMore(paging, page) === false) return null;
  if (announcesMore(page, progress.rows)) return 'next-page-told';
  if (paging.style === 'offset-limit' || paging.style === 'page-size') return null;
  if (paging.style !== 'none') {
    if (memory.next === 'unseen') memory.next = await askForNext(source, paging, rows);
    if (memory.next === 'seen') return null;
    if (memory.next === 'not-told' && rows.length > 1) return 'end-unproved';
  }
  return isFull(source, rows.length) ? 'full-page' : null;
}

/** Asks for one row of several, so that a server that pages must show how. */
async function askForNext({ load }: Walk, paging: Followed, rows: readonly unknown[]): Promise<PagingMemory['next']> {
  if (rows.length < 2) return 'unseen';
  if (paging.sizeParameter === null) return 'not-asked';
  const answer = await load({ parameters: [[paging.sizeParameter, '1']] }).catch(refusedSize);
  if (answer === null) return 'not-asked';
  if (showsNext(paging, answer)) return 'seen';
  return answer.rows.length < rows.length ? 'not-told' : 'not-asked';
}

/** A size that the clinic does not take tells nothing. */
function refusedSize(error: unknown): null {
  if (error instanceof MirrorError && (error.status === 400 || error.status === 422)) return null;
  throw error;
}

/** Page sizes that servers have. */
const USUAL_SIZES: ReadonlySet<number> = new Set([
  10, 20, 25, 30, 50, 100, 150, 200, 250, 300, 400, 500, 1_000, 2_000, 2_500, 5_000, 10_000,
]);
/** Smaller pages are alike by chance. */
const SIGNIFICANT_SIZE = 10;

/**
 * Whether a page is as full as pages get: by the known cap; else by a size that servers have, or because another page of the same reading
 * was exactly as full and none was fuller.
 */
function isFull({ paging, pageSizes }: Walk, size: number): boolean {
  if (paging.cap !== null) return size >= paging.cap;
  if (USUAL_SIZES.has(size) || (paging.style !== 'none' && size >= paging.size)) return true;
  return size >= SIGNIFICANT_SIZE && pageSizes.includes(size) && Math.max(...pageSizes) <= size;
}

/** A page of a usual size, or no shorter than one before it, may be full: the cap need not be what the profile says. */
function isShort(paging: { size: number; cap: number | null }, progress: PagesSeen, size: number): boolean {
  return size < askedSize(paging) && !mayBeFull(progress, size);
}

/** How many pages of a reading came, and the most rows that one of them had. */
export type PagesSeen = Pick<Progress, 'pages' | 'fullest'>;

/**
 * Returns whether a page has room for more rows, as far as that can be told of a page that came. A server may give fewer rows than it is
 * asked for, so only the cap, or a fuller page before, shows that one more would fit.
 */
export function hasRoom(paging: Paging, seen: PagesSeen, size: number): boolean {
  if (paging.style === 'none') return size < (paging.cap ?? Infinity) && !mayBeFull(seen, size);
  return isShort(paging, seen, size) && (paging.cap !== null || size < seen.fullest);
}

function mayBeFull({ pages, fullest }: PagesSeen, size: number): boolean {
  return USUAL_SIZES.has(size) || (pages > 1 && size >= fullest);
}

/** Whether the page is the last: true, false, or null when no rule can tell. */
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

function distinctRows({ ids, rowsWithoutId }: Progress): number {
  return ids.size + rowsWithoutId;
}

/**
 * The total of the last page must be what the distinct rows make up; all of them, where it counts those that come twice. One that fell
 * meanwhile means that rows moved up past the place of reading, so some were never seen although the sum may fit.
 */
function agreesWithTotal({ repeats }: Walk, progress: Progress): boolean {
  if (progress.lastTotal === null) return true;
  const rows = repeats === 'in-total' ? progress.rows : distinctRows(progress);
  return !progress.totalFell && progress.lastTotal === rows;
}

/** Rows that came twice moved down past the place of reading; only a total could tell that none of the others was skipped. */
function hasMoved({ repeats }: Walk, progress: Progress): boolean {
  return repeats === 'doubted' && progress.lastTotal === null && progress.rows > distinctRows(progress);
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

/** Where the next page would be; null when the style knows of none. `progress` includes the page just read. */
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

/** Styles that go where the last page leads. */
type Followed = Extract<Paging, { style: 'cursor' | 'next-link' | 'link-header' }>;

function sizeParameter(paging: Followed): [string, string][] {
  return paging.sizeParameter === null ? [] : [[paging.sizeParameter, String(askedSize(paging))]];
}

function askedSize(paging: { size: number; cap: number | null }): number {
  return paging.cap === null ? paging.size : Math.min(paging.size, paging.cap);
}

function hasMore({ hasMorePath }: Pick<Paging, 'hasMorePath'>, answer: PageAnswer): boolean | null {
  const value = hasMorePath === null ? null : answerValue(answer, hasMorePath);
  if (typeof value === 'boolean') return value;
  if (value === 'true') return true;
  return value === 'false' ? false : null;
}

function partial(reason: PartialReason): ListEnd {
  return { proved: false, reason };
}
