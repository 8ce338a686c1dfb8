import type { Invoice } from './data/billing-records.ts';
import type { Episode } from './data/care-records.ts';
import type { ClinicData } from './data/clinic-data.ts';
import type { Patient } from './data/records.ts';

/** The truth about what the clinic keeps beside appointments, and what its people do with patients. */
export interface RegistryVerbs {
  /** Every patient by id, with all that the clinic knows of them. */
  patients(tenantId: string): Iterable<Readonly<Patient>>;
  invoices(tenantId: string): Iterable<Readonly<Invoice>>;
  episodes(tenantId: string): Iterable<Readonly<Episode>>;
  /** For good: lists show the patient no more, reading them alone is 404. Appointments and invoices stay. Throws RangeError. */
  removePatient(tenantId: string, id: string): void;
}

/** Rows that are read at once. */
const PAGE_ROWS = 1000;

/** The verbs over a clinic's data. */
export function createRegistryVerbs(data: ClinicData): RegistryVerbs {
  return {
    patients: (tenantId) => pages((offset) => data.patients.list(tenantId, offset, PAGE_ROWS).rows),
    invoices: (tenantId) => pages((offset) => recordsOf(data.invoices.list(tenantId, {}, offset, PAGE_ROWS))),
    episodes: (tenantId) => pages((offset) => recordsOf(data.episodes.list(tenantId, {}, offset, PAGE_ROWS))),
    removePatient(tenantId, id) {
      if (!data.patients.remove(tenantId, id)) throw new RangeError('no such patient in this sandbox');
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
