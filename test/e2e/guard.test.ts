import { expect, test } from 'vitest';
import { useRadicale } from '../support/radicale.ts';
import { useRedis } from '../support/redis.ts';
import type { SmallTenant } from './support/small-configuration.ts';
import { FAMILIES, RADICALE_USERS } from './support/small-targets.ts';
import type { SmallWorld } from './support/small-world.ts';
import { expectExact, useSmallWorld } from './support/small-world.ts';
import { deletionsAt, writesAt } from './support/traffic.ts';

const redis = useRedis();
const radicale = useRadicale({ users: RADICALE_USERS });
const CAREFUL = { vanished: { share: 0.1, count: 3 }, cancelled: { share: 0.1, count: 3 } };

test('too many vanished appointments wait for an operator while other changes continue; after approval they are removed', async () => {
  const { world, clinicId, agendaIds } = await syncedWorld();
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

test('rejected, cancelled appointments stay and are not held again', async () => {
  const { world, clinicId, agendaIds } = await syncedWorld();
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
  const world = await openWorld({ firstRun: 'plan' });
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

function openWorld(target: object): Promise<SmallWorld> {
  return useSmallWorld({ redisUrl: redis.url, davServer: radicale(), targets: FAMILIES, appointments: 120, target });
}

async function syncedWorld(): Promise<{ world: SmallWorld; clinicId: string; agendaIds: string[] }> {
  const world = await openWorld({ guard: CAREFUL });
  await world.cycle();
  const { clinicId, agendaIds } = world.tenants[0] as SmallTenant;
  return { world, clinicId, agendaIds };
}

function forgetTraffic({ targets }: SmallWorld): void {
  for (const { proxy } of targets) proxy.forget();
}

/** The next six visits of an agenda, from tomorrow on. */
function upcoming({ clinic }: SmallWorld, clinicId: string, inAgenda: string) {
  const tomorrow = clinic.clock() + 86_400_000;
  const visits = [...clinic.appointments(clinicId)].filter(
    ({ agendaId, start, status, deleted, patientId }) =>
      agendaId === inAgenda && start > tomorrow && status === 'Booked' && !deleted && patientId !== null,
  );
  return visits.slice(0, 6);
}

async function listHolds(world: SmallWorld): Promise<{ id: string; kind: string }[]> {
  const { out } = await world.cli('holds', 'list', '--json');
  return (JSON.parse(out) as { items: { id: string; kind: string }[] }).items;
}

async function decide(world: SmallWorld, answer: 'approve' | 'reject', holds: readonly string[]): Promise<void> {
  const decided = await Promise.all(holds.map((hold) => world.cli('holds', answer, 'clinic-1', hold)));
  expect(decided.map(({ code }) => code)).toEqual(holds.map(() => 0));
}
