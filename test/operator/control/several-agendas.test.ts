import { expect, test } from 'vitest';
import { compileAppointmentRows } from '../../../src/clinic/read/appointment-rows.ts';
import type { Appointment } from '../../../src/core/model/records.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { renderSync } from '../../../src/operator/cli/render-sync.ts';
import { explain } from '../../../src/operator/control/explain.ts';
import { status } from '../../../src/operator/control/status.ts';
import { syncTenant } from '../../../src/operator/control/sync.ts';
import { profileOf, type WrittenProfile } from '../../clinic/open-client.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import { openTenant } from '../../tenant/open-tenant.ts';
import { openInstallation } from './open-installation.ts';

const redis = useRedis();

/** A doctor's and a room's calendar, and the reading of a clinic with lists of agendas. */
function open(more: WrittenProfile['appointments'] = {}) {
  const time = { now: NOW };
  const clinic = createModelClinic();
  const map = compileAppointmentRows(profileOf({ appointments: { ...more, fields: { agendaId: ['agendas'] } } }));
  const models = { doctor: createModelTarget(), room: createModelTarget() };
  const targets = [
    { id: 'doctor', model: models.doctor, configuration: { agendas: ['dr-7'] } },
    { id: 'room', model: models.room, configuration: { agendas: ['room-2'] } },
  ];
  const tenant = openTenant({ redis: redis.connect(), clinic, targets, clock: () => time.now });
  const installation = openInstallation({ tenants: [tenant] });
  return {
    models,
    explain: (id: string) => explain(installation, tenant.id, id, NEVER),
    book(id: string, agendas: unknown, changes: object = {}) {
      const [start, end] = [24, 25].map((hours) => new Date(NOW + hours * HOUR_MS).toISOString());
      const mapped = map({ id, agendas, patientId: 'p', start, end, status: 'Booked', ...changes });
      clinic.appointments.set(id, (mapped as { record: Appointment }).record);
    },
    async sync() {
      time.now += MINUTE_MS;
      const signals = { stop: NEVER, abort: NEVER };
      const result = await syncTenant(installation, tenant.id, { progress: () => {}, signals });
      const told = await status(installation, tenant.id);
      const [doctor, room] = told.tenants[0]?.targets ?? [];
      const events = Object.entries(models).map(([id, model]) => [id, model.objects().length]);
      return { at: time.now, doctor, room, events: Object.fromEntries(events), text: renderSync(result) };
    },
  };
}

test('the calendar of an agenda that only a further value names is not in sync, and the other one is', async () => {
  const { book, sync, explain } = open();
  book('1', ['dr-7', 'room-2']);
  const { doctor, room, events, at, text } = await sync();
  expect(events).toEqual({ doctor: 1, room: 0 });
  expect(doctor).toMatchObject({ sync: 'in-sync', inSyncAsOf: at, gaps: [] });
  const gap = { code: 'values-unused', count: 1, what: ['agendaId'], soon: [] };
  expect(room).toMatchObject({ reason: 'incomplete-data', inSyncAsOf: null, gaps: [gap] });
  expect(text.replaceAll(/\s+/g, ' ')).toContain('room: 1 record with several values of which only the first is used');
  const { targets } = await explain('1');
  expect(targets.map(({ decision: { code } }) => code)).toEqual(['shown', 'several-values']);
});

test('an event stays if its agenda becomes a further value, and goes if the appointment is cancelled or leaves', async () => {
  const { book, sync } = open();
  book('1', 'room-2');
  book('2', 'room-2');
  expect((await sync()).events).toEqual({ doctor: 0, room: 2 });
  for (const id of ['1', '2']) book(id, ['dr-7', 'room-2']);
  for (let cycles = 0; cycles < 3; cycles += 1) expect((await sync()).events).toEqual({ doctor: 2, room: 2 });
  book('1', ['dr-7', 'room-2'], { status: 'Cancelled' });
  book('2', ['dr-7']);
  const { events, room } = await sync();
  expect(events).toEqual({ doctor: 1, room: 0 });
  expect(room?.gaps).toEqual([{ code: 'values-unused', count: 1, what: ['agendaId'], soon: [] }]);
});

test('with each, every calendar of the list shows the appointment once, and changes with the list', async () => {
  const { book, sync, explain, models } = open({ each: ['agendaId'] });
  book('1', ['dr-7', 'room-2', 'dr-7', '']);
  book('2', 'room-2');
  const { doctor, room, events, at } = await sync();
  expect(events).toEqual({ doctor: 1, room: 2 });
  for (const target of [doctor, room]) expect(target).toMatchObject({ sync: 'in-sync', inSyncAsOf: at, gaps: [] });
  const { targets } = await explain('1');
  expect(targets.map(({ decision: { code } }) => code)).toEqual(['shown', 'shown']);
  const keys = models.room.objects().map(({ key }) => key);
  book('1', ['room-2', 'dr-7']);
  expect((await sync()).events).toEqual({ doctor: 1, room: 2 });
  expect(models.room.objects().map(({ key }) => key)).toEqual(keys);
  book('1', ['dr-7', 'room-9']);
  expect((await sync()).events).toEqual({ doctor: 1, room: 1 });
});
