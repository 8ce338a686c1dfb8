import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, drain, targetOf, twoCycles } from '../tenant/cycle.ts';
import { createModelClinic, type ModelClinic } from '../tenant/model-clinic.ts';
import { createModelTarget } from '../tenant/model-target.ts';
import { openTenant, type TargetChoice } from '../tenant/open-tenant.ts';
import { type CalendarWorld, openCalendarWorld, stateOf } from '../tenant/world.ts';

const redis = useRedis();

const open = (booked: number, choice?: Partial<TargetChoice>) => openCalendarWorld(redis, booked, choice);

/** The one open hold. */
async function openHold(tenant: OpenTenant) {
  const holds = (await tenant.holds.list()).filter(({ state }) => state === 'open');
  expect(holds).toHaveLength(1);
  return holds[0]!;
}

/** Always the same numbers, and spread. */
function seededRandom(): () => number {
  let seed = 1;
  return () => {
    seed = (seed * 48_271) % 2_147_483_647;
    return seed / 2_147_483_647;
  };
}

/** Lists that omit these existing records. */
function hiding(clinic: ModelClinic, ...ids: string[]): ModelClinic['readAppointments'] {
  const readAppointments = clinic.readAppointments.bind(clinic);
  return async (query, signal) => {
    const snapshot = await readAppointments(query, signal);
    for (const id of ids) snapshot.records.delete(id);
    return { ...snapshot, unusable: snapshot.unusable.filter(({ recordId }) => !ids.includes(recordId ?? '')) };
  };
}

describe('too many removals', () => {
  async function held(world: CalendarWorld) {
    await cycle(world.tenant);
    for (let index = 0; index < 30; index += 1) world.clinic.appointments.delete(`${index}`);
    world.clinic.appointments.set('new', appointmentOf('new'));
    world.clinic.appointments.set('35', appointmentOf('35', { inHours: 99 }));
    await cycle(world.tenant);
    return openHold(world.tenant);
  }

  test('are held, while creates and changes continue', async () => {
    const world = open(40);
    const hold = await held(world);
    expect(hold).toMatchObject({ kind: 'vanished', target: 'doctor', linkCount: 40, state: 'open' });
    expect(hold.recordIds).toHaveLength(30);
    expect(world.model.objects()).toHaveLength(41);
    expect(await stateOf(world.tenant)).toMatchObject({ reason: 'on-hold', held: 30, inSyncAsOf: NOW });
  });

  test('that an administrator approves are written in the next cycle', async () => {
    const world = open(40);
    const { id } = await held(world);
    world.clock.now += 1;
    await world.tenant.holds.decide(id, { state: 'approved', now: world.clock.now, expiresAt: NOW + DAY_MS });
    // Nothing waits and nothing is held, and yet it is not as the clinic is.
    expect(await stateOf(world.tenant)).toMatchObject({ reason: 'next-cycle', held: 0, pending: 0, inSyncAsOf: NOW });
    await drain(world.tenant, targetOf(world.tenant, 'doctor'));
    world.clock.now += 1;
    expect(await stateOf(world.tenant)).toMatchObject({ reason: 'next-cycle', inSyncAsOf: NOW });
    await cycle(world.tenant);
    expect(world.model.objects()).toHaveLength(11);
    expect(await stateOf(world.tenant)).toMatchObject({ sync: 'in-sync', held: 0, deleted: 30 });
    world.clinic.appointments.delete('39');
    await twoCycles(world.tenant);
    expect(world.model.objects()).toHaveLength(10);
  });

  test('that an administrator rejects are dropped, and are not held again', async () => {
    const world = open(40);
    const { id } = await held(world);
    await world.tenant.holds.decide(id, { state: 'rejected', now: NOW, expiresAt: NOW + 7 * DAY_MS });
    await cycle(world.tenant);
    expect(world.model.objects()).toHaveLength(41);
    expect((await world.tenant.holds.list()).map(({ state }) => state)).toEqual(['rejected']);
    world.clinic.appointments.delete('39');
    await twoCycles(world.tenant);
    expect(world.model.objects()).toHaveLength(40);
  });

  test('without a decision are rejected in the end: nothing is removed', async () => {
    const world = open(40, { configuration: { window: { pastDays: 30, futureDays: 60 } } });
    await held(world);
    world.clock.now += 169 * HOUR_MS;
    await cycle(world.tenant);
    expect((await world.tenant.holds.list()).map(({ state }) => state)).toEqual(['rejected']);
    expect(world.model.objects()).toHaveLength(41);
  });

  test('are held no longer when the clinic shows the appointments again', async () => {
    const world = open(40);
    await held(world);
    for (let index = 0; index < 30; index += 1) {
      world.clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 24 + index }));
    }
    await cycle(world.tenant);
    expect(await world.tenant.holds.list()).toEqual([]);
    expect(await stateOf(world.tenant)).toMatchObject({ sync: 'in-sync', links: 41 });
  });

  test('of a clinic that answers with an empty list are held', async () => {
    const world = open(40);
    await cycle(world.tenant);
    world.clinic.appointments.clear();
    await cycle(world.tenant);
    expect(world.model.objects()).toHaveLength(40);
  });

  test('of a small calendar are held when half of it is missing, and not when less is missing or the clinic cancels everything', async () => {
    const emptied = open(8);
    await cycle(emptied.tenant);
    emptied.clinic.appointments.clear();
    await twoCycles(emptied.tenant);
    expect(emptied.model.objects()).toHaveLength(8);
    expect(await openHold(emptied.tenant)).toMatchObject({ kind: 'vanished', recordIds: { length: 8 } });

    await redis.connect().flushall();
    const thinned = open(8);
    await cycle(thinned.tenant);
    for (const id of ['0', '1', '2']) thinned.clinic.appointments.delete(id);
    await twoCycles(thinned.tenant);
    expect(thinned.model.objects()).toHaveLength(5);
    for (const [id, appointment] of thinned.clinic.appointments) {
      thinned.clinic.appointments.set(id, { ...appointment, status: 'cancelled' });
    }
    await cycle(thinned.tenant);
    expect(thinned.model.objects()).toEqual([]);
    expect(await thinned.tenant.holds.list()).toEqual([]);
  });

  test('are all held before the first removal, although most of them could not be queried', async () => {
    const world = open(600);
    await cycle(world.tenant);
    world.clinic.appointments.clear();
    const run = await cycle(world.tenant);
    expect(run.targets[0]).toMatchObject({ planned: {}, held: 600 });
    expect(world.clinic.counts.lookups).toBe(200);
    for (let cycles = 0; cycles < 3; cycles += 1) await cycle(world.tenant);
    expect(world.model.objects()).toHaveLength(600);
    expect(await openHold(world.tenant)).toMatchObject({ recordIds: { length: 600 } });
    // A few held records are queried.
    expect(world.clinic.counts.lookups).toBe(260);
  });

  test('are written after approval when proven, by one query each, 200 in a cycle', async () => {
    const world = open(600);
    await cycle(world.tenant);
    world.clinic.appointments.clear();
    await cycle(world.tenant);
    await world.tenant.holds.decide((await openHold(world.tenant)).id, {
      state: 'approved',
      now: NOW,
      expiresAt: NOW + DAY_MS,
    });
    const left: number[] = [];
    for (let cycles = 0; cycles < 3; cycles += 1) {
      await cycle(world.tenant);
      left.push(world.model.objects().length);
    }
    expect(left).toEqual([400, 200, 0]);
  });

  test('an incomplete list holds nothing and removes nothing; the next complete list removes', async () => {
    const world = open(600);
    const { clinic, model, tenant } = world;
    await cycle(tenant);
    const { readAppointments } = clinic;
    clinic.readAppointments = hiding(clinic, ...Array.from({ length: 500 }, (_, index) => `${index + 100}`));
    clinic.appointments.delete('0');
    tenant.random = seededRandom();
    for (let cycles = 0; cycles < 20; cycles += 1) {
      await cycle(tenant);
      expect(await tenant.holds.list()).toEqual([]);
    }
    expect(model.objects()).toHaveLength(600);
    clinic.readAppointments = readAppointments;
    await twoCycles(tenant);
    expect(model.objects()).toHaveLength(599);
  });

  test('a held record that exists after all leaves the hold, although no list shows it', async () => {
    const world = open(40);
    const { clinic, model, tenant } = world;
    await cycle(tenant);
    const kept = new Map(clinic.appointments);
    clinic.appointments.clear();
    await cycle(tenant);
    expect(await openHold(tenant)).toMatchObject({ recordIds: { length: 40 } });
    for (const [id, appointment] of kept) clinic.appointments.set(id, appointment);
    clinic.readAppointments = hiding(clinic, ...kept.keys());
    await cycle(tenant);
    expect(await tenant.holds.list()).toEqual([]);
    expect(model.objects()).toHaveLength(40);
  });

  test('a record that comes and goes counts each time', async () => {
    const world = open(8);
    const { clinic, model, tenant } = world;
    await cycle(tenant);
    let deleted = 0;
    for (let turn = 0; turn < 15; turn += 1) {
      clinic.appointments.delete('0');
      await twoCycles(tenant);
      deleted += 8 - model.objects().length;
      clinic.appointments.set('0', appointmentOf('0', { inHours: 24 }));
      await cycle(tenant);
    }
    // Fewer than half of the calendar's content: eight events, and the returned ones.
    expect(deleted).toBe(6);
    expect(model.objects()).toHaveLength(8);
  });
});

describe('a fetch that replaces nearly everything', () => {
  const foreign = (clinic: ModelClinic, prefix: string) => {
    clinic.appointments.clear();
    for (let index = 0; index < 62; index += 1) {
      const id = `${prefix}${index}`;
      clinic.appointments.set(id, appointmentOf(id, { inHours: 30 + index * 2 }));
    }
  };

  test.each(['', 'x'])('is held whole, creates and updates too, and ends when it is over (ids %o)', async (prefix) => {
    const { clinic, model, clock, tenant } = open(62);
    await cycle(tenant);
    const own = new Map(clinic.appointments);
    const before = JSON.stringify(model.objects());
    foreign(clinic, prefix);
    clock.now += HOUR_MS;
    for (let cycles = 0; cycles < 3; cycles += 1) await cycle(tenant);
    expect(JSON.stringify(model.objects())).toBe(before);
    expect(await openHold(tenant)).toMatchObject({ kind: 'replaced' });
    expect(await stateOf(tenant)).toMatchObject({ reason: 'on-hold', inSyncAsOf: NOW });
    clinic.appointments.clear();
    for (const [id, appointment] of own) clinic.appointments.set(id, appointment);
    await cycle(tenant);
    expect(await tenant.holds.list()).toEqual([]);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', inSyncAsOf: clock.now });
  });

  test('is written after approval, and dropped after rejection, without blocking another fetch', async () => {
    const { clinic, model, tenant } = open(62);
    await cycle(tenant);
    const own = new Map(clinic.appointments);
    const before = JSON.stringify(model.objects());
    foreign(clinic, '');
    await cycle(tenant);
    await tenant.holds.decide((await openHold(tenant)).id, { state: 'rejected', now: NOW, expiresAt: NOW + DAY_MS });
    await cycle(tenant);
    expect(JSON.stringify(model.objects())).toBe(before);
    expect((await tenant.holds.list()).map(({ state }) => state)).toEqual(['rejected']);
    clinic.appointments.clear();
    for (const [id, appointment] of own) clinic.appointments.set(id, appointment);
    clinic.appointments.set('0', appointmentOf('0', { inHours: 500 }));
    expect((await cycle(tenant)).targets[0]?.planned).toEqual({ 'content-changed': 1 });
    await redis.connect().del('cm:{studio-rossi}:holds');
    foreign(clinic, '');
    await cycle(tenant);
    await tenant.holds.decide((await openHold(tenant)).id, { state: 'approved', now: NOW, expiresAt: NOW + DAY_MS });
    await cycle(tenant);
    expect(JSON.stringify(model.objects())).not.toBe(before);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync' });
  });

  test('is not a change of an operator, a small calendar’s day, a renamed catalogue or a lost state', async () => {
    const world = open(62);
    await cycle(world.tenant);
    const shown = world.again({
      targets: [{ model: world.model, configuration: { title: 'full', language: 'it' } }],
    } as never);
    await cycle(shown);
    expect(await stateOf(shown)).toMatchObject({ sync: 'in-sync' });
    await redis.connect().flushall();
    // As after a corrected time zone.
    for (const [id, one] of world.clinic.appointments) {
      world.clinic.appointments.set(id, appointmentOf(id, { inHours: 10 + (one.time.startAt - NOW) / HOUR_MS }));
    }
    await cycle(shown);
    // Patient data is held because the state was lost; the fetch is not held.
    expect((await shown.holds.list()).map(({ kind }) => kind)).toEqual(['people']);
    await shown.protection.accept();
    await cycle(shown);
    expect(await stateOf(shown)).toMatchObject({ sync: 'in-sync' });
    await redis.connect().flushall();
    const small = open(9);
    await cycle(small.tenant);
    for (const id of small.clinic.appointments.keys()) {
      small.clinic.appointments.set(id, appointmentOf(id, { inHours: 200 + Number(id) }));
    }
    await cycle(small.tenant);
    expect(await stateOf(small.tenant)).toMatchObject({ sync: 'in-sync' });
  });
});

describe('a fetch that replaces nearly everything under equal ids', () => {
  const moveAll = ({ appointments }: ModelClinic, agendaId: string) => {
    for (const [id, { time }] of [...appointments]) {
      // Each moves by a different time, as the appointments of another clinic would.
      const inHours = 3 + Number(id) + (time.startAt - NOW) / HOUR_MS;
      appointments.set(id, appointmentOf(id, { inHours, agendaId }));
    }
  };

  test('is held right after a change of the configuration too', async () => {
    const { model, clinic, again } = open(20);
    const others = { id: 'others', model: createModelTarget(), configuration: { agendas: ['a2'] } };
    const opened = (configuration: TargetChoice['configuration']) =>
      again({ targets: [{ model, configuration: { agendas: ['a1'], ...configuration } }, others] });
    await cycle(opened({}));
    const before = JSON.stringify(model.objects());
    const changed = opened({ title: 'full' });
    moveAll(clinic, 'a2');
    await twoCycles(changed);
    const held = (await changed.holds.list()).map(({ target, kind, recordIds }) => [target, kind, recordIds.length]);
    expect(held).toEqual(expect.arrayContaining([['doctor', 'replaced', 20]]));
    expect(JSON.stringify(model.objects())).toBe(before);
    expect(others.model.objects()).toEqual([]);
  });

  test('is held after links were rebuilt from the calendar too', async () => {
    const { clinic, model, tenant } = open(20);
    await cycle(tenant);
    const before = JSON.stringify(model.objects());
    await redis.connect().flushall();
    await tenant.protection.accept();
    moveAll(clinic, 'a1');
    await twoCycles(tenant);
    expect(await openHold(tenant)).toMatchObject({ kind: 'replaced' });
    expect(JSON.stringify(model.objects())).toBe(before);
  });
});

describe('a first run that waits for approval', () => {
  test('writes nothing until it is approved', async () => {
    const { model, tenant } = open(5, { configuration: { firstRun: 'plan' } });
    await cycle(tenant);
    const hold = await openHold(tenant);
    expect(hold).toMatchObject({ kind: 'first-run', recordIds: ['0', '1', '2', '3', '4'] });
    expect(model.calls.operations).toBe(0);
    expect(await stateOf(tenant)).toMatchObject({ reason: 'on-hold', held: 5, inSyncAsOf: null });
    await tenant.holds.decide(hold.id, { state: 'approved', now: NOW, expiresAt: NOW + DAY_MS });
    await tenant.targetStore.write('doctor', { firstRunApprovedAt: NOW });
    await cycle(tenant);
    expect(model.objects()).toHaveLength(5);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync' });
  });
});

test('an appointment that changes to another doctor leaves one calendar and enters the other', async () => {
  const clinic = createModelClinic();
  const models = { first: createModelTarget(), second: createModelTarget() };
  const agendas = { first: ['a1'], second: ['a2'] };
  for (const agendaId of ['a1', 'a2', 'a3']) {
    for (let hour = 24; hour < 30; hour += 1) {
      const id = `${agendaId}-${hour}`;
      clinic.appointments.set(id, appointmentOf(id, { agendaId, inHours: hour }));
    }
  }
  // Before every target's window: of no count.
  clinic.appointments.set('past', appointmentOf('past', { agendaId: 'a2', inHours: -24 * 300 }));
  const tenant = openTenant({
    redis: redis.connect(),
    clinic,
    targets: Object.entries(models).map(([id, model]) => ({
      id,
      model,
      configuration: { agendas: agendas[id as keyof typeof agendas] },
    })),
    clock: () => NOW,
  });
  const omitted = (run: Awaited<ReturnType<typeof cycle>>) =>
    run.targets.map((target) => [target.target, target.omitted.agenda ?? 0]);
  const held = () => Object.values(models).map((model) => model.objects().filter(({ deleted }) => !deleted).length);

  expect(omitted(await cycle(tenant))).toEqual([
    ['first', 6],
    ['second', 6],
  ]);
  expect(held()).toEqual([6, 6]);

  clinic.appointments.set('a1-24', appointmentOf('a1-24', { agendaId: 'a2', inHours: 24 }));
  expect(omitted(await cycle(tenant))).toEqual([
    ['first', 7],
    ['second', 5],
  ]);
  expect(held()).toEqual([5, 7]);

  // To a doctor without a calendar.
  clinic.appointments.set('a1-24', appointmentOf('a1-24', { agendaId: 'a3', inHours: 24 }));
  await cycle(tenant);
  expect(held()).toEqual([5, 6]);
});
