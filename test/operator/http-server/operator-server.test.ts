import type { InjectOptions } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { createLogger } from '../../../src/core/log/create-logger.ts';
import { redisUnreachable } from '../../../src/core/model/errors.ts';
import { createOperatorServer } from '../../../src/operator/http-server/operator-server.ts';
import type { OperatorVerbs } from '../../../src/operator/http-server/verbs.ts';

const TOKEN = 'a-token-of-tests-with-32-characters';

/** A built port over working verbs; `verbs` replaces some. Its clock syncHealth until the test moves it. */
async function open(verbs: Partial<OperatorVerbs> = {}, token: string | null = null) {
  const lines: string[] = [];
  const clock = { nowMs: 0 };
  const all: OperatorVerbs = {
    ...{ readiness: async () => [], problems: async () => [], metrics: async () => 'pulls_total 3\n' },
    ...verbs,
  };
  const log = createLogger({ level: 'debug', destination: { write: (line) => lines.push(line) } });
  const app = await createOperatorServer(all, { token, log, clock: () => clock.nowMs });
  onTestFinished(() => app.close());
  const ask = (url: string, headers: InjectOptions['headers'] = {}) => app.inject({ url, headers });
  return { app, ask, lines, clock };
}

describe('/healthz', () => {
  test('says that the process is alive, whatever is not ready', async () => {
    const { ask } = await open({ readiness: async () => [{ what: 'redis', why: 'no answer' }] });
    const answer = await ask('/healthz');
    expect([answer.statusCode, answer.json()]).toEqual([200, { alive: true }]);
  });
});

describe('/readyz', () => {
  test('is 200 when nothing is missing', async () => {
    const { ask } = await open();
    const answer = await ask('/readyz');
    expect([answer.statusCode, answer.json()]).toEqual([200, { ready: true, missing: [], problems: [] }]);
  });

  test('is 503 with what is not ready and why, and lets nothing else through', async () => {
    const missing = [{ what: 'redis', why: 'no answer', url: 'redis://user:canary@host' }];
    const { ask } = await open({ readiness: async () => missing });
    const answer = await ask('/readyz');
    expect(answer.statusCode).toBe(503);
    expect(answer.json()).toEqual({ ready: false, missing: [{ what: 'redis', why: 'no answer' }], problems: [] });
  });

  test('shows problems to those who may see them, and its status stays the same', async () => {
    const { message: sentence, code } = redisUnreachable(null);
    const away = { ...{ tenant: null, subject: 'state', code, health: 'action-required' as const }, next: null };
    const syncHealth = { sync: 'unknown' as const, health: 'ok' as const };
    const told = { ...away, sentence, breaksAt: null, nextTryAt: null, syncHealth };
    const texts = { subject: 'state', sentence, next: null };
    const problem = { ...told, sinceAt: null, waiting: 0, texts };
    const { ask } = await open({ problems: async () => [problem] }, TOKEN);
    expect((await ask('/readyz')).json()).toEqual({ ready: true });
    const answer = await ask('/readyz', { authorization: `Bearer ${TOKEN}` });
    expect([answer.statusCode, answer.json().problems]).toEqual([200, [told]]);
  });

  test.each([
    ['fails', () => Promise.reject(new Error('canary'))],
    ['takes too long', () => new Promise<never>(() => {})],
  ])('is answered although the lookup of problems %s', async (_how, problems) => {
    const { ask } = await open({ problems });
    expect((await ask('/readyz')).json()).toEqual({ ready: true, missing: [], problems: [] });
  });

  test('is 503 when the state is unknown', async () => {
    const { ask } = await open({ readiness: () => Promise.reject(new Error('canary')) });
    const answer = await ask('/readyz');
    expect(answer.statusCode).toBe(503);
    expect(answer.json().missing).toEqual([{ what: 'readiness', why: 'the answer did not arrive in time' }]);
  });

  test('is 503 after three seconds without an answer, and the check is aborted', async () => {
    let stopped: AbortSignal | null = null;
    const { ask } = await open({
      readiness: (signal) => {
        stopped = signal;
        return new Promise(() => {});
      },
    });
    const answer = await ask('/readyz');
    expect([answer.statusCode, answer.json().ready]).toEqual([503, false]);
    expect(stopped).toMatchObject({ aborted: true });
  });
});

describe('/metrics', () => {
  test("is text in Prometheus' format", async () => {
    const { ask } = await open();
    const answer = await ask('/metrics');
    expect([answer.statusCode, answer.body]).toEqual([200, 'pulls_total 3\n']);
    expect(answer.headers['content-type']).toBe('text/plain; version=0.0.4; charset=utf-8');
  });

  test('hides why it failed', async () => {
    const { ask, lines } = await open({ metrics: () => Promise.reject(new Error('canary')) });
    const answer = await ask('/metrics');
    expect([answer.statusCode, answer.json()]).toEqual([500, { error: 'failed' }]);
    expect(lines.join('')).not.toContain('canary');
    expect(lines.join('')).toContain('request failed');
  });

  test('is generated once for all requests within five seconds', async () => {
    let count = 0;
    const { ask, clock } = await open({ metrics: async () => `written_total ${++count}\n` });
    const read = async () => (await ask('/metrics')).body;
    expect(await read()).toBe('written_total 1\n');
    clock.nowMs = 4_999;
    expect(await read()).toBe('written_total 1\n');
    clock.nowMs = 5_000;
    expect(await read()).toBe('written_total 2\n');
  });

  test('is generated again after a failure', async () => {
    const answers = [Promise.reject(new Error('away')), Promise.resolve('back 1\n')];
    answers[0]?.catch(() => {});
    const { ask } = await open({ metrics: () => answers.shift() ?? Promise.reject(new Error('too often')) });
    expect((await ask('/metrics')).statusCode).toBe(500);
    expect((await ask('/metrics')).body).toBe('back 1\n');
  });
});

describe('a server with a token', () => {
  const missing = [{ what: 'redis', why: 'no answer' }];

  test('shows metrics and missing parts to requests with the token', async () => {
    const { ask } = await open({ readiness: async () => missing }, TOKEN);
    for (const authorization of [`Bearer ${TOKEN}`, `bearer  ${TOKEN} `]) {
      expect((await ask('/metrics', { authorization })).body).toBe('pulls_total 3\n');
      const ready = await ask('/readyz', { authorization, host: 'mirror.internal:8090' });
      expect([ready.statusCode, ready.json()]).toEqual([503, { ready: false, missing, problems: [] }]);
    }
  });

  test('answers probes without the token, with yes or no only', async () => {
    const { ask } = await open({ readiness: async () => missing }, TOKEN);
    const answers = await Promise.all([ask('/healthz'), ask('/readyz')]);
    expect(answers.map((answer) => [answer.statusCode, answer.json()])).toEqual([
      [200, { alive: true }],
      [503, { ready: false }],
    ]);
  });
});

test.each(['/', '/r/token', '/oauth/callback?state=a', '/oauth/login/ticket', '/reminders/uno/sms'])(
  'has no public route: %s',
  async (url) => {
    const { app } = await open();
    for (const method of ['GET', 'POST'] as const) expect((await app.inject({ method, url })).statusCode).toBe(404);
  },
);
