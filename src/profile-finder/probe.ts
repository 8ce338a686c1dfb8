import { compilePaths, folded, isJsonObject, type JsonObject } from '../clinic/http/rows.ts';
import { type BookedAppointment, compileBookings } from '../clinic/read/appointment-rows.ts';
import { emptyPathsIn } from '../clinic/read/reading-remarks.ts';
import { compileRaised, compileStatuses } from '../clinic/read/statuses.ts';
import type { TimeFormat } from '../clinic/read/timestamps.ts';
import type { ClinicProfile } from '../clinic/schema/profile.ts';
import { RESOURCE_PATHS, type ResourceName } from '../clinic/schema/resources.ts';
import type { AppointmentStatus } from '../model/records.ts';
import type { Progress } from '../model/tasks.ts';
import { DAY_MS, MINUTE_MS } from '../model/time.ts';
import { concluded, type ProfileCheck, readRows } from './check-spec.ts';
import { compareSpecification, timeFormOf } from './compare.ts';
import { Comparison, type Finding, type ProfileChange, propose } from './findings.ts';
import { LEAD_HOURS } from './lists.ts';
import { commonNames } from './names.ts';
import { type QueryParameter, queryParameter, type SpecifiedOperation } from './openapi.ts';
import { Asker, type PagingSeen, probePaging, rowsIn } from './questions.ts';
import { type ProbedClinic, probeTenant } from './tenants.ts';
import { sampled, UNTOLD, type ValueSchema } from './values.ts';
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

/** What a probe found; `requests` were sent, all of them GET. */
export interface Probe extends ProfileCheck {
  requests: number;
}

/** Lists other than the appointments whose first page is looked at. */
const CATALOGUES = ['locations', 'agendas', 'treatments', 'patients'] as const satisfies readonly ResourceName[];
/** An id that no clinic has. */
const NO_ID = 'clinic-mirror-probe';

/** What a probe saw of appointments other than their fields. */
interface Seen {
  window: WindowSeen | null;
  manners: WindowManners | null;
  agenda: AgendaSeen | null;
  rows: readonly BookedAppointment[];
  /** The same rows as they came, and how they are read so far. */
  samples: readonly JsonObject[];
  reading: ClinicProfile;
}

/**
 * Finds out by reading how a clinic answers, and proposes a profile. Nothing is changed there, and nothing of what is read is kept but
 * names of fields, words of statuses and forms of times.
 * @throws MirrorError `probe-exhausted`, `probe-empty` (there are too few appointments around now), `probe-refused` (every question about
 *   appointments was), and those of the API
 */
export async function probeClinic(access: ProbedClinic, progress: Progress, signal: AbortSignal): Promise<Probe> {
  const { context } = access;
  const tenants = new Comparison();
  progress('the tenant');
  const { tenantId, profile } = await probeTenant(tenants, access, signal);
  const asker = new Asker({ context, tenantId, signal });
  const catalogues = await readCatalogues(asker, profile, progress);
  progress('the window of appointments');
  // A whole minute, so that no form of a time has to leave anything out.
  const now = Math.floor(context.clock() / MINUTE_MS) * MINUTE_MS;
  const window = await probeWindow(asker, now, profile);
  const base = window === null ? [] : windowParameters(window, usualWindow(now), profile);
  progress('paging');
  const paging = await probePaging(asker, base, profile.paging);
  if (paging === null) throw asker.noEvidence();
  const appointments = operationOf(profile, 'appointments', { answer: sampled(paging.bodies, statesOf(profile)) });

  // How rows are read comes first: what follows looks at agendas, times and statuses.
  const { changes } = compareSpecification(
    { operations: [...catalogues.operations, appointments], remarks: [] },
    profile,
  );
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
  const compared = compareSpecification({ operations: [...lists, ...singles.operations], remarks: [] }, profile);
  const samples = paging.rows.filter(isJsonObject);
  const comparison = completed(compared, profile, { agenda, manners, window, rows, samples, reading });
  comparison.findings.push(...tenants.findings);
  comparison.changes.push(...tenants.changes);
  const check = concluded(comparison, profile, catalogues.remarks, (proposed) => {
    const read = readRows(paging.rows, proposed);
    const empty = catalogues.rows.flatMap(({ list, found }) => emptyPathsIn(list, found, proposed));
    return read && { ...read, remarks: [...read.remarks, ...empty] };
  });
  return { ...check, requests: asker.requests };
}

/** What the first pages of the lists other than the appointments told. */
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

/** What is said of one list, or of a single record of it. */
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

function headersSeen({ hasLinkHeader, envelope: { totalPath } }: PagingSeen) {
  return { hasLinkHeader, totalHeader: totalPath?.startsWith('header:') === true ? totalPath : null };
}

/** Reads one appointment alone, its patient, and an appointment that is not there. */
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

/** Fields that hold a state, folded: those that are known, and the one that the profile names. */
function statesOf({ appointments }: ClinicProfile): ReadonlySet<string> {
  const named = appointments.fields.status.map((path) => folded(path.split('.').at(-1) ?? path));
  return new Set([...commonNames('status'), ...named]);
}

/** The forms of times as a document shows them. */
const FORMS: Readonly<Record<TimeFormat, Partial<ValueSchema>>> = {
  date: { type: 'string', format: 'date' },
  local: { type: 'string', example: '2026-03-20T10:00:00' },
  'local-space': { type: 'string', example: '2026-03-20 10:00:00' },
  'epoch-ms': { type: 'integer', epochUnit: 'ms' },
  'epoch-seconds': { type: 'integer', epochUnit: 'seconds' },
  offset: { type: 'string', format: 'date-time' },
  utc: { type: 'string', format: 'date-time' },
};

/** The parameters that a probe found, in the terms of a document. */
function queryOf(window: WindowSeen | null, agenda: AgendaSeen | null): QueryParameter[] {
  const ends = window === null ? [] : [window.from, window.to];
  const times = ends.map((name) =>
    queryParameter(name, { schema: { ...UNTOLD, ...(window === null ? {} : FORMS[window.format]) } }),
  );
  if (agenda === null) return times;
  const { name, several } = agenda;
  return [...times, queryParameter(name, { isAgenda: true, several, schema: { ...UNTOLD, type: 'string' } })];
}

const FLAGS = 'appointments.flags';
const STATUSES = 'appointments.statuses';
/** What a document leaves open and a probe looks at itself. */
const LOOKED_AT = new Set([
  'appointments.window.leadHours',
  'appointments.window.toIncluded',
  'appointments.agendaFilter.maxPerCall',
  'appointments.allDayEnd',
]);

/** A comparison with what was seen in the place of what could not be read from names. */
function completed(compared: Comparison, profile: ClinicProfile, seen: Seen): Comparison {
  const comparison = new Comparison();
  const flags = raisedFlags(seen);
  const isCertain = (location: string) => !LOOKED_AT.has(location) && (location !== FLAGS || flags.length > 0);
  const findings = compared.findings.filter(
    ({ area, location }) => area !== 'routes' && area !== 'scopes' && isCertain(location),
  );
  const changes = compared.changes.filter(({ path }) => isCertain(path.join('.')));
  comparison.findings.push(...findings.map((finding) => withRows(finding, seen.rows)));
  comparison.changes.push(
    ...changes.map((change) =>
      change.path.join('.') === FLAGS ? { ...change, value: flags } : withProfileWords(change, profile),
    ),
  );
  completeWindow(comparison, profile, seen);
  completeDuration(comparison, seen);
  completeRows(comparison, profile, seen);
  return comparison;
}

/** What gives the time back: a flag for it is proposed although no row had it up, since none may have been cancelled yet. */
const FREEING: readonly AppointmentStatus[] = ['cancelled', 'no_show'];

/**
 * Flags that were seen to tell another status than the word of the same row: without such a row a field is just a field. Those of a
 * status that frees the time stay as long as no word tells it.
 */
function raisedFlags({ reading: { appointments }, samples }: Seen): ClinicProfile['appointments']['flags'] {
  const byWord = compileStatuses({ ...appointments, flags: [] });
  const wordOf = compilePaths(appointments.fields.status);
  const read = samples.map((row) => {
    const word = wordOf(row) ?? null;
    return { row, status: byWord(word === null ? null : String(word), row) };
  });
  return appointments.flags.filter((flag) => {
    const isRaised = compileRaised(flag);
    const isFreeing = FREEING.includes(flag.status) && read.every(({ status }) => status !== flag.status);
    const overrides = (status: AppointmentStatus) =>
      status !== flag.status && (flag.over === null || flag.over.includes(status));
    return isFreeing || read.some(({ row, status }) => isRaised(row) && overrides(status));
  });
}

/** The question what states mean says how many rows have each. */
function withRows(finding: Finding, rows: readonly BookedAppointment[]): Finding {
  if (finding.location !== STATUSES || finding.ask === null) return finding;
  const open = rows.filter(({ status }) => status === 'unknown');
  const counts = [...Map.groupBy(open, ({ statusWord }) => statusWord ?? 'none')];
  const counted = counts.map(([word, found]) => `${word} in ${found.length}`).join(', ');
  return { ...finding, ask: `${finding.ask}. Of ${rows.length} rows: ${counted}` };
}

/** Only some words were seen: those that the profile knows stay, if it is of this clinic at all. */
function withProfileWords(change: ProfileChange, { appointments: { statuses } }: ClinicProfile): ProfileChange {
  if (change.path.join('.') !== STATUSES) return change;
  const value = change.value as object;
  const seen = new Set(Object.keys(value).map(folded));
  if (!Object.keys(statuses).some((word) => seen.has(folded(word)))) return change;
  return { ...change, value: { ...statuses, ...value }, comment: 'with the words seen' };
}

interface Looked {
  area: Finding['area'];
  /** Where in `appointments`. */
  at: readonly string[];
  now: unknown;
  /** Null: it could not be told. */
  wanted: unknown;
  ask: string;
}

/** Says that a value fits or what it should be, else asks. */
function compareLooked(comparison: Comparison, { area, at, now, wanted, ask }: Looked): void {
  const [path, here] = [['appointments', ...at], String(now)];
  if (wanted === null) comparison.add('undecided', { area, location: path.join('.'), here, ask });
  else comparison.compare({ area, path, now, wanted, here, comment: `not ${here}, as it was seen` });
}

/** Most that a profile takes. */
const LONGEST_LEAD_HOURS = 24 * 31;

/** How much earlier a list by start is asked for, in hours: no less than the longest appointment that was seen. */
function leadOf(rows: readonly BookedAppointment[]): number {
  const longestMs = Math.max(0, ...rows.map(({ start, end }) => (end ?? start) - start));
  return Math.min(LONGEST_LEAD_HOURS, Math.max(LEAD_HOURS, Math.ceil(longestMs / DAY_MS) * 24));
}

function completeWindow(comparison: Comparison, { appointments }: ClinicProfile, seen: Seen): void {
  const { window, manners, agenda, rows } = seen;
  const { leadHours, toIncluded, maxDays } = appointments.window;
  const area = 'filters';
  if (window !== null && manners !== null) {
    const { lists, longestDays, isRefusedAbove } = manners;
    const byStart = Math.max(leadHours, leadOf(rows));
    const lead = lists === null ? null : lists === 'overlap' ? leadHours : byStart;
    const ask = 'does it list what overlaps the window, or only what starts in it (then set leadHours)?';
    compareLooked(comparison, { area, at: ['window', 'leadHours'], now: leadHours, wanted: lead, ask });
    if (window.format === 'date') {
      const day = {
        now: toIncluded,
        wanted: manners.toIncluded,
        ask: `does the day in ${window.to} belong to the answer?`,
      };
      compareLooked(comparison, { area, at: ['window', 'toIncluded'], ...day });
    }
    const isTooLong = maxDays === null ? isRefusedAbove : longestDays < maxDays;
    const path = ['appointments', 'window', 'maxDays'];
    const there = `${longestDays} ${isRefusedAbove ? 'at most' : 'at least'}`;
    const days = { here: String(maxDays ?? 'any'), there, comment: 'more is refused' };
    comparison.compare({ area, path, now: maxDays, wanted: isTooLong ? longestDays : maxDays, ...days });
  }
  if (agenda === null || agenda.several !== null) return;
  const { maxPerCall: now } = appointments.agendaFilter;
  compareLooked(comparison, { area, at: ['agendaFilter', 'maxPerCall'], now, wanted: 1, ask: '' });
}

/** Durations from this number on are seconds: no list has appointments of five hours alone. */
const LEAST_SECONDS = 300;

function completeDuration(comparison: Comparison, { reading: { appointments }, samples }: Seen): void {
  const { fields, durationUnit: now } = appointments;
  const read = compilePaths(fields.duration);
  const lengths = samples.map((row) => Number(read(row) || Number.NaN)).filter((length) => length > 0);
  if (lengths.length === 0 || lengths.some((length) => length < LEAST_SECONDS)) return;
  const ask = `is ${fields.duration.join(', ')} in seconds? It is ${LEAST_SECONDS} or more in every row`;
  const path = ['appointments', 'durationUnit'];
  if (now === 'seconds') return;
  const comment = 'by its numbers';
  comparison.compare({ area: 'times', path, now, wanted: 'seconds', certainty: 'likely', ask, comment });
}

function completeRows(comparison: Comparison, profile: ClinicProfile, { rows, reading, samples }: Seen): void {
  const wholeDays = rows.filter(({ allDay, end }) => allDay === true && end !== null);
  const isInclusive = wholeDays.some(({ start, end }) => end === start);
  const wanted = wholeDays.length === 0 ? null : isInclusive ? 'inclusive' : 'exclusive';
  const ask = 'does the end of a whole day name its last day, or the day after it?';
  const { allDayEnd: now } = profile.appointments;
  compareLooked(comparison, { area: 'times', at: ['allDayEnd'], now, wanted, ask });
  const starts = samples.map(compilePaths(reading.appointments.fields.start));
  const times = starts.filter((value) => typeof value === 'string' && value.length > 10) as string[];
  const { times: form } = profile.writes;
  const seenForm = timeFormOf(reading.epochUnit, times);
  if (seenForm === null) {
    const inWhich = 'in which form does it take times?';
    comparison.add('undecided', {
      area: 'times',
      location: 'writes.times',
      here: form,
      certainty: 'likely',
      ask: inWhich,
    });
  } else {
    const comment = `not ${form}, as it was seen`;
    comparison.compare({
      area: 'times',
      path: ['writes', 'times'],
      now: form,
      wanted: seenForm,
      certainty: 'likely',
      comment,
    });
  }
  if (times.some((time) => !/(Z|[+-]\d\d:?\d\d)$/i.test(time))) {
    const zone = { here: profile.zone, there: 'times without an offset', ask: 'in which time zone are its times?' };
    comparison.add('undecided', { area: 'times', location: 'zone', ...zone });
  }
  const cancelled = { area: 'lists', location: 'appointments (cancelled)', here: 'listed, or read alone' } as const;
  if (rows.some(({ status }) => status === 'cancelled')) comparison.add('fits', { ...cancelled, there: 'listed' });
  else if (rows.every(({ status }) => status !== 'unknown')) {
    const there = `none among ${rows.length}`;
    const question =
      'do lists leave cancelled appointments out? If a parameter includes them, put it in appointments.query';
    comparison.add('undecided', { ...cancelled, there, ask: question });
  }
}
