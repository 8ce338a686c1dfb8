// Tier: full. Many cases of a property that audit-feed.test.ts checks with a few.
import { describe, test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { tryDriftHistories } from './drift-histories.ts';
import { POLICIES } from './world.ts';

const redis = useRedis({ appendOnly: false });

describe.for(POLICIES)('whatever people, the clinic, the feed and crashes do (%s)', (policy) => {
  test('one whole audit and one cycle lead to what the policy promises', () => tryDriftHistories(redis, policy, 80));
});
