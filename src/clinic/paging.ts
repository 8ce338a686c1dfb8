import { hash } from 'node:crypto';
import type { PartialReason } from '../model/snapshots.ts';
import type { EndRule, Paging } from '../settings/clinic-paging.ts';
import { valueAt } from './rows.ts';

/** Which page to ask for: by parameters beside the list's own, or by a link that the clinic gave. */
export type PageTarget = { parameters: [name: string, value: string][] } | { link: string };

/** How a list ended: proved, or why it is not. */
export type ListEnd = { proved: true } | { proved: false; reason: PartialReason };

/** One page: its rows as they came, and how the list ended when this page is its last. */
export interface Page {
  rows: unknown[];
  end: ListEnd | null;
}

/** What the walk through a list's pages needs. */
export interface PageSource {
  paging: Paging;
  maxPages: number;
  /** Asks for one page and gives the parsed answer. */
  load(target: PageTarget): Promise<unknown>;
  /** Finds the rows in an answer; throws when there are none to find. */
  rowsOf(answer: unknown): unknown[];
  /** The id of a row, null when it has none. */
  idOf(row: unknown): string | null;
}

/** What was seen of a list so far. */
interface Progress {
  pages: number;
  rows: number;
  ids: Set<string>;
  rowsWithoutId: number;
  /** Digests of each page's ids and of each cursor or link: the same again means that the server goes in a circle. */
  seen: Set<string>;
  lastTotal: number | null;
  totalFell: boolean;
}

/**
 * Walks through the pages of one list, one at a time, until a rule of the profile proves the end or it is plain that none will.
 * The last page carries the verdict. Offsets advance by the rows received, so a server that caps pages skips nothing.
 */
export async function* readPages(source: PageSource): AsyncGenerator<Page, void> {
  const { paging } = source;
  const progress = startProgress();
  let target: PageTarget | null = firstTarget(paging);
  while (target !== null) {
    const answer = await source.load(target);
    const rows = source.rowsOf(answer);
    note(progress, rows, answer, source);
    const next: PageTarget | null = nextTarget(paging, progress, answer);
    const isCircle = rows.length === 0 ? goesBack(progress, next) : isRepeated(progress, rows, source);
    const end = isCircle ? partial('repeated-page') : endOf(source, progress, { rows, answer, next });
    yield { rows, end };
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
    seen: new Set(),
    lastTotal: null,
    totalFell: false,
  };
}

function note(progress: Progress, rows: unknown[], answer: unknown, source: PageSource): void {
  const total = source.paging.totalPath === null ? null : asCount(valueAt(answer, source.paging.totalPath));
  progress.pages += 1;
  progress.rows += rows.length;
  for (const row of rows) {
    const id = source.idOf(row);
    if (id === null) progress.rowsWithoutId += 1;
    else progress.ids.add(id);
  }
  if (total === null) return;
  progress.totalFell ||= progress.lastTotal !== null && total < progress.lastTotal;
  progress.lastTotal = total;
}

/** A page with the very ids of an earlier one. */
function isRepeated(progress: Progress, rows: unknown[], source: PageSource): boolean {
  return cameBefore(progress, JSON.stringify(rows.map(source.idOf)));
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

/** A page just received, and where the next one would be. */
interface Received {
  rows: unknown[];
  answer: unknown;
  next: PageTarget | null;
}

function endOf(source: PageSource, progress: Progress, page: Received): ListEnd | null {
  const isLast = judge(source.paging, progress, page);
  if (isLast === true) {
    if (!agreesWithTotal(progress)) return partial('total-mismatch');
    return hasMoved(progress) ? partial('repeated-page') : { proved: true };
  }
  if (isLast === null || page.next === null) return partial('end-unproved');
  const standsStill = page.rows.length === 0 && 'parameters' in page.next && source.paging.style !== 'cursor';
  if (standsStill) return partial('end-unproved');
  return progress.pages >= source.maxPages ? partial('page-cap') : null;
}

/** Whether the page is the last: true, false, or null when no rule can tell. */
function judge(paging: Paging, progress: Progress, page: Received): boolean | null {
  if (paging.style === 'none') return hasMore(paging, page.answer) === true ? null : true;
  for (const rule of paging.ends) {
    const verdict = applyRule(rule, paging, progress, page);
    if (verdict !== null) return verdict;
  }
  return null;
}

function applyRule(
  rule: EndRule,
  paging: Exclude<Paging, { style: 'none' }>,
  progress: Progress,
  page: Received,
): boolean | null {
  switch (rule) {
    case 'has-more': {
      const more = hasMore(paging, page.answer);
      return more === null ? null : !more;
    }
    case 'total':
      return progress.lastTotal === null ? null : progress.rows >= progress.lastTotal || page.rows.length === 0;
    case 'short-page':
      return paging.cap === null ? null : page.rows.length < Math.min(paging.size, paging.cap);
    case 'empty-page':
      return page.rows.length === 0;
    case 'no-next':
      return page.next === null;
  }
}

/**
 * The total of the last page must be what the distinct rows make up. One that fell meanwhile means that rows moved up past
 * the place of reading, so some were never seen although the sum may fit.
 */
function agreesWithTotal(progress: Progress): boolean {
  if (progress.lastTotal === null) return true;
  return !progress.totalFell && progress.lastTotal === progress.ids.size + progress.rowsWithoutId;
}

/** Rows that came twice moved down past the place of reading; only a total could tell that none of the others was skipped. */
function hasMoved(progress: Progress): boolean {
  return progress.lastTotal === null && progress.rows > progress.ids.size + progress.rowsWithoutId;
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
      return { parameters: sizeParameter(paging) };
  }
}

/** Where the next page would be; null when the style knows of none. `progress` includes the page just read. */
function nextTarget(paging: Paging, progress: Progress, answer: unknown): PageTarget | null {
  switch (paging.style) {
    case 'none':
      return null;
    case 'offset-limit':
      return atOffset(paging, paging.startIndex + progress.rows);
    case 'page-size':
      return atPage(paging, paging.startIndex + progress.pages);
    case 'cursor': {
      const cursor = asCursor(valueAt(answer, paging.cursorPath));
      return cursor === null ? null : { parameters: [...sizeParameter(paging), [paging.cursorParameter, cursor]] };
    }
    case 'next-link': {
      const link = asCursor(valueAt(answer, paging.linkPath));
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

function sizeParameter(paging: Extract<Paging, { style: 'cursor' | 'next-link' }>): [string, string][] {
  return paging.sizeParameter === null ? [] : [[paging.sizeParameter, String(askedSize(paging))]];
}

function askedSize(paging: { size: number; cap: number | null }): number {
  return paging.cap === null ? paging.size : Math.min(paging.size, paging.cap);
}

function hasMore(paging: Paging, answer: unknown): boolean | null {
  const value = paging.hasMorePath === null ? null : valueAt(answer, paging.hasMorePath);
  if (typeof value === 'boolean') return value;
  if (value === 'true') return true;
  return value === 'false' ? false : null;
}

function asCount(value: unknown): number | null {
  const count = typeof value === 'string' && /^\d+$/.test(value) ? Number(value) : value;
  return typeof count === 'number' && Number.isSafeInteger(count) && count >= 0 ? count : null;
}

function asCursor(value: unknown): string | null {
  if (typeof value === 'number') return String(value);
  return typeof value === 'string' && value !== '' ? value : null;
}

function partial(reason: PartialReason): ListEnd {
  return { proved: false, reason };
}
