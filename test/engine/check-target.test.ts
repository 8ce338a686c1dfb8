// Tier: quick. The model of a calendar and a small Redis need less than five seconds.
import { expect, test, vi } from 'vitest';
import { MINUTE_MS } from '../../src/core/model/time.ts';
import { checkTarget } from '../../src/engine/check-target.ts';
import { pullTenant } from '../../src/tenant/pull.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, targetOf } from '../tenant/cycle.ts';
import { type CalendarWorld, editByHand, openCalendarWorld, removeByHand, stateOf } from '../tenant/world.ts';

const redis = useRedis();
const DONE = { restore: false, againInMs: null };

/** A world whose calendar was read once, so that its change feed has a position. */
async function checked(booked: number): Promise<CalendarWorld> {
  const world = openCalendarWorld(redis, booked);
  await cycle(world.tenant);
  await look(world);
  return world;
}

/** The check of one interval, and the requests that it cost. */
async function look(world: CalendarWorld) {
  world.clock.now += 5 * MINUTE_MS;
  const { prepare, read, changes } = world.model.calls;
  const options = { changesOnly: true, once: true };
  const result = await checkTarget(world.tenant, targetOf(world.tenant), options, NEVER);
  const { calls } = world.model;
  const requests = { prepare: calls.prepare - prepare, read: calls.read - read, changes: calls.changes - changes };
  return { ...result, requests };
}

/** The connector gives no positions, as for a calendar without a change feed. */
function withoutFeed(world: CalendarWorld): void {
  const target = targetOf(world.tenant);
  const { connector } = target;
  target.connector = {
    ...connector,
    changes: async (...given) => ({ ...(await connector.changes(...given)), cursor: null }),
  };
}

test('an unchanged calendar costs one request, reads no link, and is known to be checked', async () => {
  const world = await checked(3);
  const reads = vi.spyOn(world.tenant.links, 'read');
  expect(await look(world)).toEqual({ ...DONE, requests: { prepare: 0, read: 0, changes: 1 } });
  expect(reads).not.toHaveBeenCalled();
  expect(await stateOf(world.tenant)).toMatchObject({ sync: 'in-sync', checkedAt: world.clock.now });
});

test('50 events edited by hand and one removed are seen within one interval', async () => {
  const world = await checked(60);
  for (let id = 0; id < 50; id += 1) editByHand(world, String(id), { title: 'Lunch' });
  removeByHand(world, '55');
  expect(await look(world)).toMatchObject({ restore: true });
  expect(await stateOf(world.tenant)).toMatchObject({ sync: 'behind', drift: { edited: 50, removed: 1 } });
});

test('own writes since the last check are no manual changes', async () => {
  const world = await checked(3);
  world.clinic.appointments.set('0', appointmentOf('0', { inHours: 100 }));
  await cycle(world.tenant);
  expect(await look(world)).toMatchObject({ restore: false });
  expect(await stateOf(world.tenant)).toMatchObject({ sync: 'in-sync', drift: { edited: 0, removed: 0 } });
});

test('an edit between an own write and the check is not hidden by the write', async () => {
  const world = await checked(3);
  world.clinic.appointments.set('0', appointmentOf('0', { inHours: 100 }));
  await cycle(world.tenant);
  editByHand(world, '0', { title: 'Lunch' });
  expect(await look(world)).toMatchObject({ restore: true });
});

test('a deleted calendar makes a complete audit due at once, which replaces the calendar', async () => {
  const world = await checked(3);
  world.model.replaceCalendar();
  expect(await look(world)).toMatchObject({ restore: false, againInMs: 0 });
  const { restore } = await checkTarget(world.tenant, targetOf(world.tenant), {}, NEVER);
  expect(restore).toBe(true);
  await cycle(world.tenant);
  await pullTenant(world.tenant, NEVER);
  expect(world.model.objects()).toHaveLength(3);
  expect(await look(world)).toMatchObject(DONE);
});

test('a calendar without a list of changes is only asked whether it exists', async () => {
  const world = openCalendarWorld(redis, 3);
  await cycle(world.tenant);
  withoutFeed(world);
  expect(await look(world)).toMatchObject({ requests: { changes: 1 } });
  expect(await look(world)).toEqual({ ...DONE, requests: { prepare: 1, read: 0, changes: 0 } });
  world.model.replaceCalendar();
  expect(await look(world)).toMatchObject({ restore: true });
});
