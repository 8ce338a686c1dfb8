import { connect } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type ListeningServer, listen } from '../../src/http-server/listen.ts';
import { loginPage } from '../../src/http-server/login-page.ts';
import { createAdminServer } from '../../src/http-server/server.ts';
import type { AdminVerbs, LoginOutcome } from '../../src/http-server/verbs.ts';
import { createLogger } from '../../src/log/create-logger.ts';
import { MirrorError } from '../../src/model/errors.ts';

interface Admin {
  app: FastifyInstance;
  lines: string[];
  /** Addresses that the login verb was called with. */
  callbacks: string[];
}

/** A built port over working verbs; `verbs` replaces some. */
async function open(
  verbs: Partial<AdminVerbs> = {},
  publicUrl = 'https://mirror.test/clinic',
  { probesOnly = false } = {},
): Promise<Admin> {
  const lines: string[] = [];
  const callbacks: string[] = [];
  const all: AdminVerbs = {
    readiness: async () => [],
    metrics: async () => 'pulls_total 3\n',
    takeNotification: async () => null,
    takeReminderCallback: async () => 204,
    showAnswer: async () => ({ says: 'unknown', about: null, form: null }),
    takeAnswer: async () => ({ says: 'unknown', about: null, form: null }),
    beginLogin: async () => ({ outcome: 'expired', language: 'en' }),
    completeLogin: async ({ url }) => {
      callbacks.push(url);
      return { outcome: 'connected', language: 'en' };
    },
    ...verbs,
  };
  const log = createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) } });
  const app = await createAdminServer(all, { publicUrl: () => publicUrl, log, probesOnly });
  onTestFinished(() => app.close());
  return { app, lines, callbacks };
}

async function openPort(verbs: Partial<AdminVerbs> = {}): Promise<Admin & { port: ListeningServer }> {
  const admin = await open(verbs);
  return { ...admin, port: await listen(admin.app, { host: '127.0.0.1', port: 0 }) };
}

describe('/healthz', () => {
  test('says that the process is alive, whatever is not ready', async () => {
    const { app } = await open({ readiness: async () => [{ what: 'redis', why: 'no answer' }] });
    const answer = await app.inject('/healthz');
    expect([answer.statusCode, answer.json()]).toEqual([200, { alive: true }]);
  });
});

describe('the port of a process that is not for the outside', () => {
  test('answers probes and metrics, and nothing else', async () => {
    const { app, callbacks } = await open({}, 'https://mirror.test', { probesOnly: true });
    const statusOf = async (url: string) => (await app.inject(url)).statusCode;
    expect(await Promise.all(['/healthz', '/readyz', '/metrics'].map(statusOf))).toEqual([200, 200, 200]);
    expect(await Promise.all(['/oauth/callback?state=a', '/r/token'].map(statusOf))).toEqual([404, 404]);
    const posted = await app.inject({ method: 'POST', url: '/notifications/google-calendar/channel' });
    expect([posted.statusCode, callbacks]).toEqual([404, []]);
  });
});

describe('/readyz', () => {
  test('is 200 when nothing is missing', async () => {
    const { app } = await open();
    const answer = await app.inject('/readyz');
    expect([answer.statusCode, answer.json()]).toEqual([200, { ready: true, missing: [] }]);
  });

  test('is 503 with what is not ready and why, and lets nothing else through', async () => {
    const missing = [{ what: 'redis', why: 'no answer', url: 'redis://user:canary@host' }];
    const { app } = await open({ readiness: async () => missing });
    const answer = await app.inject('/readyz');
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toEqual({ ready: false, missing: [{ what: 'redis', why: 'no answer' }] });
  });

  test('is 503 when it can not be told', async () => {
    const { app } = await open({ readiness: () => Promise.reject(new Error('canary')) });
    const answer = await app.inject('/readyz');
    expect(answer.statusCode).toBe(503);
    expect(answer.json().missing).toEqual([{ what: 'readiness', why: 'it could not be told in time' }]);
  });

  test('is 503 after three seconds without an answer, and the check is told to stop', async () => {
    let stopped: AbortSignal | null = null;
    const { app } = await open({
      readiness: (signal) => {
        stopped = signal;
        return new Promise(() => {});
      },
    });
    const answer = await app.inject('/readyz');
    expect([answer.statusCode, answer.json().ready]).toEqual([503, false]);
    expect(stopped).toMatchObject({ aborted: true });
  });
});

describe('/metrics', () => {
  test("is text in Prometheus' format", async () => {
    const { app } = await open();
    const answer = await app.inject('/metrics');
    expect([answer.statusCode, answer.body]).toEqual([200, 'pulls_total 3\n']);
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  test('hides why it failed', async () => {
    const { app, lines } = await open({ metrics: () => Promise.reject(new Error('canary')) });
    const answer = await app.inject('/metrics');
    expect([answer.statusCode, answer.json()]).toEqual([500, { error: 'failed' }]);
    expect(lines.join('')).not.toContain('canary');
    expect(lines.join('')).toContain('a request failed');
  });
});

describe('the way back of logins', () => {
  const QUERY = '?code=canary-code&state=canary-state&iss=https%3A%2F%2Flogin.test';

  test('hands the whole address to the verb, under the public address and not the Host header', async () => {
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
  ])('shows a page of its own for %s, in both languages', async (outcome, status) => {
    for (const language of ['it', 'en'] as const) {
      const { app } = await open({ completeLogin: async () => ({ outcome, language }) });
      const answer = await app.inject(`/oauth/callback${QUERY}`);
      expect(answer.statusCode).toBe(status);
      expect(answer.headers['content-type']).toBe('text/html; charset=utf-8');
      expect(answer.body).toBe(loginPage({ outcome, language }));
      expect(answer.body).toContain(`<html lang="${language}">`);
    }
  });

  test('shows every outcome in other words', () => {
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
      expect(lines.join('')).toContain('a login could not be completed');
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
    ['GET', '/healthz/../metrics/x'],
    ['HEAD', '/oauth/callback?code=canary'],
    ['POST', '/oauth/callback'],
    ['POST', '/healthz'],
    ['DELETE', '/metrics'],
    ['OPTIONS', '/healthz'],
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
  ])('is 404 with a body that can not be read: %s %#', async (contentType, payload) => {
    const { app } = await open();
    const answer = await app.inject({ method: 'POST', url: '/x', headers: { 'content-type': contentType }, payload });
    expect([answer.statusCode, answer.json()]).toEqual([404, { error: 'not-found' }]);
  });
});

describe('an open port', () => {
  test('answers over the network, and closes', async () => {
    const { port } = await openPort();
    const answer = await fetch(`http://127.0.0.1:${port.port}/healthz`);
    expect(await answer.json()).toEqual({ alive: true });
    await port.close(1_000);
    await expect(fetch(`http://127.0.0.1:${port.port}/healthz`)).rejects.toThrow();
  });

  test('lets a request under way end', async () => {
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const { promise: text, resolve: answerWith } = Promise.withResolvers<string>();
    const { port } = await openPort({
      metrics: () => {
        asked();
        return text;
      },
    });
    const answer = fetch(`http://127.0.0.1:${port.port}/metrics`);
    await isAsked;
    const closed = port.close(10_000);
    answerWith('late 1\n');
    expect(await (await answer).text()).toBe('late 1\n');
    await closed;
  });

  test('closes within its deadline although a request never ends and a client says nothing', async () => {
    const { promise: isAsked, resolve: asked } = Promise.withResolvers<void>();
    const { port } = await openPort({
      metrics: () => {
        asked();
        return new Promise(() => {});
      },
    });
    const silent = connect(port.port, '127.0.0.1').on('error', () => {});
    onTestFinished(() => void silent.destroy());
    const answer = fetch(`http://127.0.0.1:${port.port}/metrics`).then(
      () => 'answered',
      () => 'cut off',
    );
    await isAsked;
    await port.close(200);
    expect(await answer).toBe('cut off');
  });

  test('that is taken already is an error of the settings', async () => {
    const { port } = await openPort();
    const other = await open();
    await expect(listen(other.app, { host: '127.0.0.1', port: port.port })).rejects.toMatchObject({
      actor: 'settings',
      code: 'http-port-unavailable',
    });
  });
});
