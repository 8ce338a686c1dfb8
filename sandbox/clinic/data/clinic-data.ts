import type { AppointmentStore } from './appointments.ts';
import type { Invoice, Issuer, PriceList, Section } from './billing-records.ts';
import type { Episode, MedicalReport } from './care-records.ts';
import type { DocumentStore } from './documents.ts';
import type { FileStore } from './files.ts';
import type { Ids } from './ids.ts';
import type { PatientStore } from './patients.ts';
import type { Agenda, Tenant } from './records.ts';
import type { Zone } from './zone.ts';

/** What is answered for a patient who was merged into another one. */
export interface Merge {
  into: string;
  /** `stub`: `{id, mergedInto}`; `redirect`: 301 to the remaining patient. */
  answer: 'stub' | 'redirect';
}

/** Everything the clinics hold. */
export interface ClinicData {
  tenants: ReadonlyMap<string, Tenant>;
  appointments: AppointmentStore;
  patients: PatientStore;
  priceLists: DocumentStore<PriceList>;
  episodes: DocumentStore<Episode>;
  reports: DocumentStore<MedicalReport>;
  invoices: DocumentStore<Invoice>;
  sections: DocumentStore<Section>;
  issuers: DocumentStore<Issuer>;
  files: FileStore;
  ids: Ids;
  zone: Zone;
  /** Ids of appointments on a waiting list: start and end are answered as null. */
  waiting: Set<string>;
  /** Merged patients by id: no list has them. */
  merges: Map<string, Merge>;
  /** Epoch ms, as the clinics' clock shows it. */
  clock(): number;
}

/** Returns a tenant by id. Throws RangeError when the sandbox has no tenant with this id, which is a mistake in a test. */
export function tenantOf(data: ClinicData, tenantId: string): Tenant {
  const tenant = data.tenants.get(tenantId);
  if (tenant === undefined) throw new RangeError('the sandbox does not have this tenant');
  return tenant;
}

/** An agenda of a tenant, or undefined. */
export function agendaOf(data: ClinicData, tenantId: string, agendaId: string): Agenda | undefined {
  return data.tenants.get(tenantId)?.agendas.find((agenda) => agenda.id === agendaId);
}
