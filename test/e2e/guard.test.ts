import { expect, test } from 'vitest';
import { useRedis } from '../support/redis.ts';
import type { SmallTarget, SmallTenant } from './support/small-configuration.ts';
import type { SmallWorld } from './support/small-world.ts';
import { deletionsAt, writesAt } from './support/traffic.ts';
import { EXACT, useSmallWorld } from './support/use-small-world.ts';

const redis = useRedis();
const CAREFUL = { vanished: { share: 0.1, count: 3 }, cancelled: { share: 0.1, count: 3 } };

test('too many vanished appointments wait for a person, while the rest goes on; approved, they go', async () => {
  const { world, clinicId, target } = await syncedWorld();
  for (const { id } of upcoming(world, clinicId).slice(0, 6)) world.clinic.remove(clinicId, id, 'hard');
  world.clinic.book(clinicId);
  target.proxy.forget();

  const held = await world.cycle();

  expect(held.targets[0]).toMatchObject({ state: 'held', held: 6, pending: 0 });
  expect(writesAt(target.proxy)).toEqual(['POST']);
  const list = await world.cli('holds', 'list', 'clinic-1');
  const [, hold = ''] = /clinic-mirror holds approve clinic-1 (\S+)/.exec(list.out) ?? [];
  expect(await world.cli('holds', 'approve', 'clinic-1', hold)).toMatchObject({ code: 0 });
  await world.cycle();
  expect(deletionsAt(target.proxy)).toBe(6);
  expect(await world.compareAll()).toEqual([expect.objectContaining(EXACT)]);
});

test('rejected, cancelled appointments stay and are not held again', async () => {
  const { world, clinicId, target } = await syncedWorld();
  for (const { id } of upcoming(world, clinicId).slice(0, 6)) world.clinic.cancel(clinicId, id);
  target.proxy.forget();
  await world.cycle();
  const { holds } = JSON.parse((await world.cli('holds', 'list', '--json')).out) as {
    holds: { id: string; kind: string }[];
  };
  expect(holds).toMatchObject([{ kind: 'cancelled' }]);

  expect(await world.cli('holds', 'reject', 'clinic-1', holds[0]?.id ?? '')).toMatchObject({ code: 0 });

  const after = await world.cycle();
  expect(after.targets[0]).toMatchObject({ state: 'in-sync', held: 0 });
  expect(writesAt(target.proxy)).toEqual([]);
  expect(await world.compareAll()).toEqual([expect.objectContaining({ duplicates: 6, missing: 0 })]);
});

test('a target whose first run waits for approval is given nothing before it', async () => {
  const world = await useSmallWorld({ redisUrl: redis.url, target: { firstRun: 'plan' } });
  const target = world.targets[0] as SmallTarget;
  const first = await world.cycle();
  expect(first.targets[0]).toMatchObject({ state: 'held' });
  expect(writesAt(target.proxy).filter((method) => method !== 'POST')).toEqual([]);
  expect(await target.read()).toEqual([]);
  const { holds } = JSON.parse((await world.cli('holds', 'list', '--json')).out) as {
    holds: { id: string; kind: string }[];
  };
  expect(holds).toMatchObject([{ kind: 'first-run' }]);

  await world.cli('holds', 'approve', 'clinic-1', holds[0]?.id ?? '');

  expect((await world.cycle()).targets[0]).toMatchObject({ state: 'in-sync', held: 0 });
  expect(await world.compareAll()).toEqual([expect.objectContaining(EXACT)]);
});

async function syncedWorld(): Promise<{ world: SmallWorld; clinicId: string; target: SmallTarget }> {
  const world = await useSmallWorld({ redisUrl: redis.url, target: { guard: CAREFUL } });
  await world.cycle();
  const { clinicId } = world.tenants[0] as SmallTenant;
  return { world, clinicId, target: world.targets[0] as SmallTarget };
}

function upcoming({ clinic }: SmallWorld, clinicId: string) {
  const tomorrow = clinic.clock() + 86_400_000;
  return [...clinic.appointments(clinicId)].filter(
    ({ start, status, deleted, patientId }) =>
      start > tomorrow && status === 'Booked' && !deleted && patientId !== null,
  );
}
