import type { Appointment, AppointmentPatient, AppointmentTime } from '../../model/records.ts';
import { DAY_MS, type Instant, MINUTE_MS, SECOND_MS } from '../../model/time.ts';
import { compileFields, isJsonObject, type Mapped, RowReader } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { compileStatuses } from './statuses.ts';
import { dateText, parseTimestamp, type Timestamp } from './timestamps.ts';
import { createZone, type Zone } from './zone.ts';

type AppointmentField = keyof ClinicProfile['appointments']['fields'];
type AppointmentRow = RowReader<AppointmentField>;
/** What the reading of times needs of the profile, prepared once. */
interface TimeRules {
  profile: ClinicProfile;
  zone: Zone;
  durationUnitMs: number;
}

/**
 * Prepares the mapping of appointment rows under a profile. A row that can't be used is set aside with one of the codes
 * `missing-id`, `missing-field`, `wrong-type`, `bad-time`, `end-before-start`, `absurd-duration`. An `updatedAt` that is no time
 * counts as not told, since nothing but the choice between two versions hangs on it.
 */
export function compileAppointmentRows(profile: ClinicProfile): (row: unknown) => Mapped<Appointment> {
  const readers = compileFields(profile.appointments.fields);
  const statusOf = compileStatuses(profile.appointments);
  const durationUnitMs = profile.appointments.durationUnit === 'minutes' ? MINUTE_MS : SECOND_MS;
  const rules: TimeRules = { profile, zone: createZone(profile.zone), durationUnitMs };

  return (json) => {
    if (!isJsonObject(json)) return { setAside: { recordId: null, code: 'wrong-type', field: 'row' } };
    const row: AppointmentRow = new RowReader(json, readers);
    const id = row.id('id');
    if (id === null) return { setAside: { recordId: null, code: 'missing-id', field: 'id' } };
    const rawStatus = row.text('status');
    const record: Appointment = {
      id,
      agendaId: row.neededId('agendaId'),
      locationId: row.id('locationId'),
      patientId: row.id('patientId'),
      patient: patientOf(row),
      treatmentId: row.id('treatmentId'),
      time: timeOf(row, rules),
      status: statusOf(rawStatus, json),
      rawStatus,
      updatedAt: updatedAtOf(row, rules),
    };
    if (row.fault === null) return { record };
    const { agendaId } = record;
    return { setAside: { recordId: id, ...row.fault, ...(agendaId === '' ? {} : { agendaId }) } };
  };
}

function patientOf(row: AppointmentRow): AppointmentPatient | null {
  const id = row.id('patientId');
  const firstName = row.text('patientFirstName');
  const lastName = row.text('patientLastName');
  if (id === null || (firstName === null && lastName === null)) return null;
  return { id, firstName, lastName };
}

function timeOf(row: AppointmentRow, rules: TimeRules): AppointmentTime {
  const start = timestampOf(row, 'start', rules);
  const end = timestampOf(row, 'end', rules);
  if (start === null) row.fail('bad-time', 'start');
  if (start === null || row.fault !== null) return NO_TIME;
  const isAllDay = start.kind === 'date' || row.flag('allDay') === true;
  return isAllDay ? allDay(row, start, end, rules) : timed(row, start.at, end, rules);
}

/** Stands where a row is set aside anyway. */
const NO_TIME: AppointmentTime = { kind: 'timed', startAt: 0, endAt: 0 };

function timed(row: AppointmentRow, startAt: Instant, end: Timestamp | null, rules: TimeRules): AppointmentTime {
  if (end?.kind === 'date') row.fail('bad-time', 'end');
  const endAt = end?.kind === 'instant' ? end.at : endByDuration(row, startAt, rules);
  checkSpan(row, startAt, endAt, rules);
  return { kind: 'timed', startAt, endAt };
}

function endByDuration(row: AppointmentRow, startAt: Instant, rules: TimeRules): Instant {
  const duration = row.number('duration');
  if (duration === null) row.fail('missing-field', 'end');
  return startAt + Math.round((duration ?? 0) * rules.durationUnitMs);
}

/** Whole days; one without an end, or that ends on the day it starts, is that one day. */
function allDay(row: AppointmentRow, start: Timestamp, end: Timestamp | null, rules: TimeRules): AppointmentTime {
  const { zone } = rules;
  const startMs = start.kind === 'date' ? start.dateMs : floorToDay(start.at + zone.offsetAt(start.at));
  const toldEndMs = end === null ? startMs : endDateOf(end, rules);
  if (toldEndMs < startMs) row.fail('end-before-start', 'end');
  const endMs = Math.max(toldEndMs, startMs + DAY_MS);
  const startAt = zone.startOfDay(startMs);
  const endAt = zone.startOfDay(endMs);
  checkSpan(row, startAt, endAt, rules);
  return { kind: 'all-day', startDate: dateText(startMs), endDate: dateText(endMs), startAt, endAt };
}

/** Midnight in UTC of the first date that no longer belongs to it. A time past midnight makes its day belong. */
function endDateOf(end: Timestamp, { profile, zone }: TimeRules): number {
  if (end.kind === 'date') return profile.appointments.allDayEnd === 'inclusive' ? end.dateMs + DAY_MS : end.dateMs;
  const wallMs = end.at + zone.offsetAt(end.at);
  return floorToDay(wallMs + DAY_MS - 1);
}

function checkSpan(row: AppointmentRow, startAt: Instant, endAt: Instant, { profile }: TimeRules): void {
  if (endAt < startAt) row.fail('end-before-start', 'end');
  if (endAt - startAt > profile.appointments.longestDays * DAY_MS) row.fail('absurd-duration', 'end');
}

/** The time in a field; null when the field holds nothing, and then too when it holds no time, with the fault noted. */
function timestampOf(row: AppointmentRow, field: 'start' | 'end', rules: TimeRules): Timestamp | null {
  const text = row.text(field);
  if (text === null) return null;
  return parseTimestamp(text, rules.zone, rules.profile.localTimes) ?? row.fail('bad-time', field);
}

function updatedAtOf(row: AppointmentRow, rules: TimeRules): Instant | null {
  const value = row.value('updatedAt');
  if (typeof value !== 'string') return null;
  const timestamp = parseTimestamp(value, rules.zone, rules.profile.localTimes);
  return timestamp?.kind === 'instant' ? timestamp.at : null;
}

function floorToDay(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS) * DAY_MS;
}
