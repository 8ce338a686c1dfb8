import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../src/core/model/time.ts';
import { pushTarget } from '../../src/engine/push.ts';
import { pullTenant, pullWhenFree } from '../../src/tenant/pull.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, pull, targetOf, twoCycles } from './cycle.ts';
import type { ModelClinic } from './model-clinic.ts';
import type { TargetChoice } from './open-tenant.ts';
import { openCalendarWorld, stateOf } from './world.ts';

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
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', inSyncAsOf: NOW, pending: 0, created: 3 });
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
      sync: 'in-sync',
      inSyncAsOf: NOW,
      links: 23,
      created: 23,
      pending: 0,
    });
    expect(model.mostAtOnce).toBe(2);
  });

  test('without changes sends no request to the target', async () => {
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

  test('writes only changes', async () => {
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

  test('that could not read the clinic reports the failure and changes nothing', async () => {
    const { clinic, model, tenant } = open(5);
    await cycle(tenant);
    clinic.listError = failure('not-connected', 'never');
    clinic.appointments.clear();
    const run = await cycle(tenant);
    expect(run).toMatchObject({ snapshot: null, error: { code: 'not-connected', actor: 'authorization' } });
    expect(model.objects()).toHaveLength(5);
    expect(await tenant.runs.list(1)).toEqual([run]);
  });

  test('yields to a running cycle', async () => {
    const { tenant, again } = open(1);
    const lease = await again().leases.tryTake('plan');
    expect(await pullTenant(tenant, NEVER)).toBeNull();
    await lease?.release();
    expect(await pullTenant(tenant, NEVER)).not.toBeNull();
  });

  test('that lost its lease records no failure, and writes nothing', async () => {
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

  test('reads the patient registry only for titles that contain patient names', async () => {
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

describe('an appointment that a complete list does not show', () => {
  test('is fetched singly, and removed when a second fetch does not find it either', async () => {
    const { clinic, model, clock, tenant } = open(5);
    tenant.missedForMs = MINUTE_MS;
    await cycle(tenant);
    clinic.appointments.delete('3');
    clock.now += HOUR_MS;
    const first = await cycle(tenant);
    expect(first.targets[0]).toMatchObject({ planned: {}, unconfirmed: 1, stillThere: 0 });
    expect(model.objects()).toHaveLength(5);
    expect(await stateOf(tenant)).toMatchObject({
      reason: 'next-cycle',
      sync: 'behind',
      unconfirmed: 1,
      inSyncAsOf: NOW,
    });
    // A repeated command does not count as a second fetch, and requires no second query.
    clock.now += MINUTE_MS - 1;
    expect((await cycle(tenant)).targets[0]).toMatchObject({ planned: {}, unconfirmed: 1 });
    expect(clinic.counts.lookups).toBe(1);
    clock.now += 1;
    const second = await cycle(tenant);
    expect(second.targets[0]).toMatchObject({ planned: { vanished: 1 }, confirmed: 1, stillThere: 0, unconfirmed: 0 });
    expect(clinic.counts.lookups).toBe(2);
    expect(model.objects()).toHaveLength(4);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', unconfirmed: 0, inSyncAsOf: clock.now });
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

  test('starts a new count if a list, a single fetch or an unusable row showed it in between', async () => {
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

  test('is not removed because a single fetch returns an unusable row, however often', async () => {
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
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', inSyncAsOf: clock.now, gaps: [] });
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

  test('remains while the single fetch fails, and the target is not reported in sync', async () => {
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

  test('is fetched singly even while the other fetches never get an answer', async () => {
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

  test('leaves a held removal unchanged, under its name', async () => {
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
    expect(await stateOf(tenant)).toMatchObject({ reason: 'on-hold', held: 30 });
  });

  test('an unusable row proves that its record exists', async () => {
    const { clinic, model, tenant } = open(5);
    await cycle(tenant);
    clinic.unusable.add('3');
    const run = await cycle(tenant);
    expect(run.unusable).toEqual({ 'bad-time': 1 });
    expect(clinic.counts.lookups).toBe(0);
    expect(model.objects()).toHaveLength(5);
  });
});
