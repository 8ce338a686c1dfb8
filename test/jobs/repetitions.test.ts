import { Queue } from 'bullmq';
import { expect, onTestFinished, test } from 'vitest';
import { openQueues } from '../../src/jobs/workers.ts';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis();

/** What repeats, as another process sees it. */
function onlooker(name: string): () => Promise<string[]> {
  const queue = new Queue(name, { connection: redis.connect(), prefix: QUEUE_PREFIX });
  onTestFinished(() => queue.close());
  return async () => (await queue.getJobSchedulers()).map(({ key }) => key).sort();
}

test.each(['pull', 'audit', 'channels', 'refresh-tokens'] as const)(
  'a repeated %s goes on after Redis was emptied',
  async (name) => {
    const queues = openQueues(redis.url, 20);
    onTestFinished(() => queues.close());
    const repeating = onlooker(name);
    await queues.repeat(name, 'aurora', 60_000);
    await queues.repeat(name, 'belvedere', 60_000);
    expect(await repeating()).toEqual([`${name}-aurora`, `${name}-belvedere`]);

    await redis.connect().flushall();
    await waitFor(async () => (await repeating()).length === 2, { what: 'both to repeat again' });
  },
);

test('what was ended stays ended after Redis was emptied', async () => {
  const queues = openQueues(redis.url, 20);
  onTestFinished(() => queues.close());
  const repeating = onlooker('pull');
  await queues.repeat('pull', 'aurora', 60_000);
  await queues.repeat('pull', 'belvedere', 60_000);
  await queues.keepOnly('pull', new Set(['belvedere']));

  await redis.connect().flushall();
  await waitFor(async () => (await repeating()).length > 0, { what: 'one to repeat again' });
  expect(await repeating()).toEqual(['pull-belvedere']);
});
