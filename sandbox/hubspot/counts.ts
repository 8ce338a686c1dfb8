import type { Counts } from '../kit/counts.ts';
import type { ObjectTypeName } from './object-types.ts';

/** Operation on rows, single or in batches. */
export type RowOperation = 'create' | 'read' | 'update' | 'upsert' | 'archive' | 'gdpr-delete';

/** Counts of the traffic in the vendor's terms, for the assertions of tests. */
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

  /** Returns the number of requests about one object type that passed the limits. */
  requestsTo(object: ObjectTypeName): number {
    return this.#counts.value(`requests:${object}`);
  }

  /** Returns the number of rows written or read. */
  rows(object: ObjectTypeName, operation: RowOperation): number {
    return this.#counts.value(`rows:${object}:${operation}`);
  }

  /** Returns the number of batch rows that were reported as errors. */
  failedRows(object: ObjectTypeName): number {
    return this.#counts.value(`failedRows:${object}`);
  }

  /** Returns the number of created associations. */
  get associations(): number {
    return this.#counts.value('rows:associations:create');
  }

  /** Returns the number of calls above the ten-second limit or the search limit. */
  get throttled(): number {
    return this.#counts.value('throttled');
  }

  get throttledDaily(): number {
    return this.#counts.value('throttledDaily');
  }

  /** Returns the number of upserts refused because of a locked object type. */
  get locked(): number {
    return this.#counts.value('locked');
  }

  /** Returns the number of calls that the API refused, without injected faults. */
  get errors(): number {
    return this.#counts.value('errors');
  }

  reset(): void {
    this.#counts.reset();
  }
}
