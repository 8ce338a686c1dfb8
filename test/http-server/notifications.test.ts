import { describe, expect, onTestFinished, test } from 'vitest';
import { createPublicServer } from '../../src/http-server/public-server.ts';
import type { PostedNotification } from '../../src/http-server/verbs.ts';
import { createLogger } from '../../src/log/create-logger.ts';

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
  test('hands over what was posted as it is, and acknowledges it with an empty 202', async () => {
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
    ['a type that nobody knows', { headers: { 'content-type': 'canary/type' }, payload: 'x' }],
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

  test('takes bodies of a quarter of a megabyte, and none that are larger; other paths take none of that size', async () => {
    const { app, taken } = await open();
    const post = (url: string, length: number) => app.inject({ method: 'POST', url, payload: 'x'.repeat(length) });
    expect((await post(PATH, 256 * 1_024)).statusCode).toBe(202);
    expect((await post(PATH, 256 * 1_024 + 1)).statusCode).toBe(404);
    expect((await post('/oauth/callback', 2_000)).statusCode).toBe(404);
    expect(taken).toHaveLength(1);
  });

  test('is for POST alone', async () => {
    const { app, taken } = await open();
    for (const method of ['GET', 'PUT', 'DELETE'] as const) {
      expect((await app.inject({ method, url: PATH })).statusCode).toBe(404);
    }
    expect(taken).toEqual([]);
  });

  test('writes nothing of it into the log', async () => {
    const { app, lines } = await open(() => Promise.reject(new Error('canary-cause')));
    const headers = { 'x-goog-channel-token': 'canary-secret', 'content-type': 'text/plain' };
    const answer = await app.inject({ method: 'POST', url: `${PATH}?q=canary-query`, headers, payload: 'canary-body' });
    expect(answer.statusCode).toBe(500);
    expect(lines.join('')).toContain('a request failed');
    expect(lines.join('')).not.toMatch(/canary|0123456789abcdef/);
  });

  test('asks the vendor to post again when it can not be taken in time', async () => {
    const { app } = await open(() => new Promise(() => {}));
    const answer = await app.inject({ method: 'POST', url: PATH });
    expect(answer.statusCode).toBe(503);
  });
});
