import { describe, expect, test } from 'vitest';
import type { Appointment } from '../../src/core/model/records.ts';
import { DAY_MS } from '../../src/core/model/time.ts';
import { belongsOnList, invoiceBelongsOnList, patientBelongsOnList } from '../../src/domain/absence.ts';
import { appointmentOf, NOW } from './arbitraries.ts';

describe('whether a complete list must contain a record that was fetched individually', () => {
  const window = { fromAt: NOW, toAt: NOW + 7 * DAY_MS };
  const tomorrow = appointmentOf('1', { inHours: 24 });
  const startsBefore = [tomorrow.time.startAt];
  const judge = (changes: Partial<Appointment>, list: Partial<Parameters<typeof belongsOnList>[1]> = {}) =>
    belongsOnList({ ...tomorrow, ...changes }, { window, agendaIds: null, ...list }, { startsBefore, readAt: NOW });

  test('it must if the record is open, unmoved, and inside the requested window and agendas', () => {
    expect(judge({})).toBe(true);
    expect(judge({}, { agendaIds: [tomorrow.agendaId] })).toBe(true);
    expect(judge({ status: 'unknown', updatedAt: NOW - 1 })).toBe(true);
  });

  test.each([
    ['a status that lists leave out', judge({ status: 'cancelled' })],
    ['one that is over', judge({ status: 'completed' })],
    ['another agenda', judge({}, { agendaIds: ['elsewhere'] })],
    ['it moved', judge({ time: appointmentOf('1', { inHours: 30 }).time })],
    ['it was changed after the list was read', judge({ updatedAt: NOW + 1 })],
    ['it lies across the edge of the window', judge({}, { window: { ...window, fromAt: startsBefore[0]! + 1 } })],
  ])('it need not: %s', (_, verdict) => {
    expect(verdict).toBe(false);
  });

  test('patients who are active must be listed, others need not; invoices that were issued', () => {
    const patient = { isActive: true, updatedAt: null } as Parameters<typeof patientBelongsOnList>[0];
    const invoice = (status: string | null) => ({ status }) as Parameters<typeof invoiceBelongsOnList>[0];
    expect([patientBelongsOnList(patient, NOW), patientBelongsOnList({ ...patient, isActive: false }, NOW)]).toEqual([
      true,
      false,
    ]);
    expect(patientBelongsOnList({ ...patient, updatedAt: NOW + 1 }, NOW)).toBe(false);
    expect(['Issued', null, 'Draft', 'Cancelled'].map((status) => invoiceBelongsOnList(invoice(status)))).toEqual([
      true,
      true,
      false,
      false,
    ]);
  });
});
