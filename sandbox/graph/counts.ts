import type { Counts } from '../kit/counts.ts';
import { API_BASE } from './api.ts';
import { BATCH_PATH } from './batch.ts';
import { concurrencyKey } from './throttling.ts';
import type { World } from './world.ts';

/** What a test asserts about the traffic, in the vendor's terms. */
export class GraphCounts {
  readonly #counts: Counts;
  readonly #world: World;

  constructor(world: World) {
    this.#counts = world.counts;
    this.#world = world;
  }

  /** HTTP requests to Graph; a batch is one. */
  get httpRequests(): number {
    return this.#counts.requests({ route: (route) => route.startsWith(API_BASE) });
  }

  get batchRequests(): number {
    return this.#counts.requests({ route: (route) => route === BATCH_PATH });
  }

  get tokenRequests(): number {
    return this.#counts.requests({ route: (route) => route.endsWith('/oauth2/v2.0/token') });
  }

  /** Calls inside batches. */
  get innerCalls(): number {
    return this.#counts.value('innerCalls');
  }

  /** Mails that the vendor would have sent to guests. */
  get mails(): number {
    return this.#counts.value('mails');
  }

  /** Calls above the limit per application and mailbox. */
  get throttled(): number {
    return this.#counts.value('throttled');
  }

  /** Calls that found no place at their mailbox. */
  get concurrencyRefusals(): number {
    return this.#counts.value('concurrencyRefusals');
  }

  /** Creates with a transactionId that was used before. */
  get duplicateTransactions(): number {
    return this.#counts.value('duplicateTransactions');
  }

  /** Returns the highest number of concurrent calls at one mailbox (email address or id), including batch parts and refused calls. */
  maxConcurrency(mailbox: string): number {
    const found = this.#world.find(mailbox);
    return found ? this.#counts.maxInFlight(concurrencyKey(found)) : 0;
  }

  reset(): void {
    this.#counts.reset();
  }
}
