import { expect, test } from 'vitest';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { RADICALE_USERS } from './support/small-targets.ts';
import { EXACT, useSmallWorld } from './support/use-small-world.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });

test('a first sync, changes at the front desk, then quiet cycles that ask the targets nothing', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    radicale: radicale(),
    targets: ['google-calendar', 'caldav'],
    appointments: 80,
  });
  const [tenant] = world.tenants;

  const first = await world.cycle();
  expect(first.run.error).toBeNull();
  expect(first.run.snapshot).toMatchObject({ completeness: 'complete' });
  for (const comparison of await world.compareAll()) {
    expect(comparison).toMatchObject(EXACT);
    expect(comparison.records).toBeGreaterThan(20);
  }

  world.clinic.simulate(tenant?.clinicId ?? '', { booked: 8, moved: 8, cancelled: 5, checkedIn: 1 });
  await world.cycle();
  for (const comparison of await world.compareAll()) expect(comparison).toMatchObject(EXACT);

  for (const { proxy } of world.targets) proxy.forget();
  for (let quiet = 0; quiet < 2; quiet += 1) {
    const { targets } = await world.cycle();
    expect(targets.map(({ state }) => state)).toEqual(['in-sync', 'in-sync']);
  }
  expect(world.targets.flatMap(({ proxy }) => proxy.requests)).toEqual([]);
});
