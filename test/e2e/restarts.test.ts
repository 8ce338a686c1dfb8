import { expect, test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { runUntilInSync, start } from './support/daemons.ts';
import type { SmallTarget, SmallTenant } from './support/small-configuration.ts';
import { writesAt } from './support/traffic.ts';
import { expectExact, useSmallWorld } from './support/use-small-world.ts';

const redis = useRedis();
/** Whoever waited for leases and locks of dead processes to expire would wait far longer than the test. */
const TEN_MINUTES_MS = 600_000;
const RESTARTS = 5;

test('a daemon that is killed after each planned cycle writes again at once after each restart', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    appointments: 60,
    settings: { leases: { ttlMs: TEN_MINUTES_MS } },
  });
  const { clinicId } = world.tenants[0] as SmallTenant;
  const { proxy } = world.targets[0] as SmallTarget;
  const { installation } = world.open();
  const lastRun = async () => (await installation.tenants.get('clinic-1')?.runs.list(1))?.[0]?.id;
  for (let restart = 0; restart < RESTARTS; restart += 1) {
    proxy.forget();
    world.clinic.simulate(clinicId, { booked: 4, moved: 4, cancelled: 2 });
    const before = await lastRun();
    const daemon = start(world);
    await waitFor(async () => (await lastRun()) !== before, { what: 'a planned cycle' });
    await waitFor(() => writesAt(proxy).length > 0, { what: 'a write' });
    await daemon.kill();
  }

  await runUntilInSync(world, [start(world)]);

  await expectExact(world);
  expect(writesAt(proxy).length).toBeGreaterThan(0);
});
