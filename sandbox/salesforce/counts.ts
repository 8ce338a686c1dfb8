import type { Counts } from '../kit/counts.ts';

/** Counts of a run, as the vendor counts. */
export class SalesforceCounts {
  readonly #counts: Counts;

  constructor(counts: Counts) {
    this.#counts = counts;
  }

  /** Returns the number of calls against the daily limit. A collection or a composite is one call. Refused calls are not counted. */
  get apiCalls(): number {
    return this.#counts.value('apiCalls');
  }

  /** Returns the number of collections that write, including those inside composites. */
  get collections(): number {
    return this.#counts.value('collections');
  }

  get composites(): number {
    return this.#counts.value('composites');
  }

  /** Returns the number of queries, without further pages. */
  get queries(): number {
    return this.#counts.value('queries');
  }

  /** Returns the number of rows sent to be written, including failed rows. */
  get rows(): number {
    return this.#counts.value('rows');
  }

  get rowsFailed(): number {
    return this.#counts.value('rowsFailed');
  }

  /** Returns the number of rows deleted over the API, without records that were deleted in cascade. */
  get rowsDeleted(): number {
    return this.#counts.value('rowsDeleted');
  }

  /** Returns the number of token requests, including refreshes. */
  get tokenRequests(): number {
    return this.#counts.value('tokenRequests');
  }

  get refreshes(): number {
    return this.#counts.value('refreshes');
  }
}
