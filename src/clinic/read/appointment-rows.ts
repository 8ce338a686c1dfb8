import { LONGEST_URL } from '../../core/model/items.ts';
import type {
  Appointment,
  AppointmentPatient,
  AppointmentStatus,
  AppointmentTime,
  InvalidRow,
} from '../../core/model/records.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';
import { isOfSeveralPatients } from '../../core/model/visits.ts';
import { isJsonObject, type JsonObject } from '../../described-api/paths.ts';
import { message } from '../../messages/message.ts';
import { clinicError } from '../http/errors.ts';
import { asId, compilePaths, folded, type Mapped, type ValueReader } from '../http/rows.ts';
import type { RecordOf } from '../schema/fields.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import type { RaisedBy } from '../schema/resources.ts';
import { appointment } from '../schema/shapes.ts';
import { withEmptyStarts } from './empty-starts.ts';
import { splitInterval } from './intervals.ts';
import { RowZone, type ZonedMapper } from './place-zones.ts';
import { anyRaised, compileRaised } from './raised-flags.ts';
import {
  compileFields,
  compileFullName,
  compileIds,
  compileRecords,
  compileRows,
  compileTimestamp,
  type FieldReader,
  type FieldReaders,
  fail,
  type OnUnreadable,
  tolerant,
} from './records.ts';
import { compileSeveral } from './several-values.ts';
import { dateMsOf, dateText, type Timestamp, type Zone } from './timestamps.ts';

/** Returns the status of a row from its status word and flags. */
export type StatusReader = (raw: string | null, row: JsonObject) => AppointmentStatus;

/** Builds the status table of a profile. An exact word applies first; otherwise case, spaces, hyphens and underscores are ignored. */
export function compileStatuses(appointments: ClinicProfile['appointments']): StatusReader {
  const named = new Map(Object.entries(appointments.statuses));
  const spelled = new Map([...named].map(([word, status]) => [folded(word), status]));
  const flags = appointments.flags.map((flag) => ({ ...flag, isRaised: compileRaised(flag) }));
  return (raw, row) => {
    let status = raw === null ? appointments.statusMissing : (named.get(raw) ?? spelled.get(folded(raw)) ?? 'unknown');
    for (const { over, isRaised, status: meant } of flags) {
      const applies = over === null || over.includes(status);
      if (applies && isRaised(row)) status = meant;
    }
    return status;
  };
}

/**
 * Resolves a status entered by a user, as clinic-mirror's or the clinic's word (`isTheirs`), in any spelling. Returns the status and the
 * clinic's word.
 * @throws MirrorError `settings`, code `status-unmapped`, for a word missing from the profile; the error lists valid words
 */
export function statusMeant(
  named: string,
  { statuses, statusWords }: Pick<ClinicProfile['appointments'], 'statuses' | 'statusWords'>,
): { status: AppointmentStatus; word: string; isTheirs: boolean } {
  const spelled = folded(String(named));
  const theirs = Object.entries({ ...statuses, ...swapped(statusWords) });
  const ours = theirs.find(([, status]) => folded(status) === spelled)?.[1];
  if (ours !== undefined) {
    const word = statusWords[ours] ?? theirs.find(([, status]) => status === ours)?.[0];
    if (word !== undefined) return { status: ours, word, isTheirs: false };
  }
  const own = theirs.find(([word]) => word === named) ?? theirs.find(([word]) => folded(word) === spelled);
  if (own !== undefined) return { status: own[1], word: own[0], isTheirs: true };
  const supported = [...new Set(theirs.map(([, status]) => status))].filter((status) => status !== 'unknown');
  const remedy = message('clinic.status-unmapped.choose', { statuses: supported.join(', ') });
  throw clinicError('status-unmapped', message('clinic.status-unmapped'), { remedy });
}

function swapped(words: ClinicProfile['appointments']['statusWords']): Record<string, AppointmentStatus> {
  return Object.fromEntries(Object.entries(words).map(([status, word]) => [word, status as AppointmentStatus]));
}

/** Profile settings that mark deleted records. */
interface TombstoneRules {
  fields: { id: readonly string[] };
  deletedFlags: readonly RaisedBy[];
}

/**
 * Wraps a mapper: a row with a set `deletedFlags` becomes a tombstone, whatever its other content, and so does an unreadable cancelled row.
 * A tombstone requires only an id.
 * @param isCancelled whether an unreadable row reports that its record is cancelled
 */
export function withTombstones<Model, Rest extends unknown[]>(
  { fields, deletedFlags }: TombstoneRules,
  map: (row: unknown, ...rest: Rest) => Mapped<Model>,
  isCancelled: (row: JsonObject) => boolean = () => false,
): (row: unknown, ...rest: Rest) => Mapped<Model> {
  const isDeleted = anyRaised(deletedFlags);
  const readId = compilePaths(fields.id);
  const tombstoneOf = (row: JsonObject): { unusable: InvalidRow } | null => {
    const recordId = asId(readId(row));
    return recordId === null ? null : { unusable: { recordId, code: 'tombstone', field: 'status', isTombstone: true } };
  };
  return (row, ...rest) => {
    if (!isJsonObject(row)) return map(row, ...rest);
    const deleted = isDeleted(row) ? tombstoneOf(row) : null;
    if (deleted !== null) {
      const content = map(row, ...rest);
      return 'record' in content ? { ...deleted, deleted: content.record } : deleted;
    }
    const mapped = map(row, ...rest);
    return 'unusable' in mapped && isCancelled(row) ? (tombstoneOf(row) ?? mapped) : mapped;
  };
}

type Row = RecordOf<typeof appointment>;

/** An appointment of the API: `status` as clinic-mirror's word, by the profile's table and flags, and `statusWord` as the clinic's. */
export interface BookedAppointment extends Omit<Row, 'status'> {
  status: AppointmentStatus;
  statusWord: string | null;
}

/** Values of a booked or moved appointment; a separate call changes its status. */
export type AppointmentValues = Partial<Omit<Row, 'status'>>;

/** Compiles the mapping of appointments with all fields of the API. */
export function compileBookings(profile: ClinicProfile): ZonedMapper<BookedAppointment> {
  const rowZone = new RowZone(profile);
  const { fields, durationUnit, words } = profile.appointments;
  const mapperOf = (each: typeof fields) => compileRecords(appointment, each, { ...profile, rowZone }, words);
  const mapNumbers = mapperOf(fields);
  const mapSplit = mapperOf({ ...fields, start: ['split:start'], end: ['split:end'], duration: ['split:duration'] });
  const [startOf, endOf, durationOf] = [fields.start, fields.end, fields.duration].map(compilePaths) as [
    ValueReader,
    ValueReader,
    ValueReader,
  ];
  /** Splits an interval, and converts a duration with units to the profile's unit. */
  const map: typeof mapNumbers = (row) => {
    if (!isJsonObject(row)) return mapNumbers(row);
    const interval = splitInterval(startOf(row));
    const stated = interval === null ? durationOf(row) : interval.duration;
    const named = typeof stated === 'string' ? durationIn(stated.trim()) : null;
    if (interval === null && named === null) return mapNumbers(row);
    return mapSplit({
      ...row,
      'split:start': interval?.start ?? startOf(row),
      'split:end': interval === null ? endOf(row) : interval.end,
      'split:duration': named === null ? stated : String(named / (durationUnit === 'minutes' ? MINUTE_MS : SECOND_MS)),
    });
  };
  const statusOf = compileStatuses(profile.appointments);
  const namesIn = compileFullName(profile.appointments.patientFullName, profile);
  return rowZone.within((row) => {
    const mapped = map(row);
    if ('unusable' in mapped) return { unusable: mapped.unusable };
    const whole = row as JsonObject;
    const { status, ...rest } = mapped.record;
    const stated = { firstName: rest.patientFirstName, lastName: rest.patientLastName };
    const { firstName: patientFirstName, lastName: patientLastName } = namesIn(whole, stated);
    const record = { ...rest, patientFirstName, patientLastName, status: statusOf(status, whole), statusWord: status };
    return { ...mapped, record };
  });
}

/**
 * Compiles the mapping of appointments for synchronisation: an unreadable field outside the synchronised ones does not exclude a row. In
 * addition to the codes of `compileRows`, a row is unusable with `end-before-start`, `absurd-duration` and `unknown-zone`. An invalid
 * `updatedAt` is treated as absent, since it only decides between two versions.
 */
export function compileAppointmentRows(profile: ClinicProfile): ZonedMapper<Appointment> {
  const { fields, words } = profile.appointments;
  const rowZone = new RowZone(profile);
  const zoned = { ...profile, rowZone };
  const read = compileFields(appointment, fields, zoned, words);
  const statusOf = compileStatuses(profile.appointments);
  const timeOf = compileTime(zoned, read);
  const updatedAt = tolerant(compileTimestamp(fields.updatedAt, 'updatedAt', zoned));
  const severalIn = compileSeveral(profile.appointments);
  const agendaIdsOf = tolerant(compileIds(fields.agendaId, 'agendaId'));
  const namesIn = compileFullName(profile.appointments.patientFullName, profile);
  const teleVisitOf = compileTeleVisit(profile.appointments.teleVisitUrl);

  const map = compileRows(read.id, (row, onUnreadable): Appointment => {
    const id = read.id(row);
    const rawStatus = read.status(row);
    const several = severalIn(row);
    const named = patientOf(row, read, namesIn, onUnreadable);
    // The first name in a list may be another patient's.
    const patient = isOfSeveralPatients(several) ? null : named;
    const teleVisitUrl = teleVisitOf(row, named);
    return {
      id,
      agendaId: read.agendaId(row),
      locationId: read.locationId(row),
      patientId: read.patientId(row),
      patient,
      treatmentId: read.treatmentId(row),
      time: timeOf(row),
      status: statusOf(rawStatus, row),
      rawStatus,
      updatedAt: instantOf(updatedAt(row, onUnreadable)),
      ...(teleVisitUrl === null ? {} : { teleVisitUrl }),
      ...several,
    };
  });
  const statusWordOf = tolerant(read.status);
  const isCancelled = (row: JsonObject) => statusOf(statusWordOf(row), row) === 'cancelled';
  const mapBuried = withEmptyStarts(profile, withTombstones(profile.appointments, map, isCancelled));
  return rowZone.within((row) => {
    const mapped = mapBuried(row);
    if ('record' in mapped || mapped.unusable.recordId === null || !isJsonObject(row)) return mapped;
    const [agendaId, another] = agendaIdsOf(row) ?? [];
    // A row of several agendas may concern any target.
    if (agendaId === undefined || another !== undefined) return mapped;
    return { ...mapped, unusable: { ...mapped.unusable, agendaId } };
  });
}

function patientOf(
  row: JsonObject,
  read: FieldReaders<typeof appointment>,
  namesIn: ReturnType<typeof compileFullName>,
  onUnreadable: OnUnreadable,
): AppointmentPatient | null {
  const id = read.patientId(row);
  const stated = {
    firstName: read.patientFirstName(row, onUnreadable),
    lastName: read.patientLastName(row, onUnreadable),
  };
  const { firstName, lastName } = namesIn(row, stated);
  if (id === null || (firstName === null && lastName === null)) return null;
  return { id, firstName, lastName };
}

/** A date is sufficient for whole days, but not for the time of a change. */
function instantOf(stated: Timestamp | null): Instant | null {
  return stated?.kind === 'instant' ? stated.at : null;
}

/** Profile settings for times. */
interface TimeRules extends Pick<ClinicProfile['appointments'], 'allDayEnd' | 'longestDays'> {
  zone: Zone;
  /** The row's duration in milliseconds; null if absent. */
  durationMs: FieldReader<number | null>;
}

function compileTime(
  profile: ClinicProfile & { rowZone: Zone },
  read: FieldReaders<typeof appointment>,
): FieldReader<AppointmentTime> {
  const { fields, durationUnit, allDayEnd, longestDays } = profile.appointments;
  const startOf = compileTimestamp(fields.start, 'start', profile);
  const statedStart = compilePaths(fields.start);
  const intervalOf = (row: JsonObject) => splitInterval(statedStart(row));
  const statedEnd = compileTimestamp(fields.end, 'end', profile);
  const intervalEnd = compileTimestamp(['end'], 'end', profile);
  const endOf: typeof statedEnd = (row) => {
    const interval = intervalOf(row);
    return interval === null ? statedEnd(row) : intervalEnd({ end: interval.end });
  };
  const statedDuration = compileDuration(fields.duration, durationUnit === 'minutes' ? MINUTE_MS : SECOND_MS);
  const durationMs: typeof statedDuration = (row) => {
    const interval = intervalOf(row);
    if (interval?.duration == null) return interval === null ? statedDuration(row) : null;
    return durationIn(interval.duration) ?? fail('bad-time', 'start');
  };
  const rules: TimeRules = { allDayEnd, longestDays, zone: profile.rowZone, durationMs };
  return (row) => {
    const start = startOf(row) ?? fail('missing-field', 'start');
    const end = endOf(row);
    if (start.kind === 'date' || read.allDay(row) === true) return allDay(start, end, rules);
    return timed(start.at, end?.kind === 'instant' ? end.at : endFrom(start.at, end, rules.durationMs(row)), rules);
  };
}

/** ISO 8601 (`PT1H30M`), and hours with minutes (`0:30`, `00:30:00`). */
const ISO_DURATION = /^P(?:(\d+)D)?(?:T(?:(\d+(?:\.\d+)?)H)?(?:(\d+(?:\.\d+)?)M)?(?:(\d+(?:\.\d+)?)S)?)?$/i;
const CLOCK_DURATION = /^()(\d{1,2}):([0-5]\d)(?::([0-5]\d))?$/;

/** Parses a duration with units to milliseconds; null for other text. */
export function durationIn(text: string): number | null {
  const [, ...parts] = ISO_DURATION.exec(text) ?? CLOCK_DURATION.exec(text) ?? [];
  if (!parts.some((part) => part !== undefined && part !== '')) return null;
  const [days = 0, hours = 0, minutes = 0, seconds = 0] = parts.map((part) => Number(part ?? 0));
  return days * DAY_MS + hours * HOUR_MS + minutes * MINUTE_MS + seconds * SECOND_MS;
}

/** Reads a number, also as text and with any fraction, or a text with units. */
function compileDuration(paths: readonly string[], unitMs: number): FieldReader<number | null> {
  const find = compilePaths(paths);
  return (row) => {
    const value = find(row);
    if (value === null || value === '') return null;
    const named = typeof value === 'string' ? durationIn(value.trim()) : null;
    if (named !== null) return Math.round(named);
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof number !== 'number' || !Number.isFinite(number)) return fail('wrong-type', 'duration');
    return Math.round(number * unitMs);
  };
}

/** Returns the end from the duration. A date is no end time. */
function endFrom(startAt: Instant, end: Timestamp | null, durationMs: number | null): Instant {
  if (durationMs === null) return end === null ? fail('missing-field', 'end') : fail('bad-time', 'end');
  return startAt + durationMs;
}

function timed(startAt: Instant, endAt: Instant, rules: TimeRules): AppointmentTime {
  checkSpan(startAt, endAt, rules);
  return { kind: 'timed', startAt, endAt };
}

/** Returns whole days. Without an end, or with the end on the first day, the result is one day. */
function allDay(start: Timestamp, end: Timestamp | null, rules: TimeRules): AppointmentTime {
  const { zone } = rules;
  const startMs = dateMsOf(start, zone);
  const statedEndMs = end === null ? startMs : endDateOf(end, rules);
  if (statedEndMs < startMs) fail('end-before-start', 'end');
  const endMs = Math.max(statedEndMs, startMs + DAY_MS);
  const startAt = zone.startOfDay(startMs);
  const endAt = zone.startOfDay(endMs);
  checkSpan(startAt, endAt, rules);
  return { kind: 'all-day', startDate: dateText(startMs), endDate: dateText(endMs), startAt, endAt };
}

/** Returns the first date after the end, as midnight in UTC. A time after midnight includes its day, except for midnight in UTC. */
function endDateOf(end: Timestamp, { allDayEnd, zone }: TimeRules): number {
  if (end.kind === 'date') return allDayEnd === 'inclusive' ? end.dateMs + DAY_MS : end.dateMs;
  const dateMs = dateMsOf(end, zone);
  return end.at === dateMs || end.at === zone.startOfDay(dateMs) ? dateMs : dateMs + DAY_MS;
}

function checkSpan(startAt: Instant, endAt: Instant, { longestDays }: TimeRules): void {
  if (endAt < startAt) fail('end-before-start', 'end');
  if (endAt - startAt > longestDays * DAY_MS) fail('absurd-duration', 'end');
}

/** Shorter names occur in URLs by chance. */
const SHORTEST_NAME = 3;

/**
 * Compiles the reading of a video visit's URL: https, without credentials, a patient's name or an email address. Other values are treated
 * as absent, because a calendar would show them to all of its users.
 */
export function compileTeleVisit(
  paths: readonly string[],
): (row: JsonObject, patient: AppointmentPatient | null) => string | null {
  if (paths.length === 0) return () => null;
  const find = compilePaths(paths);
  return (row, patient) => {
    const value = find(row);
    const url = typeof value === 'string' ? URL.parse(value.trim()) : null;
    if (url === null || url.protocol !== 'https:' || url.username !== '' || url.href.length > LONGEST_URL) return null;
    return identifiesPatient(url, patient) ? null : url.href;
  };
}

function identifiesPatient({ pathname, search, hash }: URL, patient: AppointmentPatient | null): boolean {
  const text = plain(decoded(`${pathname}${search}${hash}`));
  const names = [patient?.firstName, patient?.lastName].map((name) => plain(name ?? ''));
  return text.includes('@') || names.some((name) => name.length >= SHORTEST_NAME && text.includes(name));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text.replaceAll('+', ' '));
  } catch {
    return text;
  }
}

/** Removes case and accents. */
function plain(text: string): string {
  return text.trim().toLowerCase().normalize('NFD').replace(/\p{M}/gu, '');
}
