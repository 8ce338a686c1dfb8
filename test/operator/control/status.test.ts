import { describe, expect, test } from 'vitest';
import { type Actor, MirrorError } from '../../../src/core/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import type { StoredTarget } from '../../../src/engine/store.ts';
import { renderStatus } from '../../../src/operator/cli/render-status.ts';
import { renderSync } from '../../../src/operator/cli/render-sync.ts';
import { requireTenant } from '../../../src/operator/control/installation.ts';
import { status } from '../../../src/operator/control/status.ts';
import { isWhole, syncTenant } from '../../../src/operator/control/sync.ts';
import type { OpenTenant } from '../../../src/tenant/tenant.ts';
import { appointmentOf, NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, drain, NEVER, pull, targetOf } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant, type TargetChoice } from '../../tenant/open-tenant.ts';
import { openBooked, openInstallation } from './open-installation.ts';

const redis = useRedis();
const SIGNALS = { stop: NEVER, abort: NEVER };

function open(configuration: TargetChoice['configuration'] = {}) {
  const time = { now: NOW };
  const clinic = createModelClinic();
  for (const id of ['1', '2', '3']) clinic.appointments.set(id, appointmentOf(id, { inHours: 24 + Number(id) }));
  const targets = [
    { id: 'doctor', model: createModelTarget(), configuration: { agendas: ['a1'], ...configuration } },
    { id: 'other', model: createModelTarget(), configuration: { agendas: ['a2'] } },
  ];
  const tenant = openTenant({ redis: redis.connect(), clinic, targets, clock: () => time.now });
  const installation = openInstallation({ tenants: [tenant] });
  return {
    clinic,
    model: targets[0]?.model,
    /** One cycle, some minutes after the last. */
    async sync() {
      time.now += MINUTE_MS;
      const result = await syncTenant(installation, tenant.id, { progress: () => {}, signals: SIGNALS });
      const told = await status(installation, tenant.id);
      const [doctor, other] = told.tenants[0]?.targets ?? [];
      const flat = (text: string) => text.replaceAll(/\s+/g, ' ');
      return {
        at: time.now,
        doctor,
        other,
        whole: isWhole(result),
        sync: flat(renderSync(result)),
        status: flat(renderStatus(told)),
      };
    },
  };
}

async function stateOf(tenant: OpenTenant) {
  const { tenants } = await status(openInstallation({ tenants: [tenant] }));
  return tenants[0]?.targets[0];
}

function failureOf(actor: Actor): NonNullable<StoredTarget['failure']> {
  return { code: 'x', actor, message: 'm', remedy: null, texts: { message: 'm', remedy: null }, sinceAt: NOW };
}

describe('unreadable rows', () => {
  test('every row: no target is in sync as of now, and none is before the first time', async () => {
    const { clinic, sync } = open();
    for (const id of clinic.appointments.keys()) clinic.unusable.add(id);
    const { doctor, whole, ...told } = await sync();
    expect(doctor).toMatchObject({ reason: 'incomplete-data', inSyncAsOf: null, links: 0 });
    expect(doctor?.gaps).toEqual([{ code: 'records-unreadable', count: 3, what: ['bad-time'], soon: [] }]);
    expect(whole).toBe(false);
    for (const text of [told.sync, told.status]) expect(text).toContain('doctor: 3 unreadable records: bad-time');
  });

  test('one permanently unreadable row: the time stays, and status reports all but one record in sync as of the cycle', async () => {
    const { clinic, sync } = open();
    const before = await sync();
    expect(before).toMatchObject({ whole: true, doctor: { sync: 'in-sync', inSyncAsOf: before.at, gaps: [] } });
    clinic.unusable.add('2');
    const during = [await sync(), await sync()];
    for (const { at, doctor, status: told, whole } of during) {
      expect(doctor).toMatchObject({ reason: 'incomplete-data', inSyncAsOf: before.at, exceptGapsAsOf: at, links: 3 });
      expect(told).toMatch(/doctor: 1 unreadable record: bad-time \(records-unreadable\); otherwise in sync as of/);
      expect(whole).toBe(false);
    }
    clinic.unusable.clear();
    const after = await sync();
    expect(after.doctor).toMatchObject({ sync: 'in-sync', inSyncAsOf: after.at, exceptGapsAsOf: null });
  });

  test('a row of a known other agenda stops only the time of that agenda', async () => {
    const { clinic, sync } = open();
    const readAppointments = clinic.readAppointments;
    clinic.readAppointments = async (query, signal) => {
      const snapshot = await readAppointments(query, signal);
      return { ...snapshot, unusable: [{ recordId: 'x', code: 'bad-time', field: 'start', agendaId: 'a2' }] };
    };
    const { doctor, other, at } = await sync();
    expect(doctor).toMatchObject({ sync: 'in-sync', inSyncAsOf: at });
    expect(other).toMatchObject({ reason: 'incomplete-data', inSyncAsOf: null });
  });

  test('an incomplete list leaves the target stale', async () => {
    const { clinic, sync } = open();
    const { at } = await sync();
    clinic.truncatedAfter = 2;
    const { doctor, whole, sync: told } = await sync();
    expect(doctor).toMatchObject({ reason: 'read-failed', inSyncAsOf: at });
    expect([whole, told]).toEqual([false, expect.stringContaining('the read was incomplete (total-mismatch)')]);
  });
});

describe('missing records that single requests never return (records-unconfirmable)', () => {
  const wrongRecord = () => {
    throw new MirrorError('other record', { actor: 'contract', code: 'wrong-record', retry: 'later' });
  };
  test.each([
    { answer: wrongRecord, fault: 'wrong-record id', remedy: 'set idCase: ignored' },
    {
      answer: () => ({ unusable: { recordId: '2', code: 'bad-time', field: 'start' } }),
      fault: 'bad-time start',
      remedy: 'correct the fields',
    },
    {
      answer: () => ({ unusable: { recordId: '2', code: 'incomplete-record', field: 'lastName' } }),
      fault: 'incomplete-record lastName',
      remedy: 'set patients.merged',
    },
  ])(
    '$fault is a problem from the third cycle on, until the records can be read',
    async ({ answer, fault, remedy }) => {
      const { clinic, model, sync } = open();
      await sync();
      const booked = clinic.appointments.get('2');
      if (booked === undefined) throw new Error('the clinic has no second appointment');
      const readAppointment = clinic.readAppointment;
      clinic.appointments.delete('2');
      clinic.readAppointment = async () => answer();
      for (const gaps of [[], [], [{ code: 'records-unconfirmable', count: 1, what: [fault], soon: [] }]]) {
        expect((await sync()).doctor?.gaps).toEqual(gaps);
      }
      const { status: told, doctor } = await sync();
      expect([told.includes(fault), told.includes(remedy), doctor?.sync]).toEqual([true, true, 'behind']);
      expect(model?.objects()).toHaveLength(3);
      clinic.readAppointment = readAppointment;
      clinic.appointments.set('2', booked);
      expect((await sync()).doctor).toMatchObject({ sync: 'in-sync', gaps: [] });
    },
  );
});

describe('a list that lacks records which the clinic returns in single requests (records-unlisted)', () => {
  test.each([
    { name: 'an empty list', unlisted: ['1', '2', '3'] },
    { name: 'a list without one record', unlisted: ['2'] },
  ])('$name is incomplete: nothing is removed, no time advances, and status shows the number', async (one) => {
    const { clinic, model, sync } = open();
    const before = await sync();
    for (const id of one.unlisted) clinic.unlisted.add(id);
    const during = [await sync(), await sync()];
    for (const { doctor, other, status: told, whole } of during) {
      const gap = { code: 'records-unlisted', count: one.unlisted.length };
      expect(doctor).toMatchObject({ reason: 'incomplete-data', inSyncAsOf: before.at, links: 3, gaps: [gap] });
      expect(other, 'what one list lacks another target may lack too').toMatchObject({
        inSyncAsOf: before.at,
        gaps: [gap],
      });
      expect(told).toContain('partial (records-unlisted)');
      expect(told).toMatch(/list lacks \d records? that the clinic returns individually/);
      expect(whole).toBe(false);
    }
    expect(model?.objects()).toHaveLength(3);
    clinic.unlisted.clear();
    const after = await sync();
    expect(after.doctor).toMatchObject({ sync: 'in-sync', inSyncAsOf: after.at, gaps: [] });
    expect(after.other).toMatchObject({ sync: 'in-sync', inSyncAsOf: after.at });
  });

  test('removes nothing, not even records missing from two reads, until a list is complete', async () => {
    const { clinic, model, sync } = open();
    await sync();
    clinic.unlisted.add('2');
    clinic.appointments.delete('3');
    for (let cycles = 0; cycles < 3; cycles += 1) await sync();
    expect(model?.objects()).toHaveLength(3);
    clinic.unlisted.clear();
    expect((await sync()).doctor).toMatchObject({ sync: 'in-sync', links: 2 });
  });

  test('is not reported for records that a complete list may omit: closed, moved, or changed after the read', async () => {
    const { clinic, sync } = open();
    await sync();
    const changed = { updatedAt: NOW + 60 * MINUTE_MS };
    clinic.appointments.set('1', appointmentOf('1', { inHours: 25, status: 'completed' }));
    clinic.appointments.set('2', appointmentOf('2', { inHours: 31 }));
    clinic.appointments.set('3', { ...appointmentOf('3', { inHours: 27 }), ...changed });
    for (const id of ['1', '2', '3']) clinic.unlisted.add(id);
    const { doctor, at } = await sync();
    expect(doctor).toMatchObject({ sync: 'in-sync', inSyncAsOf: at, gaps: [] });
  });
});

describe('ids that the configuration names', () => {
  test('an unknown agenda is reported with similar names; other agendas continue', async () => {
    const { model, sync } = open({ agendas: ['a1', 'a11'] });
    const { doctor, other, at, whole, ...told } = await sync();
    expect(doctor).toMatchObject({ reason: 'incomplete-data', inSyncAsOf: null, exceptGapsAsOf: at, links: 3 });
    expect(doctor?.gaps).toMatchObject([{ code: 'agenda-unknown', count: 1, what: ['a11'] }]);
    expect(model?.objects()).toHaveLength(3);
    expect(other).toMatchObject({ sync: 'in-sync', inSyncAsOf: at });
    expect(whole).toBe(false);
    for (const text of [told.sync, told.status]) {
      expect(text).toContain('doctor: the clinic has no agenda a11; similar names: a1 (Agenda a1)');
    }
  });

  test('a name instead of an id is reported with its id', async () => {
    const { sync } = open({ agendas: ['agenda a2'] });
    expect((await sync()).doctor?.gaps).toMatchObject([{ code: 'agenda-unknown', soon: ['a2 (Agenda a2)'] }]);
  });

  test('it is known in the next cycle that finds it, without an hour of waiting', async () => {
    const { clinic, sync } = open({ agendas: ['a1', 'a3'] });
    let invalidated = 0;
    clinic.invalidate = () => {
      invalidated += 1;
    };
    expect((await sync()).doctor).toMatchObject({ reason: 'incomplete-data' });
    expect(invalidated).toBeGreaterThan(0);
    const agendas = await clinic.agendas(NEVER);
    clinic.agendas = async () => [...agendas, { id: 'a3', name: 'New', locationId: null, isActive: true }];
    expect((await sync()).doctor).toMatchObject({ sync: 'in-sync', gaps: [] });
  });

  test('a treatment is checked too', async () => {
    const { clinic, sync } = open({ treatments: ['t1'] });
    clinic.treatments = async () => [{ id: 't2', name: 'Visit' }];
    expect((await sync()).doctor?.gaps).toMatchObject([
      { code: 'treatment-unknown', what: ['t1'], soon: ['t2 (Visit)'] },
    ]);
    clinic.treatments = async () => [{ id: 't1', name: 'Visit' }];
    expect((await sync()).doctor).toMatchObject({ sync: 'in-sync' });
  });

  test('an unreadable catalogue makes no id unknown: a row confirms one, and the others are reported', async () => {
    const { clinic, sync } = open({ agendas: ['a1', 'a9'] });
    clinic.agendas = async () => {
      throw new MirrorError('no', { actor: 'authorization', code: 'missing-claim', retry: 'never', status: 403 });
    };
    const { doctor, whole, sync: told } = await sync();
    expect(doctor?.gaps).toEqual([{ code: 'agenda-unconfirmed', count: 1, what: ['a9'], soon: [] }]);
    expect(doctor).toMatchObject({ reason: 'incomplete-data', inSyncAsOf: null });
    expect(whole).toBe(false);
    expect(told).toContain('not readable, and left out of events: agendas (missing-claim)');
  });
});

describe('status', () => {
  test('shows when a target last confirmed a write; a cycle without changes keeps the time', async () => {
    const { tenant, clinic, clock } = openBooked(redis, 2);
    const writtenAt = async () => (await stateOf(tenant))?.lastWrittenAt;
    expect(await writtenAt()).toBeNull();
    await cycle(tenant);
    expect(await writtenAt()).toBe(NOW);
    clock.now += HOUR_MS;
    await cycle(tenant);
    expect(await writtenAt()).toBe(NOW);
    clinic.appointments.set('1', appointmentOf('1', { inHours: 99 }));
    await cycle(tenant);
    expect(await writtenAt()).toBe(clock.now);
  });

  test('shows every tenant, including skipped ones, and a single one by name', async () => {
    const tenants = ['studio-rossi', 'studio-bianchi'].map(
      (id) => openBooked(redis, 0, { id, name: `Studio ${id}` }).tenant,
    );
    const fault = { file: 'f', line: 1, column: 1, path: [], message: 'm', remedy: 'r' };
    const installation = openInstallation({
      tenants,
      unusable: [{ id: 'broken', faults: [fault as never, fault as never] }],
    });
    const view = await status(installation);
    expect(view).toMatchObject({
      at: NOW,
      tenants: [{ tenant: 'studio-rossi', lastRun: null }, { tenant: 'studio-bianchi' }],
      unusable: [{ tenant: 'broken', faults: 2 }],
    });
    expect((await status(installation, 'studio-bianchi')).tenants).toHaveLength(1);
  });

  test('shows damaged data under the present id of a tenant, shared data of all tenants only, and no other ids', async () => {
    const connection = redis.connect();
    const tenantOf = (id: string, formerly?: string) => {
      const tenant = openTenant({ redis: connection, id, clinic: createModelClinic(), targets: [], clock: () => NOW });
      return { ...tenant, configuration: { ...tenant.configuration, formerly } };
    };
    const stateOf = (tenant: string | null) => ({ tenant, kinds: ['holds' as const], sinceAt: NOW });
    const list = async () => ['before', 'borea', 'removed', null].map(stateOf);
    const damaged = { counts: new Map(), list };
    const installation = openInstallation({ tenants: [tenantOf('aurora', 'before'), tenantOf('borea')], damaged });
    const all = await status(installation);
    expect(all.damaged).toEqual([stateOf('aurora'), stateOf('borea'), stateOf(null)]);
    expect(
      all.problems
        .filter(({ code }) => code === 'state-damaged')
        .map(({ tenant }) => tenant)
        .toSorted(),
    ).toEqual(['aurora', 'borea', null]);
    expect((await status(installation, 'aurora')).damaged).toEqual([stateOf('aurora')]);
  });

  test('of an unknown tenant lists the existing ones', () => {
    const installation = openInstallation({
      tenants: [openBooked(redis).tenant],
      unusable: [{ id: 'broken', faults: [] }],
    });
    const failure = (id: string) => {
      try {
        requireTenant(installation, id);
      } catch (error) {
        return error;
      }
      return null;
    };
    expect(failure('nobody')).toMatchObject({
      code: 'no-such-tenant',
      remedy: expect.stringContaining('studio-rossi'),
    });
    expect(failure('broken')).toMatchObject({
      code: 'tenant-set-aside',
      remedy: expect.stringContaining('config check'),
    });
  });
});

describe('the state of a target', () => {
  test('is first-sync before its first complete cycle', async () => {
    const { tenant } = openBooked(redis);
    expect(await stateOf(tenant)).toMatchObject({ reason: 'first-sync', inSyncAsOf: null });
  });

  test('is in-sync when nothing waits, fails or is held', async () => {
    const { tenant } = openBooked(redis, 3);
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ sync: 'in-sync', inSyncAsOf: NOW, links: 3, oldestPendingAt: null });
  });

  test('is stale when nothing waits and the last cycle could not read the clinic', async () => {
    const { clinic, tenant } = openBooked(redis, 3);
    await cycle(tenant);
    clinic.readAppointments = () => Promise.reject(new Error('away'));
    await pull(tenant);
    expect(await stateOf(tenant)).toMatchObject({ reason: 'read-failed', inSyncAsOf: NOW });
  });

  test('is working while changes wait, with the last time at which no change waited', async () => {
    const { clinic, clock, tenant } = openBooked(redis, 3);
    await cycle(tenant);
    clock.now += HOUR_MS;
    clinic.appointments.set('9', appointmentOf('9'));
    await pull(tenant);
    expect(await stateOf(tenant)).toMatchObject({
      reason: 'writing',
      inSyncAsOf: NOW,
      pending: 1,
      oldestPendingAt: clock.now,
    });
  });

  test.each([
    ['another record', { unusable: { code: 'wrong-record', field: 'id' } }],
    ['an unreadable record', { unusable: { code: 'bad-time', field: 'startsAt' } }],
  ] as const)(
    'is never "writing" while an absence cannot be confirmed, because the clinic answers with %s',
    async (_what, answer) => {
      const { clinic, clock, tenant } = openBooked(redis, 3);
      await cycle(tenant);
      clinic.appointments.delete('1');
      clinic.readAppointment = async () => answer as never;
      const reasons: unknown[] = [];
      for (let each = 0; each < 4; each += 1) {
        clock.now += HOUR_MS;
        await cycle(tenant);
        const found = await stateOf(tenant);
        expect(found).toMatchObject({ pending: 0, unconfirmed: 1 });
        reasons.push(found?.reason);
      }
      expect(reasons[0]).toBe('next-cycle');
      expect(reasons.at(-1)).toBe('incomplete-data');
      expect(reasons).not.toContain('writing');
    },
  );

  test('is failing when one of them failed', async () => {
    const { model, tenant } = openBooked(redis, 3);
    model.fault = ({ recordId }) => (recordId === '1' ? 'refused' : null);
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ reason: 'writes-failed', failing: 1, pending: 1 });
  });

  test('is held when removals wait for an operator', async () => {
    const { clinic, tenant } = openBooked(redis, 30);
    await cycle(tenant);
    clinic.appointments.clear();
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ reason: 'on-hold', held: 30 });
  });

  test.each<[Actor, string]>([
    ['remote', 'backing-off'],
    ['authorization', 'error'],
  ])('shows a hold and an error of the whole target (%s) as two problems', async (actor, reason) => {
    const { clinic, tenant, installation } = openBooked(redis, 30);
    await cycle(tenant);
    clinic.appointments.clear();
    await cycle(tenant);
    await tenant.targetStore.write('doctor', { failure: failureOf(actor) });
    expect(await stateOf(tenant)).toMatchObject({ reason, held: 30, sync: 'on-hold', health: 'action-required' });
    const { problems } = await status(installation);
    expect(problems.map(({ code }) => code).toSorted()).toEqual(['on-hold', 'x']);
    expect(problems.find(({ code }) => code === 'on-hold')).toMatchObject({ health: 'action-required' });
  });

  test('the reason is `first-sync` until the queue is empty for the first time, and `writing` afterwards, also with a gap', async () => {
    const { clinic, model, clock, tenant } = openBooked(redis, 3);
    await pull(tenant);
    expect(await stateOf(tenant)).toMatchObject({ reason: 'first-sync', firstSync: { written: 0, of: 3 } });
    const gap = { code: 'agenda-unknown' as const, count: 1, what: ['4'], soon: [] };
    await tenant.targetStore.write('doctor', { gaps: [gap] });
    await drain(tenant, targetOf(tenant));
    await tenant.targetStore.write('doctor', { gaps: [gap], idleAsOf: null });
    clock.now += HOUR_MS;
    clinic.appointments.set('9', appointmentOf('9'));
    model.fault = () => 'unavailable';
    await cycle(tenant);
    expect(await stateOf(tenant)).toMatchObject({ pending: 1, sync: 'behind', firstSync: null });
  });

  test.each<[Actor, string]>([
    ['remote', 'backing-off'],
    ['conflict', 'backing-off'],
    ['authorization', 'error'],
    ['settings', 'error'],
    ['contract', 'error'],
  ])('an error of the whole target by %s has the reason %s', async (actor, reason) => {
    const { tenant } = openBooked(redis, 1);
    await cycle(tenant);
    await tenant.targetStore.write('doctor', { failure: failureOf(actor) });
    expect(await stateOf(tenant)).toMatchObject({ reason, inSyncAsOf: NOW });
  });

  test.each([
    ['tenant', { paused: true }, {}],
    ['target', {}, { paused: true }],
  ])('is paused when the %s is, with any other problem', async (_, changes, configuration) => {
    const { tenant } = openBooked(redis, 1, changes, configuration);
    await tenant.targetStore.write('doctor', { failure: failureOf('authorization') });
    expect(await stateOf(tenant)).toMatchObject({ reason: 'paused' });
  });
});
