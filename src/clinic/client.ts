import type { Agenda, Appointment, Location, Patient, Treatment } from '../model/records.ts';
import type { AppointmentSnapshot, Lookup } from '../model/snapshots.ts';
import type { Instant, TimeWindow } from '../model/time.ts';
import type { ClinicContext } from './http/context.ts';
import type { Mapped } from './http/rows.ts';
import { createAccountCalls } from './read/account-calls.ts';
import { compileAppointmentRows } from './read/appointment-rows.ts';
import {
  asZone,
  compileAgendaRows,
  compileLocationRows,
  compilePatientRows,
  compileTreatmentRows,
} from './read/catalogue-rows.ts';
import { createInvoiceReader, type InvoiceReader } from './read/invoice-snapshot.ts';
import { type ListPage, readCatalogue } from './read/lists.ts';
import { readOne } from './read/reading.ts';
import type { ReadingMemory } from './read/reading-memory.ts';
import { createReportReader, type ReportReader } from './read/report-snapshot.ts';
import { readSnapshot } from './read/snapshot.ts';
import type { UserInfo } from './read/users.ts';
import { createZone } from './read/zone.ts';
import type { ResourceName } from './schema/resources.ts';

/** General facts of a tenant, as far as this release uses them. */
export interface TenantInfo {
  name: string | null;
  /** IANA zone, null when the clinic tells none that is known here. */
  zone: string | null;
}

/** The appointments that are wanted: a window, and the agendas or null for all. */
export interface AppointmentQuery {
  agendaIds: readonly string[] | null;
  window: TimeWindow;
  /** What is known of the reading before, where the same is asked again and again. */
  memory?: ReadingMemory<Appointment>;
  /** When a person logged in, where that is known: what another user may see says nothing. */
  login?: Instant | null;
}

/** A catalogue, page by page, each id once; an iteration that ends without throwing has seen the whole list. */
type Catalogue<Model> = (tenantId: string, signal: AbortSignal) => AsyncIterable<ListPage<Model>>;
/** One record by its id; 404 and 410 mean `absent`, every other failure is thrown. */
type Get<Model> = (tenantId: string, id: string, signal: AbortSignal) => Promise<Lookup<Model>>;

/** The clinic API as the daemon uses it. All methods throw MirrorError; see `errors.ts` for who must act. */
export interface ClinicClient extends InvoiceReader, ReportReader {
  /** @throws MirrorError `authorization`, code `user-unknown`, for a user without tenants */
  userInfo(signal: AbortSignal): Promise<UserInfo>;
  tenantInfo(tenantId: string, signal: AbortSignal): Promise<TenantInfo>;
  listLocations: Catalogue<Location>;
  listAgendas: Catalogue<Agenda>;
  listTreatments: Catalogue<Treatment>;
  listPatients: Catalogue<Patient>;
  getPatient: Get<Patient>;
  /** Every appointment that overlaps the window; partial when the end of a list is not proved, thrown when a page can't be read. */
  readAppointments(tenantId: string, query: AppointmentQuery, signal: AbortSignal): Promise<AppointmentSnapshot>;
  readAppointment: Get<Appointment>;
}

/** Opens the client of one clinic login. */
export function createClinicClient(context: ClinicContext): ClinicClient {
  const { profile, compiled } = context;
  const zone = createZone(profile.zone);
  const account = createAccountCalls(context);
  const rows = {
    locations: compiled.of(compileLocationRows),
    agendas: compiled.of(compileAgendaRows),
    treatments: compiled.of(compileTreatmentRows),
    patients: compiled.of(compilePatientRows),
    appointments: compiled.of(compileAppointmentRows),
  };

  function catalogue<Model extends { id: string }>(
    list: ResourceName,
    map: (row: unknown) => Mapped<Model>,
  ): Catalogue<Model> {
    return (tenantId, signal) => readCatalogue(context, { list, tenantId, parameters: [], signal }, map);
  }
  function lookup<Model extends { id: string }>(list: ResourceName, map: (row: unknown) => Mapped<Model>): Get<Model> {
    return (tenantId, id, signal) => readOne(context, { list, tenantId, id, signal }, map);
  }

  return {
    userInfo: account.userInfo,
    async tenantInfo(tenantId, signal) {
      const { name, zone } = await account.tenantInfo(tenantId, signal);
      return { name, zone: asZone(zone) };
    },
    listLocations: catalogue('locations', rows.locations),
    listAgendas: catalogue('agendas', rows.agendas),
    listTreatments: catalogue('treatments', rows.treatments),
    listPatients: catalogue('patients', rows.patients),
    getPatient: lookup('patients', rows.patients),
    readAppointments: (tenantId, query, signal) =>
      readSnapshot(context, { tenantId, ...query, signal }, zone, rows.appointments),
    readAppointment: lookup('appointments', rows.appointments),
    ...createInvoiceReader(context),
    ...createReportReader(context),
  };
}
