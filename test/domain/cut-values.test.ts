import { expect, test } from 'vitest';
import type { Appointment } from '../../src/core/model/records.ts';
import type { Snapshot } from '../../src/core/model/snapshots.ts';
import { cutRecords } from '../../src/core/model/visits.ts';
import { cutIn } from '../../src/domain/cut-values.ts';
import { appointmentOf } from './arbitraries.ts';

/** A reading of appointments of two agendas, of which only the first is used. */
function reading(...cuts: Appointment['cut'][]): Snapshot<Appointment> {
  const records = cuts.map((cut, index): [string, Appointment] => {
    const several = { agendaId: 'dr-7', agendaIds: ['dr-7', 'room-2'], ...(cut === undefined ? {} : { cut }) };
    return [`${index}`, { ...appointmentOf(`${index}`), ...several }];
  });
  return { records: new Map(records) } as unknown as Snapshot<Appointment>;
}

const gap = (field: string, count: number) => ({ code: 'values-unused', count, what: [field], soon: [] });

test('a target lacks appointments that name one of its agendas as an unused value', () => {
  expect(cutIn(cutRecords(reading(['agendaId'], ['agendaId'], undefined).records.values()), ['room-2'], false)).toEqual(
    [gap('agendaId', 2)],
  );
  expect(cutIn(cutRecords(reading(['agendaId']).records.values()), ['dr-7'], false)).toEqual([]);
  expect(cutIn(cutRecords(reading(['agendaId']).records.values()), ['room-3'], false)).toEqual([]);
});

test('further patients matter where patients are shown, and in agendas of the target', () => {
  expect(cutIn(cutRecords(reading(['patientId']).records.values()), ['dr-7'], true)).toEqual([gap('patientId', 1)]);
  expect(cutIn(cutRecords(reading(['patientId']).records.values()), 'all', true)).toEqual([gap('patientId', 1)]);
  expect(cutIn(cutRecords(reading(['patientId']).records.values()), ['dr-7'], false)).toEqual([]);
  expect(cutIn(cutRecords(reading(['patientId']).records.values()), ['room-3'], true)).toEqual([]);
});
