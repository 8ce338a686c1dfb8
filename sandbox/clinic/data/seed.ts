import { comfortableAgendaCount, generateAppointments } from './appointment-generator.ts';
import { appointmentValues, SAVE_APPOINTMENT } from './appointment-rows.ts';
import type { DateRange } from './blocked-time.ts';
import { createTenant } from './catalogue.ts';
import type { Database } from './database.ts';
import type { Ids } from './ids.ts';
import { createPatientStore } from './patients.ts';
import { createPeople, type People } from './people.ts';
import { createRandom, type Random } from './random.ts';
import type { Tenant } from './records.ts';
import { addDays, type Zone } from './zone.ts';

/** Rows written per transaction. */
const ROWS_PER_TRANSACTION = 4000;

/** How many appointments a patient has, on average. */
const APPOINTMENTS_PER_PATIENT = 6;

const FEWEST_PATIENTS = 10;

/** Settings from which one clinic is generated. */
export interface TenantPlan {
  name?: string | undefined;
  /** How many, blocked time included. */
  appointments: number;
  /** Default: as many as the appointments need with room to spare. */
  agendas?: number | undefined;
  /** Default: one for every six appointments. */
  patients?: number | undefined;
}

export interface SeedInput {
  database: Database;
  ids: Ids;
  zone: Zone;
  /** Epoch ms. */
  now: number;
  pastDays: number;
  futureDays: number;
  seed: number;
}

/**
 * Invents one clinic and writes its patients and appointments to the database, a few thousand rows at a time. The same
 * seed, plan and `now` give the same data. Throws RangeError when the agendas cannot hold the appointments.
 */
export function seedTenant(input: SeedInput, plan: TenantPlan): Tenant {
  const { database, ids, zone, now, seed } = input;
  const random = createRandom(seed);
  const people = createPeople(seed, random, now);
  const today = zone.formatDate(now);
  const range: DateRange = { first: addDays(today, -input.pastDays), last: addDays(today, input.futureDays) };
  const agendaCount = plan.agendas ?? comfortableAgendaCount(plan.appointments, range);
  const tenant = createTenant({ ids, people, random, zone, now }, plan.name, agendaCount);
  const patientCount =
    plan.patients ?? Math.max(FEWEST_PATIENTS, Math.ceil(plan.appointments / APPOINTMENTS_PER_PATIENT));
  const patientIds = seedPatients(input, tenant.id, patientCount, people, random);
  const save = database.statement(SAVE_APPOINTMENT);
  const appointments = generateAppointments({
    tenant,
    patientIds,
    count: plan.appointments,
    range,
    now,
    zone,
    random,
    ids,
  });
  inTransactions(database, appointments, (appointment) => save.run(...appointmentValues(appointment)));
  return tenant;
}

function seedPatients(input: SeedInput, tenantId: string, count: number, people: People, random: Random): string[] {
  const store = createPatientStore(input.database);
  const patientIds = Array.from({ length: count }, () => input.ids.next('pat'));
  inTransactions(input.database, patientIds, (id) => {
    const createdAt = input.now - random.integer(1, 400) * 86_400_000;
    store.insert({ id, tenantId, ...people.patient(), createdAt, updatedAt: createdAt });
  });
  return patientIds;
}

/** Writes every element, some thousands per transaction, without ever holding them all. */
function inTransactions<T>(database: Database, elements: Iterable<T>, write: (element: T) => void): void {
  const iterator = elements[Symbol.iterator]();
  let more = true;
  while (more) {
    more = database.transaction(() => {
      for (let written = 0; written < ROWS_PER_TRANSACTION; written++) {
        const next = iterator.next();
        if (next.done === true) return false;
        write(next.value);
      }
      return true;
    });
  }
}
