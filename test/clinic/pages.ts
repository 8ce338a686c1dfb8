import type { ReceivedPage } from '../../src/clinic/http/paging.ts';
import type { PageAnswer } from '../../src/described-api/answers.ts';
import { isJsonObject } from '../../src/described-api/paths.ts';

/** An answer with its rows, which are under `data`, and their ids. */
export function received({ body, headers }: PageAnswer): ReceivedPage<unknown> {
  const rows: unknown[] = isJsonObject(body) && Array.isArray(body.data) ? body.data : [];
  const ids = rows.map((row) => (isJsonObject(row) && typeof row.id === 'string' ? row.id : null));
  return { body, headers, rows, ids };
}
