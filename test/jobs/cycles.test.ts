import { describe, expect, test } from 'vitest';
import { targetStatus } from '../../src/control/status.ts';
import { planCycle } from '../../src/jobs/plan-cycle.ts';
import { pullTenant, pullWhenFree } from '../../src/jobs/pull.ts';
import { pushTarget } from '../../src/jobs/push.ts';
import type { OpenTenant } from '../../src/jobs/tenant.ts';
import { MirrorError } from '../../src/model/errors.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/model/time.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { cycle, drain, NEVER, pull, targetOf, twoCycles } from './cycle.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelTarget } from './model-target.ts';
import { openTenant, type TargetChoice, type TenantChoice } from './open-tenant.ts';

const redis = useRedis();

interface World {
  clinic: ModelClinic;
  model: ModelTarget;
  clock: { now: number };
  tenant: OpenTenant;
  /** Another process with the same state. */
  again(changes?: Partial<TenantChoice>): OpenTenant;
}

/** A clinic with some appointments, one an hour from tomorrow on, and a target. */
function open(booked: number, choice: Partial<TargetChoice> = {}): World {
  const clinic = createModelClinic();
  for (let index = 0; index < booked; index += 1) {
    clinic.appointments.set(`${index}`, appointmentOf(`${index}`, { inHours: 24 + index }));
  }
  const model = choice.model ?? createModelTarget();
  const clock = { now: NOW };
  const again = (changes: Partial<TenantChoice> = {}) =>
    openTenant({
      redis: redis.connect(),
      clinic,
      targets: [{ model, ...choice }],
      clock: () => clock.now,
      ...changes,
    });
  return { clinic, model, clock, again, tenant: again() };
}

async function stateOf(tenant: OpenTenant, id = 'doctor') {
  return targetStatus(tenant, targetOf(tenant, id), await tenant.holds.list());
}

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

/** Lists that leave these out, though they are there. */
function hiding(clinic: ModelClinic, ...ids: string[]): ModelClinic['readAppointments'] {
  const readAppointments = clinic.readAppointments.bind(clinic);
  return async (query, signal) => {
    const snapshot = await readAppointments(query, signal);
    for (const id of ids) snapshot.records.delete(id);
    return { ...snapshot, unusable: snapshot.unusable.filter(({ recordId }) => !ids.includes(recordId ?? '')) };
  };
}

/** Every value of Redis, as text. */
async function dumpOf(connection: ReturnType<typeof redis.connect>, stored: readonly string[]) {
  const parts = stored.map(async (key) => {
    const type = await connection.type(key);
    if (type === 'hash') return [key, await connection.hgetall(key)];
    if (type === 'zset') return [key, await connection.zrange(key, '0', '-1')];
    if (type === 'list') return [key, await connection.lrange(key, 0, -1)];
    return [key, await connection.get(key)];
  });
  return JSON.stringify(await Promise.all(parts));
}

function failure(code: string, retry: 'later' | 'never', changes: { retryAfterMs?: number } = {}): MirrorError {
  const actor = retry === 'never' ? 'authorization' : 'remote';
  return new MirrorError('x', { actor, code, retry, ...changes });
}

describe('a cycle', () => {
  test('counts the rows that came twice in a list', async () => {
    const { clinic, tenant } = open(3);
    expect((await cycle(tenant)).snapshot).not.toHaveProperty('repeated');
    const readAppointments = clinic.readAppointments.bind(clinic);
    clinic.readAppointments = async (query, signal) => ({ ...(await readAppointments(query, signal)), repeated: 2 });
    expect((await cycle(tenant)).snapshot).toMatchObject({ records: 3, repeated: 2 });
  });

  test('has a lane write as soon as its own plan is kept, before the cycle has ended', async () => {
    const { clinic, model, tenant } = open(3);
    const woken: string[] = [];
    let ended = 0;
    async function wake(target: string): Promise<void> {
      woken.push(target);
      expect(await tenant.runs.list(9)).toHaveLength(ended);
      const signals = { stop: NEVER, abort: NEVER };
      expect(await pushTarget(tenant, targetOf(tenant, target), signals)).toMatchObject({
        idle: false,
        nextInMs: null,
      });
    }
    async function pullAndWake(): Promise<void> {
      await pullTenant(tenant, NEVER, { wake });
      ended += 1;
    }
    await pullAndWake();
    expect(model.objects()).toHaveLength(3);
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync', inSyncAsOf: NOW, pending: 0, created: 3 });
    await pullAndWake();
    expect(woken).toEqual(['doctor']);
    clinic.appointments.set('3', appointmentOf('3', { inHours: 30 }));
    await pullAndWake();
    expect(woken).toEqual(['doctor', 'doctor']);
    expect(model.objects()).toHaveLength(4);
  });

  test('at first writes everything, once', async () => {
    const { model, tenant } = open(23);
    const run = await cycle(tenant);
    expect(run).toMatchObject({
      snapshot: { completeness: 'complete', records: 23 },
      targets: [{ target: 'doctor', planned: { new: 23 }, held: 0, unchanged: 0 }],
      error: null,
    });
    expect(model.objects()).toHaveLength(23);
    expect(model.calls).toMatchObject({ prepare: 1, operations: 23 });
    expect(await stateOf(tenant)).toMatchObject({
      state: 'in-sync',
      inSyncAsOf: NOW,
      links: 23,
      created: 23,
      pending: 0,
    });
    expect(model.mostAtOnce).toBe(2);
  });

  test('in which nothing changed asks nothing of the target', async () => {
    const { model, clock, tenant } = open(5);
    await cycle(tenant);
    const before = { ...model.calls };
    for (let index = 0; index < 3; index += 1) {
      clock.now += HOUR_MS;
      const run = await cycle(tenant);
      expect(run.targets).toMatchObject([{ planned: {}, unchanged: 5 }]);
    }
    expect(model.calls).toEqual(before);
    expect(await stateOf(tenant)).toMatchObject({ inSyncAsOf: clock.now });
  });

  test('after a restart asks the target only for its calendar', async () => {
    const { model, tenant, again } = open(5);
    await cycle(tenant);
    const before = { ...model.calls };
    await cycle(again());
    expect(model.calls).toEqual({ ...before, prepare: before.prepare + 1 });
  });

  test('writes what changed and nothing else', async () => {
    const { clinic, model, tenant } = open(5);
    await cycle(tenant);
    clinic.appointments.set('1', appointmentOf('1', { inHours: 50 }));
    clinic.appointments.set('2', appointmentOf('2', { inHours: 26, status: 'cancelled' }));
    clinic.appointments.set('9', appointmentOf('9'));
    const before = model.calls.operations;
    const run = await cycle(tenant);
    expect(run.targets[0]?.planned).toEqual({ new: 1, 'content-changed': 1, cancelled: 1 });
    expect(model.calls.operations - before).toBe(3);
    expect(model.objects()).toHaveLength(5);
  });

  test('leaves out a paused target, and a tenant without any is not even read', async () => {
    const { clinic, tenant } = open(5, { configuration: { paused: true } });
    const run = await pull(tenant);
    expect(run).toMatchObject({ snapshot: null, targets: [], error: null });
    expect(clinic.counts.lists).toBe(0);
  });

  test('that could not read the clinic says so and changes nothing', async () => {
    const { clinic, model, tenant } = open(5);
    await cycle(tenant);
    clinic.listError = failure('not-connected', 'never');
    clinic.appointments.clear();
    const run = await cycle(tenant);
    expect(run).toMatchObject({ snapshot: null, error: { code: 'not-connected', actor: 'authorization' } });
    expect(model.objects()).toHaveLength(5);
    expect(await tenant.runs.list(1)).toEqual([run]);
  });

  test('gives way to one that is under way', async () => {
    const { tenant, again } = open(1);
    const lease = await again().leases.tryTake('plan');
    expect(await pullTenant(tenant, NEVER)).toBeNull();
    await lease?.release();
    expect(await pullTenant(tenant, NEVER)).not.toBeNull();
  });

  test('that lost its lease blames nobody, and writes nothing', async () => {
    const connection = redis.connect();
    const { clinic, model, tenant } = open(5);
    const readAppointments = clinic.readAppointments.bind(clinic);
    clinic.readAppointments = async (query, signal) => {
      await connection.del('cm:{studio-rossi}:lease:plan');
      return await readAppointments(query, signal);
    };
    expect(await pullTenant(tenant, NEVER)).toBeNull();
    await expect(pullWhenFree(tenant, () => {}, NEVER)).rejects.toMatchObject({ code: 'lease-lost', retry: 'later' });
    expect(await tenant.runs.list(9)).toEqual([]);
    expect(await tenant.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
    clinic.readAppointments = readAppointments;
    expect(await cycle(tenant)).toMatchObject({ error: null });
    expect(model.objects()).toHaveLength(5);
  });

  test('reads the registry of patients only for titles that name them', async () => {
    for (const [title, asked] of [
      ['code', 0],
      ['full', 1],
    ] as const) {
      const { clinic, tenant } = open(0, { id: `by-${title}`, configuration: { title } });
      clinic.appointments.set('1', appointmentOf('1', { patient: null }));
      await pull(tenant);
      expect(clinic.counts.patients, title).toBe(asked);
    }
  });
});

describe('an appointment that a whole list does not show', () => {
  test('is read alone, and removed when it is gone by a second reading too', async () => {
    const { clinic, model, clock, tenant } = open(5);
    tenant.missedForMs = MINUTE_MS;
    await cycle(tenant);
    clinic.appointments.delete('3');
    clock.now += HOUR_MS;
    const first = await cycle(tenant);
    expect(first.targets[0]).toMatchObject({ planned: {}, unconfirmed: 1, stillThere: 0 });
    expect(model.objects()).toHaveLength(5);
    expect(await stateOf(tenant)).toMatchObject({
      state: 'working',
      inStep: 'behind',
      unconfirmed: 1,
      inSyncAsOf: NOW,
    });
    // A command that is given twice is no second reading, and needs no second question.
    clock.now += MINUTE_MS - 1;
    expect((await cycle(tenant)).targets[0]).toMatchObject({ planned: {}, unconfirmed: 1 });
    expect(clinic.counts.lookups).toBe(1);
    clock.now += 1;
    const second = await cycle(tenant);
    expect(second.targets[0]).toMatchObject({ planned: { vanished: 1 }, confirmed: 1, stillThere: 0, unconfirmed: 0 });
    expect(clinic.counts.lookups).toBe(2);
    expect(model.objects()).toHaveLength(4);
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync', unconfirmed: 0, inSyncAsOf: clock.now });
  });

  test('is not removed where the clock jumps ahead between the two readings', async () => {
    const steady = { now: 0 };
    const { clinic, model, clock, again } = open(5);
    const tenant = again({ steady: () => steady.now });
    tenant.missedForMs = MINUTE_MS;
    await cycle(tenant);
    clinic.appointments.delete('3');
    await cycle(tenant);
    clock.now += HOUR_MS;
    steady.now += MINUTE_MS - 1;
    expect((await cycle(tenant)).targets[0]).toMatchObject({ planned: {}, unconfirmed: 1 });
    expect(model.objects()).toHaveLength(5);
    clock.now += 1;
    steady.now += 1;
    expect((await cycle(tenant)).targets[0]).toMatchObject({ planned: { vanished: 1 } });
    expect(model.objects()).toHaveLength(4);
  });

  test('is missed again when it was there in between, in the list, alone, or in a row that can’t be used', async () => {
    const world = open(5);
    const { clinic, model, tenant } = world;
    await cycle(tenant);
    const there = clinic.appointments.get('3');
    if (there === undefined) throw new Error('expected an appointment');
    const returns: (() => void)[] = [
      () => {},
      () => clinic.unusable.add('3'),
      () => {
        clinic.readAppointments = hiding(clinic, '3');
      },
      () => {
        clinic.unusable.add('3');
        clinic.readAppointments = hiding(clinic, '3');
      },
    ];
    const { readAppointments } = clinic;
    for (const comeBack of returns) {
      clinic.appointments.delete('3');
      await cycle(tenant);
      clinic.appointments.set('3', there);
      comeBack();
      await cycle(tenant);
      clinic.unusable.clear();
      clinic.readAppointments = readAppointments;
    }
    clinic.appointments.delete('3');
    await cycle(tenant);
    expect(model.objects()).toHaveLength(5);
    await cycle(tenant);
    expect(model.objects()).toHaveLength(4);
  });

  test('is not removed by a reading alone of a row that can’t be used, however often', async () => {
    const { clinic, model, tenant } = open(5);
    await cycle(tenant);
    clinic.unusable.add('3');
    clinic.readAppointments = hiding(clinic, '3');
    for (let cycles = 0; cycles < 3; cycles += 1) {
      expect((await cycle(tenant)).targets[0]).toMatchObject({ planned: {}, held: 0, unconfirmed: 1 });
    }
    expect(model.objects()).toHaveLength(5);
  });

  test('is removed as cancelled when the list hides cancelled ones', async () => {
    const { clinic, model, tenant } = open(5);
    await cycle(tenant);
    clinic.hidesCancelled = true;
    clinic.appointments.set('3', appointmentOf('3', { inHours: 27, status: 'cancelled' }));
    const run = await cycle(tenant);
    expect(run.targets[0]).toMatchObject({ planned: { cancelled: 1 }, stillThere: 1 });
    expect(model.objects()).toHaveLength(4);
    await cycle(tenant);
    expect(clinic.counts.lookups).toBe(1);
  });

  test('is removed at once as cancelled by a row that says no more than that', async () => {
    const { clinic, model, clock, tenant } = open(5);
    await cycle(tenant);
    clinic.appointments.delete('3');
    clinic.tombstones.add('3').add('never-written');
    clock.now += HOUR_MS;
    const run = await cycle(tenant);
    expect(run.targets[0]).toMatchObject({ planned: { cancelled: 1 }, unconfirmed: 0 });
    expect([run.unusable, clinic.counts.lookups]).toEqual([{}, 0]);
    expect(model.objects()).toHaveLength(4);
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync', inSyncAsOf: clock.now, gaps: [] });
    expect((await cycle(tenant)).targets[0]).toMatchObject({ planned: {} });
  });

  test('moves along when it was moved out of the window', async () => {
    const { clinic, model, tenant } = open(1);
    await cycle(tenant);
    clinic.appointments.set('0', appointmentOf('0', { inHours: 90 * 24 }));
    const run = await cycle(tenant);
    expect(run.targets[0]).toMatchObject({ planned: { 'content-changed': 1 }, stillThere: 1 });
    expect(model.objects()).toMatchObject([{ item: { time: { start: '2026-09-13T10:00:00+02:00' } } }]);
  });

  test('stays while it cannot be read alone, and the target is not called in sync', async () => {
    const { clinic, model, clock, tenant } = open(5);
    await cycle(tenant);
    clinic.appointments.delete('3');
    clinic.lookupsFail = true;
    clock.now += HOUR_MS;
    const run = await cycle(tenant);
    expect(run.targets[0]).toMatchObject({ planned: {}, unconfirmed: 1 });
    expect(model.objects()).toHaveLength(5);
    expect(await stateOf(tenant)).toMatchObject({ inSyncAsOf: NOW });
    clinic.lookupsFail = false;
    await twoCycles(tenant);
    expect(await stateOf(tenant)).toMatchObject({ inSyncAsOf: clock.now, links: 4 });
  });

  test('has its turn to be read alone even while the others never get an answer', async () => {
    const { clinic, tenant } = open(40);
    await cycle(tenant);
    clinic.appointments.clear();
    const asked = new Set<string>();
    const readAlone = clinic.readAppointment;
    clinic.lookupsFail = true;
    clinic.readAppointment = (id, signal) => {
      asked.add(id);
      return readAlone(id, signal);
    };
    tenant.random = seededRandom();
    for (let cycles = 0; cycles < 200 && asked.size < 40; cycles += 1) await pull(tenant);
    expect(asked.size).toBe(40);
  });
});

describe('a list that broke off', () => {
  test('creates and changes, and removes nothing for being absent', async () => {
    const { clinic, model, clock, tenant } = open(5);
    await cycle(tenant);
    clinic.truncatedAfter = 2;
    clinic.appointments.set('0', appointmentOf('0', { inHours: 50 }));
    clinic.appointments.delete('4');
    clock.now += HOUR_MS;
    const run = await cycle(tenant);
    expect(run).toMatchObject({
      snapshot: { completeness: 'partial', reason: 'total-mismatch' },
      targets: [{ planned: { 'content-changed': 1 } }],
    });
    expect(clinic.counts.lookups).toBe(0);
    expect(model.objects()).toHaveLength(5);
    expect(await stateOf(tenant)).toMatchObject({ inSyncAsOf: NOW });
  });

  test('leaves what is held as it is, under the same name', async () => {
    const { clinic, clock, tenant } = open(40);
    await cycle(tenant);
    for (let index = 0; index < 30; index += 1) clinic.appointments.delete(`${index}`);
    await cycle(tenant);
    const held = await openHold(tenant);
    clock.now += HOUR_MS;
    clinic.truncatedAfter = 3;
    await cycle(tenant);
    expect(await openHold(tenant)).toMatchObject({ id: held.id, expiresAt: held.expiresAt });
    expect(new Set((await openHold(tenant)).recordIds)).toEqual(new Set(held.recordIds));
    expect(await stateOf(tenant)).toMatchObject({ state: 'held', held: 30 });
  });

  test('a row that cannot be used counts as there', async () => {
    const { clinic, model, tenant } = open(5);
    await cycle(tenant);
    clinic.unusable.add('3');
    const run = await cycle(tenant);
    expect(run.unusable).toEqual({ 'bad-time': 1 });
    expect(clinic.counts.lookups).toBe(0);
    expect(model.objects()).toHaveLength(5);
  });
});

describe('too many removals', () => {
  async function held(world: World) {
    await cycle(world.tenant);
    for (let index = 0; index < 30; index += 1) world.clinic.appointments.delete(`${index}`);
    world.clinic.appointments.set('new', appointmentOf('new'));
    world.clinic.appointments.set('35', appointmentOf('35', { inHours: 99 }));
    await cycle(world.tenant);
    return openHold(world.tenant);
  }

  test('are held, while creates and changes go on', async () => {
    const world = open(40);
    const hold = await held(world);
    expect(hold).toMatchObject({ kind: 'vanished', target: 'doctor', linkCount: 40, state: 'open' });
    expect(hold.recordIds).toHaveLength(30);
    expect(world.model.objects()).toHaveLength(41);
    expect(await stateOf(world.tenant)).toMatchObject({ state: 'held', held: 30, inSyncAsOf: NOW });
  });

  test('that a person approves go with the next cycle', async () => {
    const world = open(40);
    const { id } = await held(world);
    world.clock.now += 1;
    await world.tenant.holds.decide(id, { state: 'approved', now: world.clock.now, expiresAt: NOW + DAY_MS });
    // Nothing waits and nothing is held, and yet it is not as the clinic is.
    expect(await stateOf(world.tenant)).toMatchObject({ state: 'working', held: 0, pending: 0, inSyncAsOf: NOW });
    await drain(world.tenant, targetOf(world.tenant, 'doctor'));
    world.clock.now += 1;
    expect(await stateOf(world.tenant)).toMatchObject({ state: 'working', inSyncAsOf: NOW });
    await cycle(world.tenant);
    expect(world.model.objects()).toHaveLength(11);
    expect(await stateOf(world.tenant)).toMatchObject({ state: 'in-sync', held: 0, deleted: 30 });
    world.clinic.appointments.delete('39');
    await twoCycles(world.tenant);
    expect(world.model.objects()).toHaveLength(10);
  });

  test('that a person rejects stay, and are not asked about again', async () => {
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

  test('that nobody decides are rejected in the end: nothing is removed', async () => {
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
    expect(await stateOf(world.tenant)).toMatchObject({ state: 'in-sync', links: 41 });
  });

  test('of a clinic that answers with an empty list are held', async () => {
    const world = open(40);
    await cycle(world.tenant);
    world.clinic.appointments.clear();
    await cycle(world.tenant);
    expect(world.model.objects()).toHaveLength(40);
  });

  test('of a small calendar are held when half of it is gone, and not when less is, or the clinic cancels all of it', async () => {
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

  test('are held whole before the first is removed, though most of them could not be asked for', async () => {
    const world = open(600);
    await cycle(world.tenant);
    world.clinic.appointments.clear();
    const run = await cycle(world.tenant);
    expect(run.targets[0]).toMatchObject({ planned: {}, held: 600 });
    expect(world.clinic.counts.lookups).toBe(200);
    for (let cycles = 0; cycles < 3; cycles += 1) await cycle(world.tenant);
    expect(world.model.objects()).toHaveLength(600);
    expect(await openHold(world.tenant)).toMatchObject({ recordIds: { length: 600 } });
    // Of what is held a few are asked for.
    expect(world.clinic.counts.lookups).toBe(260);
  });

  test('approved, they go as they are proven, by one question each, 200 in a cycle', async () => {
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

  test('a list that hides most of what is there holds nothing and removes nothing; the next complete one removes', async () => {
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

  test('what is held and is there after all leaves the hold, though no list shows it', async () => {
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
    // Fewer than half of all that the calendar held: eight, and what came back.
    expect(deleted).toBe(6);
    expect(model.objects()).toHaveLength(8);
  });
});

describe('a reading that replaces nearly everything', () => {
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
    expect(await stateOf(tenant)).toMatchObject({ state: 'held', inSyncAsOf: NOW });
    clinic.appointments.clear();
    for (const [id, appointment] of own) clinic.appointments.set(id, appointment);
    await cycle(tenant);
    expect(await tenant.holds.list()).toEqual([]);
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync', inSyncAsOf: clock.now });
  });

  test('goes when a person approves it, and stays out when one rejects it, which hinders no other reading', async () => {
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
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync' });
  });

  test('is not what an operator changes, nor a small calendar’s day, nor a renamed catalogue or a state that was lost', async () => {
    const world = open(62);
    await cycle(world.tenant);
    const shown = world.again({
      targets: [{ model: world.model, configuration: { title: 'full', language: 'it' } }],
    } as never);
    await cycle(shown);
    expect(await stateOf(shown)).toMatchObject({ state: 'in-sync' });
    await redis.connect().flushall();
    // As after another zone was set right.
    for (const [id, one] of world.clinic.appointments) {
      world.clinic.appointments.set(id, appointmentOf(id, { inHours: 10 + (one.time.startAt - NOW) / HOUR_MS }));
    }
    await cycle(shown);
    // Kept back is what is of people, since the state was lost, and not the reading.
    expect((await shown.holds.list()).map(({ kind }) => kind)).toEqual(['people']);
    await shown.protection.accept();
    await cycle(shown);
    expect(await stateOf(shown)).toMatchObject({ state: 'in-sync' });
    await redis.connect().flushall();
    const small = open(9);
    await cycle(small.tenant);
    for (const id of small.clinic.appointments.keys()) {
      small.clinic.appointments.set(id, appointmentOf(id, { inHours: 200 + Number(id) }));
    }
    await cycle(small.tenant);
    expect(await stateOf(small.tenant)).toMatchObject({ state: 'in-sync' });
  });
});

describe('a reading under the same ids that replaces nearly everything', () => {
  const moveAll = ({ appointments }: ModelClinic, agendaId: string) => {
    for (const [id, { time }] of [...appointments]) {
      // Each by another time, as somebody else's would be.
      const inHours = 3 + Number(id) + (time.startAt - NOW) / HOUR_MS;
      appointments.set(id, appointmentOf(id, { inHours, agendaId }));
    }
  };

  test('is held right after the configuration was changed as well', async () => {
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

  test('is held when links were rebuilt from the calendar as well', async () => {
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

describe('a first run that waits for a person', () => {
  test('writes nothing until it is approved', async () => {
    const { model, tenant } = open(5, { configuration: { firstRun: 'plan' } });
    await cycle(tenant);
    const hold = await openHold(tenant);
    expect(hold).toMatchObject({ kind: 'first-run', recordIds: ['0', '1', '2', '3', '4'] });
    expect(model.calls.operations).toBe(0);
    expect(await stateOf(tenant)).toMatchObject({ state: 'held', held: 5, inSyncAsOf: null });
    await tenant.holds.decide(hold.id, { state: 'approved', now: NOW, expiresAt: NOW + DAY_MS });
    await tenant.targetStore.write('doctor', { firstRunApprovedAt: NOW });
    await cycle(tenant);
    expect(model.objects()).toHaveLength(5);
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync' });
  });
});

describe('the state that was lost', () => {
  test('is rebuilt from the calendar: nothing is created, nothing is written', async () => {
    const { model, tenant } = open(12);
    await cycle(tenant);
    model.addForeign('Dentist');
    const before = { ...model.calls };
    await redis.connect().flushall();
    const run = await cycle(tenant);
    expect(run.targets[0]).toMatchObject({ planned: {}, unchanged: 12 });
    expect(model.calls).toMatchObject({ operations: before.operations, read: before.read + 1 });
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync', links: 12, adopted: 12, ambiguous: 0 });
  });

  test('is rebuilt, and what changed meanwhile is put right', async () => {
    const { clinic, model, tenant } = open(5);
    await cycle(tenant);
    await redis.connect().flushall();
    clinic.appointments.delete('0');
    clinic.appointments.set('1', appointmentOf('1', { inHours: 99 }));
    const edited = model.objects().find(({ item }) => item.time.kind === 'timed' && item.time.start.includes('T12:'));
    if (edited === undefined) throw new Error('expected an object at noon');
    edited.item.title = 'Lunch';
    const first = await cycle(tenant);
    // Whoever was forgotten is not known any more: what would be written of people waits for a person.
    expect(first.targets[0]).toMatchObject({ planned: {}, held: 2 });
    await tenant.protection.accept();
    const second = await cycle(tenant);
    expect(second.targets[0]?.planned).toEqual({ 'content-changed': 2, vanished: 1 });
    expect(model.objects().map(({ item }) => item.title)).toEqual(Array(4).fill('Appointment'));
  });
});

describe('a calendar that was replaced', () => {
  test('is filled again, and is not called in sync before', async () => {
    const { clinic, model, clock, tenant } = open(6);
    await cycle(tenant);
    model.replaceCalendar();
    clinic.appointments.set('new', appointmentOf('new'));
    await cycle(tenant);
    clock.now += 20_000;
    await drain(tenant, targetOf(tenant));
    expect(model.objects()).toEqual([]);
    expect(await stateOf(tenant)).toMatchObject({ links: 0, inSyncAsOf: null, state: 'first-sync' });
    await cycle(tenant);
    expect(model.objects()).toHaveLength(7);
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync', links: 7, inSyncAsOf: clock.now });
  });
});

describe('an operation that fails', () => {
  test('for good is parked, while all others go on', async () => {
    const { model, clock, tenant } = open(30);
    model.fault = ({ recordId }) => (recordId === '3' ? 'refused' : null);
    await cycle(tenant);
    expect(model.objects()).toHaveLength(29);
    expect(await stateOf(tenant)).toMatchObject({ state: 'failing', pending: 1, failing: 1, inSyncAsOf: null });
    expect(await tenant.outbox.pendingOf('doctor', '3')).toMatchObject({ parked: true, lastError: 'refused' });
    const before = model.calls.operations;
    clock.now += HOUR_MS;
    await cycle(tenant);
    expect(model.calls.operations).toBe(before);
  });

  test('and was parked goes when its appointment changes', async () => {
    const { clinic, model, tenant } = open(3);
    model.fault = ({ recordId }) => (recordId === '1' ? 'refused' : null);
    await cycle(tenant);
    model.fault = () => null;
    clinic.appointments.set('1', appointmentOf('1', { inHours: 77 }));
    await cycle(tenant);
    expect(model.objects()).toHaveLength(3);
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync', failing: 0 });
  });

  test('for now is tried again until it works, and its answer that was lost makes no second object', async () => {
    const { model, clock, tenant } = open(6);
    let tries = 0;
    model.fault = () => (tries++ % 3 === 2 ? null : tries % 2 === 0 ? 'lost' : 'unavailable');
    await cycle(tenant);
    for (let turns = 0; turns < 40 && (await tenant.outbox.counts('doctor')).pending > 0; turns += 1) {
      clock.now += 60_000;
      await drain(tenant, targetOf(tenant));
    }
    expect(model.objects()).toHaveLength(6);
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync', links: 6 });
  });

  test('because its key is burnt goes under the next one', async () => {
    const { clinic, model, tenant } = open(1);
    model.burnsKeys = true;
    const { identity } = targetOf(tenant);
    for (const epoch of [0, 1, 2]) {
      await cycle(tenant);
      expect(model.objects()).toMatchObject([{ key: identity.key('0', epoch) }]);
      clinic.appointments.set('0', appointmentOf('0', { status: 'cancelled' }));
      await cycle(tenant);
      expect(model.objects()).toEqual([]);
      clinic.appointments.set('0', appointmentOf('0'));
    }
    await cycle(tenant);
    await redis.connect().flushall();
    const run = await cycle(tenant);
    expect(run.targets[0]).toMatchObject({ planned: {}, unchanged: 1 });
  });

  test('because its key is taken and can not be read goes under the next one after a day, not earlier', async () => {
    const { model, clock, tenant } = open(1);
    const { identity } = targetOf(tenant);
    const tried: string[] = [];
    model.fault = ({ key }) => {
      tried.push(key);
      return key === identity.key('0', 0) ? 'unreadable' : null;
    };
    const beganAt = clock.now;
    while (model.objects().length === 0 && clock.now < beganAt + 30 * HOUR_MS) {
      clock.now += HOUR_MS;
      await cycle(tenant);
    }
    expect(model.objects()).toMatchObject([{ key: identity.key('0', 1) }]);
    expect(clock.now - beganAt).toBeGreaterThanOrEqual(24 * HOUR_MS);
    expect(new Set(tried)).toEqual(new Set([identity.key('0', 0), identity.key('0', 1)]));
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync', links: 1 });
  });

  test('whose next key is taken too begins to wait for that one anew', async () => {
    const { model, clock, tenant } = open(1);
    const { identity } = targetOf(tenant);
    let isSecondReadable = false;
    model.fault = ({ key }) => {
      const isFirst = key === identity.key('0', 0);
      const isSecond = key === identity.key('0', 1);
      return isFirst || (isSecond && !isSecondReadable) ? 'unreadable' : null;
    };
    for (let hour = 0; hour < 28; hour += 1) {
      clock.now += HOUR_MS;
      await cycle(tenant);
    }
    expect(model.objects()).toEqual([]);
    isSecondReadable = true;
    clock.now += HOUR_MS;
    await cycle(tenant);
    expect(model.objects()).toMatchObject([{ key: identity.key('0', 1) }]);
  });

  test('between the call and our noting it is not carried out twice', async () => {
    const { clinic, model, clock, tenant, again } = open(4);
    const dying = again();
    dying.outbox.complete = () => Promise.reject(new Error('the process died'));
    await pull(dying);
    await pushTarget(dying, targetOf(dying), { stop: NEVER, abort: NEVER });
    expect(model.objects()).toHaveLength(4);
    expect(await tenant.links.count('doctor')).toBe(0);
    clinic.appointments.delete('2');
    clinic.appointments.set('1', appointmentOf('1', { inHours: 70 }));
    clock.now += HOUR_MS;
    await twoCycles(tenant);
    expect(model.objects()).toHaveLength(3);
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync', links: 3 });
  });

  test('in the hands of a connector that says nothing of it is taken for one without an answer', async () => {
    const { model, clock, tenant } = open(4);
    const target = targetOf(tenant);
    const { apply } = target.connector;
    target.connector.apply = async (...given) => (await apply(...given)).slice(1);
    await cycle(tenant);
    expect(await tenant.outbox.counts('doctor')).toEqual({ pending: 1, failing: 1 });
    target.connector.apply = apply;
    clock.now += HOUR_MS;
    await drain(tenant, target);
    expect(model.objects()).toHaveLength(4);
    expect(await tenant.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
  });
});

describe('an error of the whole target', () => {
  test('lets it rest, tells what is the matter, and is over when the target works again', async () => {
    const { model, clock, tenant } = open(4);
    await pull(tenant);
    model.wholeTargetError = failure('rate-limited', 'later', { retryAfterMs: 90_000 });
    const turn = await drain(tenant, targetOf(tenant));
    expect(turn.nextInMs).toBeGreaterThanOrEqual(90_000);
    expect(await stateOf(tenant)).toMatchObject({ state: 'resting', failure: { code: 'rate-limited', sinceAt: NOW } });
    const calls = { ...model.calls };
    expect(await drain(tenant, targetOf(tenant))).toMatchObject({ idle: true });
    expect(model.calls).toEqual(calls);
    model.wholeTargetError = null;
    clock.now += turn.nextInMs ?? 0;
    await drain(tenant, targetOf(tenant));
    expect(model.objects()).toHaveLength(4);
    expect(await stateOf(tenant)).toMatchObject({ state: 'in-sync', failure: null, failing: 0 });
  });

  test('that needs a person stops it, and no other target', async () => {
    const clinic = createModelClinic();
    clinic.appointments.set('1', appointmentOf('1'));
    const [broken, sound] = [createModelTarget(), createModelTarget()];
    broken.wholeTargetError = failure('login-refused', 'never');
    const targets = [
      { id: 'broken', model: broken },
      { id: 'sound', model: sound },
    ];
    const tenant = openTenant({ redis: redis.connect(), clinic, targets, clock: () => NOW });
    await cycle(tenant);
    expect(sound.objects()).toHaveLength(1);
    expect(await stateOf(tenant, 'broken')).toMatchObject({ state: 'stopped', failure: { code: 'login-refused' } });
    expect(await stateOf(tenant, 'sound')).toMatchObject({ state: 'in-sync' });
  });

  test('keeps a target that has no links yet in peace for as long as it asked', async () => {
    const { model, clock, tenant } = open(1);
    model.wholeTargetError = failure('rate-limited', 'later', { retryAfterMs: HOUR_MS });
    await pull(tenant);
    const { prepare } = model.calls;
    clock.now += HOUR_MS / 2;
    await pull(tenant);
    expect(model.calls.prepare).toBe(prepare);
    model.wholeTargetError = null;
    clock.now += HOUR_MS;
    await cycle(tenant);
    expect(model.objects()).toHaveLength(1);
  });
});

describe('Redis', () => {
  test('never shows a patient: neither what waits, fails or is held, nor reports', async () => {
    const connection = redis.connect();
    const { clinic, model, tenant } = open(30, { configuration: { title: 'full', fields: ['status'] } });
    const patient = { id: 'patient-canary', firstName: 'Canarina', lastName: 'Gialletti' };
    for (const appointment of clinic.appointments.values()) {
      clinic.appointments.set(appointment.id, { ...appointment, patientId: patient.id, patient });
    }
    await cycle(tenant);
    expect(model.objects()[0]?.item.title).toBe('Canarina Gialletti');
    for (let index = 0; index < 20; index += 1) clinic.appointments.delete(`${index}`);
    clinic.appointments.set('29', appointmentOf('29', { inHours: 99, patientId: patient.id, patient }));
    clinic.appointments.set('new', appointmentOf('new', { patientId: patient.id, patient }));
    clinic.unusable.add('28');
    model.fault = ({ recordId }) => (recordId === 'new' ? 'refused' : 'unavailable');
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ pending: 2, failing: 2, held: 20 });
    const stored = (await connection.keys('*')).sort();
    expect(stored.join()).toMatch(/holds.*outbox.*runs/);
    const everything = await dumpOf(connection, stored);
    // Reports are sealed.
    const reports = JSON.stringify(await tenant.runs.list(50));
    expect(reports).toContain('bad-time');
    for (const text of [everything, reports]) expect(text).not.toMatch(/canar|giallett/i);
  });
});

describe('a look at the plan', () => {
  test('writes nothing at all, whatever it finds', async () => {
    const connection = redis.connect();
    const { model, tenant } = open(3);
    const look = () => planCycle(tenant, { lease: null, progress: () => {} }, NEVER);
    expect((await look()).plans[0]?.passed).toHaveLength(3);
    await cycle(tenant);
    await redis.connect().hdel('cm:{studio-rossi}:target:doctor', 'adoptedAt');
    model.wholeTargetError = failure('login-refused', 'never');
    const before = await Promise.all(
      (await connection.keys('*')).sort().map(async (key) => [key, await connection.dump(key)]),
    );
    await look();
    const after = await Promise.all(
      (await connection.keys('*')).sort().map(async (key) => [key, await connection.dump(key)]),
    );
    expect(after).toEqual(before);
    expect(model.calls.operations).toBe(3);
  });
});

describe('a lane', () => {
  test('is worked on by one of two that come at once', async () => {
    const { model, tenant, again } = open(20);
    await pull(tenant);
    const signals = { stop: NEVER, abort: NEVER };
    const other = again();
    // Both are connected: else one may be done before the other comes.
    await other.targetStore.read('doctor');
    const turns = await Promise.all([
      pushTarget(tenant, targetOf(tenant), signals),
      pushTarget(other, targetOf(other), signals),
    ]);
    expect(turns.map(({ idle }) => idle).sort()).toEqual([false, true]);
    expect(model.calls.operations).toBe(20);
    expect(model.objects()).toHaveLength(20);
  });

  test('does one slice in a turn and asks for the next at once', async () => {
    const { tenant } = open(50);
    tenant.slice = { operations: 20, durationMs: 20_000 };
    await pull(tenant);
    const signals = { stop: NEVER, abort: NEVER };
    expect(await pushTarget(tenant, targetOf(tenant), signals)).toEqual({ doneCount: 20, idle: false, nextInMs: 0 });
    expect(await pushTarget(tenant, targetOf(tenant), signals)).toMatchObject({ doneCount: 20, nextInMs: 0 });
    expect(await pushTarget(tenant, targetOf(tenant), signals)).toMatchObject({ doneCount: 10, nextInMs: null });
  });

  test('stops between two calls when it is told to', async () => {
    const { model, tenant } = open(50);
    await pull(tenant);
    const stop = new AbortController();
    model.beforeApply = () => stop.abort();
    const turn = await pushTarget(tenant, targetOf(tenant), { stop: stop.signal, abort: NEVER });
    expect(turn.doneCount).toBe(10);
    expect(await tenant.outbox.counts('doctor')).toEqual({ pending: 40, failing: 0 });
  });

  test('whose lease ended in the middle of a call breaks it off, and blames nobody', async () => {
    const connection = redis.connect();
    const { model, again } = open(5);
    const tenant = again({ leaseTtlMs: 150 });
    await pull(tenant);
    targetOf(tenant).connector.apply = (_container, _operations, signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(failure('aborted', 'later')), { once: true });
        void connection.del('cm:{studio-rossi}:lease:lane-doctor');
      });
    const turn = await pushTarget(tenant, targetOf(tenant), { stop: NEVER, abort: NEVER });
    expect(turn.nextInMs).toBe(1_000);
    expect(await tenant.targetStore.read('doctor')).toMatchObject({ failure: null, pausedUntil: null });
    expect(model.objects()).toEqual([]);
  });

  test('whose lease was lost in the middle of a call writes nothing more, failure included', async () => {
    const connection = redis.connect();
    const { model, tenant } = open(5);
    await pull(tenant);
    model.beforeApply = async () => {
      await connection.del('cm:{studio-rossi}:lease:lane-doctor');
    };
    const turn = await pushTarget(tenant, targetOf(tenant), { stop: NEVER, abort: NEVER });
    expect(turn.nextInMs).toBe(1_000);
    expect(await tenant.targetStore.read('doctor')).toMatchObject({ failure: null });
    expect(await tenant.links.count('doctor')).toBe(0);
    model.beforeApply = () => {};
    await drain(tenant, targetOf(tenant));
    expect(model.objects()).toHaveLength(5);
    expect(await tenant.links.count('doctor')).toBe(5);
  });
});
