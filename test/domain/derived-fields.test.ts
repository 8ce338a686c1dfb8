import { expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../src/core/model/time.ts';
import { centsOf, dayAt, dayOf, evidenceOf } from '../../src/domain/derived-fields.ts';

const RULES = { zone: 'Europe/Rome', historyDays: 30, periodDays: 10, lapsedAfterDays: 20, countsInvoices: true };
const centsWith = (
  totalAmount: string | null,
  paidAmount: string | null,
  documentType = 'Invoice',
  status = 'Issued',
) => {
  const { invoicedCents, paidCents } = centsOf({
    ...{ id: '1', patientId: 'p', issueDate: null, currency: 'EUR' },
    ...{ totalAmount, paidAmount, documentType, status },
  });
  return [invoicedCents, paidCents];
};

test.each([
  ['0.1', 10],
  ['+007.05', 705],
  ['1.005', 101],
  ['-1.005', -101],
  ['1.00499', 100],
  ['999999999.99', 99_999_999_999],
  ['1000000000', null],
  ['1,50', null],
  ['', null],
])('the amount "%s" is %s cents', (written, cents) => {
  expect(centsWith(written, '0')[0]).toBe(cents);
});

test('a credit note takes off, whichever sign it is written with', () => {
  expect(centsWith('30', '20', 'CreditNote')).toEqual([-3_000, -2_000]);
  expect(centsWith('-30', '-20', 'CreditNote')).toEqual([-3_000, -2_000]);
});

test('without an amount paid the status says it, where it means all or nothing', () => {
  expect(centsWith('30', null, 'Invoice', 'Paid')).toEqual([3_000, 3_000]);
  expect(centsWith('30', null, 'Invoice', 'Issued')).toEqual([3_000, 0]);
  expect(centsWith('30', null, 'Invoice', 'PartiallyPaid')).toEqual([3_000, null]);
});

test('a status without a mapping is treated as booked; an unexplained status proves nothing', () => {
  expect([evidenceOf('unknown', null), evidenceOf('booked', null)]).toEqual(['presumed', 'presumed']);
  expect([evidenceOf('unknown', 'X'), evidenceOf('cancelled', null)]).toEqual(['unread', null]);
});

test('days begin at local midnight, even if a day has 23 or 25 hours', () => {
  const at = Date.parse('2026-03-29T12:00:00+02:00');
  const day = dayAt(at, RULES);
  expect(day.todayAt).toBe(Date.parse('2026-03-29T00:00:00+01:00'));
  expect(day.tomorrowAt - day.todayAt).toBe(23 * HOUR_MS);
  expect(day.periodFromAt).toBe(day.todayAt - 10 * DAY_MS);
  expect(day.historyFromDay).toBe(dayOf('2026-03-29') - 30);
  const autumn = dayAt(Date.parse('2026-10-25T12:00:00+01:00'), RULES);
  expect(autumn.tomorrowAt - autumn.todayAt).toBe(25 * HOUR_MS);
});

test('where clocks skip midnight a day begins at the first instant that there is', () => {
  const day = dayAt(Date.parse('2026-03-08T12:00:00-04:00'), { ...RULES, zone: 'America/Havana' });
  expect(day.todayAt).toBe(Date.parse('2026-03-08T01:00:00-04:00'));
});
