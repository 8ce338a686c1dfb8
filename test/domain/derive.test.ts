import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { atOnce } from '../../src/core/model/pieces.ts';
import type { Appointment, AppointmentStatus } from '../../src/core/model/records.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, type TimeWindow } from '../../src/core/model/time.ts';
import { createPatientHistory } from '../../src/domain/derive.ts';
import type { DerivedFields, HistoryInvoice, HistoryRules } from '../../src/domain/derived-fields.ts';
import { appointmentOf, NOW, STATUSES } from './arbitraries.ts';

const RULES: HistoryRules = {
  zone: 'Europe/Rome',
  historyDays: 30,
  periodDays: 10,
  lapsedAfterDays: 20,
  countsInvoices: true,
};

/** Zones with current rules: half-hour offsets, no clock change, and changes at midnight that skip or repeat it. */
const ZONES = [
  'Europe/Rome',
  'UTC',
  'America/Havana',
  'Atlantic/Azores',
  'Africa/Cairo',
  'America/Santiago',
  'Asia/Kathmandu',
  'Australia/Lord_Howe',
  'Pacific/Auckland',
];

/** NOW is 10:00 in Rome, so its day began then. */
const TODAY = NOW - 10 * HOUR_MS;

function timed(id: string, startAt: Instant, minutes: number, changes: Partial<Appointment> = {}): Appointment {
  return appointmentOf(id, { time: { kind: 'timed', startAt, endAt: startAt + minutes * MINUTE_MS }, ...changes });
}

function invoiceOf(id: string, changes: Partial<HistoryInvoice> = {}): HistoryInvoice {
  return {
    id,
    patientId: 'p1',
    documentType: 'Invoice',
    status: 'Issued',
    issueDate: '2026-06-10',
    currency: 'EUR',
    totalAmount: '100.00',
    paidAmount: '0.00',
    ...changes,
  };
}

function derived(appointments: Appointment[], now = NOW, rules: Partial<HistoryRules> = {}): DerivedFields {
  const patientHistory = createPatientHistory({ ...RULES, ...rules });
  for (const appointment of appointments) patientHistory.put(appointment);
  return patientHistory.of('p1', now);
}

function billed(invoices: HistoryInvoice[], rules: Partial<HistoryRules> = {}) {
  const patientHistory = createPatientHistory({ ...RULES, ...rules });
  for (const invoice of invoices) patientHistory.putInvoice(invoice);
  const { invoiced, paid } = patientHistory.of('p1', NOW);
  return { invoiced, paid };
}

describe('an appointment of yesterday', () => {
  test.each<[string, Partial<Appointment>, visits: number, noShows: number]>([
    ['that was completed is a visit', { status: 'completed' }, 1, 0],
    ['with the status arrived is a visit', { status: 'arrived' }, 1, 0],
    ['with the status in progress is a visit', { status: 'in_progress' }, 1, 0],
    ['still with the status booked is a visit', { status: 'booked' }, 1, 0],
    ['that was confirmed is a visit', { status: 'confirmed' }, 1, 0],
    ['without any status is a visit', { status: 'unknown', rawStatus: null }, 1, 0],
    ['with an unexplained status is none', { status: 'unknown', rawStatus: 'Odd' }, 0, 0],
    ['with the status no-show is a no-show', { status: 'no_show' }, 0, 1],
    ['that was cancelled is nothing', { status: 'cancelled' }, 0, 0],
    ['that is blocked time is nothing', { status: 'completed', patientId: null }, 0, 0],
  ])('%s', (_, changes, visits, noShows) => {
    const startAt = NOW - DAY_MS;
    const fields = derived([timed('1', startAt, 30, changes)]);
    expect(fields).toMatchObject({ visits, noShows, nextAppointmentAt: null });
    expect(fields.lastVisitAt).toBe(visits === 1 ? startAt : null);
    expect(fields.firstSeenAt).toBe(visits === 1 ? startAt : null);
    expect(fields.patientStatus).toBe(visits === 1 ? 'active' : 'lapsed');
  });
});

describe('an appointment of tomorrow', () => {
  test.each<[string, Partial<Appointment>, isNext: boolean]>([
    ['that is booked is the next', { status: 'booked' }, true],
    ['with an unexplained status is the next', { status: 'unknown', rawStatus: 'Odd' }, true],
    ['with the status completed is the next, until its day', { status: 'completed' }, true],
    ['that was cancelled is not', { status: 'cancelled' }, false],
    ['to which the patient will not come is not', { status: 'no_show' }, false],
  ])('%s', (_, changes, isNext) => {
    const startAt = NOW + DAY_MS;
    expect(derived([timed('1', startAt, 30, changes)])).toMatchObject({
      nextAppointmentAt: isNext ? startAt : null,
      patientStatus: isNext ? 'new' : 'lapsed',
      visits: 0,
      noShows: 0,
    });
  });
});

describe('an appointment on the current day', () => {
  const ahead = NOW + HOUR_MS;

  test('is the next until it begins', () => {
    const appointments = [timed('1', ahead, 30)];
    expect(derived(appointments, ahead - 1).nextAppointmentAt).toBe(ahead);
    expect(derived(appointments, ahead).nextAppointmentAt).toBeNull();
  });

  test('without a status mark is no visit before midnight, and its patient has not lapsed meanwhile', () => {
    const patientHistory = createPatientHistory(RULES);
    patientHistory.put(timed('1', ahead, 30));
    const midnight = TODAY + DAY_MS;
    expect(patientHistory.of('p1', midnight - 1)).toMatchObject({ visits: 0, lastVisitAt: null, patientStatus: 'new' });
    expect(patientHistory.of('p1', midnight)).toMatchObject({ visits: 1, lastVisitAt: ahead, patientStatus: 'active' });
    expect(patientHistory.of('p1', midnight - 1)).toMatchObject({ visits: 0, lastVisitAt: null, patientStatus: 'new' });
  });

  test('is a visit as soon as the patient arrived, even before its time', () => {
    const fields = derived([timed('1', ahead, 30, { status: 'arrived' })]);
    expect(fields).toMatchObject({ visits: 1, lastVisitAt: ahead, nextAppointmentAt: null, patientStatus: 'active' });
  });

  test('that ends at midnight belongs to the day before', () => {
    const appointments = [timed('1', TODAY + 23 * HOUR_MS, 60)];
    expect(derived(appointments, TODAY + DAY_MS).visits).toBe(1);
  });

  test('without length at midnight belongs to the day that begins', () => {
    const appointments = [timed('1', TODAY, 0)];
    expect(derived(appointments)).toMatchObject({ visits: 0, patientStatus: 'new' });
    expect(derived(appointments, TODAY + DAY_MS)).toMatchObject({ visits: 1, patientStatus: 'active' });
  });

  test('is one as long as a day of 25 hours lasts', () => {
    const night = Date.parse('2026-10-25T00:30:00+02:00');
    const appointments = [timed('1', Date.parse('2026-10-25T23:30:00+01:00'), 15, { status: 'arrived' })];
    expect(derived(appointments, night)).toMatchObject({ visits: 1, nextAppointmentAt: null });
  });

  test('that goes past midnight is a visit from the next midnight on', () => {
    const appointments = [timed('1', TODAY + 23 * HOUR_MS, 61)];
    expect(derived(appointments, TODAY + DAY_MS)).toMatchObject({ visits: 0, patientStatus: 'new' });
    expect(derived(appointments, TODAY + 2 * DAY_MS)).toMatchObject({ visits: 1, patientStatus: 'active' });
  });
});

test('a whole day counts like any other appointment, from the midnight at which it begins', () => {
  const [startAt, endAt] = [TODAY + DAY_MS, TODAY + 2 * DAY_MS];
  const time = { kind: 'all-day', startDate: '2026-06-16', endDate: '2026-06-17', startAt, endAt } as const;
  expect(derived([appointmentOf('1', { time })])).toMatchObject({ nextAppointmentAt: startAt, visits: 0 });
  expect(derived([appointmentOf('1', { time })], endAt)).toMatchObject({ lastVisitAt: startAt, visits: 1 });
});

describe('a day at the edge', () => {
  test.each([
    ['of the period', RULES.periodDays, { visits: 1, patientStatus: 'active' }, { visits: 0, patientStatus: 'active' }],
    ['of lapsing', RULES.lapsedAfterDays, { patientStatus: 'active' }, { patientStatus: 'lapsed', visits: 0 }],
    ['of the history', RULES.historyDays, { patientStatus: 'lapsed' }, { firstSeenAt: null, lastVisitAt: null }],
  ])('%s is inside from its first moment on', (_, days, inside, outside) => {
    const edge = TODAY - days * DAY_MS;
    expect(derived([timed('1', edge, 30)])).toMatchObject({ lastVisitAt: edge, ...inside });
    expect(derived([timed('1', edge - 1, 30)])).toMatchObject(outside);
  });

  test('is found where the clocks changed in between', () => {
    const now = Date.parse('2026-04-02T12:00:00+02:00');
    const edge = Date.parse('2026-03-23T00:00:00+01:00');
    expect(derived([timed('1', edge, 30)], now).visits).toBe(1);
    expect(derived([timed('1', edge - 1, 30)], now).visits).toBe(0);
  });

  test.each(ZONES)('is found on each day of a year in %s, also where midnight is skipped or comes twice', (zone) => {
    const rules = { ...RULES, zone, historyDays: 1 };
    for (let day = 0; day < 365; day += 1) {
      const now = Date.UTC(2026, 0, 1, 12) + day * DAY_MS;
      const edge = createPatientHistory(rules).historyFrom(now);
      const date = daysBefore(localDate(zone, now), 1);
      expect([localDate(zone, edge - 1) < date, localDate(zone, edge)]).toEqual([true, date]);
    }
  });
});

describe('standing', () => {
  const visit = (daysAgo: number) => timed(`visit-${daysAgo}`, NOW - daysAgo * DAY_MS, 30, { status: 'completed' });
  const ahead = timed('ahead', NOW + DAY_MS, 30);

  test.each<[string, Appointment[], DerivedFields['patientStatus']]>([
    ['a first appointment ahead: new', [ahead], 'new'],
    ['a visit lately: active', [visit(19)], 'active'],
    ['an old visit, and a future appointment: active', [visit(25), ahead], 'active'],
    ['an old visit, and no future appointment: lapsed', [visit(25)], 'lapsed'],
    ['an old and a recent visit: active', [visit(25), visit(3)], 'active'],
    ['a no-show, and no future appointment: lapsed', [{ ...visit(3), status: 'no_show' }], 'lapsed'],
    ['nothing known: lapsed', [], 'lapsed'],
  ])('%s', (_, appointments, patientStatus) => {
    expect(derived(appointments).patientStatus).toBe(patientStatus);
  });
});

describe('amounts', () => {
  test.each<[string, Partial<HistoryInvoice>[], invoiced: number | null, paid: number | null]>([
    ['are nothing without a document', [], 0, 0],
    ['are exact to the cent', [{ totalAmount: '0.1' }, { totalAmount: '0.20', paidAmount: '0.3' }], 0.3, 0.3],
    ['count receipts', [{ documentType: 'Receipt', totalAmount: '80', paidAmount: '80.00' }], 80, 80],
    [
      'are less a credit note, written with either sign',
      [
        { totalAmount: '100', paidAmount: '100' },
        { documentType: 'CreditNote', totalAmount: '30', paidAmount: '30' },
        { documentType: 'CreditNote', totalAmount: '-20', paidAmount: '-20' },
      ],
      50,
      50,
    ],
    ['leave out drafts and cancelled documents', [{ status: 'Draft' }, { status: 'Cancelled' }], 0, 0],
    ['include a document with an unexplained status', [{ status: 'Sent', paidAmount: '5' }], 100, 5],
    ['treat paid as the full amount, if no amount is given', [{ status: 'Paid', paidAmount: null }], 100, 100],
    ['treat issued as unpaid, if no amount is given', [{ status: 'Issued', paidAmount: null }], 100, 0],
    ['are unknown if the paid part is not given', [{ status: 'PartiallyPaid', paidAmount: null }], 100, null],
    ['are unknown where one total is', [{}, { totalAmount: null }], null, 0],
    ['are unknown if an amount is absurd', [{ totalAmount: '1234567890' }], null, 0],
    ['are unknown in several currencies', [{}, { currency: 'CHF' }], null, null],
    ['take a document without a currency for one in the same', [{}, { currency: null }], 200, 0],
    ['leave out what is older than the history', [{ issueDate: '2026-05-15' }, { issueDate: '2026-05-16' }], 100, 0],
    ['count documents without a date', [{ issueDate: null }], 100, 0],
    ['round fractions of a cent away from zero', [{ totalAmount: '1.005', paidAmount: '-1.005' }], 1.01, -1.01],
    ['omit documents without a patient', [{ patientId: null }], 0, 0],
  ])('%s', (_, invoices, invoiced, paid) => {
    const numbered = invoices.map((changes, index) => invoiceOf(String(index), changes));
    expect(billed(numbered)).toEqual({ invoiced, paid });
  });

  test('are unknown where invoices are not read', () => {
    expect(billed([invoiceOf('1')], { countsInvoices: false })).toEqual({ invoiced: null, paid: null });
  });
});

describe('a complete scan', () => {
  const day = (days: number) => timed(`in-${days}`, NOW + days * DAY_MS, 30);
  const tomorrow: TimeWindow = { fromAt: NOW + HOUR_MS, toAt: NOW + 2 * DAY_MS };

  test('forgets missing appointments inside its window only', () => {
    const patientHistory = createPatientHistory(RULES);
    for (const days of [-1, 1, 3]) patientHistory.put(day(days));
    atOnce(patientHistory.replaceWindow(tomorrow, []));
    expect(patientHistory.of('p1', NOW)).toMatchObject({ visits: 1, nextAppointmentAt: NOW + 3 * DAY_MS });
  });

  test('covers appointments that overlap its window: end after its beginning, or begin at it, and begin before its end', () => {
    const patientHistory = createPatientHistory(RULES);
    const { fromAt, toAt } = tomorrow;
    patientHistory.put(timed('before', fromAt - 30 * MINUTE_MS, 30, { patientId: 'before' }));
    patientHistory.put(timed('into', fromAt - 29 * MINUTE_MS, 30, { patientId: 'into' }));
    patientHistory.put(timed('at', fromAt, 0, { patientId: 'at' }));
    patientHistory.put(timed('out', toAt - 1, 30, { patientId: 'out' }));
    patientHistory.put(timed('after', toAt, 30, { patientId: 'after' }));
    atOnce(patientHistory.replaceWindow(tomorrow, []));
    const isKnown = (patientId: string) => patientHistory.of(patientId, NOW).nextAppointmentAt !== null;
    expect(['before', 'into', 'at', 'out', 'after'].filter(isKnown)).toEqual(['before', 'after']);
  });

  test('keeps the known facts of rows that are present but unusable', () => {
    const patientHistory = createPatientHistory(RULES);
    patientHistory.put(day(1));
    atOnce(patientHistory.replaceWindow(tomorrow, [], new Set(['in-1'])));
    expect(patientHistory.of('p1', NOW).nextAppointmentAt).toBe(NOW + DAY_MS);
  });

  test('covers the history only when readings reach from its beginning to now without a gap', () => {
    const patientHistory = createPatientHistory({ ...RULES, countsInvoices: false });
    const from = patientHistory.historyFrom(NOW);
    const read = (fromAt: Instant, toAt: Instant) => atOnce(patientHistory.replaceWindow({ fromAt, toAt }, []));
    expect(patientHistory.covers(NOW)).toBe(false);
    read(from, NOW - 2 * DAY_MS);
    read(NOW - DAY_MS, NOW + DAY_MS);
    expect(patientHistory.covers(NOW)).toBe(false);
    read(from, NOW - 2 * DAY_MS);
    expect(patientHistory.covers(NOW)).toBe(false);
    read(NOW - 2 * DAY_MS, NOW + DAY_MS);
    expect(patientHistory.covers(NOW)).toBe(true);
    expect(patientHistory.covers(NOW + DAY_MS)).toBe(true);
    expect(patientHistory.covers(NOW + DAY_MS + 1)).toBe(false);
  });

  test('covers a history with invoices only when they were read from its first day on', () => {
    const patientHistory = createPatientHistory(RULES);
    atOnce(patientHistory.replaceWindow({ fromAt: patientHistory.historyFrom(NOW), toAt: NOW }, []));
    expect(patientHistory.covers(NOW)).toBe(false);
    atOnce(patientHistory.replaceInvoices('2026-05-17', []));
    expect(patientHistory.covers(NOW)).toBe(false);
    atOnce(patientHistory.replaceInvoices('2026-05-16', []));
    atOnce(patientHistory.replaceInvoices('2026-06-01', []));
    expect(patientHistory.covers(NOW)).toBe(true);
  });

  test('of invoices forgets what it does not show of its time', () => {
    const patientHistory = createPatientHistory(RULES);
    patientHistory.putInvoice(invoiceOf('old', { issueDate: '2026-05-31', totalAmount: '1' }));
    patientHistory.putInvoice(invoiceOf('gone', { issueDate: '2026-06-01', totalAmount: '10' }));
    patientHistory.putInvoice(invoiceOf('odd', { issueDate: '2026-06-02', totalAmount: '100' }));
    atOnce(patientHistory.replaceInvoices('2026-06-01', [invoiceOf('new', { totalAmount: '1000' })], new Set(['odd'])));
    expect(patientHistory.of('p1', NOW).invoiced).toBe(1_101);
    atOnce(patientHistory.replaceInvoices(null, []));
    expect(patientHistory.of('p1', NOW).invoiced).toBe(0);
  });
});

test('pruning changes no later answer, and removal leaves no data', () => {
  const patientHistory = createPatientHistory(RULES);
  patientHistory.put(timed('old', NOW - 31 * DAY_MS, 30));
  patientHistory.put(timed('long', NOW - 31 * DAY_MS, 33 * 24 * 60));
  patientHistory.put(timed('kept', NOW - 29 * DAY_MS, 30));
  patientHistory.putInvoice(invoiceOf('old', { issueDate: '2026-05-01' }));
  patientHistory.putInvoice(invoiceOf('kept', { issueDate: '2026-05-16' }));
  const before = patientHistory.of('p1', NOW);
  patientHistory.prune(NOW);
  expect(patientHistory.size()).toEqual({ patients: 1, appointments: 2, invoices: 1 });
  expect(patientHistory.of('p1', NOW)).toEqual(before);
  for (const id of ['long', 'kept', 'kept']) patientHistory.remove(id);
  patientHistory.removeInvoice('kept');
  expect(patientHistory.size()).toEqual({ patients: 0, appointments: 0, invoices: 0 });
  expect(patientHistory.of('p1', NOW)).toEqual(createPatientHistory(RULES).of('p1', NOW));
});

test('a patient is held until the last appointment and the last invoice are gone', () => {
  const patientHistory = createPatientHistory(RULES);
  patientHistory.put(timed('visit', NOW, 30, { patientId: 'visitor' }));
  patientHistory.putInvoice(invoiceOf('bill', { patientId: 'payer' }));
  patientHistory.remove('visit');
  expect(patientHistory.size()).toEqual({ patients: 1, appointments: 0, invoices: 1 });
  patientHistory.removeInvoice('bill');
  expect(patientHistory.size()).toEqual({ patients: 0, appointments: 0, invoices: 0 });
});

// From here on: random histories against a recomputation from the definitions, with calendar dates as texts.

const formats = new Map<string, Intl.DateTimeFormat>();

/** The date on the wall, `YYYY-MM-DD`. */
function localDate(zone: string, at: Instant): string {
  const format =
    formats.get(zone) ??
    new Intl.DateTimeFormat('en-CA', { timeZone: zone, year: 'numeric', month: '2-digit', day: '2-digit' });
  formats.set(zone, format);
  return format.format(at);
}

function daysBefore(date: string, days: number): string {
  const [year = 0, month = 1, day = 1] = date.split('-').map(Number);
  return new Date(Date.UTC(year, month - 1, day - days)).toISOString().slice(0, 10);
}

interface World {
  appointments: Map<string, Appointment>;
  invoices: Map<string, HistoryInvoice>;
}

function recomputed(world: World, rules: HistoryRules, patientId: string, now: Instant): DerivedFields {
  const today = localDate(rules.zone, now);
  const own = [...world.appointments.values()]
    .filter((appointment) => appointment.patientId === patientId)
    .map(({ status, rawStatus, time: { startAt, endAt } }) => ({
      status: status === 'unknown' && rawStatus === null ? 'booked' : status,
      startAt,
      firstDate: localDate(rules.zone, startAt),
      lastDate: localDate(rules.zone, endAt > startAt ? endAt - 1 : startAt),
    }));
  const isOf = (...statuses: AppointmentStatus[]) => statuses.includes.bind(statuses);
  const came = isOf('arrived', 'in_progress', 'completed');
  const untouched = isOf('booked', 'confirmed');
  const known = own.filter(({ firstDate }) => firstDate >= daysBefore(today, rules.historyDays));
  const visits = known.filter(
    ({ status, firstDate, lastDate }) =>
      (came(status) && firstDate <= today) || (untouched(status) && lastDate < today),
  );
  const expected = own.filter(
    ({ status, firstDate, lastDate }) =>
      (came(status) && firstDate > today) || (isOf('booked', 'confirmed', 'unknown')(status) && lastDate >= today),
  );
  const inPeriod = <One extends { firstDate: string }>(list: One[]) =>
    list.filter(({ firstDate }) => firstDate >= daysBefore(today, rules.periodDays)).length;
  const starts = visits.map(({ startAt }) => startAt).sort((one, other) => one - other);
  const lastVisitAt = starts.at(-1) ?? null;
  const isRecent = visits.some(({ firstDate }) => firstDate >= daysBefore(today, rules.lapsedAfterDays));
  const next = expected.map(({ startAt }) => startAt).filter((startAt) => startAt > now);
  return {
    lastVisitAt,
    nextAppointmentAt: next.length === 0 ? null : Math.min(...next),
    visits: inPeriod(visits),
    noShows: inPeriod(known.filter(({ status, firstDate }) => status === 'no_show' && firstDate <= today)),
    firstSeenAt: starts[0] ?? null,
    patientStatus: expected.length > 0 ? (lastVisitAt === null ? 'new' : 'active') : isRecent ? 'active' : 'lapsed',
    ...recomputedAmounts(world, rules, patientId, daysBefore(today, rules.historyDays)),
  };
}

function recomputedAmounts(world: World, { countsInvoices }: HistoryRules, patientId: string, fromDate: string) {
  const own = [...world.invoices.values()].filter(
    (invoice) =>
      invoice.patientId === patientId &&
      !['Draft', 'Cancelled'].includes(invoice.status ?? '') &&
      (invoice.issueDate === null || invoice.issueDate >= fromDate),
  );
  const isMixed = new Set(own.flatMap(({ currency }) => (currency === null ? [] : [currency]))).size > 1;
  const total = (amountOf: (invoice: HistoryInvoice) => string | null) => {
    const amounts = own.map((invoice) => {
      const amount = amountOf(invoice);
      const cents = amount === null ? Number.NaN : Math.round(Number(amount) * 100);
      return invoice.documentType === 'CreditNote' ? -Math.abs(cents) : cents;
    });
    const cents = amounts.reduce((one, other) => one + other, 0);
    return !countsInvoices || isMixed || Number.isNaN(cents) ? null : cents / 100;
  };
  return {
    invoiced: total(({ totalAmount }) => totalAmount),
    paid: total(({ paidAmount, status, totalAmount }) => {
      if (paidAmount !== null) return paidAmount;
      return status === 'Paid' ? totalAmount : status === 'Issued' ? '0' : null;
    }),
  };
}

const QUARTER_MS = 15 * MINUTE_MS;

/** Around these days the zones above change their clocks. */
const CHANGES = ['03-08', '03-29', '04-05', '04-24', '09-06', '09-27', '10-04', '10-25', '10-30', '11-01'];
const changingDays = fc
  .tuple(fc.constantFrom(...CHANGES), fc.integer({ min: -96, max: 192 }))
  .map(([date, quarter]) => Date.parse(`2026-${date}T00:00:00Z`) + quarter * QUARTER_MS);
const instantsOf2026 = fc.oneof(
  fc.nat(365 * 96).map((quarter) => Date.UTC(2026, 0, 1) + quarter * QUARTER_MS),
  changingDays,
);
const someIds = fc.nat(11).map(String);
const somePatients = fc.constantFrom('p1', 'p2', 'p3');

/** Within 40 days of an instant, on quarters of an hour so that midnights are met; many at the edges of local days. */
function instantsAround(zone: string, now: Instant): fc.Arbitrary<Instant> {
  const anywhere = fc.integer({ min: -40 * 96, max: 40 * 96 }).map((quarter) => now + quarter * QUARTER_MS);
  const edges = fc.tuple(fc.integer({ min: -3, max: 40 }), fc.constantFrom(-1, 0, 1)).map(([days, beside]) => {
    return createPatientHistory({ ...RULES, zone, historyDays: days }).historyFrom(now) + beside;
  });
  return fc.oneof({ weight: 3, arbitrary: anywhere }, { weight: 1, arbitrary: edges });
}

function appointmentsAround(zone: string, now: Instant): fc.Arbitrary<Appointment> {
  return fc
    .record({
      id: someIds,
      startAt: instantsAround(zone, now),
      minutes: fc.oneof(fc.constantFrom(0, 15, 30, 60), fc.nat(3 * 24 * 60)),
      patientId: fc.option(somePatients, { freq: 8 }),
      status: fc.constantFrom(...STATUSES),
      rawStatus: fc.constantFrom(null, 'Word'),
    })
    .map(({ id, startAt, minutes, ...changes }) => timed(id, startAt, minutes, changes));
}

const decimals = fc
  .tuple(fc.integer({ min: -500_000, max: 500_000 }), fc.constantFrom(1, 2))
  .map(([cents, digits]) => (digits === 1 ? (Math.round(cents / 10) / 10).toFixed(1) : (cents / 100).toFixed(2)));

function invoicesAround(zone: string, now: Instant): fc.Arbitrary<HistoryInvoice> {
  return fc.record({
    id: someIds,
    patientId: fc.option(somePatients, { freq: 8 }),
    documentType: fc.constantFrom('Invoice', 'CreditNote', 'Receipt', null),
    status: fc.constantFrom('Draft', 'Issued', 'PartiallyPaid', 'Paid', 'Cancelled', 'Odd', null),
    issueDate: fc.option(
      fc.integer({ min: -3, max: 40 }).map((days) => daysBefore(localDate(zone, now), days)),
      { freq: 8 },
    ),
    currency: fc.oneof(
      { weight: 9, arbitrary: fc.constantFrom('EUR', null) },
      { weight: 1, arbitrary: fc.constant('CHF') },
    ),
    totalAmount: fc.option(decimals, { freq: 12 }),
    paidAmount: fc.option(decimals, { freq: 4 }),
  });
}

type PatientHistory = ReturnType<typeof createPatientHistory>;

/** One event, applied to the patient history and to the plain lists that it is compared with. */
type Step = (patientHistory: PatientHistory, world: World) => void;

function putting(appointment: Appointment): Step {
  return (patientHistory, { appointments }) => {
    patientHistory.put(appointment);
    appointments.set(appointment.id, appointment);
  };
}

/** Changes one thing of an appointment that is known. */
function amending(id: string, what: 'status' | 'patientId' | 'start' | 'end', other: Appointment): Step {
  return (patientHistory, world) => {
    const known = world.appointments.get(id);
    if (known === undefined) return;
    const { startAt, endAt } = known.time;
    const timedAt = (from: Instant, to: Instant) => ({ kind: 'timed', startAt: from, endAt: to }) as const;
    const changes: Record<typeof what, Partial<Appointment>> = {
      status: { status: other.status },
      patientId: { patientId: other.patientId },
      start: { time: timedAt(Math.min(other.time.startAt, endAt), endAt) },
      end: { time: timedAt(startAt, Math.max(other.time.endAt, startAt)) },
    };
    putting({ ...known, ...changes[what] })(patientHistory, world);
  };
}

function reading(window: TimeWindow, shown: Appointment[], present: Set<string>): Step {
  const isIn = ({ time: { startAt, endAt } }: Appointment) =>
    startAt < window.toAt && (endAt > window.fromAt || startAt >= window.fromAt);
  const read = shown.filter(isIn);
  return (patientHistory, { appointments }) => {
    atOnce(patientHistory.replaceWindow(window, read, present));
    for (const [id, known] of appointments) if (isIn(known) && !present.has(id)) appointments.delete(id);
    for (const one of read) appointments.set(one.id, one);
  };
}

function readingInvoices(fromDate: string | null, shown: HistoryInvoice[]): Step {
  const isMeant = ({ issueDate }: HistoryInvoice) => fromDate === null || (issueDate !== null && issueDate >= fromDate);
  const read = shown.filter(isMeant);
  return (patientHistory, { invoices }) => {
    atOnce(patientHistory.replaceInvoices(fromDate, read));
    for (const [id, known] of invoices) if (isMeant(known)) invoices.delete(id);
    for (const one of read) invoices.set(one.id, one);
  };
}

function stepsAround(zone: string, now: Instant): fc.Arbitrary<Step> {
  const appointments = appointmentsAround(zone, now);
  const invoices = invoicesAround(zone, now);
  const windows = fc
    .tuple(instantsAround(zone, now), fc.nat(60 * 24 * 60))
    .map(([fromAt, minutes]) => ({ fromAt, toAt: fromAt + minutes * MINUTE_MS }));
  const amendments = fc
    .tuple(someIds, fc.constantFrom('status', 'patientId', 'start', 'end'), appointments)
    .map(([id, what, other]) => amending(id, what, other));
  const removals = someIds.map(
    (id): Step =>
      (patientHistory, world) => {
        patientHistory.remove(id);
        world.appointments.delete(id);
      },
  );
  const invoiceRemovals = someIds.map(
    (id): Step =>
      (patientHistory, world) => {
        patientHistory.removeInvoice(id);
        world.invoices.delete(id);
      },
  );
  const invoicePuts = invoices.map(
    (one): Step =>
      (patientHistory, world) => {
        patientHistory.putInvoice(one);
        world.invoices.set(one.id, one);
      },
  );
  const readings = fc
    .tuple(windows, fc.array(appointments, { maxLength: 8 }), fc.array(someIds, { maxLength: 2 }))
    .map(([window, shown, present]) => reading(window, shown, new Set(present)));
  const invoiceReadings = fc
    .tuple(fc.option(fc.nat(40)), fc.array(invoices, { maxLength: 5 }))
    .map(([days, shown]) => readingInvoices(days === null ? null : daysBefore(localDate(zone, now), days), shown));
  const pruning = fc.constant<Step>((patientHistory) => patientHistory.prune(now));
  return fc.oneof(
    { weight: 8, arbitrary: appointments.map(putting) },
    { weight: 4, arbitrary: invoicePuts },
    { weight: 4, arbitrary: amendments },
    { weight: 1, arbitrary: fc.oneof(removals, invoiceRemovals, readings, invoiceReadings, pruning) },
  );
}

/** A clinic's zone and rules, a time, and later times at which the facts are derived. */
const settings = fc.record({
  rules: fc.record({
    zone: fc.constantFrom(...ZONES),
    historyDays: fc.integer({ min: 1, max: 40 }),
    periodDays: fc.integer({ min: 1, max: 40 }),
    lapsedAfterDays: fc.integer({ min: 1, max: 40 }),
    countsInvoices: fc.oneof({ weight: 4, arbitrary: fc.constant(true) }, fc.constant(false)),
  }),
  now: instantsOf2026,
  hoursLater: fc.array(fc.nat(24 * 20), { maxLength: 3 }),
});

describe('a patient history', () => {
  test('answers like a recomputation from scratch, whatever happened before', () => {
    const histories = settings.chain((setting) =>
      fc.tuple(
        fc.constant(setting),
        fc.array(stepsAround(setting.rules.zone, setting.now), { minLength: 1, maxLength: 40, size: 'max' }),
      ),
    );
    fc.assert(
      fc.property(histories, ([{ rules, now, hoursLater }, steps]) => {
        const patientHistory = createPatientHistory(rules);
        const world: World = { appointments: new Map(), invoices: new Map() };
        const check = (at: Instant) => {
          for (const patientId of ['p1', 'p2', 'p3', 'nobody']) {
            expect(patientHistory.of(patientId, at)).toEqual(recomputed(world, rules, patientId, at));
          }
        };
        for (const step of steps) {
          step(patientHistory, world);
          check(now);
        }
        for (const hours of hoursLater) check(now + hours * HOUR_MS);
      }),
      { numRuns: 250 },
    );
  });

  test('does not depend on the order in which records come', () => {
    const histories = settings.chain((setting) => {
      const { zone } = setting.rules;
      return fc.tuple(
        fc.constant(setting),
        fc.uniqueArray(appointmentsAround(zone, setting.now), { selector: ({ id }) => id }),
        fc.uniqueArray(invoicesAround(zone, setting.now), { selector: ({ id }) => id }),
      );
    });
    fc.assert(
      fc.property(histories, fc.func(fc.nat()), ([{ rules, now }, appointments, invoices], rank) => {
        const one = createPatientHistory(rules);
        const other = createPatientHistory(rules);
        const puts = [
          ...appointments.map((each) => (patientHistory: PatientHistory) => patientHistory.put(each)),
          ...invoices.map((each) => (patientHistory: PatientHistory) => patientHistory.putInvoice(each)),
        ];
        const shuffled = puts
          .map((put, index) => ({ put, rank: rank(index) }))
          .sort((a, b) => a.rank - b.rank)
          .map(({ put }) => put);
        for (const put of puts) put(one);
        for (const put of shuffled) put(other);
        for (const patientId of ['p1', 'p2', 'p3']) expect(other.of(patientId, now)).toEqual(one.of(patientId, now));
      }),
    );
  });

  test('answers the same all day, except for appointments that begin', () => {
    const histories = settings.chain((setting) =>
      fc.tuple(
        fc.constant(setting),
        fc.array(appointmentsAround(setting.rules.zone, setting.now), { maxLength: 12 }),
        fc.nat(24 * 60),
      ),
    );
    fc.assert(
      fc.property(histories, ([{ rules, now }, appointments, minutes]) => {
        const later = now + minutes * MINUTE_MS;
        fc.pre(localDate(rules.zone, now) === localDate(rules.zone, later));
        const patientHistory = createPatientHistory(rules);
        for (const appointment of appointments) patientHistory.put(appointment);
        const before = patientHistory.of('p1', now);
        const after = patientHistory.of('p1', later);
        const hasBegun = before.nextAppointmentAt !== null && before.nextAppointmentAt <= later;
        const { nextAppointmentAt } = hasBegun ? after : before;
        expect(after).toEqual({ ...before, nextAppointmentAt });
      }),
    );
  });
});

test('an appointment of several patients is a visit of each, also if others come, leave or are unread', () => {
  const patientHistory = createPatientHistory(RULES);
  const yesterday = { fromAt: TODAY - DAY_MS, toAt: TODAY };
  const put = (patientIds: string[]) => {
    const several = patientIds.length > 1 ? { patientIds } : {};
    const group = timed('g', TODAY - 5 * HOUR_MS, 60, { patientId: patientIds[0] ?? null, status: 'completed' });
    atOnce(patientHistory.replaceWindow(yesterday, [{ ...group, ...several }]));
  };
  const visits = () => ['p1', 'p2', 'p3'].map((id) => patientHistory.of(id, NOW).visits);
  put(['p1']);
  expect(visits()).toEqual([1, 0, 0]);
  put(['p1', 'p2', 'p3']);
  expect(visits()).toEqual([1, 1, 1]);
  atOnce(patientHistory.replaceWindow(yesterday, [], new Set(['g'])));
  expect(visits()).toEqual([1, 1, 1]);
  put(['p3', 'p2']);
  expect(visits()).toEqual([0, 1, 1]);
  patientHistory.remove('g~patient:p2');
  expect(visits()).toEqual([0, 0, 1]);
});
