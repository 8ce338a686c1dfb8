import { describe, expect, test } from 'vitest';
import { errorFromAnswer, saysAbsent, saysOutOfSequence } from '../../../src/clinic/http/errors.ts';
import type { HttpResponse } from '../../../src/core/http/client.ts';
import { LONGEST_RATE_LIMIT_WAIT_MS } from '../../../src/core/model/backoff.ts';
import { profileOf, type WrittenProfile } from '../open-client.ts';

const PATIENT = 'Anna Rossi';

function answer(
  status: number,
  body: unknown = {},
  more: { headers?: object; retryAfterMs?: number } = {},
): HttpResponse {
  const { headers = { 'content-type': 'application/json' }, retryAfterMs = null } = more;
  const text = typeof body === 'string' ? body : JSON.stringify(body);
  return { status, headers: new Headers(headers as Record<string, string>), body: Buffer.from(text), retryAfterMs };
}

function errorOf(
  response: HttpResponse,
  written: WrittenProfile = {},
  mayBeDone = false,
  label = 'clinic.patients.list',
) {
  return errorFromAnswer(response, label, { profile: profileOf(written), profileFile: 'profiles/a.yaml' }, mayBeDone);
}

describe('an answer of the clinic', () => {
  test.each([
    [304, 'contract', 'unasked-not-modified', 'later'],
    [302, 'settings', 'redirected', 'later'],
    [400, 'contract', 'call-refused', 'never'],
    [401, 'authorization', 'token-refused', 'never'],
    [403, 'authorization', 'forbidden', 'never'],
    [404, 'settings', 'not-found', 'never'],
    [408, 'remote', 'unavailable', 'later'],
    [409, 'conflict', 'conflict', 'now'],
    [410, 'settings', 'not-found', 'never'],
    [422, 'contract', 'rule-refused', 'never'],
    [423, 'remote', 'unavailable', 'later'],
    [429, 'remote', 'rate-limited', 'later'],
    [500, 'remote', 'unavailable', 'later'],
  ])('with %i is %s %s, to be tried %s', (status, actor, code, retry) => {
    expect(errorOf(answer(status))).toMatchObject({ actor, code, retry, status });
  });

  test('with a status that the profile lists as temporary is retried, whatever its usual meaning', () => {
    for (let status = 400; status < 500; status += 1) {
      const written = { errors: { temporaryStatuses: [status] } };
      const body = { code: 'locked', message: 'Backup in corso', details: [{ field: 'size' }] };
      const error = errorOf(answer(status, body), written, true);
      expect(error).toMatchObject({ actor: 'remote', code: 'unavailable', retry: 'later', status, ambiguous: false });
      expect(saysAbsent(answer(status), profileOf(written))).toBe(false);
    }
    expect(errorOf(answer(423, 'Archivio bloccato'), { errors: { temporaryStatuses: [] } }).code).toBe('call-refused');
  });

  test('with 429 waits as long as it says, up to the longest wait', () => {
    expect(errorOf(answer(429, {}, { retryAfterMs: 7_000 })).retryAfterMs).toBe(7_000);
    expect(errorOf(answer(429, {}, { retryAfterMs: 1e12 })).retryAfterMs).toBe(LONGEST_RATE_LIMIT_WAIT_MS);
    expect(errorOf(answer(429)).retryAfterMs).toBeGreaterThan(0);
  });

  test('with 5xx is uncertain only for requests that may have taken effect', () => {
    expect(errorOf(answer(503), {}, true)).toMatchObject({ code: 'unavailable', ambiguous: true });
    expect(errorOf(answer(503))).toMatchObject({ ambiguous: false });
    expect(errorOf(answer(409), {}, true)).toMatchObject({ ambiguous: false });
  });
});

describe('an answer of 403', () => {
  test('for a scope names the scope of the response, or that of the call: missing-claim', () => {
    const body = { error: 'missing_claim' };
    const told = errorOf(answer(403, body, { headers: { 'www-authenticate': 'Bearer scope="x.read"' } }));
    expect(told.code).toBe('missing-claim');
    expect(JSON.stringify(told.remedy)).toContain('x.read');
    const usual = errorOf(answer(403, body), { scopePrefix: 'pre:' });
    expect(JSON.stringify(usual.remedy)).toContain('pre:');
    const odd = answer(403, body, { headers: { 'www-authenticate': `Bearer scope="${PATIENT}"` } });
    expect(JSON.stringify(errorOf(odd).remedy)).not.toContain(PATIENT);
  });

  test('for a permission is recognized by the profile’s patterns, in code or text: insufficient-permissions', () => {
    expect(errorOf(answer(403, { code: 'INSUFFICIENT_PERMISSIONS' })).code).toBe('insufficient-permissions');
    const errors = { insufficientPermissions: ['may not'] };
    expect(errorOf(answer(403, { message: 'You MAY NOT' }), { errors }).code).toBe('insufficient-permissions');
  });
});

describe('the message', () => {
  test('contains the machine-readable code and the field names, and no other text of the response', () => {
    const details = [
      { field: 'slot.start', message: `${PATIENT} is late` },
      { loc: ['body', 'taxCode'], msg: 'x' },
      { pointer: '/phones/0/number', reason: 'no' },
      { field: PATIENT, message: 'no' },
    ];
    const error = errorOf(answer(400, { error: 'bad_field', message: PATIENT, details, path: '/patients/RSSMRA' }));
    expect(error.message).toContain('400 (bad_field)');
    expect(error.message).toContain('slot.start, taxCode, phones.0.number');
    expect(error.message).not.toMatch(/Anna|RSSMRA/);
    expect(error.vendorMessages()).toEqual(
      expect.arrayContaining([PATIENT, `slot.start: ${PATIENT} is late`, '/phones/0/number: no']),
    );
  });

  test('leaves out a code that is a sentence', () => {
    expect(errorOf(answer(409, { error: `No ${PATIENT}` })).message).not.toContain('Anna');
  });

  test('lists ten fields; twenty texts of 300 characters go only to the caller', () => {
    const fields = Object.fromEntries(Array.from({ length: 30 }, (_, at) => [`field${at}`, 'x'.repeat(500)]));
    const error = errorOf(answer(422, { errors: fields }));
    expect(error.message.match(/field\d+/g)).toHaveLength(10);
    expect(error.vendorMessages()).toHaveLength(20);
    expect(Math.max(...error.vendorMessages().map(({ length }) => length))).toBe(300);
  });

  test('is made of a body that is no JSON too', () => {
    expect(errorOf(answer(400, '<html>')).code).toBe('call-refused');
  });
});

test('a record is absent by 404 and 410, by an HTML page only where the profile trusts it', () => {
  const page = answer(404, '<html></html>', { headers: { 'content-type': 'text/html' } });
  expect([404, 410, 403].map((status) => saysAbsent(answer(status), profileOf()))).toEqual([true, true, false]);
  expect(saysAbsent(page, profileOf())).toBe(false);
  expect(saysAbsent(page, profileOf({ errors: { htmlMeansAbsent: true } }))).toBe(true);
});

test('an invoice is out of sequence by the status, and by the words where the profile has them', () => {
  const says = profileOf({ errors: { outOfSequence: { statuses: [409, 422], says: ['sequence'] } } });
  expect(saysOutOfSequence(answer(409), profileOf())).toBe(true);
  expect(saysOutOfSequence(answer(422), profileOf())).toBe(false);
  expect(saysOutOfSequence(answer(422, { message: 'Out of SEQUENCE' }), says)).toBe(true);
  expect(saysOutOfSequence(answer(409, { message: 'taken' }), says)).toBe(false);
});
