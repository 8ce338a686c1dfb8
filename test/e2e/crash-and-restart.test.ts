// Tier: quick. The journey of a crash and a restart.
import { test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { killAt, runUntilInSync, start } from './support/daemons.ts';
import type { SmallTarget } from './support/small-configuration.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';
import { BATCHES } from './support/traffic.ts';

const redis = useRedis();

test('a daemon that is killed between a write and its answer leaves no duplicate and no gap after a restart', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, appointments: 60 });
  const { proxy } = world.targets[0] as SmallTarget;
  await killAt(world, (strike) =>
    proxy.add({ url: BATCHES, fault: { kind: 'rewrite', answer: (answer) => strike(answer) } }),
  );

  await runUntilInSync(world, [start(world)]);

  await expectExact(world);
});
