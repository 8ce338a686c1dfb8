import { describe, expect, test } from 'vitest';
import { rowsIn } from '../../../src/setup/profile-finder/answer-rows.ts';

const ROWS = Array.from({ length: 40 }, (_, index) => ({ id: `a${index}` }));

describe('rows in an answer', () => {
  const seen = (body: unknown, status = 200, headers = {}) =>
    rowsIn({ status, body, headers: new Headers(headers) }, 'appointments');

  test('have their total in a header only if none is in the body', () => {
    const headers = { 'x-total-count': '40' };
    expect(seen(ROWS, 200, headers)?.envelope.totalPath).toBe('header:x-total-count');
    expect(seen({ data: ROWS, total: 40 }, 200, headers)?.envelope.totalPath).toBe('total');
    expect(seen(ROWS, 200, { 'x-total-count': 'many' })?.envelope.totalPath).toBe(null);
  });

  test('are not found in a refusal, in invalid JSON, or if the list with the rows is ambiguous', () => {
    expect(seen({ data: ROWS }, 400)).toBe(null);
    expect(seen(undefined)).toBe(null);
    expect(seen({ alfa: ROWS, beta: ROWS })).toBe(null);
    expect(seen({ alfa: ROWS, appointments: ROWS })?.envelope.listPath).toBe('appointments');
  });
});
