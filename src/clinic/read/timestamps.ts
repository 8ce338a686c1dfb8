import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, SECOND_MS } from '../../model/time.ts';
import { APART } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import type { LocalTimeRules, Zone } from './zone.ts';

/** A time as a row tells it: a date (its midnight in UTC), or an instant. */
export type Timestamp = { kind: 'date'; dateMs: number } | { kind: 'instant'; at: Instant };

/** ISO 8601 as clinics write it: `T` or a space, seconds and fraction optional, offset optional (`+01`, `+0100`, `+01:00`, `Z`). */
const FORMAT =
  /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d{1,9}))?)? ?(?:(Z|z)|([+-])(\d\d)(?::?(\d\d))?)?)?$/;
const FIRST_YEAR = 1970;
/** The first year of dates that are no appointment, such as those of birth. */
export const FIRST_YEAR_OF_BIRTH = 1850;
const LAST_YEAR = 2199;
/** Furthest offset from UTC that RFC 3339 times carry in practice (Kiribati, +14:00). */
const LONGEST_OFFSET_MS = 14 * HOUR_MS;

/**
 * Reads a date or a time; one without an offset is local time of the zone.
 * @returns null for what is no time: wrong form, 30 February, 25:00, a year before `firstYear` or after 2199, a local time that the rules set aside
 */
export function parseTimestamp(
  text: string,
  zone: Zone,
  rules: LocalTimeRules,
  firstYear = FIRST_YEAR,
): Timestamp | null {
  const match = FORMAT.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second, fraction, utc, sign, offsetHours, offsetMinutes] = match;
  const dateMs = Number(year) < firstYear ? null : dateOf(Number(year), Number(month), Number(day));
  if (dateMs === null) return null;
  if (hour === undefined) return { kind: 'date', dateMs };

  const timeMs = timeOf(Number(hour), Number(minute), Number(second ?? 0), fraction);
  if (timeMs === null) return null;
  if (utc !== undefined) return { kind: 'instant', at: dateMs + timeMs };
  if (sign !== undefined) {
    const offsetMs = Number(offsetHours) * HOUR_MS + Number(offsetMinutes ?? 0) * MINUTE_MS;
    if (offsetMs > LONGEST_OFFSET_MS || Number(offsetMinutes ?? 0) > 59) return null;
    return { kind: 'instant', at: dateMs + timeMs - (sign === '-' ? -offsetMs : offsetMs) };
  }
  const at = zone.instantOf(dateMs + timeMs, rules);
  return at === null ? null : { kind: 'instant', at };
}

/** How a profile has times read. */
export interface TimeRules extends Pick<ClinicProfile, 'localTimes' | 'epochUnit'> {
  zone: Zone;
}

/** Digits that stand for a time, when they come as text. */
const DIGITS = /^-?\d{1,16}(?:\.\d+)?$/;
/** A time of day; the date before it, as some systems write it there too, is not meant. */
const TIME_OF_DAY = /^(?:\d{4}-\d\d-\d\d[T ])?(\d?\d:\d\d.*)$/;

/**
 * Reads what stands for a time in a row: text as {@link parseTimestamp} does, a number or its digits in the profile's unit, a date and a
 * time of day that came apart.
 * @returns null for what is no time, and for numbers that mean 1970: they are seconds taken for milliseconds. But births may be of then
 */
export function timestampOf(value: unknown, rules: TimeRules, firstYear = FIRST_YEAR): Timestamp | null {
  if (typeof value === 'number') return fromEpoch(value, rules, firstYear);
  if (typeof value !== 'string') return null;
  if (rules.epochUnit !== null && DIGITS.test(value)) return fromEpoch(Number(value), rules, firstYear);
  const apart = value.indexOf(APART);
  if (apart === -1) return parseTimestamp(value, rules.zone, rules.localTimes, firstYear);
  const day = timestampOf(value.slice(0, apart), rules, firstYear);
  if (day === null) return null;
  const dateMs = dateMsOf(day, rules.zone);
  const time = value.slice(apart + APART.length);
  if (time === '') return { kind: 'date', dateMs };
  const clock = TIME_OF_DAY.exec(time)?.[1]?.replace(/^\d:/, '0$&');
  if (clock === undefined) return null;
  return parseTimestamp(`${dateText(dateMs)}T${clock}`, rules.zone, rules.localTimes, firstYear);
}

function fromEpoch(value: number, { epochUnit }: TimeRules, firstYear: number): Timestamp | null {
  if (epochUnit === null) return null;
  const at = Math.floor(epochUnit === 'seconds' ? value * SECOND_MS : value);
  const firstAt = Date.UTC(firstYear === FIRST_YEAR ? FIRST_YEAR + 1 : firstYear, 0);
  return at >= firstAt && at < Date.UTC(LAST_YEAR + 1, 0) ? { kind: 'instant', at } : null;
}

/** The date that is meant, as its midnight in UTC: the local one, but an instant that is midnight in UTC is how dates are written. */
export function dateMsOf(told: Timestamp, zone: Zone): number {
  if (told.kind === 'date') return told.dateMs;
  if (told.at % DAY_MS === 0) return told.at;
  return Math.floor((told.at + zone.offsetAt(told.at)) / DAY_MS) * DAY_MS;
}

/** A form in which a clinic takes a time. */
export type TimeFormat = ClinicProfile['appointments']['window']['format'];

/** Writes an instant: `date` 2026-03-29, `utc` …T07:00:00Z, `offset` …T09:00:00+02:00, `local` …T09:00:00, epoch in digits. */
export function formatInstant(at: Instant, format: TimeFormat, zone: Zone): string {
  const local = new Date(at + zone.offsetAt(at)).toISOString().slice(0, 19);
  switch (format) {
    case 'date':
      return local.slice(0, 10);
    case 'utc':
      return `${new Date(at).toISOString().slice(0, 19)}Z`;
    case 'offset':
      return `${local}${offsetText(zone.offsetAt(at))}`;
    case 'local':
      return local;
    case 'local-space':
      return local.replace('T', ' ');
    case 'epoch-seconds':
      return String(Math.floor(at / SECOND_MS));
    case 'epoch-ms':
      return String(at);
  }
}

function offsetText(offsetMs: number): string {
  const minutes = Math.abs(offsetMs) / MINUTE_MS;
  const pad = (value: number) => String(Math.floor(value)).padStart(2, '0');
  return `${offsetMs < 0 ? '-' : '+'}${pad(minutes / 60)}:${pad(minutes % 60)}`;
}

/** `YYYY-MM-DD` of a wall time or of a date's midnight, both in UTC. */
export function dateText(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 10);
}

function dateOf(year: number, month: number, day: number): number | null {
  if (year > LAST_YEAR || month < 1 || month > 12 || day < 1) return null;
  if (day > 28 && day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return null;
  return Date.UTC(year, month - 1, day);
}

function timeOf(hour: number, minute: number, second: number, fraction: string | undefined): number | null {
  if (hour > 23 || minute > 59 || second > 59) return null;
  const ms = fraction === undefined ? 0 : Math.floor(Number(`0.${fraction}`) * SECOND_MS);
  return hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS + ms;
}
