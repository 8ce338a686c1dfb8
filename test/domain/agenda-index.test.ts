import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Appointment, agendasOf } from '../../src/core/model/records.ts';
import { HOUR_MS, overlaps } from '../../src/core/model/time.ts';
import { indexByAgenda } from '../../src/domain/agenda-index.ts';
import { appointmentOf, NOW } from './arbitraries.ts';

const byId = (one: Appointment, other: Appointment) => Number(one.id) - Number(other.id);
const AGENDAS = ['a1', 'a2', 'a3', 'a4'] as const;
const readings = fc
  .array(fc.record({ agendaId: fc.constantFrom(...AGENDAS), inHours: fc.integer({ min: -50, max: 50 }) }))
  .map((rows) => rows.map((row, index) => appointmentOf(`${index}`, row)));
/** Some appointments belong to several agendas. */
const shared = fc
  .array(
    fc.record({ agendas: fc.subarray([...AGENDAS], { minLength: 1 }), inHours: fc.integer({ min: -50, max: 50 }) }),
  )
  .map((rows) =>
    rows.map(({ agendas, inHours }, index) =>
      appointmentOf(`${index}`, {
        inHours,
        agendaId: agendas[0] ?? '',
        ...(agendas.length > 1 ? { agendaIds: agendas } : {}),
      }),
    ),
  );
const windows = fc
  .tuple(fc.integer({ min: -60, max: 60 }), fc.integer({ min: 0, max: 60 }))
  .map(([from, hours]) => ({ fromAt: NOW + from * HOUR_MS, toAt: NOW + (from + hours) * HOUR_MS }));

describe('an index by agenda', () => {
  test('returns the appointments of the given agendas, each once', () => {
    fc.assert(
      fc.property(readings, fc.array(fc.constantFrom(...AGENDAS, 'unknown')), (appointments, agendas) => {
        const told = [...indexByAgenda(appointments).of(agendas)];
        const wanted = appointments.filter(({ agendaId }) => agendas.includes(agendaId as never));
        expect(new Set(told)).toEqual(new Set(wanted));
        expect(told).toHaveLength(wanted.length);
      }),
    );
  });

  test('returns and counts an appointment of several agendas once', () => {
    fc.assert(
      fc.property(shared, fc.subarray([...AGENDAS]), windows, (appointments, agendas, window) => {
        const index = indexByAgenda(appointments);
        const isOwn = (one: Appointment) => agendasOf(one).some((id) => agendas.includes(id as never));
        const told = [...index.of(agendas)];
        expect(told.toSorted(byId)).toEqual(appointments.filter(isOwn).toSorted(byId));
        const isMember = index.memberOf(agendas);
        for (const one of appointments) expect(isMember(one.id)).toBe(isOwn(one));
        expect(isMember('unknown')).toBe(false);
        expect([...index.of('all')]).toHaveLength(appointments.length);
        const beside = appointments.filter((one) => !isOwn(one) && overlaps(one.time, window));
        expect(index.countOverlapping(agendas, window)).toBe(beside.length);
      }),
    );
  });

  test('counts those of other agendas in any window', () => {
    fc.assert(
      fc.property(readings, fc.subarray([...AGENDAS]), fc.array(windows), (appointments, agendas, asked) => {
        const index = indexByAgenda(appointments);
        for (const window of asked) {
          const beside = appointments.filter(
            ({ agendaId, time }) => !agendas.includes(agendaId as never) && overlaps(time, window),
          );
          expect(index.countOverlapping(agendas, window)).toBe(beside.length);
        }
      }),
    );
  });

  test('of the same list is the index before, with the counts of windows with the same appointments', () => {
    let looks = 0;
    const { time, ...rest } = appointmentOf('1', { inHours: 2 });
    const watched = {
      ...rest,
      get time() {
        looks += 1;
        return time;
      },
    };
    const list = [watched];
    const index = indexByAgenda(list);
    const count = (fromAt: number) => index.countOverlapping([], { fromAt, toAt: NOW + 9 * HOUR_MS });
    expect(indexByAgenda(list, index)).toBe(index);
    expect(indexByAgenda([...list], index)).not.toBe(index);
    expect(count(NOW)).toBe(1);
    looks = 0;
    expect([count(NOW + 1), looks]).toEqual([1, 0]);
    expect(count(NOW + 4 * HOUR_MS)).toBe(0);
  });
});
