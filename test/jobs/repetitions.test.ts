import { Queue } from 'bullmq';
import type { Redis } from 'ioredis';
import { expect, onTestFinished, test, vi } from 'vitest';
import { neverNeedless } from '../../src/jobs/job-kinds.ts';
import { openRepetitions } from '../../src/jobs/repetitions.ts';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { openWorkQueues } from '../../src/tenant/work-queues.ts';
import { useFakeTime } from '../support/fake-time.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis();
const BOTH = new Map([
  ['aurora', 60_000],
  ['belvedere', 60_000],
]);

/** Returns the repeated jobs as another process sees them. */
function onlooker(name: string): () => Promise<string[]> {
  const queue = new Queue(name, { connection: redis.connect(), prefix: QUEUE_PREFIX });
  onTestFinished(() => queue.close());
  return async () => (await queue.getJobSchedulers()).map(({ key }) => key).sort();
}

/** How many scripts ran, by their text or by its digest. */
async function scriptsRun(connection: Redis): Promise<number> {
  const told = (await connection.info('commandstats')).matchAll(/cmdstat_eval(?:sha)?:calls=(\d+)/g);
  return [...told].reduce((sum, [, calls]) => sum + Number(calls), 0);
}

test.each(['pull', 'audit', 'subscriptions', 'refresh-tokens'] as const)(
  'a repeated %s continues after Redis was emptied',
  async (name) => {
    const queues = openWorkQueues(redis.url, neverNeedless, 20);
    onTestFinished(() => queues.close());
    const repeating = onlooker(name);
    await queues.repeat(name, BOTH);
    expect(await repeating()).toEqual([`${name}-aurora`, `${name}-belvedere`]);

    await redis.connect().flushall();
    await waitFor(async () => (await repeating()).length === 2, { what: 'both to repeat again' });
  },
);

test('audits of only the changes share the queue of audits, and neither ends the other', async () => {
  const queues = openWorkQueues(redis.url, neverNeedless);
  onTestFinished(() => queues.close());
  const repeating = onlooker('audit');
  await queues.repeat('changes', BOTH);
  await queues.repeat('audit', new Map([['aurora', 60_000]]));
  const all = ['audit-aurora', 'changes-aurora', 'changes-belvedere'];
  expect(await repeating()).toEqual(all);

  const next = openWorkQueues(redis.url, neverNeedless);
  onTestFinished(() => next.close());
  await next.repeat('changes', new Map([['belvedere', 60_000]]));
  await next.repeat('audit', new Map([['aurora', 60_000]]));
  expect(await repeating()).toEqual(['audit-aurora', 'changes-belvedere']);
});

test('what was ended stays ended after Redis was emptied', async () => {
  const queues = openWorkQueues(redis.url, neverNeedless, 20);
  onTestFinished(() => queues.close());
  const repeating = onlooker('pull');
  await queues.repeat('pull', BOTH);
  await queues.repeat('pull', new Map([['belvedere', 60_000]]));

  await redis.connect().flushall();
  await waitFor(async () => (await repeating()).length > 0, { what: 'one to repeat again' });
  expect(await repeating()).toEqual(['pull-belvedere']);
});

test('work that a fast clock delayed continues when the clock is set back, and requested work starts at once', async () => {
  const aheadMs = 3_700_000;
  const queue = new Queue('pull', { connection: redis.connect(), prefix: QUEUE_PREFIX });
  const queues = openWorkQueues(redis.url, neverNeedless, 20);
  onTestFinished(async () => {
    vi.useRealTimers();
    await Promise.all([queue.close(), queues.close()]);
  });
  vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + aheadMs });
  await queues.repeat('pull', new Map([['aurora', 60_000]]));
  await queues.pullNow('aurora', 1_000);
  vi.useRealTimers();

  const nextAt = async () => (await queue.getJobSchedulers())[0]?.next ?? Infinity;
  await waitFor(async () => (await nextAt()) < Date.now() + 120_000, { what: 'the next pull to be near' });
  await queues.pullNow('aurora');
  const [asked] = (await queue.getDelayed()).filter(({ data }) => data.asked === true);
  // BullMQ orders what is delayed by its time in units of 1/4096 ms.
  const score = await redis.connect().zscore(`${QUEUE_PREFIX}:pull:delayed`, asked?.id ?? '');
  expect(Number(score) / 4_096).toBeLessThanOrEqual(Date.now());
});

test('a repeated job is not scheduled again at startup, except with another interval', async () => {
  const at = new Map(Array.from({ length: 40 }, (_, index) => [`tenant-${index}`, 300_000]));
  const written = async (work: () => Promise<void>) => {
    const connection = redis.connect();
    const calls = async () => Number(/cmdstat_hmset:calls=(\d+)/.exec(await connection.info('commandstats'))?.[1] ?? 0);
    const before = await calls();
    await work();
    return (await calls()) - before;
  };
  const queues = openWorkQueues(redis.url, neverNeedless);
  onTestFinished(() => queues.close());
  expect(await written(() => queues.repeat('audit', at))).toBe(80);
  expect(await written(() => queues.repeat('audit', at))).toBe(0);
  expect(await written(() => queues.repeat('audit', new Map(at).set('tenant-7', 600_000)))).toBe(2);
});

test('after the first time only differences are scheduled or ended', async () => {
  const queues = openWorkQueues(redis.url, neverNeedless);
  onTestFinished(() => queues.close());
  const repeating = onlooker('audit');
  await queues.repeat('audit', BOTH);
  const connection = redis.connect();
  await connection.config('RESETSTAT');
  await queues.repeat('audit', new Map(BOTH));
  const calls = async () => Number(/cmdstat_evalsha:calls=(\d+)/.exec(await connection.info('commandstats'))?.[1] ?? 0);
  expect(await calls()).toBe(0);
  await queues.repeat('audit', new Map([...BOTH, ['ceresio', 60_000]]));
  expect(await repeating()).toEqual(['audit-aurora', 'audit-belvedere', 'audit-ceresio']);
  await queues.repeat('audit', new Map([['ceresio', 30_000]]));
  expect(await repeating()).toEqual(['audit-ceresio']);
  const every = await connection.hget('{clinic-mirror}:audit:repeat:audit-ceresio', 'every');
  expect(every).toBe('30000');
});

test('a job repeats for tenants that require it, and soon for tenants that require it by now', async () => {
  const needless = new Set(['aurora']);
  const queues = openWorkQueues(redis.url, async (_job, tenant) => needless.has(tenant), 20);
  onTestFinished(() => queues.close());
  const repeating = onlooker('refresh-tokens');
  await queues.repeat('refresh-tokens', BOTH);
  expect(await repeating()).toEqual(['refresh-tokens-belvedere']);
  needless.delete('aurora');
  await waitFor(async () => (await repeating()).length === 2, { what: 'both to repeat' });
  needless.add('belvedere');
  await waitFor(async () => (await repeating()).length === 1, { what: 'one to repeat' });
  expect(await repeating()).toEqual(['refresh-tokens-aurora']);
  await queues.repeat('refresh-tokens', new Map([['belvedere', 60_000]]));
  expect(await repeating()).toEqual([]);
});

test('a check under an outdated configuration restores nothing', async () => {
  const overtaken = Promise.withResolvers<void>();
  let held = 0;
  let isHolding = false;
  const queues = openWorkQueues(
    redis.url,
    async (_job, tenant) => {
      if (isHolding && tenant === 'aurora') {
        held += 1;
        await overtaken.promise;
      }
      return false;
    },
    20,
  );
  onTestFinished(() => queues.close());
  const repeating = onlooker('pull');
  await queues.repeat('pull', BOTH);
  isHolding = true;
  await waitFor(() => held > 0, { what: 'a look to be under way' });
  await queues.repeat('pull', new Map([['belvedere', 60_000]]));
  expect(await repeating()).toEqual(['pull-belvedere']);
  const connection = redis.connect();
  await connection.config('RESETSTAT');
  overtaken.resolve();
  const looks = () => scriptsRun(connection);
  await waitFor(async () => (await looks()) >= held + 2, { what: 'those that were held, and two more' });
  expect(await repeating()).toEqual(['pull-belvedere']);
});

test('a process does not change repeated jobs of tenants that it does not know', async () => {
  const queues = openWorkQueues(redis.url, neverNeedless, 20);
  const others = openWorkQueues(redis.url, neverNeedless, 60_000);
  onTestFinished(async () => void (await Promise.all([queues.close(), others.close()])));
  const repeating = onlooker('subscriptions');
  await queues.repeat('subscriptions', new Map([['aurora', 60_000]]));
  await others.repeat('subscriptions', new Map([['aurora', 60_000]]));
  await others.repeat('subscriptions', BOTH);
  const connection = redis.connect();
  // Two checks began, so one of them has ended.
  await connection.config('RESETSTAT');
  const looks = () => scriptsRun(connection);
  await waitFor(async () => (await looks()) >= 2, { what: 'two looks' });
  expect(await repeating()).toEqual(['subscriptions-aurora', 'subscriptions-belvedere']);
});

test('a check of many tenants is spread over its period, covers all jobs of a tenant at once, and ends with its signal', async () => {
  const time = useFakeTime();
  const asked: string[] = [];
  const queue = { toKey: (type: string) => type, upsertJobScheduler: async () => {} } as unknown as Queue;
  const connection = { eval: async () => [] } as unknown as RedisClient;
  const isNeedless = async (job: string, tenant: string) => asked.push(`${job} ${tenant}`) > 0;
  const repetitions = openRepetitions({
    schedules: { pull: { job: 'pull' }, audit: { job: 'audit' } },
    queueOf: async () => queue,
    connection: async () => connection,
    isNeedless,
    options: {},
  });
  const tenants = new Map(Array.from({ length: 250 }, (_, index) => [`tenant-${index}`, 60_000]));
  for (const name of ['pull', 'audit'] as const) await repetitions.repeat(name, tenants);
  const end = new AbortController();
  const seenAfter = async (ms: number) => {
    asked.length = 0;
    await time.pass(ms);
    return asked.length;
  };
  const looking = repetitions.putBack(30_000, end.signal);
  expect(await seenAfter(0)).toBe(200);
  expect(await seenAfter(9_999)).toBe(0);
  expect(await seenAfter(1)).toBe(200);
  expect(asked.slice(0, 100).every((line) => line.startsWith('pull'))).toBe(true);
  expect(await seenAfter(10_000)).toBe(100);
  expect(await seenAfter(10_000)).toBe(0);
  await looking;
  const again = repetitions.putBack(30_000, end.signal);
  expect(await seenAfter(0)).toBe(200);
  end.abort(new Error('it ends'));
  await expect(again).rejects.toThrow('it ends');
});
