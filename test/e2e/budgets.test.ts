import { expect, test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import type { SmallWorld } from './support/small-world.ts';
import { EXACT, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();

interface Exchange {
  /** The caller, identified by the authorization header. */
  who: string;
  sentAt: number;
  answeredAt: number;
  status: number;
  retryAfterMs: number;
}

test('the tenant that received Retry-After waits, and the other tenants do not', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    tenants: 2,
    clinic: { rateLimit: { requests: 14, windowMs: 2_000 } },
  });
  const exchanges = watchClinic(world);
  for (const { clinicId } of world.tenants) world.clinic.simulate(clinicId, { booked: 5 });

  await waitFor(
    async () => {
      const cycles = await Promise.all(world.tenants.map(({ id }) => world.cycle(id)));
      return exchanges.some(({ status }) => status === 429) && cycles.every(({ run }) => run.error === null);
    },
    { what: 'a cycle after a refusal', intervalMs: 100 },
  );

  const refusals = exchanges.filter(({ status }) => status === 429);
  expect(refusals.length).toBeGreaterThan(0);
  for (const { who, answeredAt, retryAfterMs } of refusals) {
    expect(retryAfterMs).toBeGreaterThanOrEqual(1_000);
    // Requests sent before the refusal arrived are not too early.
    const tooEarly = exchanges.filter(
      (other) => other.who === who && other.sentAt > answeredAt + 50 && other.sentAt < answeredAt + retryAfterMs - 50,
    );
    expect(tooEarly).toEqual([]);
  }
  expect(await world.compareAll()).toEqual([expect.objectContaining(EXACT), expect.objectContaining(EXACT)]);
});

test('two tenants of one client draw from one budget', async () => {
  const budget = { requestsPerMinute: 600, burst: 10 };
  const world = await useSmallWorld({ redisUrl: redis.url, tenants: 2, clinicClient: { budget } });
  const exchanges = watchClinic(world);

  for (let round = 0; round < 3; round += 1) await Promise.all(world.tenants.map(({ id }) => world.cycle(id)));

  const times = exchanges.map(({ sentAt }) => sentAt).sort((one, other) => one - other);
  expect(times.length).toBeGreaterThan(20);
  for (const [index, from] of times.entries()) {
    const within = (times.at(-1) ?? 0) - from;
    const allowed = budget.burst + 1 + ((within + 1_000) * budget.requestsPerMinute) / 60_000;
    expect(times.length - index).toBeLessThanOrEqual(allowed);
  }
});

/** Notes every request to the clinic's API and its answer. */
function watchClinic({ clinicProxy }: SmallWorld): Exchange[] {
  const exchanges: Exchange[] = [];
  const sent = new WeakMap<object, number>();
  clinicProxy.add({
    times: 100_000,
    fault: {
      kind: 'rewrite',
      request(request) {
        sent.set(request, performance.now());
        return request;
      },
      answer(answer, request) {
        const retryAfterMs = Number(answer.headers['retry-after'] ?? 0) * 1_000;
        const answeredAt = performance.now();
        const who = request.headers.authorization ?? '';
        exchanges.push({ who, sentAt: sent.get(request) ?? 0, answeredAt, status: answer.status, retryAfterMs });
        return answer;
      },
    },
  });
  return exchanges;
}
