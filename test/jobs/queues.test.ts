import { Queue } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { z } from 'zod';
import { noSpans, silentLogger } from '../../src/core/log/logger.ts';
import { type JobKinds, neverNeedless, type Schedules } from '../../src/jobs/job-kinds.ts';
import { type JobQueues, openQueues } from '../../src/jobs/queues.ts';
import { Turns } from '../../src/jobs/turns.ts';
import { startWorkers } from '../../src/jobs/workers.ts';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis();

/** Kinds of jobs that no product has: the queues and workers serve any. */
const KINDS = {
  water: { data: z.object({ tenant: z.string(), plant: z.string().optional() }) },
  weed: { data: z.object({ tenant: z.string() }) },
} as const satisfies JobKinds;
const SCHEDULES = { daily: { job: 'weed' }, rows: { job: 'water', data: { plant: 'row' } } } satisfies Schedules;

function open(): JobQueues {
  const names = Object.keys(KINDS);
  const queues = openQueues({
    ...{ redis: redis.url, names, schedules: SCHEDULES },
    isNeedless: neverNeedless,
    spans: noSpans,
  });
  onTestFinished(() => queues.close());
  return queues;
}

test('jobs of any kinds are done with their data, and unusable data is dropped', async () => {
  const done: string[] = [];
  const workers = startWorkers({
    kinds: KINDS,
    redis: redis.url,
    handlers: {
      water: async ({ tenant, plant }) => void done.push(`water ${plant} of ${tenant}`),
      weed: async ({ tenant }) => void done.push(`weed ${tenant}`),
    },
    inFlight: { water: 1, weed: 1 },
    sharesOf: { water: () => [], weed: () => [] },
    isNeedless: neverNeedless,
    turns: new Turns(),
    lockMs: 30_000,
    log: silentLogger,
    spans: noSpans,
  });
  onTestFinished(() => workers.close(1_000));
  const queues = open();
  await queues.add('water', { tenant: 'garden', plant: 7 }, { once: 'wrong' });
  await queues.add('water', { tenant: 'garden', plant: 'rose' }, { once: 'rose' });
  await queues.add('weed', { tenant: 'garden' }, { once: 'garden' });
  await waitFor(() => done.length === 2, { what: 'both jobs' });
  expect(done.sort()).toEqual(['water rose of garden', 'weed garden']);
});

test('a repeated request has no effect while one waits; one that reschedules sets the time', async () => {
  const queues = open();
  for (const delayMs of [300_000, 3_600_000]) {
    await queues.add('weed', { tenant: 'garden' }, { once: 'garden', delayMs });
    await queues.add('water', { tenant: 'garden' }, { once: 'garden', delayMs, reschedule: true });
  }
  const delays = async (name: string) => {
    const queue = new Queue(name, { connection: redis.connect(), prefix: QUEUE_PREFIX });
    onTestFinished(() => queue.close());
    return (await queue.getJobs('delayed')).map(({ delay }) => delay);
  };
  expect(await delays('weed')).toEqual([300_000]);
  expect(await delays('water')).toEqual([expect.closeTo(3_600_000, -3)]);
});

test('schedules of one kind repeat separately, each with its data; an unknown schedule is refused', async () => {
  const queues = open();
  await queues.repeat('daily', new Map([['garden', 60_000]]));
  await queues.repeat('rows', new Map([['garden', 60_000]]));
  const queue = new Queue('water', { connection: redis.connect(), prefix: QUEUE_PREFIX });
  onTestFinished(() => queue.close());
  expect((await queue.getJobSchedulers()).map(({ key, template }) => ({ key, data: template?.data }))).toEqual([
    { key: 'rows-garden', data: { tenant: 'garden', plant: 'row' } },
  ]);
  await expect(queues.repeat('weekly', new Map([['garden', 60_000]]))).rejects.toThrow('there is no schedule "weekly"');
});

test('an alarm is set once for each object and time, and can be cancelled', async () => {
  const queues = open();
  const alarms = queues.alarms({ job: 'water', field: 'plant' }, 'garden', Date.now);
  const wake = { id: 'rose', wakeAt: Date.now() + 3_600_000 };
  await alarms.set([wake, wake]);
  await alarms.set([wake, { id: 'lily', wakeAt: wake.wakeAt }]);
  const plants = async () => {
    const [shown] = (await queues.show(10)).filter(({ queue }) => queue === 'water');
    return shown?.counts.delayed;
  };
  expect(await plants()).toBe(2);
  await alarms.cancel([wake]);
  expect(await plants()).toBe(1);
});
