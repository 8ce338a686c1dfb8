import type { Counts } from '../kit/counts.ts';

/** What a run cost, as the vendor counts it. */
export class SalesforceCounts {
  readonly #counts: Counts;

  constructor(counts: Counts) {
    this.#counts = counts;
  }

  /** Calls against the daily limit: a collection or a composite is one. Refused ones are not counted. */
  get apiCalls(): number {
    return this.#counts.value('apiCalls');
  }

  /** Collections that write, those inside composites too. */
  get collections(): number {
    return this.#counts.value('collections');
  }

  get composites(): number {
    return this.#counts.value('composites');
  }

  /** Queries, without their further pages. */
  get queries(): number {
    return this.#counts.value('queries');
  }

  /** Rows that were sent to be written, and how many of them failed. */
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

  /** All requests for tokens; `refreshes` are among them. */
  get tokenRequests(): number {
    return this.#counts.value('tokenRequests');
  }

  get refreshes(): number {
    return this.#counts.value('refreshes');
  }
}
