// Tier: full. Many cases of a property that test/engine/parts.test.ts checks with a few.
import { expect, test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { tryNearHistories } from './near-histories.ts';

const redis = useRedis({ appendOnly: false });

/** NEAR_HISTORIES=2000 looks longer. */
const HISTORIES = Number(process.env.NEAR_HISTORIES ?? 30);

test('in any history the next two days equal those of full fetches, no existing record is removed, and the final states are equal', async () => {
  const { near, whole } = await tryNearHistories(redis, HISTORIES);
  // Both kinds were tried. As histories are drawn: 35 to 76 of two days in twelve runs of 15 histories, and 12 once.
  expect(Math.min(near, whole)).toBeGreaterThan(HISTORIES / 3);
});
