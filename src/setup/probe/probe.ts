import type { ClinicContext } from '../../clinic/http/call.ts';
import { compilePaths, folded } from '../../clinic/http/rows.ts';
import { type BookedAppointment, compileBookings } from '../../clinic/read/appointment-rows.ts';
import { emptyPathsIn } from '../../clinic/read/reading-remarks.ts';
import type { TimeFormat } from '../../clinic/read/timestamps.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { RESOURCE_PATHS, type ResourceName } from '../../clinic/schema/resources.ts';
import type { Progress } from '../../core/model/tasks.ts';
import { DAY_MS, MINUTE_MS } from '../../core/model/time.ts';
import { isJsonObject, type JsonObject } from '../../described-api/paths.ts';
import { rowsIn } from '../profile-finder/answer-rows.ts';
import { compareSpecification } from '../profile-finder/compare.ts';
import { ASK_CLINIC, type Comparison, type Location, propose } from '../profile-finder/findings.ts';
import { LEAD_HOURS } from '../profile-finder/lists.ts';
import { commonNames } from '../profile-finder/names.ts';
import { type QueryParameter, queryParameter, type SpecifiedOperation } from '../profile-finder/openapi.ts';
import { concluded, type ProfileCheck, readRows } from '../profile-finder/profile-check.ts';
import { FLAGS_LOCATION, raisedFlags, STATUSES_LOCATION } from '../profile-finder/statuses.ts';
import { sampled, timeFormOf, UNTOLD, type ValueSchema } from '../profile-finder/values.ts';
import { Asker, type PagingSeen, probePaging } from './questions.ts';
import {
  type AgendaSeen,
  probeAgendas,
  probeWindow,
  probeWindowManners,
  usualWindow,
  type WindowManners,
  type WindowSeen,
  windowParameters,
} from './windows.ts';

/** Result of a probe; all `requests` were GET. */
export interface Probe extends ProfileCheck {
  requests: number;
}

/** A clinic and its selected tenant. */
interface ProbedClinic {
  context: ClinicContext;
  /** Returns the clinic's tenant id. @throws MirrorError like the selection of a tenant */
  tenantId(signal: AbortSignal): Promise<string>;
}

/** Other lists whose first page is fetched. */
const CATALOGUES = ['locations', 'agendas', 'treatments', 'patients'] as const satisfies readonly ResourceName[];
/** A nonexistent id. */
const NO_ID = 'clinic-mirror-probe';

/** Observations on appointments other than fields. */
interface Seen {
  window: WindowSeen | null;
  manners: WindowManners | null;
  agenda: AgendaSeen | null;
  rows: readonly BookedAppointment[];
  /** Raw sample records, and the profile for reading them so far. */
  samples: readonly JsonObject[];
  reading: ClinicProfile;
}

/**
 * Explores a clinic with read requests and proposes a profile. Changes nothing in the clinic, and keeps only field names, status words and
 * time formats.
 * @throws MirrorError `probe-exhausted`, `probe-empty` (too few current appointments), `probe-refused` (all appointment requests refused),
 * and those of the API
 */
export async function probeClinic(access: ProbedClinic, progress: Progress, signal: AbortSignal): Promise<Probe> {
  const { context } = access;
  const { profile } = context;
  progress('the tenant');
  const asker = new Asker({ context, tenantId: await access.tenantId(signal), signal });
  const catalogues = await readCatalogues(asker, profile, progress);
  progress('the window of appointments');
  // A whole minute, so that no time format loses precision.
  const now = Math.floor(context.clock() / MINUTE_MS) * MINUTE_MS;
  const window = await probeWindow(asker, now, profile);
  const base = window === null ? [] : windowParameters(window, usualWindow(now), profile);
  progress('paging');
  const paging = await probePaging(asker, base, profile.paging);
  if (paging === null) throw asker.noEvidence();
  const appointments = operationOf(profile, 'appointments', { answer: sampled(paging.bodies, statesOf(profile)) });

  // Fields come first, because later steps use agendas, times and statuses.
  const { changes } = compareSpecification({ operations: [...catalogues.operations, appointments] }, profile);
  const reading = propose(profile, changes).profile;
  const map = compileBookings(reading);
  const readAll = (rows: readonly unknown[]) =>
    rows.map((row) => map(row)).flatMap((one) => ('record' in one ? [one.record] : []));
  const rows = readAll(paging.rows);
  const singles = await readSingles(asker, reading, rows);

  progress('agendas and windows');
  const { agenda: own } = profile.appointments.filters;
  const agenda = await probeAgendas(asker, [...base, ...paging.largest], own, { rows, read: readAll });
  const manners = window && (await probeWindowManners(asker, profile, window, { rows, paging: paging.largest }));
  const query = [...paging.query, ...queryOf(window, agenda)];
  const lists = [
    ...catalogues.operations.map((each) => ({ ...each, query: paging.query })),
    { ...appointments, query, failures: singles.failures },
  ].map((each) => ({ ...each, ...headersSeen(paging) }));
  const comparison = compareSpecification({ operations: [...lists, ...singles.operations] }, profile);
  const samples = paging.rows.filter(isJsonObject);
  complete(comparison, { agenda, manners, window, rows, samples, reading });
  const check = concluded(comparison, profile, catalogues.remarks, (proposed) => {
    const read = readRows(paging.rows, proposed);
    const empty = catalogues.rows.flatMap(({ list, found }) => emptyPathsIn(list, found, proposed));
    return read && { ...read, remarks: [...read.remarks, ...empty] };
  });
  return { ...check, requests: asker.requests };
}

/** Fetches the first pages of the other lists. */
async function readCatalogues(asker: Asker, profile: ClinicProfile, progress: Progress) {
  const operations: SpecifiedOperation[] = [];
  const remarks: string[] = [];
  const rows: { list: Exclude<(typeof CATALOGUES)[number], 'treatments'>; found: readonly unknown[] }[] = [];
  for (const list of CATALOGUES) {
    progress(list);
    const answer = await asker.ask(list);
    const { status, body } = answer;
    if (status < 300 && body !== undefined) operations.push(operationOf(profile, list, { answer: sampled([body]) }));
    else remarks.push(`the list of ${list} was refused with ${status}`);
    if (list !== 'treatments') rows.push({ list, found: rowsIn(answer, list)?.rows ?? [] });
  }
  return { operations, remarks, rows };
}

/** Describes a list, or a single record. */
function operationOf(
  { pathPrefix }: ClinicProfile,
  list: ResourceName,
  seen: Pick<SpecifiedOperation, 'answer'>,
  one = '',
): SpecifiedOperation {
  const path = `${pathPrefix}/tenants/{tenantId}/${RESOURCE_PATHS[list].join('/')}${one}`;
  const nothing = { query: [], failures: [], bodies: new Map(), scopes: [], hasLinkHeader: false, totalHeader: null };
  return { method: 'GET', path, ...nothing, ...seen };
}

function headersSeen({ hasLinkHeader, envelope: { totalPath, cursorPath, linkPath } }: PagingSeen) {
  const totalHeader = totalPath?.startsWith('header:') === true ? totalPath : null;
  return { hasLinkHeader, totalHeader, next: { cursorPath, linkPath } };
}

/** Fetches one appointment, its patient, and a nonexistent appointment. */
async function readSingles(asker: Asker, reading: ClinicProfile, rows: readonly BookedAppointment[]) {
  const { status, body } = await asker.ask('appointments', [], NO_ID);
  const failures = isJsonObject(body) && status >= 400 ? [sampled([body])] : [];
  const first = rows.find(({ patientId }) => patientId !== null) ?? rows[0];
  const operations: SpecifiedOperation[] = [];
  for (const [list, id] of [['appointments', first?.id] as const, ['patients', first?.patientId] as const]) {
    if (id == null) continue;
    const one = await asker.ask(list, [], id);
    if (one.status < 300) operations.push(operationOf(reading, list, { answer: sampled([one.body]) }, '/{id}'));
  }
  return { failures, operations };
}

/** Returns folded names of state fields: the known names, and the name in the profile. */
function statesOf({ appointments }: ClinicProfile): ReadonlySet<string> {
  const named = appointments.fields.status.map((path) => folded(path.split('.').at(-1) ?? path));
  return new Set([...commonNames('status'), ...named]);
}

/** Schemas of time formats. */
const FORMS: Readonly<Record<TimeFormat, Partial<ValueSchema>>> = {
  date: { type: 'string', format: 'date' },
  local: { type: 'string', example: '2026-03-20T10:00:00' },
  'local-space': { type: 'string', example: '2026-03-20 10:00:00' },
  'epoch-ms': { type: 'integer', epochUnit: 'ms' },
  'epoch-seconds': { type: 'integer', epochUnit: 'seconds' },
  offset: { type: 'string', format: 'date-time' },
  utc: { type: 'string', format: 'date-time' },
};

/** Returns the found parameters as in a document. */
function queryOf(window: WindowSeen | null, agenda: AgendaSeen | null): QueryParameter[] {
  const ends = window === null ? [] : [window.from, window.to];
  const times = ends.map((name) =>
    queryParameter(name, { schema: { ...UNTOLD, ...(window === null ? {} : FORMS[window.format]) } }),
  );
  if (agenda === null) return times;
  const { name, several } = agenda;
  return [...times, queryParameter(name, { isAgenda: true, several, schema: { ...UNTOLD, type: 'string' } })];
}

/** Replaces guesses from names by observations, and removes findings on routes and scopes, which a probe cannot observe. */
function complete(comparison: Comparison, seen: Seen): void {
  for (const { area, location } of [...comparison.findings]) {
    if (area === 'routes' || area === 'scopes') comparison.drop(location);
  }
  completeStates(comparison, seen);
  comparison.recompare(...windowLocations(comparison.profile, seen), ...rowLocations(comparison.profile, seen));
  const { rows } = seen;
  const cancelled = {
    area: 'lists',
    location: 'appointments (cancelled)',
    here: 'listed, or read individually',
  } as const;
  if (rows.some(({ status }) => status === 'cancelled')) comparison.add('fits', { ...cancelled, there: 'listed' });
  else if (rows.every(({ status }) => status !== 'unknown')) {
    const there = `none among ${rows.length}`;
    const ask =
      'do lists exclude cancelled appointments? If a parameter includes them, add the parameter to appointments.query';
    comparison.add('undecided', { ...cancelled, there, ask });
  }
}

/** Adds raised flags, the frequency of each open state, and the profile's unobserved words if the profile belongs to this clinic. */
function completeStates(comparison: Comparison, { rows, reading, samples }: Seen): void {
  const flags = raisedFlags(reading, samples);
  if (flags.length === 0) comparison.drop(FLAGS_LOCATION);
  const { statuses } = comparison.profile.appointments;
  for (const change of comparison.changes) {
    const location = change.path.join('.');
    if (location === FLAGS_LOCATION) change.value = flags;
    const seen = Object.keys(location === STATUSES_LOCATION ? (change.value as object) : {}).map(folded);
    if (!Object.keys(statuses).some((word) => seen.includes(folded(word)))) continue;
    change.value = { ...statuses, ...(change.value as object) };
    change.comment = 'with the observed words';
  }
  const open = rows.filter(({ status }) => status === 'unknown');
  const counts = [...Map.groupBy(open, ({ statusWord }) => statusWord ?? 'none')];
  const counted = counts.map(([word, found]) => `${word} in ${found.length}`).join(', ');
  for (const finding of comparison.findings) {
    if (finding.location !== STATUSES_LOCATION || finding.ask === null) continue;
    finding.ask = `${finding.ask}. Observed in ${rows.length} records: ${counted}`;
  }
}

/** Maximum lead time in a profile. */
const LONGEST_LEAD_HOURS = 24 * 31;

/** Returns the lead time of a list by start in hours: at least the longest observed appointment. */
function leadOf(rows: readonly BookedAppointment[]): number {
  const longestMs = Math.max(0, ...rows.map(({ start, end }) => (end ?? start) - start));
  return Math.min(LONGEST_LEAD_HOURS, Math.max(LEAD_HOURS, Math.ceil(longestMs / DAY_MS) * 24));
}

function windowLocations({ appointments }: ClinicProfile, { window, manners, agenda, rows }: Seen): Location[] {
  const locations: Location[] = [];
  const add = (path: string[], wanted: unknown, more: Partial<Location>) => {
    locations.push({ area: 'filters', path: ['appointments', ...path], wanted, ...more });
  };
  if (window !== null && manners !== null) {
    const { leadHours, maxDays } = appointments.window;
    const { lists, toIncluded, longestDays, isRefusedAbove } = manners;
    const byStart = Math.max(leadHours, leadOf(rows));
    const lead = lists === null ? undefined : lists === 'overlap' ? leadHours : byStart;
    add(['window', 'leadHours'], lead, lead === undefined ? { ask: ASK_CLINIC.overlaps } : {});
    if (window.format === 'date') {
      const dayAsk = toIncluded === null ? ASK_CLINIC.isDayIncluded(window.to) : null;
      add(['window', 'toIncluded'], toIncluded ?? undefined, { ask: dayAsk });
    }
    const isTooLong = maxDays === null ? isRefusedAbove : longestDays < maxDays;
    const there = `${longestDays} ${isRefusedAbove ? 'at most' : 'at least'}`;
    const texts = { here: String(maxDays ?? 'any'), there, comment: 'larger values are refused' };
    add(['window', 'maxDays'], isTooLong ? longestDays : maxDays, texts);
  }
  if (agenda?.several === null) add(['agendaFilter', 'maxPerCall'], 1, {});
  return locations;
}

function rowLocations(profile: ClinicProfile, { rows, reading, samples }: Seen): Location[] {
  const wholeDays = rows.filter(({ allDay, end }) => allDay === true && end !== null);
  const isInclusive = wholeDays.some(({ start, end }) => end === start);
  const dayEnd = wholeDays.length === 0 ? undefined : isInclusive ? 'inclusive' : 'exclusive';
  const starts = samples.map(compilePaths(reading.appointments.fields.start));
  const times = starts.filter((value) => typeof value === 'string' && value.length > 10) as string[];
  const form = timeFormOf(reading.epochUnit, times) ?? undefined;
  const allDay: Location = {
    area: 'times',
    path: ['appointments', 'allDayEnd'],
    wanted: dayEnd,
    ask: dayEnd === undefined ? 'does the end of a whole day name its last day, or the day after it?' : null,
  };
  const writes: Location = {
    area: 'times',
    path: ['writes', 'times'],
    wanted: form,
    certainty: 'likely',
    ask: form === undefined ? ASK_CLINIC.timeForm : null,
  };
  const zone: Location = {
    area: 'times',
    path: ['zone'],
    wanted: undefined,
    here: profile.zone,
    there: 'times without an offset',
    ask: 'in which time zone are its times?',
  };
  return times.some((time) => !/(Z|[+-]\d\d:?\d\d)$/i.test(time)) ? [allDay, writes, zone] : [allDay, writes];
}
