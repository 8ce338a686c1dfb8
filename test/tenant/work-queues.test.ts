import { Queue } from 'bullmq';
import { afterEach, describe, expect, test } from 'vitest';
import type { Logger } from '../../src/core/log/logger.ts';
import { neverNeedless } from '../../src/jobs/job-kinds.ts';
import type { Workers } from '../../src/jobs/workers.ts';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';
import type { JobHandlers } from '../../src/tenant/job-catalogue.ts';
import { openWorkQueues, type WorkQueues } from '../../src/tenant/work-queues.ts';
import { startSomeWorkers } from '../jobs/some-workers.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis();

const opened: { close(graceMs: number): Promise<void> }[] = [];

afterEach(async () => {
  for (const each of opened.splice(0).reverse()) await each.close(1_000);
});

function queues(): WorkQueues {
  const open = openWorkQueues(redis.url, neverNeedless);
  opened.push(open);
  return open;
}

function workers(
  handlers: Partial<JobHandlers>,
  options: { log?: Logger; push?: number; lockMs?: number } = {},
): Workers {
  const { push = 4, ...others } = options;
  const started = startSomeWorkers(redis.url, handlers, {
    ...others,
    inFlight: { pull: 2, push, 'check-target': 2, remind: 2 },
  });
  opened.push(started);
  return started;
}

test.for([
  { what: 'at once', delayMs: 0, list: 'wait' },
  { what: 'later', delayMs: 3_600_000, list: 'delayed' },
])('a lane whose job $what was lost is woken by the next pull', async ({ delayMs, list }) => {
  const connection = redis.connect();
  const queues = openWorkQueues(redis.url, neverNeedless);
  const queue = new Queue('push', { connection, prefix: QUEUE_PREFIX });
  try {
    await queues.wake('studio-rossi', 'doctor', delayMs);
    const [lost] = await queue.getJobs(['waiting', 'delayed']);
    // State of a Redis restored without its last writes: the note of the job, and no job.
    await connection.del(queue.toKey(list), queue.toKey(lost!.id!));
    expect(await queue.getJobCountByTypes('waiting', 'delayed')).toBe(0);
    await queues.wake('studio-rossi', 'doctor', 0);
    expect((await queue.getJobs(['waiting', 'delayed'])).map(({ data }) => data)).toEqual([
      { tenant: 'studio-rossi', target: 'doctor' },
    ]);
  } finally {
    await Promise.all([queue.close(), queues.close()]);
  }
});

describe('a lane', () => {
  test('is woken at once although a later turn was planned', async () => {
    const seen: string[] = [];
    workers({ push: async ({ target }) => void seen.push(target) });
    const waking = queues();
    await waking.wake('studio-rossi', 'doctor', 3_600_000);
    await waking.wake('studio-rossi', 'doctor', 0);
    await waitFor(() => seen.length === 1, { what: 'the turn' });
  });

  test('runs after the last request, and only once', async () => {
    const waking = queues();
    await waking.wake('studio-rossi', 'doctor', 300_000);
    await waking.wake('studio-rossi', 'doctor', 3_600_000);
    const queue = new Queue('push', { connection: redis.connect(), prefix: QUEUE_PREFIX });
    const jobs = await queue.getJobs('delayed');
    expect(jobs.map(({ delay }) => delay)).toEqual([expect.closeTo(3_600_000, -3)]);
    await queue.close();
  });

  test('that is woken during a run has one more run, after the first has ended', async () => {
    const gates = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
    let turns = 0;
    let atOnce = 0;
    let most = 0;
    workers({
      push: async () => {
        const gate = gates[turns];
        turns += 1;
        atOnce += 1;
        most = Math.max(most, atOnce);
        await gate?.promise;
        atOnce -= 1;
      },
    });
    const waking = queues();
    await waking.wake('studio-rossi', 'doctor', 0);
    await waitFor(() => turns === 1, { what: 'the first turn' });
    for (let index = 0; index < 5; index += 1) await waking.wake('studio-rossi', 'doctor', 0);
    gates[0]?.resolve();
    await waitFor(() => turns === 2, { what: 'the second turn' });
    gates[1]?.resolve();
    await waking.wake('studio-rossi', 'other', 0);
    await waitFor(() => turns === 3, { what: 'the turn of another lane' });
    expect(most).toBe(1);
  });

  test('that requests a later run during a run does not run before that time', async () => {
    const waking = queues();
    const seen: string[] = [];
    workers({
      push: async ({ target }) => {
        seen.push(target);
        if (target === 'doctor') await waking.wake('studio-rossi', 'doctor', 3_600_000);
      },
    });
    await waking.wake('studio-rossi', 'doctor', 0);
    await waitFor(() => seen.length === 1, { what: 'the first turn' });
    await waking.wake('studio-rossi', 'nurse', 200);
    await waitFor(() => seen.includes('nurse'), { what: 'the turn of another lane' });
    expect(seen).toEqual(['doctor', 'nurse']);
    const queue = new Queue('push', { connection: redis.connect(), prefix: QUEUE_PREFIX });
    await waitFor(async () => (await queue.getJobCounts('delayed')).delayed === 1, {
      what: 'the later turn to be planned',
    });
    await queue.close();
  });
});
