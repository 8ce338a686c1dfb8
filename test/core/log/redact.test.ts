import { describe, expect, test } from 'vitest';
import { redact } from '../../../src/core/log/redact.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { Secret } from '../../../src/settings/secret-reference.ts';

const CANARY = 'Canary Rossi';

/** Redacted data as it goes into a line. */
function redacted(data: object): string {
  return JSON.stringify(redact(data));
}

describe('nothing comes out', () => {
  const KEYS = [
    [
      'token',
      'accessToken',
      'refresh_token',
      'clientSecret',
      'Authorization',
      'set-cookie',
      'password',
      'codeVerifier',
    ],
    ['firstName', 'last_name', 'name', 'displayName', 'patient', 'title', 'summary', 'description', 'notes'],
    ['email', 'phone', 'mobilePhone', 'birthDate', 'taxCode', 'address', 'location', 'body'],
  ].flat();

  test.each(KEYS)('under the key %s, at any depth and in any kind of value', (key) => {
    expect(redact({ [key]: CANARY })).toEqual({ [key]: '[redacted]' });
    expect(redacted({ request: { headers: [{ [key]: [{ value: CANARY }] }] } })).not.toContain('Canary');
    expect(redacted({ job: { [key]: { inner: CANARY } } })).not.toContain('Canary');
  });

  test.each([
    ['a bearer token', 'sent Bearer canary-abc.def~1', 'canary'],
    ['a basic login', 'Basic Y2FuYXJ5OnB3', 'Y2FuYXJ5'],
    ['a JSON web token', 'got eyJjYW5hcnki.eyJjYW5hcnki.c2ln back', 'jYW5hcnki'],
    ['a token for the API', `got cmt_ci_${'canary-'.repeat(6)}x back`, 'canary'],
    ['credentials in a URL', 'redis://user:canary@host:6379/0', 'canary'],
    ['a query string', 'GET /oauth/callback?code=canary&state=canary', 'canary'],
    ['an e-mail address', 'sent to canary.rossi@clinic.test.', 'canary'],
  ])('of %s within a text', (_what, text, canary) => {
    const line = redacted({ detail: text, list: [text] });
    expect(line).not.toContain(canary);
    expect(line).toContain('[redacted]');
  });

  test('of secrets, bytes and maps', () => {
    const data = { held: new Secret(CANARY), bytes: Buffer.from(CANARY), map: new Map([['a', CANARY]]) };
    expect(redact(data)).toEqual({ held: '[secret]', bytes: '[12 bytes]', map: '[1 entries]' });
  });

  test('of the content of foreign errors and of causes', () => {
    const foreign = Object.assign(new TypeError(`no such patient ${CANARY}\n    at ${CANARY} (a.ts:1:1)`), {
      response: { body: CANARY },
      code: 'ECONNRESET',
    });
    const ours = new MirrorError('the connection failed', {
      actor: 'remote',
      code: 'connection-failed',
      retry: 'later',
      status: 503,
      retryAfterMs: 1_000,
      cause: foreign,
    });
    const line = redacted({ foreign, error: ours, nested: { list: [foreign] } });
    expect(line).not.toContain('Canary');
    const { error, foreign: described } = JSON.parse(line);
    expect(described).toMatchObject({ type: 'TypeError', code: 'ECONNRESET' });
    expect(error).toMatchObject({
      type: 'MirrorError',
      message: 'the connection failed',
      actor: 'remote',
      code: 'connection-failed',
      retry: 'later',
      status: 503,
      retryAfterMs: 1_000,
      cause: { type: 'TypeError', code: 'ECONNRESET' },
    });
    expect(error.stack[0]).toMatch(/^at .*redact\.test\.ts:\d+:\d+/);
  });
});

describe('what would break a log does not', () => {
  test('circles, long lists, long texts and large numbers', () => {
    const circle: Record<string, unknown> = { count: 10n };
    circle.self = circle;
    const data = redact({ circle, list: Array(1_000).fill(1), missing: undefined, long: 'x'.repeat(100_000) });
    expect(data.circle).toMatchObject({ count: '10', self: { count: '10' } });
    expect(data.list).toHaveLength(51);
    expect(JSON.stringify(data).length).toBeLessThan(3_000);
  });

  test('ids, numbers, codes and flags are kept unchanged', () => {
    const data = {
      target: 'rossi',
      label: 'google.events.batch',
      status: 429,
      hasToken: true,
      ids: ['a', 'b'],
      at: null,
    };
    expect(redact(data)).toEqual(data);
    expect(redact({ tokenExpiresAt: 5, token: 5 })).toEqual({ tokenExpiresAt: 5, token: '[redacted]' });
  });

  test('a chain of causes is followed four errors deep, and an odd name of an error is left out', () => {
    const chain = [5, 4, 3, 2, 1].reduce<Error>((cause, depth) => new Error(`${depth}`, { cause }), new Error('6'));
    expect(redacted({ chain }).match(/"cause"/g)).toHaveLength(4);
    const named = Object.assign(new Error('x'), { name: CANARY, code: CANARY });
    expect(redact({ named }).named).toEqual({ type: 'Error', stack: expect.any(Array) });
  });
});
