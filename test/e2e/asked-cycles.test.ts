import { Queue } from 'bullmq';
import { expect, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { createRunStore } from '../../src/domain/runs.ts';
import { startDaemon } from '../../src/main.ts';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';
import { createLeases } from '../../src/state/leases.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { useSmallWorld } from './support/small-world.ts';

const redis = useRedis();

test('a cycle requested during another cycle runs after it', async () => {
  const schedule = { pullEverySeconds: 86_400, auditEverySeconds: 604_800 };
  const world = await useSmallWorld({
    redisUrl: redis.url,
    targets: ['google-calendar'],
    settings: { operator: { port: 0 }, schedule },
  });
  await world.cycle();
  const connection = redis.connect();
  const runs = createRunStore(connection, 'clinic-1', createProofSealer(Buffer.alloc(32, 1), 'clinic-1'));
  const queue = new Queue('pull', { connection, prefix: QUEUE_PREFIX });
  // Another replica is in the middle of a cycle.
  const lease = await createLeases(connection, 'clinic-1', 60_000).tryTake('plan');
  const daemon = await startDaemon(world.open().configuration, silentLogger, new AbortController().signal);
  try {
    await daemon.composition.queues.pullNow('clinic-1');
    const isAtRest = async () => {
      const { wait = 0, active = 0 } = await queue.getJobCounts('wait', 'active');
      return wait + active === 0 && (await queue.getCompletedCount()) > 0;
    };
    await waitFor(isAtRest, { what: 'every pull to find the lease taken' });
    const before = (await runs.list(1))[0]?.id;
    await lease?.release();
    await waitFor(async () => (await runs.list(1))[0]?.id !== before, { what: 'the requested cycle' });
    expect((await runs.list(1))[0]?.error).toBeNull();
  } finally {
    await daemon.close();
    await queue.close();
  }
});
