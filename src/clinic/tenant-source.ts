import { perObject } from '../core/model/cache.ts';
import { MirrorError } from '../core/model/errors.ts';
import type { Agenda, Appointment, Invoice, Location, Patient, Treatment } from '../core/model/records.ts';
import type { ReadingRemark } from '../core/model/run-schemas.ts';
import type { AppointmentSnapshot, Lookup, Snapshot } from '../core/model/snapshots.ts';
import { type Clock, HOUR_MS, type Instant } from '../core/model/time.ts';
import type { Report } from '../core/model/triggers.ts';
import { cutRecords, readingVisits } from '../core/model/visits.ts';
import type { ClinicContext } from './http/call.ts';
import type { RowMapper } from './http/rows.ts';
import { compileAppointmentRows } from './read/appointment-rows.ts';
import {
  compileAgendaRows,
  compileLocationRows,
  compilePatientRows,
  compileReportRows,
  compileTreatmentRows,
} from './read/catalogue-rows.ts';
import { createInvoiceReader, type InvoiceQuery } from './read/invoices.ts';
import { noneWithheld, readWhole, recordsOf } from './read/lists.ts';
import { askInZones, createZoneCache, type LoadSites, type SiteZones, type ZoneCache } from './read/place-zones.ts';
import { isLocalFormat, type RecordQuestion, readOne } from './read/reading.ts';
import { createReadingCalls, type ResourceCalls } from './read/reading-calls.ts';
import { RemarkCollectors } from './read/reading-remarks.ts';
import { type AppointmentQuery, readSnapshot } from './read/snapshot.ts';
import { chooseTenant, createAccountCalls } from './read/users.ts';
import type { ClinicProfile } from './schema/profile.ts';
import type { ResourceName } from './schema/resources.ts';

/** Lifetime of cached catalogues and of the list of the user's tenants. */
const CATALOGUE_LIFE_MS = HOUR_MS;

/**
 * Reads of the clinic for one tenant. Only this module decides which of the user's tenants is used: the operator's choice, or the tenant of
 * the first connection or cycle. All readers and writers use the same tenant. Tenant and catalogues are cached for an hour; catalogues are
 * complete lists. A new connection discards both. A refusal that may concern the tenant discards the tenant.
 */
export interface TenantSource {
  /** Returns the clinic's id of the tenant. */
  tenantId(signal: AbortSignal): Promise<string>;
  /** URL of an appointment in the clinic system, with `{id}` for its id; null if the profile has none. */
  readonly pageUrl: string | null;
  agendas(signal: AbortSignal): Promise<Agenda[]>;
  /** Returns the agendas as this process last read them, without a request; empty before the first read. */
  cachedAgendas(): readonly Agenda[];
  locations(signal: AbortSignal): Promise<Location[]>;
  treatments(signal: AbortSignal): Promise<Treatment[]>;
  patients(signal: AbortSignal): Promise<Patient[]>;
  /** Reads one patient. */
  readPatient(id: string, signal: AbortSignal): Promise<Lookup<Patient>>;
  readAppointments(query: AppointmentQuery, signal: AbortSignal): Promise<AppointmentSnapshot>;
  /** @param id of an appointment, or of one patient's visit */
  readAppointment(id: string, signal: AbortSignal): Promise<Lookup<Appointment>>;
  /** Reads the list of patients; partial if the end of the list is unproven. */
  readPatients(signal: AbortSignal): Promise<Snapshot<Patient>>;
  /** Reads every invoice; partial if the end of the list is unproven. */
  readInvoices(query: InvoiceQuery, signal: AbortSignal): Promise<Snapshot<Invoice>>;
  readInvoice(id: string, query: Pick<InvoiceQuery, 'withDoctors'>, signal: AbortSignal): Promise<Lookup<Invoice>>;
  /** Reads every report; partial if the end of the list is unproven. */
  readReports(signal: AbortSignal): Promise<Snapshot<Report>>;
  readReport(id: string, signal: AbortSignal): Promise<Lookup<Report>>;
  /** Runs another call in the tenant. A refusal that may concern the tenant causes a new check of the tenant. */
  within<Value>(ask: (tenantId: string) => Promise<Value>, signal: AbortSignal): Promise<Value>;
  /** Returns observations of this process about the profile that caused no loss. */
  remarks(): ReadingRemark[];
  /** Discards cached data before the next request. */
  invalidate(): void;
}

/** Data stored outside this process. */
export interface TenantMemory {
  /** Time of the clinic's connection; null without one. */
  loggedInAt(): Promise<Instant | null>;
  /** The clinic's id of the tenant of all work so far; null before the first work. */
  workedIn(): Promise<string | null>;
  /**
   * Stores the tenant.
   * @param isChosen whether the operator chose it; otherwise a stored tenant remains
   * @returns the stored tenant
   */
  bind(id: string, isChosen: boolean): Promise<string>;
}

/** One process's cached data about a tenant's clinic. */
export interface SourceMemory {
  /** The current tenant, if no external store exists. */
  bound: string | null;
  /** Last read data by name. */
  lists: Map<string, { value: unknown; readAt: Instant; login: Instant | null }>;
  /** Agendas as last read, of any age: names for display. */
  agendas: readonly Agenda[];
  /** Observed paging of each list: a list without evidence is tested once. */
  pagings: ClinicContext['pagings'];
  /** Zones for appointment rows. */
  zones: ZoneCache;
  remarks: RemarkCollectors | null;
}

export function emptySourceMemory(): SourceMemory {
  return { bound: null, lists: new Map(), agendas: [], pagings: new Map(), zones: createZoneCache(), remarks: null };
}

const NO_MEMORY: TenantMemory = {
  loggedInAt: async () => null,
  workedIn: async () => null,
  bind: async (id) => id,
};

/**
 * Opens the source of one tenant. Every method throws the errors of `chooseTenant` if the user may not use the tenant.
 * @param configuredId the operator's choice; null for the user's only tenant
 */
export function createTenantSource(
  context: ClinicContext,
  configuredId: string | null,
  memory: TenantMemory = NO_MEMORY,
  own: SourceMemory = emptySourceMemory(),
): TenantSource {
  const { userInfo } = createAccountCalls(context);
  const cached = createCache(context.clock, memory, own);
  const tenant = cached('tenant', async (signal) => {
    const user = await userInfo(signal);
    const workedIn = (await memory.workedIn()) ?? own.bound;
    const chosen = chooseTenant(user, configuredId, workedIn).id;
    const bound = chosen === workedIn ? chosen : await memory.bind(chosen, configuredId !== null);
    own.bound = chooseTenant(user, configuredId, bound).id;
    return own.bound;
  });
  const { inTenant, alone } = questionsIn(tenant);
  const invalidate = () => own.lists.clear();
  own.remarks ??= new RemarkCollectors(context.profile);
  const { remarks } = own;
  const calls = <Model extends object>(name: ResourceName, compile: (profile: ClinicProfile) => RowMapper<Model>) =>
    createReadingCalls(context, name, remarks.countingRemarks(name, context.compiled.of(compile)));
  const catalogue = <Model>(name: ResourceName, { list }: ResourceCalls<Model>) =>
    cached(name, async (signal) => {
      const records = await inTenant(signal, (tenantId) => recordsOf(list(tenantId, [], signal)));
      remarks.ended(name, records.length);
      return confirmComplete(context, name, records);
    }).get;
  const patients = calls('patients', compilePatientRows);
  const reports = calls('medicalReports', compileReportRows);
  const whole =
    <Model extends { id: string }>(name: ResourceName, { list }: ResourceCalls<Model>) =>
    (signal: AbortSignal) =>
      inTenant(signal, (tenantId) => readWhole((reading) => list(tenantId, [], reading), signal)).then((snapshot) =>
        confirmComplete(context, name, snapshot),
      );
  const invoices = createInvoiceReader(context);
  const agendas = cachingAgendas(own, catalogue('agendas', calls('agendas', compileAgendaRows)));
  const locations = catalogue('locations', calls('locations', compileLocationRows));
  // Forbidden lists are not requested with each read.
  const sites = cached('places', async (signal) => ({
    agendas: await agendas(signal).catch(noneWithheld),
    locations: await locations(signal).catch(noneWithheld),
  }));
  const inZones = askerInZones(context, own, sites.get);
  return {
    tenantId: tenant.get,
    pageUrl: context.profile.appointments.pageUrl,
    ...{ agendas, cachedAgendas: () => own.agendas, locations },
    treatments: catalogue('treatments', calls('treatments', compileTreatmentRows)),
    patients: catalogue('patients', patients),
    readPatient: alone(patients.read),
    readAppointments: appointmentReader(context, { memory, remarks, inTenant, inZones, invalidate }),
    readAppointment: readingVisits(
      alone((tenantId, id, reading) =>
        inZones(reading, (sites) => readZoned(context, { tenantId, id, signal: reading }, sites)),
      ),
    ),
    readPatients: whole('patients', patients),
    readInvoices: (query, signal) => inTenant(signal, (tenantId) => invoices.readInvoices(tenantId, query, signal)),
    readInvoice: (id, query, signal) =>
      alone((tenantId, invoiceId, reading) => invoices.readInvoice(tenantId, invoiceId, query, reading))(id, signal),
    readReports: whole('medicalReports', reports),
    readReport: alone(reports.read),
    remarks: () => [...announcements(context.pagings), ...remarks.all()],
    within: (ask, signal) => inTenant(signal, ask),
    invalidate,
  };
}

/** Reads agendas, and caches them for display beyond the life of the catalogue. */
function cachingAgendas(own: SourceMemory, read: (signal: AbortSignal) => Promise<Agenda[]>) {
  return async (signal: AbortSignal) => {
    const agendas = await read(signal);
    own.agendas = agendas;
    return agendas;
  };
}

/** A complete read refutes an earlier announcement of more rows. Returns the read. */
function confirmComplete<Read extends object>({ pagings }: ClinicContext, list: ResourceName, read: Read): Read {
  const memory = pagings.get(list);
  const isPartial = 'completeness' in read && read.completeness !== 'complete';
  if (memory !== undefined && !isPartial) memory.announced = null;
  return read;
}

/** Returns a remark for each list whose last answer announced more rows than were read. */
function announcements(pagings: ClinicContext['pagings']): ReadingRemark[] {
  return [...pagings].flatMap(([list, { announced }]) =>
    announced == null ? [] : [{ code: 'more-told', list, field: 'paging', path: announced.path, rows: announced.rows }],
  );
}

/** Requests appointment rows in the zones of their locations. A forbidden list of locations provides no zone. */
function askerInZones({ profile }: ClinicContext, own: SourceMemory, load: LoadSites) {
  const { window, rereading } = profile.appointments;
  const isLocal = [window.format, rereading.changedSince.format].some(isLocalFormat);
  const saw: SiteZones['saw'] = (row, zone) => own.remarks?.sawLocal(row, zone);
  const sawRow: SiteZones['sawRow'] = (row) => own.remarks?.sawRow(row);
  const question = { stored: own.zones, load, usual: profile.zone, isLocal, saw, sawRow };
  return <Answer>(signal: AbortSignal, ask: (sites: SiteZones) => Promise<Answer>, again: () => void = () => {}) => {
    let asked = 0;
    return askInZones(question, signal, (sites) => {
      if (asked > 0) again();
      asked += 1;
      return ask(sites);
    });
  };
}

function readZoned(context: ClinicContext, question: Omit<RecordQuestion, 'list'>, sites: SiteZones) {
  const map = context.compiled.of(compileAppointmentRows);
  return readOne<Appointment>(context, { list: 'appointments', ...question }, (row) => map(row, sites));
}

/** Reads snapshots of appointments in the zones of their locations. */
function appointmentReader(
  context: ClinicContext,
  {
    memory,
    remarks,
    inTenant,
    inZones,
    invalidate,
  }: Pick<ReturnType<typeof questionsIn>, 'inTenant'> & {
    memory: TenantMemory;
    remarks: RemarkCollectors;
    inZones: ReturnType<typeof askerInZones>;
    invalidate: () => void;
  },
): TenantSource['readAppointments'] {
  const cutOf = perObject((records: ReadonlyMap<string, Appointment>) => cutRecords(records.values()));
  return async (query, signal) => {
    try {
      const login = await memory.loggedInAt();
      const snapshot = await inTenant(signal, (tenantId) => {
        const read = (sites: SiteZones) =>
          readSnapshot(context, { ...query, login, tenantId, signal, siteZones: sites });
        // Changes since a read in other zones would prove nothing.
        return inZones(signal, read, () => query.memory?.distrust());
      });
      const cut = cutOf(snapshot.records);
      remarks.sawSnapshot(snapshot, cut);
      const rows = snapshot.records.size + snapshot.unusable.length;
      if (snapshot.completeness === 'complete') remarks.ended('appointments', rows);
      return confirmComplete(context, 'appointments', { ...snapshot, cut });
    } catch (error) {
      // Other cached data may be as old as the lost permission.
      if (mayMeanTenant(error)) invalidate();
      throw error;
    }
  };
}

/** Wraps requests in a tenant that the user may have lost. */
function questionsIn(tenant: Cached<string>) {
  /** Checks the tenant again after a refusal. */
  async function inTenant<Value>(signal: AbortSignal, ask: (tenantId: string) => Promise<Value>): Promise<Value> {
    const tenantId = await tenant.get(signal);
    try {
      return await ask(tenantId);
    } catch (error) {
      if (!mayMeanTenant(error)) throw error;
      tenant.invalidate();
      await tenant.get(signal);
      throw error;
    }
  }
  /** A tenant that the user lost answers as if no record existed. */
  const alone =
    <Found>(read: (tenantId: string, id: string, signal: AbortSignal) => Promise<Lookup<Found>>) =>
    (id: string, signal: AbortSignal) =>
      inTenant(signal, async (tenantId) => {
        const answer = await read(tenantId, id, signal);
        if ('absent' in answer) {
          tenant.invalidate();
          await tenant.get(signal);
        }
        return answer;
      });
  return { inTenant, alone };
}

/** A tenant that the user lost also answers 403, 404 or 410. */
function mayMeanTenant(error: unknown): boolean {
  return error instanceof MirrorError && [403, 404, 410].includes(error.status ?? 0);
}

interface Cached<Value> {
  get(signal: AbortSignal): Promise<Value>;
  invalidate(): void;
}

/** Caches data for its lifetime, until a new connection. */
function createCache(clock: Clock, { loggedInAt }: Pick<TenantMemory, 'loggedInAt'>, { lists }: SourceMemory) {
  return <Value>(name: string, read: (signal: AbortSignal) => Promise<Value>): Cached<Value> => ({
    async get(signal) {
      const now = clock();
      const login = await loggedInAt();
      const last = lists.get(name);
      if (last !== undefined && now - last.readAt <= CATALOGUE_LIFE_MS && last.login === login) {
        return last.value as Value;
      }
      lists.delete(name);
      const value = await read(signal);
      lists.set(name, { value, readAt: now, login });
      return value;
    },
    invalidate: () => void lists.delete(name),
  });
}
