// Tier: quick. The journey of a hold.
import { expect, test } from 'vitest';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import { decide, forgetTraffic, listHolds, syncedWorld, upcoming } from './support/guarded-world.ts';
import { FAMILIES, RADICALE_USERS } from './support/small-targets.ts';
import { expectExact } from './support/small-world.ts';
import { deletionsAt, writesAt } from './support/traffic.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });
const servers = () => ({ redisUrl: redis.url, davServer: radicale() });

test('too many vanished appointments wait for an operator while other changes continue; after approval they are removed', async () => {
  const { world, clinicId, agendaIds } = await syncedWorld(servers());
  for (const agendaId of agendaIds) {
    for (const { id } of upcoming(world, clinicId, agendaId)) world.clinic.remove(clinicId, id, 'hard');
    world.clinic.book(clinicId, { agendaId });
  }
  forgetTraffic(world);

  const held = await world.cycle();

  for (const view of held.targets) expect(view, view.target).toMatchObject({ reason: 'on-hold', held: 6, pending: 0 });
  for (const { proxy, family } of world.targets) {
    expect(writesAt(proxy), family).toHaveLength(1);
    expect(deletionsAt(proxy), family).toBe(0);
  }
  const list = await world.cli('holds', 'list', 'clinic-1');
  expect(list.out).toMatch(/clinic-mirror holds approve clinic-1 \S+/);
  const ids = (await listHolds(world)).map(({ id }) => id);
  expect(ids).toHaveLength(FAMILIES.length);
  await decide(world, 'approve', ids);
  await world.cycle();
  for (const { proxy, family } of world.targets) expect(deletionsAt(proxy), family).toBe(6);
  await expectExact(world);
});
