import type { Counts } from '../kit/counts.ts';
import { API_BASE } from './api.ts';
import { BATCH_PATH } from './calendar-routes.ts';

/** What a test asserts about the traffic, in the vendor's terms. */
export class GoogleCounts {
  readonly #counts: Counts;

  constructor(counts: Counts) {
    this.#counts = counts;
  }

  /** HTTP requests to the calendar API; a batch is one. */
  get httpRequests(): number {
    return this.#counts.requests({ route: (route) => route.startsWith(API_BASE) || route === BATCH_PATH });
  }

  get batchRequests(): number {
    return this.#counts.requests({ route: (route) => route === BATCH_PATH });
  }

  get tokenRequests(): number {
    return this.#counts.requests({ route: (route) => route === '/token' });
  }

  /** Calls inside batches. */
  get innerCalls(): number {
    return this.#counts.value('innerCalls');
  }

  /** Units charged; refused calls are not. */
  get quotaUnits(): number {
    return this.#counts.value('quotaUnits');
  }

  /** Returns the units charged to one user: an account, a service account's email address, or its quotaUser. */
  quotaUnitsOf(user: string): number {
    return this.#counts.value(`quotaUnits:${user}`);
  }

  get quotaRefusals(): number {
    return this.#counts.value('quotaRefusals');
  }

  /** Mails that the vendor would have sent to guests and to people whom a calendar was shared with. */
  get mails(): number {
    return this.#counts.value('mails');
  }

  /** Extended properties that were silently dropped or cut for their length. */
  get droppedProperties(): number {
    return this.#counts.value('droppedProperties');
  }

  /** The most HTTP requests for one calendar that ran at once. */
  maxConcurrency(calendarId: string): number {
    return this.#counts.maxInFlight(`calendar:${calendarId}`);
  }

  reset(): void {
    this.#counts.reset();
  }
}
