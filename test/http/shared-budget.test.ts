import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpClient, withBudget } from '../../src/http/client.ts';
import { openBudgetShare } from '../../src/state/budget.ts';
import { paced } from '../support/pace.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const signal = AbortSignal.timeout(paced(60_000));
const server = createServer((_, response) => response.writeHead(429, { 'retry-after': '3600' }).end());
const httpClient = createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now });
let url: string;

beforeAll(async () => {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
});
afterAll(() => server.close());

function share(tenant: string) {
  return openBudgetShare(redis.connect(), {
    budget: 'google-1',
    participant: tenant,
    limits: { requestsPerMinute: 6_000, burst: 100 },
    priority: 'background',
  });
}

const request = () => ({ label: 'google.events.list', method: 'GET', url, signal });

test('a target that is told to wait does not make the targets of other tenants wait', async () => {
  await withBudget(httpClient, share('studio-rossi')).send(request());
  await withBudget(httpClient, share('studio-rossi')).asFetch('google.calendars.get')(url);
  expect(await withBudget(httpClient, share('studio-bianchi')).send(request())).toMatchObject({ status: 429 });
});

test('a clinic that tells one tenant to wait is asked on by the others; told so by three, all wait', async () => {
  for (const tenant of ['studio-rossi', 'studio-bianchi', 'studio-verdi']) {
    const budget = share(tenant);
    expect(await httpClient.send({ ...request(), budget })).toMatchObject({ status: 429 });
    await expect(httpClient.send({ ...request(), budget })).rejects.toMatchObject({ code: 'budget-paused' });
  }
  await expect(httpClient.send({ ...request(), budget: share('studio-neri') })).rejects.toMatchObject({
    code: 'budget-paused',
    remedy: expect.stringContaining('15 min'),
  });
});

test('an answer is not lost when the budget can not be told of it', async () => {
  const budget = share('studio-rossi');
  const told = { ...budget, refused: () => Promise.reject(new Error('Redis is away')) };
  expect(await httpClient.send({ ...request(), budget: told })).toMatchObject({ status: 429 });
});

test('a wait for the budget that is stopped is a request that was stopped, and surely was not sent', async () => {
  const stop = new AbortController();
  const waiting = {
    ...share('a'),
    take: () => new Promise<void>((_, reject) => stop.signal.addEventListener('abort', reject)),
  };
  const sent = httpClient.send({ ...request(), method: 'POST', signal: stop.signal, budget: waiting });
  stop.abort();
  await expect(sent).rejects.toMatchObject({ code: 'aborted', ambiguous: false });
});
