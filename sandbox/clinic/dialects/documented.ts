import { paging } from '../routes/query.ts';
import type { Dialect } from './dialect.ts';

/** Default and largest page size in rows; a larger `limit` is reduced to the largest. */
const PAGE = { usual: 50, largest: 200 };

/** The words of the routes themselves: offset, limit and hasMore, camelCase, errors as `{error, message, details?}`. */
export function documented(): Dialect {
  return {
    name: 'documented',
    upload: { multipart: true, base64: true, filePart: 'file', metadata: 'part' },
    hidesCancelled: false,
    listsByStart: false,
    links: undefined,
    emptyWrites: false,
    withoutTenants: undefined,
    query: (query) => query,
    paging: (query) => paging(query, PAGE),
    repeats: () => false,
    list: ({ data, offset, limit, hasMore, total }) => ({ data, offset, limit, hasMore, total }),
    record: (value) => value,
    single: (value) => value,
    body: (value) => value,
    error: (error) => ({ body: error.toBody(), contentType: 'application/json', headers: error.headers }),
  };
}
