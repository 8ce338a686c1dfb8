import { createHash } from 'node:crypto';
import type { ReadingMemory } from '../clinic/read/reading-memory.ts';
import type { Confirmations } from './absence.ts';
import { egressStopped } from './egress.ts';
import { commonWindow, computesFromHistory, next48hWindow, streamsOf, windowOf } from './mapping-sources.ts';
import type { TargetPlan } from './plan-targets.ts';
import type { Directory } from './project.ts';
import type { Reach } from '../engine/target.ts';
import { lazily } from '../model/cache.ts';
import { asMirrorError } from '../model/errors.ts';
import type { StreamName } from '../model/items.ts';
import { type Appointment, agendasOf as agendasNamed, type InvalidRow } from '../model/records.ts';
import type { ClinicSeen, TargetGap, Withheld } from '../model/run-schemas.ts';
import type { AppointmentSnapshot } from '../model/snapshots.ts';
import { didYouMean } from '../model/text.ts';
import { DAY_MS, type Instant, type TimeWindow } from '../model/time.ts';
import { cutRecords } from '../model/visits.ts';
import type { RunReport } from '../state/runs.ts';
import { cutFor, cutIn } from './cut-values.ts';
import { TENANT_TOO_LARGE } from '../jobs/storage-limit.ts';
import type { Streams } from './streams.ts';
import type { CycleFollower, NamedIds, OpenTarget, OpenTenant, ReadingScope } from '../jobs/tenant.ts';

/** Clinic data of one cycle. */
export interface ClinicReading {
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

/** Members of a tenant that a clinic read uses. */
export interface ClinicReader extends Pick<OpenTenant, 'clinic' | 'clock' | 'memory' | 'reminders' | 'runs'> {}

/** Reads the catalogue, and every appointment that any target may show. */
export async function readClinic(
  tenant: ClinicReader,
  targets: readonly OpenTarget[],
  { streams, extraScopes = [], last, reach = 'whole' }: ClinicReadingOptions,
  signal: AbortSignal,
): Promise<ClinicReading> {
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
  tenant: Pick<OpenTenant, 'clinic' | 'clock' | 'reminders'>,
  target: OpenTarget,
  window: TimeWindow,
  signal: AbortSignal,
): Promise<Pick<ClinicReading, 'directory' | 'snapshot' | 'startedAt'>> {
  const { catalogue } = await readParts(tenant, [target], signal);
  const { agendas } = target.configuration;
  const reading = await readAll(tenant, { readings: [{ window, agendas }], now: tenant.clock() }, signal);
  const lacked = namesPatients([target]) && lacksNames(reading.snapshot);
  const patients = await part('patients', lacked, [], () => tenant.clinic.patients(signal));
  return { ...reading, directory: { ...catalogue, patients } };
}

/** Returns the appointments that a target shows or computes properties from. */
function readingsOf(target: OpenTarget, now: Instant): ReadingScope[] {
  const { agendas, window } = target.configuration;
  if (target.stream === 'appointments') return [{ window: windowOf(target, now), agendas }];
  if (!computesFromHistory(target)) return [];
  return [
    { window: { fromAt: now - window.pastDays * DAY_MS, toAt: now + window.futureDays * DAY_MS }, agendas: 'all' },
  ];
}

type ReadNow = Pick<ClinicReading, 'snapshot' | 'startedAt'>;

async function readAppointments(
  tenant: Pick<OpenTenant, 'clinic' | 'clock' | 'memory'>,
  targets: readonly OpenTarget[],
  extraScopes: readonly ReadingScope[],
  signal: AbortSignal,
): Promise<ReadNow> {
  const now = tenant.clock();
  const readings = [...targets.flatMap((target) => readingsOf(target, now)), ...extraScopes];
  return readAll(tenant, { readings, now }, signal, tenant.memory.appointments);
}

/** Reads the next two days, in one or two pages. The memory of the last full read remains for the next full read. */
async function readNext48h(
  tenant: Pick<OpenTenant, 'clinic' | 'clock'>,
  targets: readonly OpenTarget[],
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
  tenant: Pick<OpenTenant, 'clinic'>,
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
  tenant: Pick<OpenTenant, 'clinic' | 'reminders'>,
  targets: readonly OpenTarget[],
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
  tenant: Pick<OpenTenant, 'clinic' | 'reminders'>,
  targets: readonly OpenTarget[],
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
function namesTreatments({ reminders }: Pick<OpenTenant, 'reminders'>, targets: readonly OpenTarget[]): boolean {
  const rules = [...(reminders?.rules.rules.values() ?? [])];
  return [...targets.map(({ configuration }) => configuration), ...rules].some(
    ({ treatments }) => treatments !== 'all',
  );
}

function usesTreatment({ configuration, crm }: OpenTarget): boolean {
  return configuration.fields.includes('treatment') || crm?.mapping.needs.treatment === true;
}

function namesPatients(targets: readonly OpenTarget[]): boolean {
  return targets.some(({ configuration: { title } }) => title === 'initials' || title === 'full');
}

function lacksNames(snapshot: AppointmentSnapshot): boolean {
  for (const { patientId, patient } of snapshot.records.values()) {
    if (patientId !== null && patient === null) return true;
  }
  return false;
}

/** Maximum codes, ids and suggestions in a report. */
const MOST_REPORTED = 5;

type Part = 'agenda' | 'treatment';

/** Returns gaps of the read by target and by follower with configured ids. Targets without gaps are omitted. */
export function gapsOf(
  targets: readonly OpenTarget[],
  followers: readonly Pick<CycleFollower, 'namedIds'>[],
  clinicReading: ClinicReading,
): ReadonlyMap<string, readonly TargetGap[]> {
  const check = checkerOf(clinicReading);
  const gaps = new Map<string, TargetGap[]>();
  const cut = clinicReading.snapshot.cut ?? cutRecords(clinicReading.snapshot.records.values());
  for (const target of targets)
    gaps.set(target.id, [...unreadOf(target, clinicReading), ...cutFor(target, cut), ...check(target.configuration)]);
  for (const { namedIds } of followers)
    for (const [location, named] of namedIds) gaps.set(location, [...cutIn(cut, named.agendas, true), ...check(named)]);
  return new Map([...gaps].filter(([, found]) => found.length > 0));
}

/** Number of cycles after which unreadable absent records are a problem: shorter faults are temporary. Our choice. */
const PROBLEM_AFTER_CYCLES = 3;

/** Adds missing listed records, and lastingly unreadable absent ones, to each target's gaps: every target may be affected. */
export function gapsConfirmed(
  existing: ReadonlyMap<string, readonly TargetGap[]>,
  targets: readonly OpenTarget[],
  confirmations: Confirmations,
  unconfirmableBefore: number,
): ReadonlyMap<string, readonly TargetGap[]> {
  const all = new Map(existing);
  for (const target of targets) {
    const streams = new Set<StreamName>([target.stream, ...streamsOf(target).filter((name) => name !== 'history')]);
    const found = [...streams].map((stream) => confirmations[stream]);
    const unlisted = found.reduce((sum, one) => sum + one.unlisted, 0);
    const faults = unconfirmableBefore + 1 < PROBLEM_AFTER_CYCLES ? [] : found.flatMap((one) => [...one.faults]);
    const unconfirmable = faults.reduce((sum, [, times]) => sum + times, 0);
    const what = [...new Set(faults.map(([fault]) => fault))].slice(0, MOST_REPORTED);
    const gaps = [
      { code: 'records-unlisted', count: unlisted, what: [], soon: [] },
      { code: 'records-unconfirmable', count: unconfirmable, what, soon: [] },
    ] satisfies TargetGap[];
    const added = gaps.filter(({ count }) => count > 0);
    if (added.length > 0) all.set(target.id, [...(existing.get(target.id) ?? []), ...added]);
  }
  return all;
}

/** Returns each target's gaps after planning: earlier gaps, and records withheld by the egress check or the limit of memory. */
export function gapsAfter(
  existing: ReadonlyMap<string, readonly TargetGap[]>,
  plans: readonly Pick<TargetPlan, 'target' | 'omitted'>[],
): ReadonlyMap<string, readonly TargetGap[]> {
  const all = new Map(existing);
  for (const { target, omitted } of plans) {
    const found = egressStopped(omitted);
    const count = found.reduce((sum, [, each]) => sum + each, 0);
    const gaps = [
      { code: 'egress-stopped', count, what: found.map(([code]) => code), soon: [] },
      { code: TENANT_TOO_LARGE, count: omitted[TENANT_TOO_LARGE] ?? 0, what: [], soon: [] },
    ] satisfies TargetGap[];
    const added = gaps.filter((gap) => gap.count > 0);
    if (added.length > 0) all.set(target.id, [...(existing.get(target.id) ?? []), ...added]);
  }
  return all;
}

/** Returns unusable records that may belong to a target: records of its streams, except for appointments of other agendas. */
function unreadOf(target: OpenTarget, { snapshot, streams }: ClinicReading): TargetGap[] {
  const names = streamsOf(target);
  const { agendas } = target.configuration;
  const follows = ({ agendaId }: InvalidRow) =>
    agendaId === undefined || agendas === 'all' || names.includes('history') || agendas.includes(agendaId);
  const seesAppointments = target.stream === 'appointments' || names.includes('history');
  const rows = [
    ...(seesAppointments ? snapshot.unusable.filter(follows) : []),
    ...(names.includes('patients') ? (streams.patients?.snapshot.unusable ?? []) : []),
    ...(names.includes('invoices') ? (streams.invoices?.snapshot.unusable ?? []) : []),
  ];
  const unread = rows.filter(({ isTombstone }) => isTombstone !== true);
  if (unread.length === 0) return [];
  const what = [...new Set(unread.map(({ code }) => code))].slice(0, MOST_REPORTED);
  return [{ code: 'records-unreadable', count: unread.length, what, soon: [] }];
}

/** An id is known if the catalogue or an appointment contains it: some clinics omit old agendas from lists. */
function checkerOf({ directory, snapshot, withheld }: ClinicReading): (named: NamedIds) => TargetGap[] {
  // Most clinics' catalogues contain every id, so that no appointment is searched.
  const seenIn = lazily(() => {
    const seen: Record<Part, Set<string>> = { agenda: new Set(), treatment: new Set() };
    for (const appointment of snapshot.records.values()) {
      const { treatmentId } = appointment;
      for (const id of agendasNamed(appointment)) seen.agenda.add(id);
      if (treatmentId !== null) seen.treatment.add(treatmentId);
    }
    return seen;
  });
  const check = (part: Part, ids: 'all' | readonly string[]): TargetGap[] => {
    const catalogue: ReadonlyMap<string, { name: string }> = directory[`${part}s`];
    const isWithheld = withheld.some((one) => one.part === `${part}s`);
    const unknown = unlisted(ids, catalogue, isWithheld ? { isSoon: false } : {}, (id) => seenIn()[part].has(id));
    return unknown === null ? [] : [{ code: isWithheld ? `${part}-unconfirmed` : `${part}-unknown`, ...unknown }];
  };
  return ({ agendas, treatments }) => [...check('agenda', agendas), ...check('treatment', treatments)];
}

/**
 * Returns configured ids missing from the clinic's catalogue: their number, the first ids, and suggestions. Returns null if the catalogue
 * contains all.
 * @param isConfigured whether another source confirms an id
 */
export function unlisted(
  ids: 'all' | readonly string[],
  catalogue: ReadonlyMap<string, { name: string }>,
  { isSoon = true }: { isSoon?: boolean } = {},
  isConfigured: (id: string) => boolean = () => false,
): Pick<TargetGap, 'count' | 'what' | 'soon'> | null {
  const unknown = ids === 'all' ? [] : ids.filter((id) => !catalogue.has(id) && !isConfigured(id));
  if (unknown.length === 0) return null;
  const meant = isSoon ? unknown.flatMap((id) => nearest(id, catalogue)) : [];
  return {
    count: unknown.length,
    what: unknown.slice(0, MOST_REPORTED),
    soon: [...new Set(meant)].slice(0, MOST_REPORTED),
  };
}

/** Finds suggestions by id, then by name (operators often enter names), then the first available ones. */
function nearest(id: string, catalogue: ReadonlyMap<string, { name: string }>): string[] {
  const label = (existing: string) => `${existing} (${catalogue.get(existing)?.name ?? ''})`;
  const byId = didYouMean(id, catalogue.keys());
  const byName = new Map([...catalogue].map(([existing, { name }]) => [name, existing]));
  const named = byName.get(didYouMean(id, byName.keys()) ?? '');
  const found = [byId, named].filter((one) => one != null);
  return (found.length > 0 ? found : [...catalogue.keys()].slice(0, MOST_REPORTED)).map(label);
}
