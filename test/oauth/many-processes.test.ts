import { expect, test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { runTrial } from './many-processes/trial.ts';

const redis = useRedis();

test('processes that share a connection send one request for each expiry, also when one is killed; all report a lost grant', async () => {
  const { kinds, defects } = await runTrial({ redisUrl: redis.url, processes: 3, rounds: 6, killEvery: 2 });
  expect(defects).toEqual([]);
  expect(kinds.none).toMatchObject({ rounds: 3, requests: { least: 1, most: 1 }, lost: 0 });
  expect(kinds.noted).toMatchObject({ rounds: 1, requests: { most: 1 }, lost: 0 });
  expect(kinds.stored).toMatchObject({ rounds: 1, requests: { most: 1 }, lost: 0 });
  // Between the provider's answer and Redis: the one window, and everybody hears of it.
  expect(kinds.answered).toMatchObject({ rounds: 1, lost: 1, told: 1 });
});
