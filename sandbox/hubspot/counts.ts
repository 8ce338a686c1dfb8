import type { Counts } from '../kit/counts.ts';
import type { ObjectTypeName } from './object-types.ts';

/** Operation on rows, single or in batches. */
export type RowOperation = 'create' | 'read' | 'update' | 'upsert' | 'archive' | 'gdpr-delete';

/** What a test asserts about the traffic, in the vendor's terms. */
export class HubSpotCounts {
  readonly #counts: Counts;

  constructor(counts: Counts) {
    this.#counts = counts;
  }

  /** Returns the number of HTTP requests to the API, including refused ones. Sign-ins and token requests are excluded. */
  get httpRequests(): number {
    return this.#counts.requests({ route: (route) => /^\/(crm|account-info|communication-preferences)\//.test(route) });
  }

  get searches(): number {
    return this.#counts.requests({ route: (route) => route.endsWith('/search') });
  }

  get tokenRequests(): number {
    return this.#counts.requests({ route: (route) => route.startsWith('/oauth/') && route.endsWith('/token') });
  }

  /** Requests about one kind of record that passed the limits. */
  requestsTo(object: ObjectTypeName): number {
    return this.#counts.value(`requests:${object}`);
  }

  /** Rows that were written or read. */
  rows(object: ObjectTypeName, operation: RowOperation): number {
    return this.#counts.value(`rows:${object}:${operation}`);
  }

  /** Returns the number of batch rows that were reported as errors. */
  failedRows(object: ObjectTypeName): number {
    return this.#counts.value(`failedRows:${object}`);
  }

  /** Associations that were made. */
  get associations(): number {
    return this.#counts.value('rows:associations:create');
  }

  /** Calls above the limit by ten seconds, or of searches by second. */
  get throttled(): number {
    return this.#counts.value('throttled');
  }

  get throttledDaily(): number {
    return this.#counts.value('throttledDaily');
  }

  /** Upserts that found their object type locked. */
  get locked(): number {
    return this.#counts.value('locked');
  }

  /** Calls that the API refused; injected faults are not among them. */
  get errors(): number {
    return this.#counts.value('errors');
  }

  reset(): void {
    this.#counts.reset();
  }
}
