import type { FastifyInstance } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/log/create-logger.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { loginPage } from '../../../src/operator/http-server/login-page.ts';
import { createPublicServer } from '../../../src/operator/http-server/public-server.ts';
import type { LoginOutcome, PostedNotification, PublicVerbs } from '../../../src/operator/http-server/verbs.ts';

interface Opened {
  app: FastifyInstance;
  lines: string[];
  /** URLs that the verb `completeLogin` received. */
  callbacks: string[];
}

/** A built port over working verbs; `verbs` replaces some. */
async function open(verbs: Partial<PublicVerbs> = {}, publicUrl = 'https://mirror.test/clinic'): Promise<Opened> {
  const lines: string[] = [];
  const callbacks: string[] = [];
  const all: PublicVerbs = {
    takeNotification: async () => null,
    takeReminderCallback: async () => 204,
    showFeed: async () => ({ status: 404 as const }),
    showAnswer: async () => ({ says: 'unknown', about: null, form: null }),
    takeAnswer: async () => ({ says: 'unknown', about: null, form: null }),
    describeLogin: async () => null,
    beginLogin: async () => ({ outcome: 'expired', language: 'en' }),
    completeLogin: async ({ url }) => {
      callbacks.push(url);
      return { outcome: 'connected', language: 'en' };
    },
    ...verbs,
  };
  const log = createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) } });
  const app = await createPublicServer(all, { publicUrl: () => publicUrl, log });
  onTestFinished(() => app.close());
  return { app, lines, callbacks };
}

describe('the sign-in callback', () => {
  const QUERY = '?code=canary-code&state=canary-state&iss=https%3A%2F%2Flogin.test';

  test('passes the whole URL to the verb, with the public host and not the Host header', async () => {
    const { app, callbacks } = await open();
    await app.inject({
      url: `/oauth/callback${QUERY}`,
      headers: { host: 'evil.test', 'x-forwarded-host': 'evil.test' },
    });
    await app.inject('/oauth/callback');
    expect(callbacks).toEqual([
      `https://mirror.test/clinic/oauth/callback${QUERY}`,
      'https://mirror.test/clinic/oauth/callback',
    ]);
  });

  test.each<[LoginOutcome, number]>([
    ['connected', 200],
    ['unconfirmed', 200],
    ['denied', 400],
    ['expired', 400],
    ['other-browser', 400],
    ['missing-permissions', 400],
    ['wrong-account', 400],
    ['failed', 502],
  ])('shows a separate page for %s, in both languages', async (outcome, status) => {
    for (const language of ['it', 'en'] as const) {
      const { app } = await open({ completeLogin: async () => ({ outcome, language }) });
      const answer = await app.inject(`/oauth/callback${QUERY}`);
      expect(answer.statusCode).toBe(status);
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(answer.body).toBe(loginPage({ outcome, language }));
      expect(answer.body).toContain(`<html lang="${language}">`);
    }
  });

  test('shows every outcome in different words', () => {
    const outcomes = [
      ...(['connected', 'unconfirmed', 'denied', 'expired', 'other-browser'] as const),
      ...(['missing-permissions', 'wrong-account', 'failed'] as const),
    ];
    const pages = outcomes.flatMap((outcome) => [
      loginPage({ outcome, language: 'it' }),
      loginPage({ outcome, language: 'en' }),
    ]);
    expect(new Set(pages).size).toBe(16);
  });

  test('leaves no code or state in the page or the log, also when the verb throws', async () => {
    const thrown = [
      new MirrorError('the login was refused', { actor: 'authorization', code: 'login-refused', retry: 'never' }),
      new Error(`bad ${QUERY}`),
    ];
    for (const error of thrown) {
      const { app, lines } = await open({ completeLogin: () => Promise.reject(error) });
      const answer = await app.inject(`/oauth/callback${QUERY}`);
      expect(answer.statusCode).toBe(502);
      expect(answer.body).toBe(loginPage({ outcome: 'failed', language: 'en' }));
      expect(lines.join('')).toContain('sign-in was not completed');
      expect(lines.join('') + answer.body + JSON.stringify(answer.headers)).not.toContain('canary');
    }
  });

  test('is logged by route, status and time', async () => {
    const { app, lines } = await open();
    await app.inject(`/oauth/callback${QUERY}`);
    await app.inject('/canary/path?canary');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { level: 'info', method: 'GET', route: '/oauth/callback', status: 200, durationMs: expect.any(Number) },
      { level: 'debug', method: 'GET', route: 'none', status: 404 },
    ]);
    expect(lines.join('')).not.toContain('canary');
  });

  test('may be styled by the one style sheet and run nothing', async () => {
    const { app } = await open();
    const { headers } = await app.inject(`/oauth/callback${QUERY}`);
    expect(headers['content-security-policy']).toMatch(/^default-src 'none';style-src 'sha256-[\w+/=]+';/);
    expect(headers).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
    });
    expect(headers['x-powered-by']).toBeUndefined();
  });
});

describe('everything else', () => {
  test.each([
    ['GET', '/'],
    ['GET', '/oauth'],
    ['GET', '/oauth/callback/'],
    ['GET', '/OAuth/Callback'],
    ['GET', '/%zz'],
    ['GET', '/healthz'],
    ['GET', '/readyz'],
    ['GET', '/metrics'],
    ['GET', '/r/../metrics'],
    ['HEAD', '/oauth/callback?code=canary'],
    ['POST', '/oauth/callback'],
    ['POST', '/healthz'],
    ['OPTIONS', '/r/token'],
  ] as const)('is 404 and calls no verb: %s %s', async (method, url) => {
    const { app, callbacks } = await open();
    const answer = await app.inject({ method, url });
    expect(answer.statusCode).toBe(404);
    expect(answer.body).not.toContain('zz');
    expect(callbacks).toEqual([]);
  });

  test.each([
    ['application/json', '{'],
    ['application/xml', '<a/>'],
    ['application/json', `"${'x'.repeat(5_000)}"`],
  ])('is 404 with a body that cannot be read: %s %#', async (contentType, payload) => {
    const { app } = await open();
    const answer = await app.inject({ method: 'POST', url: '/x', headers: { 'content-type': contentType }, payload });
    expect([answer.statusCode, answer.json()]).toEqual([404, { error: 'not-found' }]);
  });
});

describe('the path of notifications', () => {
  const PATH = '/notifications/model/0123456789abcdef0123456789abcdef';

  async function open(take: (posted: PostedNotification) => Promise<string | null> = async () => null) {
    const lines: string[] = [];
    const taken: PostedNotification[] = [];
    const log = createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) } });
    const verbs = {
      takeReminderCallback: async () => 204,
      showFeed: async () => ({ status: 404 as const }),
      showAnswer: async () => ({ says: 'unknown', about: null, form: null }) as const,
      takeAnswer: async () => ({ says: 'unknown', about: null, form: null }) as const,
      describeLogin: async () => null,
      beginLogin: async () => ({ outcome: 'failed', language: 'en' }) as const,
      completeLogin: async () => ({ outcome: 'failed', language: 'en' }) as const,
      takeNotification: (posted: PostedNotification) => {
        taken.push(posted);
        return take(posted);
      },
    };
    const app = await createPublicServer(verbs, { publicUrl: () => 'https://mirror.test', log });
    onTestFinished(() => app.close());
    return { app, lines, taken };
  }

  describe('the receiver of notifications', () => {
    test('passes the body on unchanged, and acknowledges it with an empty 202', async () => {
      const { app, taken } = await open();
      const answer = await app.inject({
        method: 'POST',
        url: `${PATH}?a=1%2B1&a=2`,
        headers: { 'content-type': 'application/json', 'X-Goog-Channel-Token': 'canary-secret' },
        payload: '{"value": not even JSON',
      });
      expect([answer.statusCode, answer.body]).toEqual([202, '']);
      expect(taken).toMatchObject([
        {
          connector: 'model',
          subscriptionId: '0123456789abcdef0123456789abcdef',
          headers: { 'x-goog-channel-token': 'canary-secret' },
          body: '{"value": not even JSON',
        },
      ]);
      expect(taken[0]?.query.getAll('a')).toEqual(['1+1', '2']);
    });

    test.each([
      ['no body and no type', {}],
      ['an empty body of plain text', { headers: { 'content-type': 'text/plain' }, payload: '' }],
      ['an unknown type', { headers: { 'content-type': 'canary/type' }, payload: 'x' }],
      ['an empty body of JSON', { headers: { 'content-type': 'application/json' }, payload: '' }],
    ])('takes %s', async (_what, request) => {
      const { app, taken } = await open();
      expect((await app.inject({ method: 'POST', url: PATH, ...request })).statusCode).toBe(202);
      expect(taken).toHaveLength(1);
    });

    test("answers the vendor's check as plain text that no browser takes for anything else", async () => {
      const { app } = await open(async () => '<script>1 + 100%');
      const answer = await app.inject({ method: 'POST', url: PATH });
      expect([answer.statusCode, answer.body]).toEqual([200, '<script>1 + 100%']);
      expect(answer.headers).toMatchObject({
        'content-type': 'text/plain; charset=utf-8',
        'x-content-type-options': 'nosniff',
      });
    });

    test('accepts bodies up to a quarter of a megabyte; other paths do not accept that size', async () => {
      const { app, taken } = await open();
      const post = (url: string, length: number) => app.inject({ method: 'POST', url, payload: 'x'.repeat(length) });
      expect((await post(PATH, 256 * 1_024)).statusCode).toBe(202);
      expect((await post(PATH, 256 * 1_024 + 1)).statusCode).toBe(404);
      expect((await post('/oauth/callback', 2_000)).statusCode).toBe(404);
      expect(taken).toHaveLength(1);
    });

    test('accepts only POST', async () => {
      const { app, taken } = await open();
      for (const method of ['GET', 'PUT', 'DELETE'] as const) {
        expect((await app.inject({ method, url: PATH })).statusCode).toBe(404);
      }
      expect(taken).toEqual([]);
    });

    test('writes no content into the log', async () => {
      const { app, lines } = await open(() => Promise.reject(new Error('canary-cause')));
      const headers = { 'x-goog-channel-token': 'canary-secret', 'content-type': 'text/plain' };
      const answer = await app.inject({
        method: 'POST',
        url: `${PATH}?q=canary-query`,
        headers,
        payload: 'canary-body',
      });
      expect(answer.statusCode).toBe(500);
      expect(lines.join('')).toContain('request failed');
      expect(lines.join('')).not.toMatch(/canary|0123456789abcdef/);
    });

    test('asks the vendor to post again when it can not be taken in time', async () => {
      const { app } = await open(() => new Promise(() => {}));
      const answer = await app.inject({ method: 'POST', url: PATH });
      expect(answer.statusCode).toBe(503);
    });
  });
});
