import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createAppointmentStore } from '../../../sandbox/clinic/data/appointments.ts';
import { openDatabase } from '../../../sandbox/clinic/data/database.ts';
import { createIds } from '../../../sandbox/clinic/data/ids.ts';
import { createPatientStore } from '../../../sandbox/clinic/data/patients.ts';
import { createRandom } from '../../../sandbox/clinic/data/random.ts';
import type { Appointment, Tenant } from '../../../sandbox/clinic/data/records.ts';
import { seedTenant, type TenantPlan } from '../../../sandbox/clinic/data/seed.ts';
import { DAILY_CAPACITY, layOutDay } from '../../../sandbox/clinic/data/working-day.ts';
import { createZone, offsetChangeDates, parseInstant } from '../../../sandbox/clinic/data/zone.ts';
import { NOW } from './support.ts';

const zone = createZone('Europe/Rome');

function invent(plan: TenantPlan, seed = 1): { tenant: Tenant; appointments: Appointment[]; patients: number } {
  const database = openDatabase(':memory:');
  const tenant = seedTenant({ database, ids: createIds(), zone, now: NOW, pastDays: 30, futureDays: 90, seed }, plan);
  const appointments = [...createAppointmentStore(database).walk(tenant.id)];
  const patients = createPatientStore(database).count(tenant.id);
  database.close();
  return { tenant, appointments, patients };
}

function localHour(epochMs: number): number {
  return Number(zone.formatInstant(epochMs).slice(11, 13));
}

test('the same seed gives the same clinic, another seed another one', () => {
  const plan = { appointments: 300 };
  expect(invent(plan)).toEqual(invent(plan));
  expect(invent(plan, 2).appointments).not.toEqual(invent(plan).appointments);
});

test('the requested number of appointments exists, within the range of days', () => {
  for (const appointments of [0, 1, 7, 1200, 5003]) {
    const found = invent({ appointments }).appointments;
    expect(found).toHaveLength(appointments);
    for (const { startAt } of found) {
      expect(zone.formatDate(startAt) >= '2026-02-17' && zone.formatDate(startAt) <= '2026-06-19').toBe(true);
    }
  }
});

test('no agenda is double booked, not even by blocked time', () => {
  const { appointments } = invent({ appointments: 6000, agendas: 6 });
  const byAgenda = Map.groupBy(appointments, (appointment) => appointment.agendaId);
  expect(byAgenda.size).toBe(6);
  for (const own of byAgenda.values()) {
    own.sort((one, other) => one.startAt - other.startAt);
    for (const [index, appointment] of own.entries()) {
      expect(appointment.endAt).toBeGreaterThan(appointment.startAt);
      expect(appointment.startAt).toBeGreaterThanOrEqual(own[index - 1]?.endAt ?? 0);
    }
  }
});

test('visits are within working hours; past visits are completed, future ones are not', () => {
  const visits = invent({ appointments: 3000 }).appointments.filter((appointment) => appointment.patientId !== null);
  const past = visits.filter((visit) => visit.endAt <= NOW);
  const future = visits.filter((visit) => visit.startAt > NOW);
  for (const visit of visits) {
    expect(localHour(visit.startAt)).toBeGreaterThanOrEqual(8);
    expect(localHour(visit.endAt - 1)).toBeLessThan(19);
  }
  expect(new Set(past.map((visit) => visit.status))).toEqual(new Set(['Completed', 'NoShow', 'Cancelled']));
  expect(past.filter((visit) => visit.status === 'Completed').length / past.length).toBeGreaterThan(0.8);
  expect(new Set(future.map((visit) => visit.status))).toEqual(new Set(['Booked', 'Confirmed', 'Cancelled']));
  expect(past.length + future.length).toBeGreaterThan(2900);
});

test('blocked time has whole days, a night across the change of the clocks, and midnights', () => {
  const blocked = invent({ appointments: 1200 }).appointments.filter((appointment) => appointment.patientId === null);
  const wholeDays = blocked.filter((block) => block.allDay);
  expect(wholeDays.length).toBeGreaterThan(1);
  for (const block of wholeDays) {
    expect(zone.startOfDay(zone.formatDate(block.startAt))).toBe(block.startAt);
    expect(zone.startOfDay(zone.formatDate(block.endAt))).toBe(block.endAt);
  }
  const changeDay = wholeDays.find((block) => zone.formatDate(block.startAt) === '2026-03-29');
  expect((changeDay?.endAt ?? 0) - (changeDay?.startAt ?? 0)).toBe(23 * 3_600_000);
  const night = blocked.find((block) => zone.formatInstant(block.startAt) === '2026-03-28T22:00:00+01:00');
  expect(zone.formatInstant(night?.endAt ?? 0)).toBe('2026-03-29T07:00:00+02:00');
  expect(blocked.some((block) => !block.allDay && zone.formatInstant(block.endAt).includes('T00:00:00'))).toBe(true);
  expect(blocked.some((block) => !block.allDay && zone.formatInstant(block.startAt).includes('T00:00:00'))).toBe(true);
});

test('too many appointments for the agendas are refused, and nothing is left open', () => {
  expect(() => invent({ appointments: 10_000, agendas: 1 })).toThrow(RangeError);
});

test('20,000 appointments are generated, and fetched in a thousand pages, each once', () => {
  const folder = mkdtempSync(join(tmpdir(), 'clinic-'));
  const database = openDatabase(join(folder, 'clinic.db'));
  try {
    const input = { database, ids: createIds(), zone, now: NOW, pastDays: 30, futureDays: 90, seed: 1 };
    const tenant = seedTenant(input, { appointments: 20_000 });
    const store = createAppointmentStore(database);
    const seen = new Set<string>();
    // More pages than the store remembers.
    for (let offset = 0; offset < 20_000; offset += 20) {
      for (const { id } of store.list(tenant.id, {}, offset, 20).rows) seen.add(id);
    }
    expect(seen.size).toBe(20_000);
  } finally {
    database.close();
    rmSync(folder, { recursive: true });
  }
});

test('a page by its key is the page by OFFSET, and a write in between does not confuse it', () => {
  const database = openDatabase(':memory:');
  const input = { database, ids: createIds(), zone, now: NOW, pastDays: 30, futureDays: 90, seed: 3 };
  const tenant = seedTenant(input, { appointments: 400 });
  const store = createAppointmentStore(database);
  const [all, other] = [store.list(tenant.id, {}, 0, 400).rows, createAppointmentStore(database)];
  for (let offset = 0; offset < 400; offset += 37) {
    expect(store.list(tenant.id, {}, offset, 37).rows).toEqual(all.slice(offset, offset + 37));
    expect(other.list(tenant.id, {}, offset, 37).rows).toEqual(all.slice(offset, offset + 37));
  }
  store.list(tenant.id, {}, 0, 100);
  store.save({ ...all[0]!, deletedAt: NOW });
  expect(store.list(tenant.id, {}, 100, 50).rows).toEqual(all.slice(101, 151));
  expect(store.list(tenant.id, {}, 100, 50).total).toBe(399);
  database.close();
});

test('any number of appointments fits into a day without overlaps', () => {
  fc.assert(
    fc.property(fc.integer({ min: 0, max: DAILY_CAPACITY }), fc.integer(), (count, seed) => {
      const spans = layOutDay('2026-03-27', count, zone, createRandom(seed));
      expect(spans).toHaveLength(count);
      const [opens, closes] = [zone.at('2026-03-27', 8), zone.at('2026-03-27', 19)];
      for (const [index, [startAt, endAt]] of spans.entries()) {
        expect(endAt).toBeGreaterThan(startAt);
        expect(startAt).toBeGreaterThanOrEqual(spans[index - 1]?.[1] ?? opens);
        expect(endAt).toBeLessThanOrEqual(closes);
      }
    }),
  );
});

test('instants survive the way to local time and back, also around the changes of the clocks', () => {
  const around = fc.oneof(
    fc.integer({ min: 0, max: 4_000_000_000 }),
    fc.integer({ min: Date.parse('2026-03-28T20:00Z') / 1000, max: Date.parse('2026-03-29T06:00Z') / 1000 }),
    fc.integer({ min: Date.parse('2026-10-24T20:00Z') / 1000, max: Date.parse('2026-10-25T06:00Z') / 1000 }),
  );
  fc.assert(
    fc.property(around, (seconds) => {
      expect(parseInstant(zone.formatInstant(seconds * 1000))).toBe(seconds * 1000);
    }),
  );
  expect(zone.formatInstant(Date.parse('2026-03-29T01:00:00Z'))).toBe('2026-03-29T03:00:00+02:00');
  expect(offsetChangeDates(zone, '2026-01-01', '2026-12-31')).toEqual(['2026-03-29', '2026-10-25']);
});
