import { describe, expect, test } from 'vitest';
import { createLogger, type LogOptions } from '../../src/log/create-logger.ts';
import type { Logger } from '../../src/log/logger.ts';
import { MirrorError } from '../../src/model/errors.ts';
import { Secret } from '../../src/settings/secret-reference.ts';

const CANARY = 'Canary Rossi';

/** A log that keeps its lines. */
function recordingLog(options: Partial<LogOptions> = {}): { log: Logger; lines: string[] } {
  const lines: string[] = [];
  const log = createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) }, ...options });
  return { log, lines };
}

function onlyLine(lines: string[]): Record<string, unknown> {
  expect(lines).toHaveLength(1);
  return JSON.parse(lines[0] ?? '');
}

describe('a line', () => {
  test('is one JSON object with time, level, data and message', () => {
    const { log, lines } = recordingLog();
    log.child({ tenant: 'uno' }).info({ pages: 3, complete: true }, 'read the appointments');
    expect(onlyLine(lines)).toEqual({
      time: expect.stringMatching(/^\d{4}-\d\d-\d\dT/),
      level: 'info',
      tenant: 'uno',
      pages: 3,
      complete: true,
      msg: 'read the appointments',
    });
    expect(lines[0]?.endsWith('}\n')).toBe(true);
  });

  test('is for people when asked for', () => {
    const { log, lines } = recordingLog({ readable: true });
    log.warn({ held: 12, token: CANARY }, 'a plan is held');
    expect(lines.join('')).toMatch(/^\[[\d:]+\] WARN: a plan is held\n {4}held: 12\n {4}token: "\[redacted\]"\n$/);
  });

  test('is not written below the level', () => {
    const { log, lines } = recordingLog({ level: 'warn' });
    log.info({}, 'quiet');
    log.child({}).debug({}, 'quiet');
    expect(lines).toEqual([]);
  });
});

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
    const { log, lines } = recordingLog();
    log.info({ [key]: CANARY }, 'flat');
    log.info({ request: { headers: [{ [key]: [{ value: CANARY }] }] } }, 'deep');
    log.child({ job: { [key]: { inner: CANARY } } }).info({ error: { [key]: CANARY } }, 'child');
    expect(lines).toHaveLength(3);
    expect(lines.join('')).not.toContain('Canary');
  });

  test.each([
    ['a bearer token', 'sent Bearer canary-abc.def~1', 'canary'],
    ['a basic login', 'Basic Y2FuYXJ5OnB3', 'Y2FuYXJ5'],
    ['a JSON web token', 'got eyJjYW5hcnki.eyJjYW5hcnki.c2ln back', 'jYW5hcnki'],
    ['a token for the API', `got cmt_ci_${'canary-'.repeat(6)}x back`, 'canary'],
    ['credentials in an address', 'redis://user:canary@host:6379/0', 'canary'],
    ['a query string', 'GET /oauth/callback?code=canary&state=canary', 'canary'],
    ['an e-mail address', 'sent to canary.rossi@clinic.test.', 'canary'],
  ])('of %s within a text', (_what, text, canary) => {
    const { log, lines } = recordingLog();
    log.info({ detail: text, list: [text] }, 'a text');
    expect(JSON.stringify(onlyLine(lines))).not.toContain(canary);
    expect(lines[0]).toContain('[redacted]');
  });

  test('of secrets, bytes and maps', () => {
    const { log, lines } = recordingLog();
    log.info({ held: new Secret(CANARY), bytes: Buffer.from(CANARY), map: new Map([['a', CANARY]]) }, 'kinds');
    expect(onlyLine(lines)).toMatchObject({ held: '[secret]', bytes: '[12 bytes]', map: '[1 entries]' });
  });

  test('of the content of foreign errors and of causes', () => {
    const { log, lines } = recordingLog();
    const foreign = Object.assign(new TypeError(`no such patient ${CANARY}\n    at ${CANARY} (a.ts:1:1)`), {
      response: { body: CANARY },
      code: 'ECONNRESET',
    });
    log.error({ error: foreign }, 'foreign');
    const ours = new MirrorError('the connection failed', {
      actor: 'remote',
      code: 'connection-failed',
      retry: 'later',
      status: 503,
      retryAfterMs: 1_000,
      cause: foreign,
    });
    log.error({ error: ours, nested: { list: [foreign] } }, 'ours');
    expect(lines.join('')).not.toContain('Canary');
    expect(JSON.parse(lines[0] ?? '').error).toMatchObject({ type: 'TypeError', code: 'ECONNRESET' });
    const { error } = JSON.parse(lines[1] ?? '');
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
    expect(error.stack[0]).toMatch(/^at .*create-logger\.test\.ts:\d+:\d+/);
  });
});

describe('what would break a log does not', () => {
  test('circles, long lists, long texts and large numbers', () => {
    const { log, lines } = recordingLog();
    const circle: Record<string, unknown> = { count: 10n };
    circle.self = circle;
    log.info({ circle, list: Array(1_000).fill(1), text: undefined, long: 'x'.repeat(100_000) }, 'odd');
    const line = onlyLine(lines);
    expect(line.circle).toMatchObject({ count: '10', self: { count: '10' } });
    expect(line.list).toHaveLength(51);
    expect(lines[0]?.length).toBeLessThan(3_000);
  });

  test('ids, counts, codes and flags are kept as they are', () => {
    const { log, lines } = recordingLog();
    const data = {
      target: 'rossi',
      label: 'google.events.batch',
      status: 429,
      hasToken: true,
      ids: ['a', 'b'],
      at: null,
    };
    log.info(data, 'kept');
    expect(onlyLine(lines)).toMatchObject(data);
  });
});
