import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { auditTarget } from '../../src/engine/audit-target.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, targetOf } from './cycle.ts';
import {
  auditOf,
  type CalendarWorld,
  type CrmWorld,
  openCrmWorld,
  openDriftWorld,
  patientOf,
  removeByHand,
  stateOf,
} from './world.ts';

const redis = useRedis();
const BOOKED = 20;

async function synced() {
  const world = openDriftWorld(redis.connect(), BOOKED, 'repair');
  await cycle(world.tenant);
  return world;
}

function empty(world: CalendarWorld, count = BOOKED): void {
  for (let id = 0; id < count; id += 1) removeByHand(world, String(id));
}

const ownCount = ({ model }: CalendarWorld) => model.objects().filter(({ ownerTag }) => ownerTag !== null).length;

async function laterCycle(world: CalendarWorld, afterMs = HOUR_MS) {
  world.clock.now += afterMs;
  await auditOf(world.tenant, { whole: true });
  return cycle(world.tenant);
}

async function heldIn({ tenant }: CalendarWorld) {
  const holds = await tenant.holds.list();
  return holds.map(({ kind, state, recordIds }) => [kind, state, recordIds.length]);
}

async function decide({ tenant, clock }: CalendarWorld, state: 'approved' | 'rejected') {
  const [hold] = await tenant.holds.list();
  await tenant.holds.decide(hold?.id ?? '', { state, now: clock.now, expiresAt: clock.now + 7 * DAY_MS });
}

describe('a calendar that a user emptied', () => {
  test('is not filled again before an approval, however many audits and cycles follow', async () => {
    const world = await synced();
    empty(world);
    for (let rounds = 0; rounds < 4; rounds += 1) {
      await laterCycle(world);
      expect(ownCount(world)).toBe(0);
      expect(await heldIn(world)).toEqual([['manual-changes', 'open', BOOKED]]);
    }
    expect(await stateOf(world.tenant)).toMatchObject({
      ...{ reason: 'on-hold', held: BOOKED },
      heldRestorations: { count: BOOKED, limit: { share: 0.2, count: 10 } },
    });
    await decide(world, 'approved');
    await cycle(world.tenant);
    expect(ownCount(world)).toBe(BOOKED);
    await laterCycle(world);
    expect(await stateOf(world.tenant)).toMatchObject({ reason: null, held: 0, heldRestorations: null });
  });

  test('stays empty for a week after a rejection, is in sync meanwhile, and still gets new appointments', async () => {
    const world = await synced();
    empty(world);
    await laterCycle(world);
    await decide(world, 'rejected');
    world.clinic.appointments.set('new', appointmentOf('new', { inHours: 400 }));
    await laterCycle(world);
    expect(ownCount(world)).toBe(1);
    await laterCycle(world, DAY_MS);
    expect(ownCount(world)).toBe(1);
    expect(await stateOf(world.tenant)).toMatchObject({
      ...{ reason: null, sync: 'in-sync', held: 0 },
      inSyncAsOf: world.clock.now,
    });
  });

  test('is held too if a vendor reports the removals in small parts', async () => {
    const world = await synced();
    for (let part = 0; part < 4; part += 1) {
      for (let id = part * 3; id < part * 3 + 3; id += 1) removeByHand(world, String(id));
      await laterCycle(world, MINUTE_MS);
    }
    expect(await heldIn(world)).toEqual([['manual-changes', 'open', 3]]);
    expect(ownCount(world)).toBe(BOOKED - 3);
  });

  test('loses the hold if the user takes the events out of the bin', async () => {
    const world = await synced();
    const trashed = Array.from({ length: BOOKED }, (_, id) => removeByHand(world, String(id)));
    await laterCycle(world);
    for (const object of trashed) {
      object.deleted = false;
      object.version += 1;
    }
    await laterCycle(world);
    expect(await heldIn(world)).toEqual([]);
    expect(ownCount(world)).toBe(BOOKED);
  });

  test('still loses the events that the clinic cancels meanwhile, without a removal of the others', async () => {
    const world = await synced();
    empty(world, BOOKED - 1);
    await laterCycle(world);
    world.clinic.appointments.set('0', appointmentOf('0', { status: 'cancelled' }));
    await laterCycle(world);
    expect(await heldIn(world)).toEqual([['manual-changes', 'open', BOOKED - 2]]);
    expect(await world.tenant.links.count('doctor')).toBe(BOOKED - 1);
  });
});

test('three removed events of many are restored without an approval', async () => {
  const world = await synced();
  empty(world, 3);
  await laterCycle(world);
  expect([ownCount(world), await heldIn(world)]).toEqual([BOOKED, []]);
});

test('contacts that were removed from a CRM in bulk wait for an approval like events', async () => {
  const world: CrmWorld = openCrmWorld(redis);
  world.clinic.patientList.push(...Array.from({ length: 12 }, (_, id) => patientOf(String(id))));
  await cycle(world.tenant);
  for (const object of world.contacts.objects()) object.deleted = true;
  world.clock.now += DAY_MS;
  await auditTarget(world.tenant, targetOf(world.tenant, 'contacts'), NEVER, { whole: true });
  await cycle(world.tenant);
  expect(world.contacts.objects()).toEqual([]);
  const [hold] = await world.tenant.holds.list();
  expect(hold).toMatchObject({ target: 'contacts', kind: 'manual-changes', recordIds: { length: 12 } });
  const now = world.clock.now;
  await world.tenant.holds.decide(hold?.id ?? '', { state: 'approved', now, expiresAt: now + DAY_MS });
  await cycle(world.tenant);
  expect(world.contacts.objects()).toHaveLength(12);
});
