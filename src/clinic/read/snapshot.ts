import { MirrorError } from '../../core/model/errors.ts';
import { type Appointment, type AppointmentPatient, agendasOf, type InvalidRow } from '../../core/model/records.ts';
import { type AppointmentSnapshot, countEach, type PartialReason } from '../../core/model/snapshots.ts';
import {
  CLOCK_TOLERANCE_MS,
  DAY_MS,
  HOUR_MS,
  type Instant,
  MINUTE_MS,
  overlaps,
  SECOND_MS,
  type TimeWindow,
} from '../../core/model/time.ts';
import { inPieces } from '../../core/pieces/in-pieces.ts';
import { headersOf } from '../../described-api/answers.ts';
import type { ClinicContext } from '../http/call.ts';
import type { Mapped, RowMapper } from '../http/rows.ts';
import { parameterWith } from '../schema/paging.ts';
import { compileAppointmentRows } from './appointment-rows.ts';
import { type Gathered, Gathering, type IsWanted, newestIn, nothingGathered } from './gathering.ts';
import { type CallsOfRead, readCalls, repeatOutdated } from './list-calls.ts';
import { type ListCall, type ReadRows, type Rows, readRows } from './lists.ts';
import { NO_SITE_ZONES, type SiteZones } from './place-zones.ts';
import { listCalls, ofTenant, widened } from './reading.ts';
import type { ReadingMemory, RememberedReading, StoredRows } from './reading-memory.ts';
import { createZone, formatInstant, type Zone } from './timestamps.ts';

/** Requested appointments: a window, and agendas or null for all. */
export interface AppointmentQuery {
  agendaIds: readonly string[] | null;
  window: TimeWindow;
  /** Memory of the previous read, for repeated requests. */
  memory?: ReadingMemory<Appointment>;
  /** Time at which the current user connected, if known: another user's read proves nothing. */
  login?: Instant | null;
  /** Zones of the rows' locations; absent: none. */
  siteZones?: SiteZones;
}

/** A query with its tenant. */
interface SnapshotQuestion extends AppointmentQuery {
  tenantId: string;
  signal: AbortSignal;
}

/** Common input of a read's steps. */
interface Work {
  context: ClinicContext;
  question: SnapshotQuestion;
  zone: Zone;
  map: RowMapper<Appointment>;
  gathered: Gathered;
}

/**
 * Reads every appointment that overlaps a window, with as many list calls as the profile's limits require. Appointments outside the window
 * or agendas are removed, whatever the server's filter returns. If the profile has a filter for changes, and memory contains a recent
 * complete read, only changes are requested. A list that changes during the read is read again as often as the profile allows; after that
 * the snapshot is partial.
 * @throws MirrorError if a page is unreadable; the read then has no result
 */
export async function readSnapshot(context: ClinicContext, question: SnapshotQuestion): Promise<AppointmentSnapshot> {
  const { profile, compiled } = context;
  const { tenantId, memory, siteZones = NO_SITE_ZONES } = question;
  const mapZoned = compiled.of(compileAppointmentRows);
  const zone = createZone(profile.zone);
  const mapOwn = ofTenant(profile, { list: 'appointments', tenantId }, (row) => mapZoned(row, siteZones));
  const share = sharedTexts();
  const work: Work = { context, question, zone, map: (row) => share(mapOwn(row)), gathered: nothingGathered() };
  if (memory === undefined) return readWindow(work, null);
  const remembered = begin(work, memory);
  if (remembered.stored === null) return readWindow(work, remembered);
  return (await readSince(work, memory, remembered)) ?? readWindow(work, begin(work, memory));
}

function begin({ context, question }: Work, memory: ReadingMemory<Appointment>): RememberedReading<Appointment> {
  const { tenantId, window, agendaIds, login = null, siteZones = NO_SITE_ZONES } = question;
  const { notModified, changedSince, wholeEveryMinutes } = context.profile.appointments.rereading;
  const paging = context.profile.appointments.paging ?? context.profile.paging;
  const trust = { conditions: notModified, changes: changedSince.parameter !== null };
  return memory.begin(
    {
      location: JSON.stringify([tenantId, login, siteZones.digest]),
      window,
      agendaIds,
      pagingHeaders: headersOf(paging),
    },
    { now: context.clock(), wholeEveryMs: wholeEveryMinutes * MINUTE_MS, ...trust },
  );
}

async function readWindow(work: Work, remembered: RememberedReading<Appointment> | null): Promise<AppointmentSnapshot> {
  const { context, question, gathered } = work;
  const startedAt = context.clock();
  const window = remembered?.window ?? question.window;
  const [rows, isWanted] = [rowsOf(work, remembered), wantedBy(question, window)];
  const before = remembered?.reusable ?? null;
  let gathering = new Gathering(gathered, isWanted, before?.holdsIn(window) === true ? before : null);
  const calls = callsOf(work, window);
  const reads: ReadRows[] = [];
  for await (const read of readCalls(calls, rows)) {
    reads.push(read);
    await inPieces(gathering.add(read.pages), question.signal);
  }
  const { all, isConsistent } = await repeatOutdated(calls, reads, rows);
  if (all !== reads) gathering = await gatheredAgain(work, all, isWanted);
  gathered.reason ??= all.find(({ reason }) => reason !== null)?.reason ?? (isConsistent ? null : 'total-mismatch');
  const whole = await inPieces(gathering.end(), question.signal);
  const { records, unusable, withoutId, unread, newestAt } = whole;
  const { reason } = gathered;
  const changedTo = changedToOf(newestAt, { startedAt, endedAt: context.clock() });
  const reusable = remembered === null || reason !== null ? null : gathering.reusable(whole, window);
  remembered?.end({ records, unusable, withoutId, changedTo }, reason === null, reusable);
  const { window: asked } = question;
  const isWider = window.fromAt < asked.fromAt || window.toAt > asked.toAt;
  const shown = isWider ? new Map([...records].filter(([, { time }]) => overlaps(time, asked))) : records;
  const content = contentOf(work, { records: shown, unusable, withoutId, unread });
  return reason === null ? { completeness: 'complete', ...content } : { completeness: 'partial', reason, ...content };
}

/** Gathers the rows of repeated calls, without those of earlier reads. */
async function gatheredAgain(
  { gathered, question }: Work,
  reads: readonly ReadRows[],
  isWanted: IsWanted,
): Promise<Gathering> {
  const { records, unusable, withoutId, unread } = nothingGathered();
  Object.assign(gathered, { records, unusable, withoutId, unread, reason: null });
  const gathering = new Gathering(gathered, isWanted, null);
  for (const { pages } of reads) await inPieces(gathering.add(pages), question.signal);
  return gathering;
}

function callsOf(work: Work, window: TimeWindow): CallsOfRead {
  const { context, question, gathered } = work;
  const callFor = (parameters: ListCall['parameters'], pageSizes: number[]) => callOf(work, parameters, pageSizes);
  return { context, gathered, signal: question.signal, all: callsFor(work, window), callFor };
}

function callsFor(
  { context: { profile }, question: { agendaIds, siteZones = NO_SITE_ZONES }, zone }: Work,
  window: TimeWindow,
) {
  const { appointments } = profile;
  return listCalls(appointments, zone, widened(window, appointments.window.format, zone, siteZones.names), agendaIds);
}

/**
 * Reads only changes.
 * @returns null if a full read is required, because the changes are unknown or suspect
 */
async function readSince(
  work: Work,
  memory: ReadingMemory<Appointment>,
  remembered: RememberedReading<Appointment>,
): Promise<AppointmentSnapshot | null> {
  const { context, question, zone, gathered } = work;
  const { stored } = remembered;
  if (stored === null) return null;
  const rows = rowsOf(work, remembered);
  const answer = await readChanges(stored, {
    ...{ context, zone, names: question.siteZones?.names ?? [] },
    isWanted: wantedBy(question, remembered.window),
    read: (parameters, stopsAt) => readRows(context, callOf(work, parameters, []), gathered, { ...rows, stopsAt }),
  });
  if ('obstacle' in answer) {
    const details = { label: 'clinic.appointments.list', obstacle: answer.obstacle };
    if (isOfNoUse(answer.obstacle)) {
      memory.leaveFilter();
      context.log.warn(details, 'clinic did not return changes as its profile declares: full reads are used');
    } else {
      memory.distrust();
      context.log.info(details, 'full read instead of changes');
    }
    return null;
  }
  remembered.end(answer, true);
  return { completeness: 'changes', ...contentOf(work, { ...answer, unread: new Map() }) };
}

function rowsOf({ map }: Work, remembered: RememberedReading<Appointment> | null): Rows {
  return remembered === null ? { map } : { map: (row) => remembered.asBefore(map(row)), pages: remembered };
}

function wantedBy({ agendaIds }: SnapshotQuestion, window: TimeWindow): IsWanted {
  const agendas = agendaIds === null ? null : new Set(agendaIds);
  return (record) =>
    overlaps(record.time, window) && (agendas === null || agendasOf(record).some((id) => agendas.has(id)));
}

function callOf({ question, gathered }: Work, parameters: ListCall['parameters'], pageSizes: number[]): ListCall {
  const { tenantId, signal } = question;
  const onRequest = () => {
    gathered.requests += 1;
  };
  return { list: 'appointments', tenantId, parameters, signal, onRequest, pageSizes };
}

function contentOf(
  { question: { window, agendaIds }, gathered: { pages, requests, repeated } }: Work,
  { records, unusable, withoutId, unread }: Omit<StoredRows<Appointment>, 'changedTo'> & Pick<Gathered, 'unread'>,
) {
  return {
    window,
    agendaIds: agendaIds === null ? null : [...agendaIds],
    records,
    unusable: [...unusable.values(), ...withoutId],
    unidentified: withoutId.length,
    unread: countEach([...unread.values()].flat()),
    pages,
    requests,
    repeated,
  };
}

/**
 * Shares repeated texts between the records of a read: rows repeat agendas, locations, treatments, patients and statuses, and parsing
 * creates each text again. Shared texts are the largest part of a record.
 * @returns a function that changes and returns a record without other users
 */
export function sharedTexts(): (mapped: Mapped<Appointment>) => Mapped<Appointment> {
  const texts = new Map<string, string>();
  const patients = new Map<string, AppointmentPatient>();
  const textOf = <Text extends string | null>(text: Text): Text => {
    if (text === null) return text;
    const existing = texts.get(text);
    if (existing !== undefined) return existing as typeof text;
    texts.set(text, text);
    return text;
  };
  const patientOf = (patient: AppointmentPatient): AppointmentPatient => {
    const existing = patients.get(patient.id);
    if (existing?.firstName === patient.firstName && existing.lastName === patient.lastName) return existing;
    patients.set(patient.id, patient);
    return patient;
  };
  return (mapped) => {
    if ('unusable' in mapped) return mapped;
    const { record } = mapped;
    record.agendaId = textOf(record.agendaId);
    record.locationId = textOf(record.locationId);
    record.treatmentId = textOf(record.treatmentId);
    record.rawStatus = textOf(record.rawStatus);
    record.patient &&= patientOf(record.patient);
    record.patientId = record.patient?.id === record.patientId ? record.patient.id : textOf(record.patientId);
    return mapped;
  };
}

/** Why changes cannot be requested: an incomplete list, or a suspect row. */
type ChangesObstacle =
  | PartialReason
  /** An unusable row, which may be any record. */
  | 'row-set-aside'
  /** A row without a time of change, or with a future one: later changes would be missed. */
  | 'change-time-missing'
  | 'change-time-ahead'
  /** Rows with much older changes: the clinic ignores the parameter. */
  | 'filter-ignored'
  /** The clinic refuses the parameter, or requires others with it. */
  | 'filter-refused';

/** Input of a request for changes. */
interface ChangesQuestion {
  context: ClinicContext;
  zone: Zone;
  /** Other possible zones of a local time. */
  names: Iterable<string>;
  isWanted: IsWanted;
  read(parameters: ListCall['parameters'], stopsAt: (row: Mapped<Appointment>) => boolean): Promise<ReadRows>;
}

/** A time without an offset is ambiguous by an hour when clocks are set back. */
const AMBIGUOUS_MS = HOUR_MS;
/** A filtered answer may contain slightly older changes. */
const FILTER_SLACK_MS = DAY_MS;

/**
 * Requests changes of all agendas and times, so that appointments moved outside the window are included, and merges them with known
 * records. A known record remains known at any new time. Deletions are not included.
 * @returns all known records, or why the changes are unusable
 * @throws MirrorError if a page is unreadable
 */
async function readChanges(
  existing: StoredRows<Appointment> & { changedTo: Instant },
  { context, zone, names, isWanted, read }: ChangesQuestion,
): Promise<StoredRows<Appointment> | { obstacle: ChangesObstacle }> {
  const { parameter, overlapSeconds, format } = context.profile.appointments.rereading.changedSince;
  if (parameter === null) return { obstacle: 'filter-refused' };
  const sinceAt = existing.changedTo - overlapSeconds * SECOND_MS;
  const since = sinceOf(widened({ fromAt: sinceAt, toAt: sinceAt }, format, zone, names).fromAt, context, zone);
  const startedAt = context.clock();
  const obstacleOf = (row: Mapped<Appointment>) => obstacleInRow(row, since.at, context.clock());
  const answer = await read([parameterWith(parameter, since.text)], (row) => obstacleOf(row) !== null).catch(refused);
  if (answer === null) return { obstacle: 'filter-refused' };
  const endedAt = context.clock();
  const rows = answer.pages.flat();
  const obstacle = rows.map(obstacleOf).find((one) => one !== null) ?? answer.reason;
  if (obstacle !== null) return { obstacle };
  const changed = rows.flatMap((row) => ('record' in row ? [row.record] : []));
  const changedTo = changedToOf(newestIn(changed), { startedAt, endedAt }) ?? existing.changedTo;
  const buried = rows.flatMap((row) => ('unusable' in row ? [row.unusable] : []));
  return { ...putOver(existing, changed, buried, isWanted), changedTo: Math.max(existing.changedTo, changedTo) };
}

/** Returns whether the clinic does not filter as the profile defines. */
function isOfNoUse(obstacle: ChangesObstacle): boolean {
  return obstacle === 'filter-ignored' || obstacle === 'filter-refused';
}

function obstacleInRow(row: Mapped<Appointment>, sinceAt: Instant, now: Instant): ChangesObstacle | null {
  if ('unusable' in row) return row.unusable.isTombstone === true ? null : 'row-set-aside';
  const { updatedAt } = row.record;
  if (updatedAt === null) return 'change-time-missing';
  if (updatedAt > now + CLOCK_TOLERANCE_MS) return 'change-time-ahead';
  return updatedAt < sinceAt - FILTER_SLACK_MS ? 'filter-ignored' : null;
}

/**
 * Returns the time up to which a read has seen all changes: the newest change of these records by the clinic's clock, minus the duration of
 * the read, because the first row may have changed before the last one was read.
 * @returns null if the newest change is unknown or in the future
 */
function changedToOf(
  newestAt: Instant | null,
  { startedAt, endedAt }: { startedAt: Instant; endedAt: Instant },
): Instant | null {
  if (newestAt === null || newestAt > endedAt + CLOCK_TOLERANCE_MS) return null;
  return newestAt - Math.max(0, endedAt - startedAt);
}

/** Returns the parameter's time, never later than `at`, whether or not the clinic includes the exact time. */
function sinceOf(at: Instant, { profile }: ClinicContext, zone: Zone): { at: Instant; text: string } {
  const { format } = profile.appointments.rereading.changedSince;
  const isLocal = format === 'local' || format === 'local-space';
  const earlierMs = format === 'date' ? DAY_MS : isLocal ? AMBIGUOUS_MS : 0;
  const sinceAt = Math.floor((at - earlierMs) / SECOND_MS) * SECOND_MS;
  return { at: sinceAt, text: formatInstant(sinceAt, format, zone) };
}

function refused(error: unknown): null {
  if (error instanceof MirrorError && (error.status === 400 || error.status === 422)) return null;
  throw error;
}

/** Merges changes with known records, and removes cancelled or deleted ones. Returns the given maps if nothing changed. */
function putOver(
  existing: StoredRows<Appointment>,
  changed: readonly Appointment[],
  tombstones: readonly InvalidRow[],
  isWanted: IsWanted,
): Omit<StoredRows<Appointment>, 'changedTo'> {
  const isNews = (record: Appointment) => {
    const before = existing.records.get(record.id);
    const isOlder = before !== undefined && (before.updatedAt ?? 0) > (record.updatedAt ?? 0);
    const isOurs = before !== undefined || existing.unusable.has(record.id) || isWanted(record);
    return isOurs && !isOlder && before !== record;
  };
  const news = new Map(changed.filter(isNews).map((record) => [record.id, record]));
  const isShown = (id: string) => existing.records.has(id) || existing.unusable.has(id) || news.has(id);
  const off = tombstones.filter(({ recordId }) => isShown(recordId ?? ''));
  if (news.size + off.length === 0) return existing;
  const records = new Map(existing.records);
  const unusable = new Map(existing.unusable);
  for (const [id, record] of news) {
    records.set(id, record);
    unusable.delete(id);
  }
  for (const one of off) {
    records.delete(one.recordId ?? '');
    unusable.set(one.recordId ?? '', one);
  }
  return { ...existing, records, unusable };
}
