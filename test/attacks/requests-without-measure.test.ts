import { describe, expect, onTestFinished, test } from 'vitest';
import type { AccessSettings } from '../../src/settings/access-schema.ts';
import { account, openPort, PEOPLE, refusalIn } from '../operator/http-server/access/open-port.ts';
import { useRedis } from '../support/redis.ts';

/*
 * Attack: endless requests for pages or the API, with a token, in a session or as a stranger. All processes together limit the client, and
 * no other client is affected.
 */

const redis = useRedis();
const LIMITS = { token: 40, session: 32, address: 30 };
const ACCESS: AccessSettings = { ...PEOPLE, requestsPerMinute: LIMITS };
const TENANTS = '/api/v1/tenants';

/** Two processes that serve the same installation. */
async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const ports = [
    await openPort(connection, { access: ACCESS, trustedProxies: ['127.0.0.1'] }),
    await openPort(redis.connect(), { access: ACCESS, trustedProxies: ['127.0.0.1'] }),
  ] as const;
  let turn = 0;
  /** Sends one request, to the two processes alternately, with an internet address from a trusted proxy. */
  const ask = (url: string, headers: Record<string, string> = {}, caller = '198.41.0.4') => {
    turn += 1;
    const { app } = ports[turn % 2] ?? ports[0];
    return app.inject({ method: 'GET', url, headers: { host: 'mirror.test', 'x-forwarded-for': caller, ...headers } });
  };
  const statusesOf = async (times: number, once: () => ReturnType<typeof ask>) => {
    const answers = await Promise.all(Array.from({ length: times }, once));
    return Map.groupBy(answers, ({ statusCode }) => statusCode);
  };
  return { connection, ports, ask, statusesOf };
}

const withToken = (token: string) => ({ authorization: `Bearer ${token}` });
const inSession = (session: string) => ({ cookie: `__Host-session=${session}`, accept: 'text/html' });

function expectRetryAfter(headers: object): void {
  const seconds = Number((headers as { 'retry-after'?: string })['retry-after']);
  expect(seconds).toBeGreaterThanOrEqual(1);
  expect(seconds).toBeLessThanOrEqual(60);
}

describe('a client above the request limit', () => {
  test('with a token learns from each process when to retry, and another token gets an answer', async () => {
    const { ports, ask, statusesOf } = await open();
    const [port] = ports;
    const [busy, other] = [await port.token('busy'), await port.token('other')];
    const answers = await statusesOf(LIMITS.token + 5, () => ask(TENANTS, withToken(busy)));
    expect(answers.get(200)).toHaveLength(LIMITS.token);
    expect(answers.get(429)).toHaveLength(5);
    const [held] = answers.get(429) ?? [];
    expect(held?.headers['content-type']).toContain('application/problem+json');
    expect(held?.json()).toMatchObject({ status: 429, code: 'too-many-requests' });
    expectRetryAfter(held?.headers ?? {});
    expect((await ask(TENANTS, withToken(other))).statusCode).toBe(200);
  });

  test('in a session gets a page with the limit; event streams, other users and the user’s other browsers continue', async () => {
    const { ports, ask, statusesOf } = await open();
    const [port] = ports;
    const [mine, elsewhere] = [await port.signedIn(account('vera')), await port.signedIn(account('vera'))];
    const answers = await statusesOf(LIMITS.session + 1, () => ask('/', inSession(mine.session)));
    expect(answers.get(200)).toHaveLength(LIMITS.session);
    const [held] = answers.get(429) ?? [];
    expect(held?.headers['content-type']).toContain('text/html');
    expect(refusalIn(held ?? { body: '' })).toBe('too-many-requests');
    expectRetryAfter(held?.headers ?? {});
    // Let through, and found to be about no clinic.
    expect((await ask('/events?tenant=nobody', inSession(mine.session))).statusCode).toBe(404);
    expect((await ask('/', inSession(elsewhere.session))).statusCode).toBe(200);
    const { session } = await port.signedIn(account('olga'));
    expect((await ask('/', inSession(session))).statusCode).toBe(200);
  });

  test('opens at most as many streams as pages in a minute', async () => {
    const { ports, ask, statusesOf } = await open();
    const { session } = await ports[0].signedIn(account('vera'));
    const answers = await statusesOf(LIMITS.session + 1, () => ask('/events?tenant=nobody', inSession(session)));
    expect(answers.get(429)).toHaveLength(1);
    expect((await ask('/', inSession(session))).statusCode).toBe(200);
  });

  test('as a stranger is limited with any credentials, and signed-in users at the same address are not', async () => {
    const { ports, ask, statusesOf } = await open();
    const { session } = await ports[0].signedIn(account('olga'));
    const token = await ports[0].token('monitor');
    let guess = 0;
    const guesses = [
      () => ask('/sign-in'),
      () => ask('/', { accept: 'text/html' }),
      () => ask(TENANTS, withToken(`cmt_monitor_${`${guess}`.padEnd(43, 'A')}`)),
      () => ask('/', inSession(`guessed-${guess}`)),
      () => ask(`/sign-in/link/guessed-${guess}`),
    ];
    const answers = await statusesOf(LIMITS.address + 10, () => {
      guess += 1;
      return (guesses[guess % guesses.length] as (typeof guesses)[0])();
    });
    expect(answers.get(429)).toHaveLength(10);
    const page = await ask('/sign-in', { 'accept-language': 'it' });
    expect([page.statusCode, page.body]).toEqual([429, expect.stringContaining('Troppe richieste')]);
    expectRetryAfter(page.headers);
    expect((await ask('/', inSession(session))).statusCode).toBe(200);
    expect((await ask(TENANTS, withToken(token))).statusCode).toBe(200);
    expect((await ask('/sign-in', {}, '198.41.0.5')).statusCode).toBe(200);
  });

  test('delays no probe, no scrape and no static file', async () => {
    const { ask, statusesOf } = await open();
    expect((await statusesOf(LIMITS.address + 1, () => ask('/sign-in'))).get(429)).toHaveLength(1);
    for (const url of ['/healthz', '/readyz', '/metrics', '/assets/pages.css']) {
      const answers = await statusesOf(LIMITS.address + 10, () => ask(url, { host: 'localhost' }));
      expect([url, answers.get(200)?.length]).toEqual([url, LIMITS.address + 10]);
    }
  });
});

test('a client above the sign-in limit gets 429 with the time to wait', async () => {
  const { ports } = await open();
  const [port] = ports;
  await port.desk.passphrase.set('correct horse battery staple');
  const { post } = port.browser();
  const from = { host: 'mirror.test', origin: 'https://mirror.test', 'x-forwarded-for': '198.41.0.6' };
  const attempts = await Promise.all(Array.from({ length: 21 }, () => post('/sign-in', { passphrase: 'guess' }, from)));
  const held = attempts.filter(({ statusCode }) => statusCode === 429);
  expect(held).toHaveLength(1);
  expect(Number(held[0]?.headers['retry-after'])).toBeGreaterThan(600);
});

test('request counters in Redis are anonymous, and expire within a minute', async () => {
  const { connection, ports, ask } = await open();
  const token = await ports[0].token('monitor');
  const { session } = await ports[0].signedIn(account('vera'));
  for (const headers of [withToken(token), inSession(session), {}]) await ask('/', headers);
  const counters = await connection.keys('cm:{requests-*');
  expect(counters).toHaveLength(3);
  for (const key of counters) {
    for (const told of [token, session, 'monitor', 'vera', '198.41.0.4']) expect(key).not.toContain(told);
    const lifeMs = await connection.pttl(key);
    expect(lifeMs).toBeGreaterThan(0);
    expect(lifeMs).toBeLessThanOrEqual(60_000);
  }
  for (const key of counters) await connection.del(key);
  expect((await ask(TENANTS, withToken(token))).statusCode).toBe(200);
});

test('while Redis does not answer, no one can sign in, and probes are answered', async () => {
  const away = redis.connect();
  const port = await openPort(away, { access: ACCESS, trustedProxies: ['127.0.0.1'] });
  const { session } = await port.signedIn(account('olga'));
  const token = await port.token('monitor');
  away.disconnect();
  onTestFinished(() => away.disconnect());
  const ask = (url: string, headers: Record<string, string>) =>
    port.app.inject({
      method: 'GET',
      url,
      headers: { host: 'mirror.test', 'x-forwarded-for': '198.41.0.4', ...headers },
    });
  const answers = [
    await ask(TENANTS, withToken(token)),
    await ask('/', inSession(session)),
    await ask('/sign-in', { accept: 'text/html' }),
  ];
  for (const { statusCode } of answers) expect(statusCode).toBeGreaterThanOrEqual(500);
  expect((await ask('/healthz', {})).statusCode).toBe(200);
});
