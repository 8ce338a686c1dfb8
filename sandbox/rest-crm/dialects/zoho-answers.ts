import type { Answer } from '../dialect.ts';
import type { StoredRecord } from '../tables.ts';

/** The codes of refusals before the call is processed. */
const CODES: Readonly<Record<number, string>> = {
  401: 'INVALID_TOKEN',
  403: 'NO_PERMISSION',
  429: 'TOO_MANY_REQUESTS',
  500: 'INTERNAL_ERROR',
};

/** Returns the answer to an accepted record. */
export function success({ id }: StoredRecord, action?: 'insert' | 'update'): object {
  const row = { code: 'SUCCESS', status: 'success', message: 'record done', details: { id } };
  return action === undefined ? row : { ...row, action, duplicate_field: null };
}

/** Returns the answer to a refused record. */
export function unfit(code: string, field: string): object {
  return { code, status: 'error', message: 'invalid data', details: { api_name: field } };
}

/** Returns the answer to a refused call. */
export function failure(code: string, status = 400): Answer {
  return { status, body: { code, status: 'error', message: 'refused by the sandbox', details: {} } };
}

/** Returns the body of a refusal for its status. */
export function codeOfStatus(status: number): unknown {
  return failure(CODES[status] ?? 'INTERNAL_ERROR').body;
}
