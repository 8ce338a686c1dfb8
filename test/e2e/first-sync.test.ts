import { expect, test } from 'vitest';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { FAMILIES, RADICALE_USERS } from './support/small-targets.ts';
import { cycleUntil, expectExact, isExact, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });

test('a first sync, changes at the front desk, then quiet cycles that ask the targets nothing', async () => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    davServer: radicale(),
    targets: FAMILIES,
    appointments: 120,
  });
  const [tenant] = world.tenants;

  const first = await world.cycle();
  expect(first.run.error).toBeNull();
  expect(first.run.snapshot).toMatchObject({ completeness: 'complete' });
  await expectExact(world);
  for (const { records } of await world.compareAll()) expect(records).toBeGreaterThan(20);

  world.clinic.simulate(tenant?.clinicId ?? '', { booked: 8, moved: 8, cancelled: 5, checkedIn: 1 });
  // Some cancelled appointments disappear from the lists.
  await cycleUntil(world, async () => (await world.compareAll()).every(isExact));

  for (const { proxy } of world.targets) proxy.forget();
  for (let quiet = 0; quiet < 2; quiet += 1) {
    const { targets } = await world.cycle();
    expect(targets.map(({ sync }) => sync)).toEqual(FAMILIES.map(() => 'in-sync'));
  }
  expect(world.targets.flatMap(({ proxy }) => proxy.requests)).toEqual([]);
});
