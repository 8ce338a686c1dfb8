import { describe, expect, test } from 'vitest';
import { renderStatus } from '../../src/cli/render-status.ts';
import { renderSync } from '../../src/cli/render-sync.ts';
import { status } from '../../src/control/status.ts';
import { isWhole, syncTenant } from '../../src/control/sync.ts';
import { MirrorError } from '../../src/model/errors.ts';
import { MINUTE_MS } from '../../src/model/time.ts';
import { NEVER } from '../jobs/cycle.ts';
import { createModelClinic } from '../jobs/model-clinic.ts';
import { createModelTarget } from '../jobs/model-target.ts';
import { openTenant, type TargetChoice } from '../jobs/open-tenant.ts';
import { useRedis } from '../support/redis.ts';
import { appointmentOf, NOW } from '../sync/arbitraries.ts';
import { openInstallation } from './open-installation.ts';

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

describe('rows that can not be read', () => {
  test('every row: nothing is in sync as of now, before the first time not at all', async () => {
    const { clinic, sync } = open();
    for (const id of clinic.appointments.keys()) clinic.unusable.add(id);
    const { doctor, whole, ...told } = await sync();
    expect(doctor).toMatchObject({ state: 'incomplete', inSyncAsOf: null, links: 0 });
    expect(doctor?.gaps).toEqual([{ code: 'rows-unread', count: 3, what: ['bad-time'], soon: [] }]);
    expect(whole).toBe(false);
    for (const text of [told.sync, told.status]) expect(text).toContain("doctor: 3 records can't be read: bad-time");
  });

  test('one row for good: the clock stands, and status says that all but one record is in sync as of the cycle', async () => {
    const { clinic, sync } = open();
    const before = await sync();
    expect(before).toMatchObject({ whole: true, doctor: { state: 'in-sync', inSyncAsOf: before.at, gaps: [] } });
    clinic.unusable.add('2');
    const during = [await sync(), await sync()];
    for (const { at, doctor, status: told, whole } of during) {
      expect(doctor).toMatchObject({ state: 'incomplete', inSyncAsOf: before.at, exceptGapsAsOf: at, links: 3 });
      expect(told).toMatch(/doctor: 1 record can't be read: bad-time \(rows-unread\); but for that in sync as of/);
      expect(whole).toBe(false);
    }
    clinic.unusable.clear();
    const after = await sync();
    expect(after.doctor).toMatchObject({ state: 'in-sync', inSyncAsOf: after.at, exceptGapsAsOf: null });
  });

  test('a row that is known to be of another agenda stops the clock of that one alone', async () => {
    const { clinic, sync } = open();
    const readAppointments = clinic.readAppointments;
    clinic.readAppointments = async (query, signal) => {
      const snapshot = await readAppointments(query, signal);
      return { ...snapshot, unusable: [{ recordId: 'x', code: 'bad-time', field: 'start', agendaId: 'a2' }] };
    };
    const { doctor, other, at } = await sync();
    expect(doctor).toMatchObject({ state: 'in-sync', inSyncAsOf: at });
    expect(other).toMatchObject({ state: 'incomplete', inSyncAsOf: null });
  });

  test('a list whose end is not proved leaves the target stale', async () => {
    const { clinic, sync } = open();
    const { at } = await sync();
    clinic.truncatedAfter = 2;
    const { doctor, whole, sync: told } = await sync();
    expect(doctor).toMatchObject({ state: 'stale', inSyncAsOf: at });
    expect([whole, told]).toEqual([false, expect.stringContaining('the reading is partial (total-mismatch)')]);
  });
});

describe('a list that lacks records which the clinic shows one by one (records-unlisted)', () => {
  test.each([
    { name: 'an empty list', unlisted: ['1', '2', '3'] },
    { name: 'a list without one record', unlisted: ['2'] },
  ])('$name proves itself incomplete: nothing is removed, no clock moves, and status names the number', async (one) => {
    const { clinic, model, sync } = open();
    const before = await sync();
    for (const id of one.unlisted) clinic.unlisted.add(id);
    const during = [await sync(), await sync()];
    for (const { doctor, other, status: told, whole } of during) {
      const gap = { code: 'records-unlisted', count: one.unlisted.length };
      expect(doctor).toMatchObject({ state: 'incomplete', inSyncAsOf: before.at, links: 3, gaps: [gap] });
      expect(other, 'what one list lacks another target may lack too').toMatchObject({
        inSyncAsOf: before.at,
        gaps: [gap],
      });
      expect(told).toContain('partial (records-unlisted)');
      expect(told).toMatch(/list lacks \d records? that the clinic shows one by one/);
      expect(whole).toBe(false);
    }
    expect(model?.objects()).toHaveLength(3);
    clinic.unlisted.clear();
    const after = await sync();
    expect(after.doctor).toMatchObject({ state: 'in-sync', inSyncAsOf: after.at, gaps: [] });
    expect(after.other).toMatchObject({ state: 'in-sync', inSyncAsOf: after.at });
  });

  test('removes nothing, not even what is gone by two readings, until a list is complete', async () => {
    const { clinic, model, sync } = open();
    await sync();
    clinic.unlisted.add('2');
    clinic.appointments.delete('3');
    for (let cycles = 0; cycles < 3; cycles += 1) await sync();
    expect(model?.objects()).toHaveLength(3);
    clinic.unlisted.clear();
    expect((await sync()).doctor).toMatchObject({ state: 'in-sync', links: 2 });
  });

  test('is not told of records that a complete list may leave out: closed, moved, or changed after it was read', async () => {
    const { clinic, sync } = open();
    await sync();
    const changed = { updatedAt: NOW + 60 * MINUTE_MS };
    clinic.appointments.set('1', appointmentOf('1', { inHours: 25, status: 'completed' }));
    clinic.appointments.set('2', appointmentOf('2', { inHours: 31 }));
    clinic.appointments.set('3', { ...appointmentOf('3', { inHours: 27 }), ...changed });
    for (const id of ['1', '2', '3']) clinic.unlisted.add(id);
    const { doctor, at } = await sync();
    expect(doctor).toMatchObject({ state: 'in-sync', inSyncAsOf: at, gaps: [] });
  });
});

describe('ids that the configuration names', () => {
  test('an agenda that the clinic does not have is named with the near ones; the rest goes on', async () => {
    const { model, sync } = open({ agendas: ['a1', 'a11'] });
    const { doctor, other, at, whole, ...told } = await sync();
    expect(doctor).toMatchObject({ state: 'incomplete', inSyncAsOf: null, exceptGapsAsOf: at, links: 3 });
    expect(doctor?.gaps).toMatchObject([{ code: 'agenda-unknown', count: 1, what: ['a11'] }]);
    expect(model?.objects()).toHaveLength(3);
    expect(other).toMatchObject({ state: 'in-sync', inSyncAsOf: at });
    expect(whole).toBe(false);
    for (const text of [told.sync, told.status]) {
      expect(text).toContain('doctor: the clinic has no agenda a11; is one of these meant: a1 (Agenda a1)');
    }
  });

  test('a name in place of an id is told with its id', async () => {
    const { sync } = open({ agendas: ['agenda a2'] });
    expect((await sync()).doctor?.gaps).toMatchObject([{ code: 'agenda-unknown', soon: ['a2 (Agenda a2)'] }]);
  });

  test('it is known with the next cycle that finds it, without an hour of waiting', async () => {
    const { clinic, sync } = open({ agendas: ['a1', 'a3'] });
    let invalidated = 0;
    clinic.invalidate = () => {
      invalidated += 1;
    };
    expect((await sync()).doctor).toMatchObject({ state: 'incomplete' });
    expect(invalidated).toBeGreaterThan(0);
    const agendas = await clinic.agendas(NEVER);
    clinic.agendas = async () => [...agendas, { id: 'a3', name: 'New', locationId: null, isActive: true }];
    expect((await sync()).doctor).toMatchObject({ state: 'in-sync', gaps: [] });
  });

  test('a treatment is looked for too', async () => {
    const { clinic, sync } = open({ treatments: ['t1'] });
    clinic.treatments = async () => [{ id: 't2', name: 'Visit' }];
    expect((await sync()).doctor?.gaps).toMatchObject([
      { code: 'treatment-unknown', what: ['t1'], soon: ['t2 (Visit)'] },
    ]);
    clinic.treatments = async () => [{ id: 't1', name: 'Visit' }];
    expect((await sync()).doctor).toMatchObject({ state: 'in-sync' });
  });

  test('a catalogue that may not be read makes none of them unknown: a row proves one, of others it is told', async () => {
    const { clinic, sync } = open({ agendas: ['a1', 'a9'] });
    clinic.agendas = async () => {
      throw new MirrorError('no', { actor: 'authorization', code: 'missing-claim', retry: 'never', status: 403 });
    };
    const { doctor, whole, sync: told } = await sync();
    expect(doctor?.gaps).toEqual([{ code: 'agenda-unconfirmed', count: 1, what: ['a9'], soon: [] }]);
    expect(doctor).toMatchObject({ state: 'incomplete', inSyncAsOf: null });
    expect(whole).toBe(false);
    expect(told).toContain('not readable, and so left out of entries: agendas (missing-claim)');
  });
});
