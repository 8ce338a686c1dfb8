import { describe, expect, test } from 'vitest';
import {
  errors,
  isContactMissing,
  isGone,
  isKeyInBin,
  isRace,
  rowErrorOf,
  wholeRefusalOf,
} from '../../../src/connectors/salesforce/errors.ts';
import type { RowResult } from '../../../src/connectors/salesforce/schemas.ts';

const answer = (status: number, errorCode?: string, retryAfterMs: number | null = null) => ({
  status,
  body: errorCode === undefined ? undefined : [{ errorCode, message: 'Anna Rossi' }],
  retryAfterMs,
});
const row = (statusCode: string, fields: string[] = []): RowResult => ({
  success: false,
  errors: [{ statusCode, fields }],
});

test.each([
  ['REQUEST_LIMIT_EXCEEDED', 403, 'api-limit-reached'],
  ['INVALID_SESSION_ID', 401, 'login-refused'],
  ['INVALID_QUERY_LOCATOR', 400, 'reading-expired'],
  ['STORAGE_LIMIT_EXCEEDED', 400, 'storage-full'],
  ['DUPLICATES_DETECTED', 400, 'duplicate-rule'],
  ['STRING_TOO_LONG', 400, 'property-value-too-long'],
  ['UNKNOWN_WORD', 503, 'server-unavailable'],
  ['UNKNOWN_WORD', 300, 'key-ambiguous'],
  ['UNKNOWN_WORD', 414, 'record-too-large'],
])('%s with %i is %s', (code, status, expected) => {
  const error = errors.of(answer(status, code));
  expect(error.code).toBe(expected);
  expect(error.message).not.toContain('Rossi');
});

describe('a request that is refused whole', () => {
  test('with 404 speaks of the version: version-retired', () => {
    expect(wholeRefusalOf(answer(404), false).code).toBe('version-retired');
  });

  test('by the code of the daily limit is one of the moment while calls are left: calls-at-once', () => {
    const refused = answer(403, 'REQUEST_LIMIT_EXCEEDED', 5_000);
    expect(wholeRefusalOf(refused, false)).toMatchObject({ code: 'calls-at-once', retryAfterMs: 5_000 });
    expect(wholeRefusalOf(refused, true).code).toBe('api-limit-reached');
    expect(wholeRefusalOf(answer(403, 'INSUFFICIENT_ACCESS'), false).code).toBe('crm-forbidden');
  });
});

describe('a row that failed', () => {
  test('lists the permitted fields, each once, and nothing else', () => {
    const failed = row('STRING_TOO_LONG', ['LastName', 'Secret__c', 'LastName']);
    const error = rowErrorOf(failed, new Set(['LastName']));
    expect(error.code).toBe('property-value-too-long');
    expect(error.message.match(/LastName/g)).toHaveLength(1);
    expect(error.message).not.toMatch(/Secret/);
  });

  test('for no known reason is refused', () => {
    expect(rowErrorOf(row('SOMETHING_NEW'), new Set()).code).toBe('refused');
    expect(rowErrorOf({ success: false }, new Set()).code).toBe('refused');
  });

  test('is retried immediately for a lock, a key created meanwhile, and a record that disappeared', () => {
    const races = ['UNABLE_TO_LOCK_ROW', 'DUPLICATE_VALUE', 'ENTITY_IS_DELETED'];
    expect(races.every((code) => isRace(row(code)))).toBe(true);
    expect(isRace(row('STRING_TOO_LONG'))).toBe(false);
    expect(isRace({ success: true })).toBe(false);
  });

  test('meant a record that is gone, or a contact that is not there', () => {
    const gone = ['ENTITY_IS_DELETED', 'INVALID_CROSS_REFERENCE_KEY', 'NOT_FOUND'];
    expect(gone.every((code) => isGone(row(code)))).toBe(true);
    expect(isGone(row('INVALID_FIELD'))).toBe(false);
    expect(isContactMissing(row('INVALID_FIELD'))).toBe(true);
    expect(isContactMissing(row('NOT_FOUND'))).toBe(false);
  });

  test('has its key in the bin only if the error lists no field', () => {
    expect(isKeyInBin(row('ENTITY_IS_DELETED'))).toBe(true);
    expect(isKeyInBin(row('ENTITY_IS_DELETED', ['WhoId']))).toBe(false);
    expect(isKeyInBin(row('NOT_FOUND'))).toBe(false);
  });
});
