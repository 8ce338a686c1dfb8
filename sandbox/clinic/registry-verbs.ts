import type { Invoice } from './data/billing-records.ts';
import type { Episode } from './data/care-records.ts';
import { type ClinicData, type Merge, tenantOf } from './data/clinic-data.ts';
import { createPeople } from './data/people.ts';
import { createRandom } from './data/random.ts';
import type { Patient } from './data/records.ts';

/** Reads the clinic's records other than appointments, and does the front desk's work with patients. */
export interface RegistryVerbs {
  /** Every patient by id, with all that the clinic knows of them. */
  patients(tenantId: string): Iterable<Readonly<Patient>>;
  invoices(tenantId: string): Iterable<Readonly<Invoice>>;
  episodes(tenantId: string): Iterable<Readonly<Episode>>;
  /** Registers a new, generated patient. Throws RangeError for an unknown tenant. */
  registerPatient(tenantId: string): Readonly<Patient>;
  /**
   * Removes a patient permanently: lists omit the patient, and a request for the patient answers 404. Appointments and invoices remain.
   * Throws RangeError.
   */
  removePatient(tenantId: string, id: string): void;
  /**
   * Merges a patient into another one, who gets the appointments. Lists omit the merged patient, and a request for the patient answers as
   * `answer` says. Throws RangeError.
   */
  mergePatient(tenantId: string, id: string, into: string, answer: Merge['answer']): void;
}

/** Rows that are read at once. */
const PAGE_ROWS = 1000;
/** Above the seeds of all tenants, so that no patient is generated twice. */
const FIRST_SEED = 1_000_000_000;

/** The verbs over a clinic's data. */
export function createRegistryVerbs(data: ClinicData): RegistryVerbs {
  let registered = 0;
  return {
    patients: (tenantId) => pages((offset) => data.patients.list(tenantId, offset, PAGE_ROWS).rows),
    invoices: (tenantId) => pages((offset) => recordsOf(data.invoices.list(tenantId, {}, offset, PAGE_ROWS))),
    episodes: (tenantId) => pages((offset) => recordsOf(data.episodes.list(tenantId, {}, offset, PAGE_ROWS))),
    registerPatient(tenantId) {
      tenantOf(data, tenantId);
      const [seed, now] = [FIRST_SEED + registered, data.clock()];
      registered += 1;
      const invented = createPeople(seed, createRandom(seed), now).patient();
      const patient = { ...invented, id: data.ids.next('pat'), tenantId, createdAt: now, updatedAt: now };
      data.patients.insert(patient);
      return patient;
    },
    removePatient(tenantId, id) {
      if (!data.patients.remove(tenantId, id)) throw new RangeError('the sandbox does not have this patient');
    },
    mergePatient(tenantId, id, into, answer) {
      if (data.patients.get(tenantId, into) === undefined || id === into)
        throw new RangeError('the sandbox does not have this patient');
      if (!data.patients.remove(tenantId, id)) throw new RangeError('the sandbox does not have this patient');
      data.merges.set(id, { into, answer });
      for (const appointment of [...data.appointments.walk(tenantId)]) {
        if (appointment.patientId !== id) continue;
        data.appointments.save({ ...appointment, patientId: into, updatedAt: data.clock() });
      }
    },
  };
}

function recordsOf<T>({ rows }: { rows: { record: T }[] }): T[] {
  return rows.map(({ record }) => record);
}

function* pages<T>(read: (offset: number) => T[]): Generator<T> {
  for (let offset = 0; ; offset += PAGE_ROWS) {
    const rows = read(offset);
    yield* rows;
    if (rows.length < PAGE_ROWS) return;
  }
}
