import { SECOND_MS } from '../model/time.ts';

/** What became of a batch. */
export type Handed =
  /** `refused` of it were taken for unusable by who got them. */
  | { result: 'taken'; refused: number }
  /** Sending it again is of no use. */
  | { result: 'refused'; code: string }
  | { result: 'later'; code: string; retryAfterMs: number | null };

/** How many there were, since the process began. */
export interface HandOverCounts {
  sent: number;
  /** For want of room, or since the collector refused them. */
  dropped: number;
}

/** What {@link HandOver} needs. */
export interface HandOverOptions<Item> {
  /** Never throws. */
  send(items: Item[], signal: AbortSignal): Promise<Handed>;
  /** Told when handing over begins to fail, with its code, and when it is well again (null). */
  tell(trouble: string | null): void;
  /** Most that wait. Default 2,048: a few megabytes. */
  room?: number;
  /** Most of one request. Default 256: writing them out holds the one thread for some milliseconds. */
  batch?: number;
  /** Longest time that something waits while the collector takes what it is sent. */
  everyMs?: number;
}

const FIRST_REST_MS = SECOND_MS;
const LONGEST_REST_MS = 60 * SECOND_MS;

/**
 * Hands things over in batches, one at a time, beside the work that they tell of: whoever adds one never waits. What has no room is dropped
 * and counted, so that a collector that is slow, or gone for hours, costs a bounded room and nothing else.
 */
export class HandOver<Item> {
  readonly counts: HandOverCounts = { sent: 0, dropped: 0 };
  readonly #options: HandOverOptions<Item> & { room: number; batch: number; everyMs: number };
  readonly #waiting: Item[] = [];
  readonly #ending = new AbortController();
  #sending: Promise<void> | null = null;
  #timer: NodeJS.Timeout | null = null;
  #restMs = 0;
  #isWell = true;
  #isClosed = false;

  constructor(options: HandOverOptions<Item>) {
    this.#options = { room: 2_048, batch: 256, everyMs: 2 * SECOND_MS, ...options };
  }

  add(item: Item): void {
    if (this.#isClosed || this.#waiting.length >= this.#options.room) {
      this.counts.dropped += 1;
      return;
    }
    this.#waiting.push(item);
    this.#plan();
  }

  /** Sends what waits, once, and gives up the rest after `graceMs`. */
  async close(graceMs: number): Promise<void> {
    this.#isClosed = true;
    this.#clearTimer();
    const deadline = setTimeout(() => this.#ending.abort(), graceMs);
    await this.#sending;
    while (this.#waiting.length > 0 && this.#restMs === 0 && !this.#ending.signal.aborted) await this.#sendBatch();
    clearTimeout(deadline);
    this.counts.dropped += this.#waiting.splice(0).length;
  }

  /** A full batch goes at once, unless the collector is to be left alone. */
  #plan(): void {
    if (this.#sending !== null || this.#isClosed) return;
    if (this.#restMs === 0 && this.#waiting.length >= this.#options.batch) this.#begin();
    else this.#timer ??= setTimeout(() => this.#begin(), this.#restMs || this.#options.everyMs).unref();
  }

  #begin(): void {
    this.#clearTimer();
    this.#sending = this.#sendBatch().finally(() => {
      this.#sending = null;
      if (this.#waiting.length > 0) this.#plan();
    });
  }

  async #sendBatch(): Promise<void> {
    const items = this.#waiting.slice(0, this.#options.batch);
    const handed = await this.#options.send(items, this.#ending.signal);
    if (handed.result === 'later') {
      const restMs = Math.min(Math.max(FIRST_REST_MS, this.#restMs * 2), LONGEST_REST_MS);
      this.#restMs = Math.max(restMs, Math.min(handed.retryAfterMs ?? 0, LONGEST_REST_MS));
      this.#note(handed.code);
      return;
    }
    this.#waiting.splice(0, items.length);
    const refused = handed.result === 'refused' ? items.length : handed.refused;
    this.counts.sent += items.length - refused;
    this.counts.dropped += refused;
    this.#restMs = 0;
    this.#note(handed.result === 'refused' ? handed.code : null);
  }

  /** Said when it begins and when it is over, not with each batch. */
  #note(trouble: string | null): void {
    const isWell = trouble === null;
    if (isWell !== this.#isWell && !this.#isClosed) this.#options.tell(trouble);
    this.#isWell = isWell;
  }

  #clearTimer(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
  }
}
