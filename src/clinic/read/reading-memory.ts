import { createHash } from 'node:crypto';
import type { HttpResponse } from '../../core/http/client.ts';
import { type AnswerHeaders, answerHeaders } from '../../core/http/headers.ts';
import type { CacheBudget, Cached } from '../../core/model/cache.ts';
import { lazily } from '../../core/model/cache.ts';
import type { Pieces } from '../../core/model/pieces.ts';
import type { InvalidRow } from '../../core/model/records.ts';
import type { Instant, TimeWindow } from '../../core/model/time.ts';
import type { CountedPages } from '../http/distinct-rows.ts';
import { COUNT_HEADERS } from '../http/more-rows.ts';
import type { ReceivedPage } from '../http/paging.ts';
import type { Mapped } from '../http/rows.ts';
import type { ReusableReading } from './gathering.ts';
import { type CachedPage, type CachedStretches, cachedStretches } from './list-page.ts';

/** Cached pages of a list during a read. */
export interface PageMemory<Row> {
  /** Returns the ETag for a conditional request to this URL; null if the page must be read in full. */
  etagOf(url: string): string | null;
  /** Returns the cached page that a "not modified" answer confirms; null if the answer is not credible or the page is no longer cached. */
  unmodified(url: string, headers: AnswerHeaders): ReceivedPage<Row> | null;
  /**
   * Returns the cached page for an answer with identical bytes, or builds the page with `make`.
   * @param make receives cached stretches of rows; null if no rows are cached
   */
  page(
    url: string,
    answer: Pick<HttpResponse, 'body' | 'parts' | 'headers'>,
    make: (cached: CachedStretches<Row> | null) => Pieces<CachedPage<Row>>,
  ): Pieces<CachedPage<Row>>;
  /** Counts of the cached pages; absent without a cache. */
  readonly counted?: CountedPages;
  /** Allows a conditional request for this URL in the next read. @param headers of the URL's answer */
  maySkip(url: string, headers: AnswerHeaders): void;
}

/** Scope of a read. */
export interface RememberedQuestion {
  /** Context that gives identical bytes the same meaning: the clinic's tenant and the signed-in user. */
  location: string;
  window: TimeWindow;
  agendaIds: readonly string[] | null;
  /** Additional names of headers with paging information. */
  pagingHeaders?: readonly string[];
}

/** Limits for the use of cached data. */
export interface Trust {
  now: Instant;
  /** Maximum time since the last full read for incremental reads and conditional requests. */
  wholeEveryMs: number;
  /** Whether conditional requests are allowed. */
  conditions: boolean;
  /** Whether requests for changes only are allowed. */
  changes: boolean;
}

/** Result of a list's read. */
export interface StoredRows<Model> {
  records: Map<string, Model>;
  /** Unusable rows by record id. */
  unusable: ReadonlyMap<string, InvalidRow>;
  withoutId: readonly InvalidRow[];
  /** All changes up to this time, by the clinic's clock, are included; null if unknown. */
  changedTo: Instant | null;
}

/** Cache of a list during one read. */
export interface RememberedReading<Model> extends PageMemory<Mapped<Model>> {
  /** Window to request: the question's window or a longer one, so that requests stay identical for some time. */
  readonly window: TimeWindow;
  /** Known rows if this read may request changes only; otherwise null. */
  readonly stored: (StoredRows<Model> & { changedTo: Instant }) | null;
  /** Returns the previous object for an unchanged record, so that caches keyed by the object remain valid. */
  asBefore(mapped: Mapped<Model>): Mapped<Model>;
  /** The pages and result of the last complete read of this question; null for none. */
  readonly reusable: ReusableReading | null;
  /**
   * Ends the read and drops pages and records that the read did not return.
   * @param isComplete whether a later read may be incremental
   * @param reusable pages and result, if they are complete
   */
  end(rows: StoredRows<Model>, isComplete: boolean, reusable?: ReusableReading | null): void;
}

/** Cached answer for a conditional request. */
interface CachedAnswer {
  etag: string;
  /** Name of the cached page. */
  name: string;
  /** Headers with paging information. */
  headers: AnswerHeaders;
}

/** The last full, unconditional read, and the question and window that later reads repeat. */
interface Whole {
  question: string;
  window: TimeWindow;
  beganAt: Instant;
}

/**
 * Caches a list's last read in one process, so that unchanged pages and records need no fetching, parsing or mapping. The cache changes a
 * read's result only if the clinic reports its changes incorrectly or incompletely, and at most until the next full read.
 */
export class ReadingMemory<Model extends { id: string }> implements Cached {
  readonly #room: CacheBudget;
  readonly #onInvalidated: () => void;
  #pages: ReadonlyMap<string, CachedPage<Mapped<Model>>> = new Map();
  /** Context of the cached pages' rows. */
  #location = '';
  #answers: ReadonlyMap<string, CachedAnswer> = new Map();
  #rows: StoredRows<Model> = nothing();
  readonly #counted: CountedPages = new WeakMap();
  /** The last read's pages and result, if it was complete. */
  #reusable: (ReusableReading & { question: string }) | null = null;
  #whole: Whole | null = null;
  /** A "not modified" answer was not credible; reset by the next full read. */
  #isDeceived = false;
  /** The clinic ignores the profile's filter by time of change. */
  #isUnfiltered = false;
  #isInvalidated = false;

  /** @param onInvalidated clears other caches of the same records */
  constructor(room: CacheBudget, onInvalidated: () => void = () => {}) {
    this.#room = room;
    this.#onInvalidated = onInvalidated;
  }

  begin(asked: RememberedQuestion, trust: Trust): RememberedReading<Model> {
    const { location, window, agendaIds, pagingHeaders = [] } = asked;
    const question = JSON.stringify([location, agendaIds]);
    const goesOn = this.#trusted(question, window, trust);
    if (goesOn === null) this.#isDeceived = false;
    const asksLess = this.#answers.size > 0 || (trust.changes && !this.#isUnfiltered);
    const stretched = { fromAt: window.fromAt, toAt: window.toAt + trust.wholeEveryMs };
    const whole = goesOn ?? { question, window: asksLess ? stretched : window, beganAt: trust.now };
    const pages = new Map<string, CachedPage<Mapped<Model>>>();
    const answers = new Map<string, CachedAnswer>();
    const namesByUrl = new Map<string, string>();
    const wasInvalidated = this.#isInvalidated;
    const stretches = lazily(() => cachedStretches(this.#location === location ? this.#pages.values() : []));
    const pageNamed = (name: string) => pages.get(name) ?? this.#pages.get(name);
    const mayAsk = goesOn !== null && trust.conditions;
    const { changedTo } = this.#rows;
    const isReusable = goesOn !== null && trust.changes && !this.#isUnfiltered && changedTo !== null;
    return {
      window: whole.window,
      stored: isReusable ? { ...this.#rows, changedTo } : null,
      counted: this.#counted,
      reusable: this.#reusable?.question === question ? this.#reusable : null,
      etagOf: (url) => {
        const cachedAnswer = mayAsk && !this.#isDeceived ? this.#answers.get(url) : undefined;
        return cachedAnswer === undefined || pageNamed(cachedAnswer.name) === undefined ? null : cachedAnswer.etag;
      },
      unmodified: (url, headers) => {
        const cachedAnswer = this.#answers.get(url);
        const page = cachedAnswer && pageNamed(cachedAnswer.name);
        if (cachedAnswer === undefined || page === undefined || !isBelievable(headers, cachedAnswer.etag)) {
          this.#isDeceived = true;
          return null;
        }
        const stated = pagingHeadersOf(headers, pagingHeaders, cachedAnswer.headers);
        pages.set(cachedAnswer.name, page);
        answers.set(url, { ...cachedAnswer, headers: stated });
        return { ...page, headers: stated };
      },
      *page(url, answer, make) {
        const name = `${location} ${answer.headers.get('content-type')} ${yield* digestOf(answer)}`;
        // An invalidated cache is usually invalidated again, so naming its stretches of rows would be wasted work.
        const page = pageNamed(name) ?? (yield* make(wasInvalidated ? null : (name) => stretches()(name)));
        pages.set(name, page);
        namesByUrl.set(url, name);
        answers.delete(url);
        return page;
      },
      maySkip: (url, headers) => {
        const etag = trust.conditions ? usableEtag(headers) : null;
        const name = namesByUrl.get(url);
        if (etag === null || name === undefined) return;
        answers.set(url, { etag, name, headers: pagingHeadersOf(headers, pagingHeaders) });
      },
      asBefore: (mapped) => {
        if (!('record' in mapped)) return mapped;
        const before = this.#rows.records.get(mapped.record.id);
        return before !== undefined && isSame(before, mapped.record) ? { ...mapped, record: before } : mapped;
      },
      end: (rows, isComplete, reusable = null) => {
        this.#pages = pages;
        this.#location = location;
        this.#answers = answers;
        this.#rows = rows;
        this.#reusable = reusable && { ...reusable, question };
        this.#whole = isComplete ? whole : null;
        this.#isInvalidated = false;
        this.#recordUse(answers.size > 0 || (trust.changes && !this.#isUnfiltered));
      },
    };
  }

  #recordUse(isDear: boolean): void {
    // If the clinic does not filter, most rows are outside the window.
    const paged = [...this.#pages.values()].reduce((sum, page) => sum + page.rows.length, 0);
    this.#room.use(this, Math.max(paged, this.#rows.records.size), { isDear });
  }

  /** Whether the cache was invalidated after the last read. */
  get isInvalidated(): boolean {
    return this.#isInvalidated;
  }

  /** Makes the next read full and unconditional: cached pages then save only parsing and mapping. */
  distrust(): void {
    this.#whole = null;
  }

  /** Stops requests for changes only, permanently for this cache. */
  leaveFilter(): void {
    this.#isUnfiltered = true;
    this.distrust();
  }

  invalidate(): void {
    this.#pages = new Map();
    this.#answers = new Map();
    this.#rows = nothing();
    this.#reusable = null;
    this.#whole = null;
    this.#isInvalidated = true;
    this.#onInvalidated();
  }

  /** Returns the full read that an incremental read of this question may use, or null. */
  #trusted(question: string, { fromAt, toAt }: TimeWindow, { now, wholeEveryMs }: Trust): Whole | null {
    const whole = this.#whole;
    if (whole === null || whole.question !== question || whole.window.fromAt > fromAt || whole.window.toAt < toAt)
      return null;
    return now - whole.beganAt < wholeEveryMs ? whole : null;
  }
}

function nothing<Model>(): StoredRows<Model> {
  return { records: new Map(), unusable: new Map(), withoutId: [], changedTo: null };
}

/** Decides whether a "not modified" answer comes from the clinic itself and refers to the requested ETag. */
function isBelievable(headers: AnswerHeaders, asked: string): boolean {
  const stated = headers.get('etag');
  return !isFromCache(headers) && (stated === null || isSameEtag(stated, asked));
}

function* digestOf(answer: Pick<HttpResponse, 'body' | 'parts'>): Pieces<string> {
  const digest = createHash('sha256');
  for (const part of answer.parts ?? [answer.body]) {
    digest.update(part);
    yield;
  }
  return digest.digest('base64url');
}

/** Compares two JSON values by content. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length || Array.isArray(one) !== Array.isArray(other)) return false;
  return names.every((name) => isSame(Reflect.get(one, name), Reflect.get(other, name)));
}

/** RFC 9110 section 8.8.3. */
const ETAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;
/** Every request would carry a longer ETag. */
const LONGEST_ETAG = 512;
/** Headers that paging uses. */
const PAGING_HEADERS = ['link', 'content-range', ...COUNT_HEADERS];

/**
 * Returns an answer's ETag, strong or weak, for a conditional request. Null if the ETag is missing or too long, if a cache sent the answer,
 * or if the answer varies by unknown headers (`Vary: *`). `Last-Modified` is not used: its resolution is one second, so a second change
 * within the same second is missed (RFC 9110 section 8.8.2.2), and the removal of a row does not change the newest time of a list.
 */
export function usableEtag(headers: AnswerHeaders): string | null {
  const etag = headers.get('etag');
  if (etag === null || etag.length > LONGEST_ETAG || !ETAG.test(etag)) return null;
  return isFromCache(headers) || headers.get('vary')?.includes('*') === true ? null : etag;
}

/** Returns whether an intermediate cache sent the answer. */
export function isFromCache(headers: AnswerHeaders): boolean {
  return Number(headers.get('age') ?? 0) > 0;
}

/** Weak comparison of RFC 9110 section 8.8.3.2, required for If-None-Match. */
function isSameEtag(one: string, other: string): boolean {
  return one.replace(/^W\//, '') === other.replace(/^W\//, '');
}

/**
 * Returns an answer's headers with paging information.
 * @param more additional header names of the profile
 * @param before headers of the cached answer, for values that a "not modified" answer omits
 */
export function pagingHeadersOf(
  headers: AnswerHeaders,
  more: readonly string[],
  before?: AnswerHeaders,
): AnswerHeaders {
  const names = new Set([...PAGING_HEADERS, ...more]);
  const stated = [...names].map((name) => [name, headers.get(name) ?? before?.get(name) ?? null] as const);
  return answerHeaders(stated.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}
