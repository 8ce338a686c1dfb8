// Tier: full. Many cases of a rule that forget.test.ts tries with a few.
import { expect, test } from 'vitest';
import { useRedis } from '../../support/redis.ts';
import { tryDyingCommands } from './dying-commands.ts';

const redis = useRedis({ appendOnly: false });

test('after a command that dies at any step while the daemon continues, a second command completes the erasure', async () => {
  expect(await tryDyingCommands(redis, 5)).toBeGreaterThan(30);
});
