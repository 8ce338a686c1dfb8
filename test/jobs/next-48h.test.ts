import { describe, expect, test, vi } from 'vitest';
import { renderStatus } from '../../src/cli/render-status.ts';
import { renderTime } from '../../src/cli/table.ts';
import { status, targetStatus } from '../../src/control/status.ts';
import type { RunReport } from '../../src/domain/runs.ts';
import { pullTenant, pullWhenFree } from '../../src/jobs/pull.ts';
import type { OpenTenant } from '../../src/jobs/tenant.ts';
import { MirrorError } from '../../src/model/errors.ts';
import type { AppointmentStatus } from '../../src/model/records.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../src/model/time.ts';
import { openInstallation } from '../control/open-installation.ts';
import { appointmentOf, NOW } from '../domain/arbitraries.ts';
import { createModelGateway, openModelReminders } from '../features/reminders/reminder-world.ts';
import { useRedis } from '../support/redis.ts';
import { cycle, NEVER, pull, targetOf } from './cycle.ts';
import { createModelClinic, type ModelClinic } from './model-clinic.ts';
import { createModelTarget, type ModelTarget } from './model-target.ts';
import { EVERY_MS, readingOf, tryNearHistories } from './near-histories.ts';
import { openTenant, type TenantChoice } from './open-tenant.ts';
import { openCrmWorld, patientOf } from './world.ts';

/** By so much do cycles come late: all is then read with one in five. */
const LATE_MS = 5 * EVERY_MS;
/** Neither late nor in time: the pace stays. */
const STEADY_MS = 1.08 * EVERY_MS;
/** Hours from now: six within two days, and six later. */
const NEAR = [2, 5, 9, 22, 27, 33];
const FAR = [100, 200, 300, 500, 700, 900];

const redis = useRedis({ appendOnly: false });

interface World {
  clinic: ModelClinic;
  model: ModelTarget;
  clock: { now: number };
  tenant: OpenTenant;
  /** The next regular cycle, with all its writes. */
  next(): Promise<RunReport>;
}

/** A tenant whose cycles came late: one of five fetches everything, and the next three fetch two days only. */
async function tightWorld(more: Partial<TenantChoice> = {}, near: readonly number[] = NEAR): Promise<World> {
  const [clinic, model, clock] = [createModelClinic(), createModelTarget(), { now: NOW }];
  near.forEach((inHours, index) => void book(clinic, `near-${index}`, inHours));
  FAR.forEach((inHours, index) => void book(clinic, `far-${index}`, inHours));
  const tenant = openTenant({
    ...{
      redis: redis.connect(),
      clinic,
      clock: () => clock.now,
      pullEveryMs: EVERY_MS,
      targets: [{ model, configuration: {} }],
    },
    ...more,
  });
  const after = (durationMs: number) => {
    clock.now += durationMs;
    return cycle(tenant);
  };
  const next = () => after(STEADY_MS);
  await cycle(tenant);
  for (let late = 0; late < 2; late += 1) await after(LATE_MS);
  await untilWhole(next);
  expect(readingOf(await next())).toBe('near');
  return { clinic, model, clock, tenant, next };
}

function book(clinic: ModelClinic, id: string, inHours: number, status: AppointmentStatus = 'booked'): void {
  clinic.appointments.set(id, appointmentOf(id, { inHours, status }));
}

/** Runs cycles up to the next one that fetches everything. */
async function untilWhole(next: () => Promise<RunReport>): Promise<void> {
  for (let cycles = 0; cycles < 20; cycles += 1) if (readingOf(await next()) === 'whole') return;
  throw new Error('no cycle reads all');
}

/** When each record's object begins, in hours from the beginning of the test. */
function held({ model, tenant }: Pick<World, 'model' | 'tenant'>): Record<string, number> {
  const { identity } = targetOf(tenant);
  const times = model.objects().map(({ sealedRecordId, item }): [string, number] => {
    return [identity.recordIdOf(sealedRecordId ?? '') ?? '', (identity.spanOf(item).startAt - NOW) / HOUR_MS];
  });
  return Object.fromEntries(times);
}

function someReminders() {
  return openModelReminders({ redis: redis.connect(), gateway: createModelGateway(), alarms: { wakes: new Map() } });
}

describe('a cycle that comes late', () => {
  test('writes changes in the next two days, and later ones after a full fetch', async () => {
    const world = await tightWorld();
    const { clinic, next } = world;
    book(clinic, 'near-0', 4);
    book(clinic, 'new', 6);
    book(clinic, 'far-0', 150);
    book(clinic, 'far-1', 30);
    expect(await next()).toMatchObject({ soon: { records: 8, requests: 1 }, targets: [{ planned: { new: 1 } }] });
    expect(held(world)).toMatchObject({ 'near-0': 4, new: 6, 'far-0': 100, 'far-1': 30 });
    await untilWhole(next);
    expect(held(world)).toMatchObject({ 'far-0': 150 });
  });

  test('fetches everything in one of several cycles, and one list in the others', async () => {
    const { clinic, next } = await tightWorld();
    const read: string[] = [];
    const { lists } = clinic.counts;
    for (let cycles = 0; cycles < 12; cycles += 1) read.push(readingOf(await next()));
    expect(read.join(' ')).toBe('near near near whole near near near near whole near near near');
    expect(clinic.counts).toMatchObject({ lists: lists + 12, lookups: 0 });
  });

  test('fetches everything in each cycle when cycles start in time again', async () => {
    const { clock, tenant } = await tightWorld();
    const read: string[] = [];
    for (let cycles = 0; cycles < 20; cycles += 1) {
      clock.now += EVERY_MS;
      read.push(readingOf(await cycle(tenant)));
    }
    expect(read.slice(-5)).toEqual(Array(5).fill('whole'));
  });

  test('fetches everything on request, and for an administrator', async () => {
    const { clock, tenant } = await tightWorld();
    clock.now += STEADY_MS;
    expect(await pullTenant(tenant, NEVER, { asked: true })).toMatchObject({ soon: null });
    clock.now += STEADY_MS;
    expect(await pullWhenFree(tenant, () => {}, NEVER)).toMatchObject({ soon: null });
  });

  test('fetches everything in a process with another configuration, and continues in one with the current configuration', async () => {
    const world = await tightWorld();
    const { clinic, clock, model } = world;
    const open = (configuration: object) =>
      openTenant({
        ...{ redis: redis.connect(), clinic, clock: () => clock.now, pullEveryMs: EVERY_MS },
        ...{ targets: [{ model, configuration }], reminders: someReminders() },
      });
    clock.now += STEADY_MS;
    expect(readingOf(await pull(open({})))).toBe('near');
    clock.now += STEADY_MS;
    expect(readingOf(await pull(open({ window: { pastDays: 3, futureDays: 60 } })))).toBe('whole');
  });
});

describe('of a tenant whose cycles come late', () => {
  test('reminders of the next two days are planned and withdrawn with each cycle', async () => {
    const reminders = someReminders();
    const { clinic, next } = await tightWorld({ reminders });
    const planned = async () => {
      const open = await reminders.ledger.open();
      return open.map(({ appointmentId, startAt }) => `${appointmentId} ${(startAt - NOW) / HOUR_MS}`).sort();
    };
    expect(await planned()).toEqual(['near-4 27', 'near-5 33']);
    book(clinic, 'near-4', 28);
    book(clinic, 'new', 40);
    expect(readingOf(await next())).toBe('near');
    expect(await planned()).toEqual(['near-4 28', 'near-5 33', 'new 40']);
  });

  test('a calendar without write access does not delay the others; a calendar to be refilled requires a full fetch', async () => {
    const [other, away] = [
      createModelTarget(),
      new MirrorError('x', { actor: 'authorization', code: 'x', retry: 'never' }),
    ];
    other.wholeTargetError = away;
    const model = createModelTarget();
    const targets = [{ model }, { id: 'room', model: createModelTarget() }, { id: 'other', model: other }];
    const { tenant, clinic, next } = await tightWorld({ targets });
    book(clinic, 'new', 40);
    expect(readingOf(await next())).toBe('near');
    expect([model, other].map((each) => each.objects().length)).toEqual([13, 0]);
    await tenant.targetStore.write('doctor', { adoptedAt: null });
    expect(readingOf(await next())).toBe('whole');
  });

  test('CRM objects follow the full fetches, and are not reported as fresher', async () => {
    const crm = openCrmWorld(redis);
    const model = createModelTarget();
    NEAR.forEach((inHours, index) => void book(crm.clinic, `near-${index}`, inHours));
    crm.clinic.patientList.push(patientOf('p1'));
    const read = vi.spyOn(crm.clinic, 'readAppointments');
    const tenant = crm.again({ pullEveryMs: EVERY_MS }, [{ model, configuration: { agendas: ['a1'] } }]);
    const next = (afterMs: number) => {
      crm.clock.now += afterMs;
      return cycle(tenant);
    };
    for (const afterMs of [0, LATE_MS, LATE_MS]) await next(afterMs);
    await untilWhole(() => next(STEADY_MS));
    const wholeAt = crm.clock.now;
    book(crm.clinic, 'new', 40);
    expect(readingOf(await next(STEADY_MS))).toBe('near');
    expect(read.mock.lastCall).toMatchObject([{ agendaIds: ['a1'] }, {}]);
    expect([model, crm.activities].map((each) => each.objects().length)).toEqual([7, 6]);
    expect(await targetStatus(tenant, targetOf(tenant, 'activities'), [])).toMatchObject({ soonAsOf: wholeAt });
    await untilWhole(() => next(STEADY_MS));
    expect(crm.activities.objects()).toHaveLength(7);
  });
});

describe('a case that a two-day fetch cannot decide is decided by a full fetch in the cycle', () => {
  test('a record outside its expected place: it was moved', async () => {
    const world = await tightWorld();
    book(world.clinic, 'near-0', 400);
    expect(readingOf(await world.next())).toBe('whole');
    expect(held(world)).toMatchObject({ 'near-0': 400 });
    expect(world.clinic.counts.lookups).toBe(0);
  });

  test('a missing record: two full fetches miss it and it is queried singly', async () => {
    const world = await tightWorld();
    world.clinic.appointments.delete('near-0');
    expect(readingOf(await world.next())).toBe('whole');
    expect(held(world)).toHaveProperty('near-0');
    expect(readingOf(await world.next())).toBe('whole');
    expect(held(world)).not.toHaveProperty('near-0');
    expect(world.clinic.counts.lookups).toBe(2);
    expect(readingOf(await world.next())).toBe('whole');
    expect(readingOf(await world.next())).toBe('near');
  });

  test('a cancellation', async () => {
    const world = await tightWorld();
    book(world.clinic, 'near-0', 2, 'cancelled');
    expect(await world.next()).toMatchObject({ soon: null, targets: [{ planned: { cancelled: 1 } }] });
    expect(held(world)).not.toHaveProperty('near-0');
  });

  test('rows of another clinic, under other or equal ids, are never written', async () => {
    for (const own of [false, true]) {
      await redis.connect().flushall();
      const world = await tightWorld();
      const before = held(world);
      const theirs = [...world.clinic.appointments.keys()].map((id, index) => (own ? id : `theirs-${index}`));
      world.clinic.appointments.clear();
      theirs.forEach((id, index) => void book(world.clinic, id, 3 + index * index * 6));
      expect(await world.next()).toMatchObject({ soon: null });
      expect(held(world)).toEqual(before);
      expect(await world.tenant.holds.list()).toMatchObject([{ kind: 'replaced', state: 'open' }]);
      expect(readingOf(await world.next())).toBe('whole');
    }
  });

  test('rows of another clinic in the two-day fetch only: other ids, equal ids, and an empty part of the calendar', async () => {
    const others = NEAR.map((inHours, index) => appointmentOf(`theirs-${index}`, { inHours }));
    const moved = NEAR.map((inHours, index) => appointmentOf(`near-${index}`, { inHours: inHours + 1 }));
    for (const [rows, isEmpty] of [
      [others, false],
      [moved, false],
      [others, true],
    ] as const) {
      await redis.connect().flushall();
      const world = await tightWorld({}, isEmpty ? [] : NEAR);
      const before = held(world);
      const theirs = { completeness: 'complete', records: new Map(rows.map((one) => [one.id, one])) } as const;
      const { readAppointments } = world.clinic;
      world.clinic.readAppointments = async (query, signal) => {
        const snapshot = await readAppointments(query, signal);
        return query.window.toAt < world.clock.now + 3 * DAY_MS ? { ...snapshot, ...theirs } : snapshot;
      };
      expect(readingOf(await world.next())).toBe('whole');
      expect(held(world)).toEqual(before);
    }
  });

  test('a list that breaks off, or is empty', async () => {
    const world = await tightWorld();
    const before = held(world);
    world.clinic.truncatedAfter = 3;
    expect(await world.next()).toMatchObject({ soon: null, snapshot: { completeness: 'partial' } });
    world.clinic.truncatedAfter = null;
    expect(readingOf(await world.next())).toBe('whole');
    const all = [...world.clinic.appointments];
    expect(readingOf(await world.next())).toBe('near');
    world.clinic.appointments.clear();
    expect(readingOf(await world.next())).toBe('whole');
    expect(held(world)).toEqual(before);
    for (const [id, appointment] of all) world.clinic.appointments.set(id, appointment);
  });

  test('every cycle after a failure, and an undecided hold', async () => {
    const world = await tightWorld();
    world.clinic.listError = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
    expect(await world.next()).toMatchObject({ error: { code: 'server-error' } });
    world.clinic.listError = null;
    expect(readingOf(await world.next())).toBe('whole');
    expect(readingOf(await world.next())).toBe('near');
    const hold = { linkCount: 12, now: world.clock.now, expiresAt: world.clock.now + DAY_MS };
    await world.tenant.holds.cover('doctor', 'vanished', ['far-0'], hold);
    const { lists } = world.clinic.counts;
    expect(readingOf(await world.next())).toBe('whole');
    expect(world.clinic.counts.lists).toBe(lists + 1);
  });
});

describe('the age of the data', () => {
  test('in sync has the time of the last full fetch, and the next two days have their own time', async () => {
    const { tenant, clock, next } = await tightWorld();
    const wholeAt = clock.now - STEADY_MS;
    const look = () => targetStatus(tenant, targetOf(tenant), []);
    expect(await look()).toMatchObject({ sync: 'in-sync', inSyncAsOf: wholeAt, soonAsOf: clock.now });
    const run = await next();
    expect(run).toMatchObject({ snapshot: { completeness: 'complete', records: 12 }, soon: { records: 6 } });
    expect(await look()).toMatchObject({ inSyncAsOf: wholeAt, soonAsOf: clock.now });
  });

  test('is what the operator sees: how all and the next two days are read, and as of when these are known', async () => {
    const { tenant, clock, next } = await tightWorld();
    await next();
    clock.now += 20_000;
    const text = renderStatus(await status(openInstallation({ tenants: [tenant] })));
    expect(text).toContain('last cycle 20 s ago: the next 48 hours, 6 appointments, 1 requests');
    expect(text).toContain('cycles start late: one cycle in 5 is a full read, the other cycles read the next 48 hours');
    const { inSyncAsOf } = await targetStatus(tenant, targetOf(tenant), []);
    expect(text).toMatch(new RegExp(`doctor +in sync +ok +${renderTime(inSyncAsOf)}`));
    expect(text).toMatch(/doctor: the next 48 hours as of .* \(20 s ago\)/);
  });

  test('a change after two days is not written by a plan that did not read it', async () => {
    const world = await tightWorld();
    const { model, tenant, clinic, clock, next } = world;
    const lasting = tenant.targetStore;
    model.fault = ({ recordId }) => (recordId === 'far-0' ? 'unavailable' : null);
    book(clinic, 'far-0', 150);
    await untilWhole(next);
    expect((await tenant.outbox.counts('doctor')).pending).toBe(1);
    const { lastPlannedAt } = await lasting.read('doctor');
    expect(readingOf(await next())).toBe('near');
    expect((await lasting.read('doctor')).lastPlannedAt).toBe(lastPlannedAt);
    // Well before the plan is too old, everything is fetched regardless of the pace.
    clock.now += tenant.planLifeMs / 2;
    expect(readingOf(await next())).toBe('whole');
    expect((await lasting.read('doctor')).lastPlannedAt).toBeGreaterThan(lastPlannedAt ?? 0);
  });

  test('a change after two days, or outside the window by now, is dropped by full fetches only', async () => {
    const world = await tightWorld();
    const { tenant, clinic, clock, next } = world;
    const planOnly = (afterMs: number) => {
      clock.now += afterMs;
      return pull(tenant);
    };
    book(clinic, 'old', 2 * 24 - 7 * 24);
    await untilWhole(next);
    book(clinic, 'far-0', 150);
    await untilWhole(() => planOnly(STEADY_MS));
    expect(readingOf(await planOnly(NOW + 2 * DAY_MS + 50 * MINUTE_MS - clock.now))).toBe('whole');
    book(clinic, 'old', 300);
    expect(readingOf(await planOnly(10 * MINUTE_MS))).toBe('near');
    expect([...(await tenant.outbox.pending('doctor')).keys()]).toEqual(['far-0']);
    expect(await tenant.links.read('doctor')).toHaveProperty('size', 13);
    await untilWhole(next);
    expect(held(world)).toMatchObject({ 'far-0': 150, old: 300 });
  });
});

// More cases: near-histories.test.ts.
test('in any history the next two days equal those of full fetches, no existing record is removed, and the final states are equal', async () => {
  await tryNearHistories(redis, 3);
});
