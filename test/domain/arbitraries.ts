import fc from 'fast-check';
import type { CalendarItem, ItemTime } from '../../src/core/model/items.ts';
import type { Appointment, AppointmentStatus } from '../../src/core/model/records.ts';
import { DAY_MS, MINUTE_MS, toZonedIso } from '../../src/core/model/time.ts';
import type { Directory, ProjectionPolicy } from '../../src/domain/project.ts';

/** 2026-06-15 08:00 UTC: the "now" of the pure tests. */
export const NOW = Date.UTC(2026, 5, 15, 8);

export const STATUSES: readonly AppointmentStatus[] = [
  'booked',
  'confirmed',
  'arrived',
  'in_progress',
  'completed',
  'cancelled',
  'no_show',
  'unknown',
];

/** Options of a target that shows only title and fields. */
export const NOTHING_MORE: Pick<ProjectionPolicy, 'visibility'> & Record<'tentative' | 'labels' | 'links', never[]> = {
  tentative: [],
  visibility: 'private',
  labels: [],
  links: [],
};

export const EMPTY_DIRECTORY: Directory = {
  agendas: new Map(),
  locations: new Map(),
  treatments: new Map(),
  patients: new Map(),
  pageUrl: null,
};

/** Ids as clinics give them, odd ones included; never empty. */
export const recordIds = fc.oneof(
  fc.uuid(),
  fc.nat().map(String),
  fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }),
);

const timedItems: fc.Arbitrary<ItemTime> = fc
  .tuple(
    fc.integer({ min: -3_000, max: 6_000 }),
    fc.integer({ min: 1, max: 40 }),
    fc.constantFrom('Europe/Rome', 'UTC'),
  )
  .map(([slot, length, zone]) => ({
    kind: 'timed',
    start: toZonedIso(zone, NOW + slot * 15 * MINUTE_MS),
    end: toZonedIso(zone, NOW + (slot + length) * 15 * MINUTE_MS),
    zone,
  }));

const allDayItems: fc.Arbitrary<ItemTime> = fc
  .tuple(fc.nat(300), fc.integer({ min: 1, max: 20 }))
  .map(([day, days]) => ({
    kind: 'all-day',
    startDate: new Date(NOW + day * DAY_MS).toISOString().slice(0, 10),
    endDate: new Date(NOW + (day + days) * DAY_MS).toISOString().slice(0, 10),
  }));

export const items: fc.Arbitrary<CalendarItem> = fc.record({
  title: fc.string({ unit: 'grapheme' }),
  description: fc.option(fc.string({ unit: 'grapheme' })),
  location: fc.option(fc.string({ unit: 'grapheme' })),
  time: fc.oneof(timedItems, allDayItems),
  busy: fc.boolean(),
});

/** Returns the version 0.1.0 form of a current fingerprint: a longer total hash, and one character per field. */
export function asOfFirstVersion(fingerprint: string): string {
  const [whole = '', hints = ''] = fingerprint.replace(/~.*/, '').split('.');
  return `${whole}${'-'.repeat(10)}${hints.replace(/(.)../g, '$1')}`;
}

/** An appointment of an hour, booked, at a number of hours from now. */
export function appointmentOf(id: string, changes: Partial<Appointment> & { inHours?: number } = {}): Appointment {
  const { inHours = 24, ...rest } = changes;
  const startAt = NOW + inHours * 60 * MINUTE_MS;
  return {
    id,
    agendaId: 'a1',
    locationId: null,
    patientId: 'p1',
    patient: { id: 'p1', firstName: 'Mario', lastName: 'Rossi' },
    treatmentId: null,
    time: { kind: 'timed', startAt, endAt: startAt + 60 * MINUTE_MS },
    status: 'booked',
    rawStatus: null,
    updatedAt: null,
    ...rest,
  };
}

/** The names of one agenda, its location and a treatment. */
export const NAMED_DIRECTORY: Directory = {
  agendas: new Map([['a1', { id: 'a1', name: 'Dr. Verdi', locationId: 'l1', isActive: true }]]),
  locations: new Map([['l1', { id: 'l1', name: 'Centro', address: 'Via Roma 1', zone: null }]]),
  treatments: new Map([['t1', { id: 't1', name: 'Ultrasound' }]]),
  patients: new Map(),
  pageUrl: null,
};
