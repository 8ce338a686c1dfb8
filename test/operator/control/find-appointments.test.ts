import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { type AppointmentQuestion, findAppointments } from '../../../src/operator/control/find-appointments.ts';
import { appointmentOf } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, NEVER } from '../../tenant/cycle.ts';
import { openBooked } from './open-installation.ts';

const redis = useRedis();
const ALL: AppointmentQuestion = { date: null, time: null, doctor: null, state: null };

/** A clinic whose calendar shows agenda a1 only: 40 appointments from tomorrow 10:00 on, and one of another agenda. */
async function openSearch() {
  const booked = openBooked(redis, 40, {}, { agendas: ['a1'] });
  booked.clinic.appointments.set('other', appointmentOf('other', { agendaId: 'a2', inHours: 24 }));
  await cycle(booked.tenant);
  const find = (question: Partial<AppointmentQuestion>) =>
    findAppointments(booked.installation, 'studio-rossi', { ...ALL, ...question }, NEVER);
  const idsOf = async (question: Partial<AppointmentQuestion>) =>
    (await find(question)).items.map(({ record }) => record);
  return { ...booked, find, idsOf };
}

describe('a search for appointments', () => {
  test('by date and time finds those that take place or begin near it, in the zone of the clinic', async () => {
    const { find, idsOf } = await openSearch();
    const { items } = await find({ date: '2026-06-16', time: '10:00' });
    expect(items).toEqual([
      expect.objectContaining({ record: '0', doctor: 'Agenda a1', state: 'in-calendar', targets: ['doctor'] }),
      expect.objectContaining({ record: 'other', doctor: 'Agenda a2', state: 'excluded', targets: [] }),
    ]);
    expect(await idsOf({ date: '2026-06-16', time: '11:40' })).toEqual(['1', '2']);
    expect(await idsOf({ date: '2026-06-16' })).toHaveLength(15);
    expect(await idsOf({ date: '2026-06-15' })).toEqual([]);
  });

  test('without a date covers seven days, and an invalid date or time is no filter', async () => {
    const { idsOf, clinic } = await openSearch();
    clinic.appointments.set('late', appointmentOf('late', { inHours: 24 * 8 }));
    expect(await idsOf({})).toHaveLength(41);
    expect(await idsOf({ date: '16.6.2026', time: '25:00' })).toHaveLength(41);
  });

  test('by doctor and state, alone and together', async () => {
    const { idsOf } = await openSearch();
    expect(await idsOf({ doctor: 'a2' })).toEqual(['other']);
    expect(await idsOf({ state: 'excluded' })).toEqual(['other']);
    expect(await idsOf({ doctor: 'a2', state: 'in-calendar' })).toEqual([]);
    expect(await idsOf({ doctor: 'a1', state: 'in-calendar' })).toHaveLength(40);
  });

  test('finds what waits, fails and is on hold, also if the clinic no longer lists it', async () => {
    const { idsOf, clinic, tenant, model } = await openSearch();
    clinic.appointments.set('new', appointmentOf('new', { inHours: 30 }));
    expect(await idsOf({ state: 'waiting' })).toEqual(['new']);
    model.fault = ({ recordId }) => (recordId === 'new' ? 'refused' : null);
    for (let index = 0; index < 20; index += 1) clinic.appointments.delete(`${index}`);
    await cycle(tenant);
    expect(await idsOf({ state: 'failing' })).toEqual(['new']);
    expect(await idsOf({ state: 'on-hold' })).toHaveLength(20);
    expect(await idsOf({ state: 'on-hold', doctor: 'a2' })).toEqual([]);
    expect(await idsOf({ state: 'on-hold', date: '2026-06-16', time: '10:00' })).toEqual(['0']);
  });

  test('of an unreachable clinic finds stored changes only, and says why', async () => {
    const { find, clinic, tenant } = await openSearch();
    for (let index = 0; index < 20; index += 1) clinic.appointments.delete(`${index}`);
    await cycle(tenant);
    clinic.listError = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
    const { items, failure } = await find({});
    expect(failure?.code).toBe('server-error');
    expect(new Set(items.map(({ state, doctor }) => `${state} ${doctor}`))).toEqual(new Set(['on-hold null']));
  });

  test('lists at most a hundred, and counts the others', async () => {
    const { find, clinic } = await openSearch();
    for (let index = 0; index < 100; index += 1) clinic.appointments.set(`x${index}`, appointmentOf(`x${index}`, {}));
    const { items, more } = await find({});
    expect([items.length, more]).toEqual([100, 41]);
  });
});
