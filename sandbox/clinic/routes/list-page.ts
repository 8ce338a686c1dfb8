/** A page of a list before a dialect words it. */
export class ListPage {
  readonly data: unknown[];
  readonly offset: number;
  readonly limit: number;
  readonly hasMore: boolean;
  readonly total: number;
  /** It holds the rows of the page before it. */
  readonly isRepeated: boolean;

  constructor(page: Pick<ListPage, 'data' | 'offset' | 'limit' | 'hasMore' | 'total' | 'isRepeated'>) {
    this.data = page.data;
    this.offset = page.offset;
    this.limit = page.limit;
    this.hasMore = page.hasMore;
    this.total = page.total;
    this.isRepeated = page.isRepeated;
  }

  /** The same page with other rows. */
  with(data: unknown[]): ListPage {
    return new ListPage({ ...this, data });
  }
}
