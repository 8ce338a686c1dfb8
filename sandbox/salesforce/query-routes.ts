import { randomBytes } from 'node:crypto';
import type { ApiAnswer } from '../kit/answer.ts';
import { type ApiCall, type Handler, header } from './call.ts';
import { ApiError } from './errors.ts';
import { findRecords, shownBy } from './soql.ts';
import { parseSoql } from './soql-parser.ts';
import type { StoredRecord } from './store.ts';
import type { World } from './world.ts';

/** Maximum length of a query in characters (SOQL and SOSL Reference, limits). */
const MAX_LENGTH = 100_000;
const PAGE_SIZES = { least: 200, most: 2000 };

/** Result that a client reads page by page: the records found at the time of the query. */
interface OpenResult {
  records: StoredRecord[];
  shown: (record: StoredRecord) => object;
  pageSize: number;
}

/** `/query`, `/queryAll` and their further pages. */
export class QueryRoutes {
  readonly #open = new Map<string, OpenResult>();

  /** `GET /query?q=…` */
  readonly query: Handler = (world, call) => this.#begin(world, call, false);
  /** `GET /queryAll?q=…`: includes the recycle bin. */
  readonly queryAll: Handler = (world, call) => this.#begin(world, call, true);

  /** `GET /query/{locator}`: the path in `nextRecordsUrl`. */
  readonly next: Handler = (_world, call) => {
    const [, id = '', from = ''] = /^(.+)-(\d+)$/.exec(call.params.locator!) ?? [];
    const result = this.#open.get(id);
    if (!result) {
      throw new ApiError(400, 'INVALID_QUERY_LOCATOR', 'invalid query locator');
    }
    return this.#page(call, id, result, Number(from));
  };

  /** Invalidates the further pages of all open results. */
  expire(): void {
    this.#open.clear();
  }

  #begin(world: World, call: ApiCall, withDeleted: boolean): ApiAnswer {
    const text = call.query.get('q') ?? '';
    if (text.length > MAX_LENGTH) {
      throw new ApiError(400, 'MALFORMED_QUERY', 'SOQL statements must be at most 100,000 characters long');
    }
    world.counts.add('queries');
    const query = parseSoql(text);
    const records = findRecords(world, query, withDeleted);
    if (query.fields.length === 0) {
      return { status: 200, body: { totalSize: records.length, done: true, records: [] } };
    }
    const id = `01g${randomBytes(8).toString('hex').slice(0, 15)}`;
    const result = { records, shown: shownBy(world, query, call.base), pageSize: pageSizeOf(world, call) };
    if (records.length > result.pageSize) {
      this.#open.set(id, result);
    }
    return this.#page(call, id, result, 0);
  }

  #page(call: ApiCall, id: string, { records, shown, pageSize }: OpenResult, from: number): ApiAnswer {
    const end = from + pageSize;
    const done = end >= records.length;
    const next = done ? {} : { nextRecordsUrl: `${call.base}/query/${id}-${end}` };
    const body = { totalSize: records.length, done, ...next, records: records.slice(from, end).map(shown) };
    return { status: 200, body };
  }
}

/** `Sforce-Query-Options: batchSize=…`, from 200 to 2,000. */
function pageSizeOf(world: World, call: ApiCall): number {
  const asked = /batchSize\s*=\s*(\d+)/i.exec(header(call, 'sforce-query-options') ?? '')?.[1];
  return asked === undefined
    ? world.settings.queryPageSize
    : Math.min(PAGE_SIZES.most, Math.max(PAGE_SIZES.least, Number(asked)));
}
