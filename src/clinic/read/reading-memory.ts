import { createHash } from 'node:crypto';
import type { HttpResponse } from '../../http/client.ts';
import type { CacheBudget, Cached } from '../../model/cache.ts';
import { lazily } from '../../model/cache.ts';
import type { InvalidRow } from '../../model/records.ts';
import type { Instant, TimeWindow } from '../../model/time.ts';
import type { ReceivedPage } from '../http/paging.ts';
import { COUNT_HEADERS, type Mapped } from '../http/rows.ts';
import { type CachedPage, type CachedStretches, cachedStretches } from './list-page.ts';

/** What is known of a list's pages while it is read. */
export interface PageMemory<Row> {
  /** By what the clinic may be asked whether the answer of an address is what it was; null: it has to be read. */
  etagOf(url: string): string | null;
  /** What an answer "not modified" stands for; null when it can't be believed, or what it stands for is not kept any more. */
  unmodified(url: string, headers: Headers): ReceivedPage<Row> | null;
  /**
   * What the very bytes of an answer were made into before; else what `make` makes of them now.
   * @param make is given what stretches of rows were made into before; null where nothing of the page is kept
   */
  page(
    url: string,
    answer: Pick<HttpResponse, 'body' | 'parts' | 'headers'>,
    make: (cached: CachedStretches<Row> | null) => CachedPage<Row>,
  ): CachedPage<Row>;
  /** The clinic may be asked next time whether the page of this address is what it was. @param headers of its answer */
  maySkip(url: string, headers: Headers): void;
}

/** What a reading is to tell. */
export interface RememberedQuestion {
  /** What the meaning of the same bytes depends on: the clinic's tenant, and who is logged in. */
  location: string;
  window: TimeWindow;
  agendaIds: readonly string[] | null;
  /** Names of the headers that tell of paging, beside the usual ones. */
  pagingHeaders?: readonly string[];
}

/** For how long what is kept may stand for what would be read. */
export interface Trust {
  now: Instant;
  /** A reading that goes on from another one, or asks with conditions, does so for as long after the last whole one. */
  wholeEveryMs: number;
  /** Whether the clinic may be asked what is not modified. */
  conditions: boolean;
  /** Whether it may be asked what changed since. */
  changes: boolean;
}

/** All that was read of a list, and up to when. */
export interface StoredRows<Model> {
  records: Map<string, Model>;
  /** Rows that can't be used, by their records' ids. */
  unusable: ReadonlyMap<string, InvalidRow>;
  withoutId: readonly InvalidRow[];
  /** Whatever changed up to then, by the clinic's own times, was seen; null when that is not known. */
  changedTo: Instant | null;
}

/** What a list's readings share while one of them goes on. */
export interface RememberedReading<Model> extends PageMemory<Mapped<Model>> {
  /** What the lists are asked for: the window of the question, or a longer one, so that the same is asked for a while. */
  readonly window: TimeWindow;
  /** What is known already, where this reading may ask for nothing but what changed since. */
  readonly stored: (StoredRows<Model> & { changedTo: Instant }) | null;
  /** A record that is as it was is the same object as before, so that whatever was computed of it is known by it. */
  asBefore(mapped: Mapped<Model>): Mapped<Model>;
  /** The reading is over: what it did not show is dropped. @param isComplete whether another reading may go on from it */
  end(rows: StoredRows<Model>, isComplete: boolean): void;
}

/** What stands for an answer that is not modified. */
interface CachedAnswer {
  etag: string;
  /** Of the page that it was made into. */
  name: string;
  /** Those that tell of paging. */
  headers: Headers;
}

/** The last reading that asked for all, without conditions, and what readings ask for since. */
interface Whole {
  question: string;
  window: TimeWindow;
  beganAt: Instant;
}

/**
 * What one process keeps of the last reading of a list, so that pages and records that are as they were cost neither fetching nor parsing
 * nor mapping. It changes what a reading gives only where the clinic's own word of what changed is wrong or leaves something out, and
 * for as long as that is trusted.
 */
export class ReadingMemory<Model extends { id: string }> implements Cached {
  readonly #room: CacheBudget;
  readonly #onInvalidated: () => void;
  #pages: ReadonlyMap<string, CachedPage<Mapped<Model>>> = new Map();
  /** Where the rows of these pages are from. */
  #location = '';
  #answers: ReadonlyMap<string, CachedAnswer> = new Map();
  #rows: StoredRows<Model> = nothing();
  #whole: Whole | null = null;
  /** Until the next whole reading: an answer "not modified" was not to be believed. */
  #isDeceived = false;
  /** The clinic does not filter by the time of a change as its profile says. */
  #isUnfiltered = false;
  #isInvalidated = false;

  /** @param onInvalidated told when it is invalidated, for what others keep of the same records */
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
      page: (url, answer, make) => {
        const name = `${location} ${answer.headers.get('content-type')} ${digestOf(answer)}`;
        // Of whom the last reading was invalidated, this one will be as well, as a rule: their rows need no names.
        const page = pageNamed(name) ?? make(wasInvalidated ? null : (name) => stretches()(name));
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
      end: (rows, isComplete) => {
        this.#pages = pages;
        this.#location = location;
        this.#answers = answers;
        this.#rows = rows;
        this.#whole = isComplete ? whole : null;
        this.#isInvalidated = false;
        // Of a clinic that does not filter, most rows lie beside the question.
        const paged = [...pages.values()].reduce((sum, page) => sum + page.rows.length, 0);
        const isDear = answers.size > 0 || (trust.changes && !this.#isUnfiltered);
        this.#room.use(this, Math.max(paged, rows.records.size), { isDear });
      },
    };
  }

  /** Whether the last reading was invalidated. */
  get isInvalidated(): boolean {
    return this.#isInvalidated;
  }

  /** The next reading asks for all, without conditions: what is kept saves parsing and mapping only. */
  distrust(): void {
    this.#whole = null;
  }

  /** The clinic is no more asked what changed since, for as long as this memory lives. */
  leaveFilter(): void {
    this.#isUnfiltered = true;
    this.distrust();
  }

  invalidate(): void {
    this.#pages = new Map();
    this.#answers = new Map();
    this.#rows = nothing();
    this.#whole = null;
    this.#isInvalidated = true;
    this.#onInvalidated();
  }

  /** The whole reading that another one of this question may go on from now. */
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

/** Whether "not modified" comes from the clinic itself, and means what was asked about. */
function isBelievable(headers: Headers, asked: string): boolean {
  const stated = headers.get('etag');
  return !isFromCache(headers) && (stated === null || isSameEtag(stated, asked));
}

function digestOf(answer: Pick<HttpResponse, 'body' | 'parts'>): string {
  const digest = createHash('sha256');
  for (const part of answer.parts ?? [answer.body]) digest.update(part);
  return digest.digest('base64url');
}

/** Whether two values of JSON's kinds are equal. */
function isSame(one: unknown, other: unknown): boolean {
  if (one === other) return true;
  if (typeof one !== 'object' || typeof other !== 'object' || one === null || other === null) return false;
  const names = Object.keys(one);
  if (names.length !== Object.keys(other).length || Array.isArray(one) !== Array.isArray(other)) return false;
  return names.every((name) => isSame(Reflect.get(one, name), Reflect.get(other, name)));
}

/** RFC 9110 section 8.8.3. */
const ETAG = /^(?:W\/)?"[\x21\x23-\x7e\x80-\xff]*"$/;
/** A longer one would be sent with every request. */
const LONGEST_ETAG = 512;
/** What paging reads of an answer's headers. */
const PAGING_HEADERS = ['link', ...COUNT_HEADERS];

/**
 * The ETag of an answer by which the clinic may be asked next time whether it is what it was, strong or weak; null where there is none, or
 * the answer comes out of a cache, or depends on more than what we send (`Vary: *`). `Last-Modified` is none: it counts seconds, so a
 * second change within one goes unseen (RFC 9110 section 8.8.2.2), and the newest change of a list's rows stays when a row is taken out.
 */
export function usableEtag(headers: Headers): string | null {
  const etag = headers.get('etag');
  if (etag === null || etag.length > LONGEST_ETAG || !ETAG.test(etag)) return null;
  return isFromCache(headers) || headers.get('vary')?.includes('*') === true ? null : etag;
}

/** Whether somebody between the clinic and here answered by what they had. */
export function isFromCache(headers: Headers): boolean {
  return Number(headers.get('age') ?? 0) > 0;
}

/** The weak comparison of RFC 9110 section 8.8.3.2, which If-None-Match is made by. */
function isSameEtag(one: string, other: string): boolean {
  return one.replace(/^W\//, '') === other.replace(/^W\//, '');
}

/**
 * The headers by which a list pages.
 * @param more names of those that the profile reads beside the usual ones
 * @param before of the answer that is not modified: what it told and is not told again stands
 */
export function pagingHeadersOf(headers: Headers, more: readonly string[], before?: Headers): Headers {
  const names = new Set([...PAGING_HEADERS, ...more]);
  const stated = [...names].map((name) => [name, headers.get(name) ?? before?.get(name) ?? null] as const);
  return new Headers(stated.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
}
