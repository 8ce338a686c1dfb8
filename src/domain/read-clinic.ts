import { createHash } from 'node:crypto';
import type { ReadingMemory } from '../clinic/read/reading-memory.ts';
import { asMirrorError } from '../core/model/errors.ts';
import type { Appointment } from '../core/model/records.ts';
import type { ClinicSeen, Withheld } from '../core/model/run-schemas.ts';
import type { AppointmentSnapshot } from '../core/model/snapshots.ts';
import { DAY_MS, type Instant, type TimeWindow } from '../core/model/time.ts';
import type { Reach } from '../engine/target.ts';
import type { ClinicReader } from './clinic-requests.ts';
import type { ClinicTarget } from './cycle-input.ts';
import type { ReadingScope } from './followers.ts';
import { commonWindow, computesFromHistory, next48hWindow, windowOf } from './mapping-sources.ts';
import type { Directory } from './project.ts';
import type { RunReport } from './runs.ts';
import type { Streams } from './streams.ts';

/** Clinic data of one cycle. */
export interface ReadClinic {
  reach: Reach;
  snapshot: AppointmentSnapshot;
  directory: Directory;
  /** Catalogue parts that the connection may not read; items omit their texts. */
  withheld: Withheld[];
  clinic: ClinicSeen;
  /** Additional streams for CRM targets. */
  streams: Streams;
  /** Start of the appointments read. A plan describes this instant. */
  startedAt: Instant;
}

/** Requested content of a clinic read. */
interface ClinicReadingOptions {
  /** Additional streams for CRM targets. A separate job reads them, since a list of patients takes minutes. */
  streams: Streams;
  /** Additional scopes: for reminders, or for records that an administrator restored. */
  extraScopes?: readonly ReadingScope[];
  /** The last cycle's report, if already loaded. */
  last?: RunReport;
  /** Default `whole`. `near`: the next two days for calendars and reminders. */
  reach?: Reach;
}

/** Reads the catalogue, and every appointment that any target may show. */
export async function readClinic(
  tenant: ClinicReader,
  targets: readonly ClinicTarget[],
  { streams, extraScopes = [], last, reach = 'whole' }: ClinicReadingOptions,
  signal: AbortSignal,
): Promise<ReadClinic> {
  const { catalogue, withheld, clinic } = await readCatalogue(
    tenant,
    targets,
    last ?? (await tenant.runs.list(1))[0],
    signal,
  );
  for (const [name, { code, remedy }] of streams.failed) withheld.push({ part: name, code, remedy: remedy ?? null });
  const readNames = (needed: boolean) => part('patients', needed, withheld, () => tenant.clinic.patients(signal));
  const lacked = namesPatients(targets) && tenant.memory.lacksNames;
  let patients = await readNames(lacked);
  const readNow = () => (reach === 'whole' ? readAppointments : readNext48h)(tenant, targets, extraScopes, signal);
  let appointments = await readNow();
  // A read of two days without a nameless appointment proves nothing about other days.
  tenant.memory.lacksNames =
    namesPatients(targets) && (lacksNames(appointments.snapshot) || (reach === 'near' && lacked));
  if (!lacked && tenant.memory.lacksNames) {
    patients = await readNames(true);
    // A read of changes cannot prove a record absent.
    tenant.memory.appointments.distrust();
    appointments = await readNow();
  }
  return { reach, ...appointments, directory: { ...catalogue, patients }, withheld, clinic, streams };
}

/** Reads a calendar's appointments in a window for display. No cycle uses the result. */
export async function readForDisplay(
  tenant: Pick<ClinicReader, 'clinic' | 'clock' | 'followers'>,
  target: ClinicTarget,
  window: TimeWindow,
  signal: AbortSignal,
): Promise<Pick<ReadClinic, 'directory' | 'snapshot' | 'startedAt'>> {
  const { catalogue } = await readParts(tenant, [target], signal);
  const { agendas } = target.configuration;
  const reading = await readAll(tenant, { readings: [{ window, agendas }], now: tenant.clock() }, signal);
  const lacked = namesPatients([target]) && lacksNames(reading.snapshot);
  const patients = await part('patients', lacked, [], () => tenant.clinic.patients(signal));
  return { ...reading, directory: { ...catalogue, patients } };
}

/** Returns the appointments that a target shows or computes properties from. */
function readingsOf(target: ClinicTarget, now: Instant): ReadingScope[] {
  const { agendas, window } = target.configuration;
  if (target.stream === 'appointments') return [{ window: windowOf(target, now), agendas }];
  if (!computesFromHistory(target)) return [];
  return [
    { window: { fromAt: now - window.pastDays * DAY_MS, toAt: now + window.futureDays * DAY_MS }, agendas: 'all' },
  ];
}

type ReadNow = Pick<ReadClinic, 'snapshot' | 'startedAt'>;

async function readAppointments(
  tenant: Pick<ClinicReader, 'clinic' | 'clock' | 'memory'>,
  targets: readonly ClinicTarget[],
  extraScopes: readonly ReadingScope[],
  signal: AbortSignal,
): Promise<ReadNow> {
  const now = tenant.clock();
  const readings = [...targets.flatMap((target) => readingsOf(target, now)), ...extraScopes];
  return readAll(tenant, { readings, now }, signal, tenant.memory.appointments);
}

/** Reads the next two days, in one or two pages. The memory of the last full read remains for the next full read. */
async function readNext48h(
  tenant: Pick<ClinicReader, 'clinic' | 'clock'>,
  targets: readonly ClinicTarget[],
  extraScopes: readonly ReadingScope[],
  signal: AbortSignal,
): Promise<ReadNow> {
  const now = tenant.clock();
  const calendars = targets.filter(({ crm }) => crm === null);
  const next48h = [...calendars.flatMap((target) => readingsOf(target, now)), ...extraScopes]
    .map(({ window, agendas }) => ({ window: commonWindow(window, next48hWindow(now)), agendas }))
    .filter(({ window }) => window.fromAt < window.toAt);
  return readAll(tenant, { readings: next48h, now }, signal);
}

async function readAll(
  tenant: Pick<ClinicReader, 'clinic'>,
  { readings, now }: { readings: readonly ReadingScope[]; now: Instant },
  signal: AbortSignal,
  memory?: ReadingMemory<Appointment>,
): Promise<ReadNow> {
  const window = {
    fromAt: Math.min(...readings.map((reading) => reading.window.fromAt)),
    toAt: Math.max(...readings.map((reading) => reading.window.toAt)),
  };
  if (readings.length > 0) {
    const question = { agendaIds: agendasOf(readings), window, ...(memory !== undefined && { memory }) };
    return { snapshot: await tenant.clinic.readAppointments(question, signal), startedAt: now };
  }
  const empty = { records: new Map(), unusable: [], unidentified: 0, pages: 0, requests: 0, repeated: 0 };
  return {
    snapshot: { ...empty, completeness: 'complete', window: { fromAt: now, toAt: now }, agendaIds: [] },
    startedAt: now,
  };
}

type Catalogue = Omit<Directory, 'patients'>;

interface CatalogueReading {
  catalogue: Catalogue;
  withheld: Withheld[];
  clinic: ClinicSeen;
}

/**
 * Reads the catalogue, which each process caches for an hour. If the hash differs from the last written catalogue, the process reads again.
 * Otherwise two processes would rewrite items alternately.
 */
async function readCatalogue(
  tenant: Pick<ClinicReader, 'clinic' | 'followers'>,
  targets: readonly ClinicTarget[],
  lastRun: RunReport | undefined,
  signal: AbortSignal,
): Promise<CatalogueReading> {
  const lastCatalogue = lastRun?.clinic?.catalogue;
  // The catalogue's hash excludes patients, because they are read only if names are missing.
  if (lastRun?.withheld.some((each) => each.part === 'patients') === true) tenant.clinic.invalidate();
  const reading = await readParts(tenant, targets, signal);
  if (lastCatalogue === undefined || lastCatalogue === reading.clinic.catalogue) return reading;
  tenant.clinic.invalidate();
  return readParts(tenant, targets, signal);
}

async function readParts(
  tenant: Pick<ClinicReader, 'clinic' | 'followers'>,
  targets: readonly ClinicTarget[],
  signal: AbortSignal,
): Promise<CatalogueReading> {
  const { clinic } = tenant;
  const withheld: Withheld[] = [];
  const showsTreatment = targets.some(usesTreatment) || namesTreatments(tenant, targets);
  const catalogue: Catalogue = {
    pageUrl: clinic.pageUrl,
    agendas: await part('agendas', true, withheld, () => clinic.agendas(signal)),
    locations: await part('locations', true, withheld, () => clinic.locations(signal)),
    treatments: await part('treatments', showsTreatment, withheld, () => clinic.treatments(signal)),
  };
  const { pageUrl, ...parts } = catalogue;
  const sortedParts = Object.entries(parts).map(([name, entries]) => [name, [...entries].sort(byFirst)]);
  const seen = JSON.stringify([sortedParts, withheld.map((each) => each.part), ...(pageUrl === null ? [] : [pageUrl])]);
  const hash = createHash('sha256').update(seen).digest('base64url');
  return { catalogue, withheld, clinic: { tenantId: await clinic.tenantId(signal), catalogue: hash } };
}

function byFirst([one]: [string, unknown], [other]: [string, unknown]): number {
  return one < other ? -1 : 1;
}

/**
 * Reads a catalogue part. If the connection may not read the part, its texts are omitted in every cycle. Any other failure ends the cycle:
 * a temporary omission would rewrite every item twice.
 */
async function part<Entry extends { id: string }>(
  name: Withheld['part'],
  needed: boolean,
  withheld: Withheld[],
  read: () => Promise<readonly Entry[]>,
): Promise<Map<string, Entry>> {
  if (!needed) return new Map();
  try {
    return new Map((await read()).map((entry) => [entry.id, entry]));
  } catch (error) {
    const cause = asMirrorError(error);
    if (cause.actor !== 'authorization' || cause.status !== 403) throw cause;
    withheld.push({ part: name, code: cause.code, remedy: cause.remedy ?? null });
    return new Map();
  }
}

function agendasOf(readings: readonly ReadingScope[]): string[] | null {
  const ids = new Set<string>();
  for (const { agendas } of readings) {
    if (agendas === 'all') return null;
    for (const id of agendas) ids.add(id);
  }
  return [...ids];
}

/** The catalogue must contain treatments if the configuration has treatment ids to check. */
function namesTreatments({ followers }: Pick<ClinicReader, 'followers'>, targets: readonly ClinicTarget[]): boolean {
  const followed = followers.flatMap(({ namedIds }) => [...namedIds.values()]);
  return [...targets.map(({ configuration }) => configuration), ...followed].some(
    ({ treatments }) => treatments !== 'all',
  );
}

function usesTreatment({ configuration, crm }: ClinicTarget): boolean {
  return configuration.fields.includes('treatment') || crm?.mapping.needs.treatment === true;
}

function namesPatients(targets: readonly ClinicTarget[]): boolean {
  return targets.some(({ configuration: { title } }) => title === 'initials' || title === 'full');
}

function lacksNames(snapshot: AppointmentSnapshot): boolean {
  for (const { patientId, patient } of snapshot.records.values()) {
    if (patientId !== null && patient === null) return true;
  }
  return false;
}
