import { expect, test } from 'vitest';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { decide, forgetTraffic, listHolds, openWorld, syncedWorld, upcoming } from './support/guarded-world.ts';
import { FAMILIES, RADICALE_USERS } from './support/small-targets.ts';
import { expectExact } from './support/small-world.ts';
import { writesAt } from './support/traffic.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });
const servers = () => ({ redisUrl: redis.url, davServer: radicale() });

test('rejected, cancelled appointments stay and are not held again', async () => {
  const { world, clinicId, agendaIds } = await syncedWorld(servers());
  for (const agendaId of agendaIds) {
    for (const { id } of upcoming(world, clinicId, agendaId)) world.clinic.cancel(clinicId, id);
  }
  forgetTraffic(world);
  await world.cycle();
  const holds = await listHolds(world);
  expect(holds.map(({ kind }) => kind)).toEqual(FAMILIES.map(() => 'cancelled'));

  await decide(
    world,
    'reject',
    holds.map(({ id }) => id),
  );

  const after = await world.cycle();
  for (const view of after.targets) expect(view, view.target).toMatchObject({ sync: 'in-sync', held: 0 });
  for (const { proxy, family } of world.targets) expect(writesAt(proxy), family).toEqual([]);
  const comparisons = await world.compareAll();
  expect(comparisons).toEqual(FAMILIES.map(() => expect.objectContaining({ duplicates: 6, missing: 0 })));
});

test('a target whose first run waits for approval is given nothing before it', async () => {
  const world = await openWorld(servers(), { firstRun: 'plan' });
  const first = await world.cycle();
  for (const view of first.targets) expect(view, view.target).toMatchObject({ reason: 'on-hold' });
  // The calendar itself is made.
  for (const { proxy, read, family } of world.targets) {
    expect(writesAt(proxy).length, family).toBeLessThanOrEqual(1);
    expect(await read(), family).toEqual([]);
  }
  const holds = await listHolds(world);
  expect(holds.map(({ kind }) => kind)).toEqual(FAMILIES.map(() => 'first-run'));

  await decide(
    world,
    'approve',
    holds.map(({ id }) => id),
  );

  const { targets } = await world.cycle();
  for (const view of targets) expect(view, view.target).toMatchObject({ sync: 'in-sync', held: 0 });
  await expectExact(world);
});
