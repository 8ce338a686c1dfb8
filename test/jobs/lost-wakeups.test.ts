import { Queue } from 'bullmq';
import { expect, test } from 'vitest';
import { neverNeedless } from '../../src/jobs/job-catalogue.ts';
import { openQueues } from '../../src/jobs/queues.ts';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();

test.for([
  { what: 'at once', delayMs: 0, list: 'wait' },
  { what: 'later', delayMs: 3_600_000, list: 'delayed' },
])('a lane whose turn $what was lost is woken by the next pull', async ({ delayMs, list }) => {
  const connection = redis.connect();
  const queues = openQueues(redis.url, neverNeedless);
  const queue = new Queue('push', { connection, prefix: QUEUE_PREFIX });
  try {
    await queues.wake('studio-rossi', 'doctor', delayMs);
    const [lost] = await queue.getJobs(['waiting', 'delayed']);
    // What a Redis leaves that came back without its last writes: the note of the turn, and no turn.
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
