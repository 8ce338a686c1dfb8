import { expect, test } from 'vitest';
import { DIALECTS } from '../../demo/world.ts';
import { useRedis } from '../support/redis.ts';
import type { SmallTenant } from './support/small-configuration.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';

const redis = useRedis();

const EVERY_TEXT = {
  title: 'initials',
  titleReason: 'the tests look at every text',
  fields: ['location', 'agenda', 'treatment', 'status'],
};

test.each(DIALECTS)('a clinic that speaks %s is followed, with nothing but its profile changed', async (dialect) => {
  const world = await useSmallWorld({
    redisUrl: redis.url,
    targets: ['google-calendar', 'google-calendar'],
    appointments: 160,
    clinic: { dialect },
    target: EVERY_TEXT,
  });
  const { clinicId } = world.tenants[0] as SmallTenant;

  const { run } = await world.cycle();
  expect(run).toMatchObject({ error: null, snapshot: { completeness: 'complete' }, withheld: [], unusable: {} });
  await expectExact(world, 'first sync');
  for (const { records } of await world.compareAll()) expect(records).toBeGreaterThan(20);

  world.clinic.simulate(clinicId, { booked: 12, moved: 12, cancelled: 6, checkedIn: 2 });
  // A vanished appointment is removed after the second scan that misses it.
  for (let looks = 0; looks < 2; looks += 1) await world.cycle();
  await expectExact(world, 'after changes');

  for (const { proxy } of world.targets) proxy.forget();
  for (let quiet = 0; quiet < 2; quiet += 1) {
    const { targets } = await world.cycle();
    expect(targets.map(({ sync }) => sync)).toEqual(['in-sync', 'in-sync']);
  }
  expect(world.targets.flatMap(({ proxy }) => proxy.requests)).toEqual([]);
});
