import { plainText } from '../../core/model/text.ts';
import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, offsetMs, SECOND_MS } from '../../core/model/time.ts';
import { ianaZone } from '../../core/model/zone-names.ts';
import { APART } from '../http/rows.ts';
import type { ClinicProfile } from '../schema/profile.ts';

/** A row's time: a date (its midnight in UTC), or an instant. */
export type Timestamp = { kind: 'date'; dateMs: number } | { kind: 'instant'; at: Instant };

/** A .NET date: milliseconds since 1970. The offset after them is the author's zone and does not change the instant. */
const DOT_NET = /^\\?\/Date\((-?\d{1,16})(?:[+-]\d{4})?\)\\?\/$/;
const FIRST_YEAR = 1970;
/** The earliest year of dates outside appointments, such as birth dates. */
export const FIRST_YEAR_OF_BIRTH = 1850;
const LAST_YEAR = 2199;
/** Largest offset from UTC in use (Kiribati, +14:00). */
const LONGEST_OFFSET_MS = 14 * HOUR_MS;

/**
 * Parses a date or a time. A time without an offset or zone is local time of the zone.
 * @returns null for other text: an unknown or ambiguous form (01/02/2026), 30 February, 25:00, a year before `firstYear` or after 2199, an
 * offset that contradicts the zone, a local time that the rules refuse
 */
export function parseTimestamp(
  text: string,
  zone: Zone,
  rules: LocalTimeRules,
  firstYear = FIRST_YEAR,
): Timestamp | null {
  const written = writtenTime(text, rules.dateOrder ?? null);
  if (written === null) return fromDotNet(text, firstYear);
  const { year, month, day, clock } = written;
  const dateMs = year < firstYear ? null : dateOf(year, month, day);
  if (dateMs === null) return null;
  if (clock === null) return { kind: 'date', dateMs };
  const timeMs = timeOf(clock);
  const at = timeMs === null ? null : instantOf(dateMs + timeMs, written, zone, rules);
  return at === null ? null : { kind: 'instant', at };
}

function instantOf(wallMs: number, written: WrittenTime, zone: Zone, rules: LocalTimeRules): Instant | null {
  const zoneName = written.zone === null ? null : (ianaZone(written.zone) ?? undefined);
  const named = typeof zoneName === 'string' ? createZone(zoneName) : zoneName;
  if (written.offsetMinutes === null) return named === undefined ? null : (named ?? zone).instantOf(wallMs, rules);
  const offsetMs = written.offsetMinutes * MINUTE_MS;
  if (!(Math.abs(offsetMs) <= LONGEST_OFFSET_MS)) return null;
  const at = wallMs - offsetMs;
  // RFC 9557: an offset of 0 with a zone is UTC, with the zone for display.
  return named != null && offsetMs !== 0 && named.offsetAt(at) !== offsetMs ? null : at;
}

function fromDotNet(text: string, firstYear: number): Timestamp | null {
  const digits = text.includes('Date(') ? DOT_NET.exec(plainText(text))?.[1] : undefined;
  if (digits === undefined) return null;
  const at = Number(digits);
  return at >= Date.UTC(firstYear, 0) && at < Date.UTC(LAST_YEAR + 1, 0) ? { kind: 'instant', at } : null;
}

/** Profile settings for times. */
export interface TimeRules extends Pick<ClinicProfile, 'epochUnit'> {
  localTimes: LocalTimeRules;
  zone: Zone;
}

/** Digits of a numeric time in a text. */
const DIGITS = /^-?\d{1,16}(?:\.\d+)?$/;
/** A number with the digits of a date, and optionally a time, in the basic format: 20261201, 202612010900, 20261201090000. */
const BASIC = /^\d{8}(?:\d{4}(?:\d\d)?)?$/;
/** A basic date of a year from 1800 to 2199, optionally with a time to the second. */
const CALENDAR = /^(?:1[89]|2[01])\d{6}(?:\d{6})?$/;
/** A time of day; a date before it, which some systems add, is ignored. */
const TIME_OF_DAY = /^(?:\d{4}-\d\d-\d\d[T ])?(\d?\d)(?::(\d\d.*)|(\d\d)(\d\d)?)$/i;
/** A time of day with an offset, or a time range: ambiguous. */
const MAYBE_RANGE = /^\d\d:\d\d-\d\d:\d\d$/;

/**
 * Parses a row's time: text as in {@link parseTimestamp}, a number or its digits in the profile's unit, or a separate date and time.
 * Without a unit, a number is accepted if its digits are a date.
 * @returns null for other values, and for numbers that mean 1970, which are seconds in a field of milliseconds. Birth dates may be in 1970.
 */
export function timestampOf(value: unknown, rules: TimeRules, firstYear = FIRST_YEAR): Timestamp | null {
  const isEpoch = rules.epochUnit !== null && !isCalendar(String(value).trim());
  if (typeof value === 'number') {
    if (isEpoch) return fromEpoch(value, rules.epochUnit, firstYear);
    return BASIC.test(String(value)) ? parseTimestamp(String(value), rules.zone, rules.localTimes, firstYear) : null;
  }
  if (typeof value !== 'string') return null;
  if (isEpoch && DIGITS.test(value.trim())) return fromEpoch(Number(value), rules.epochUnit, firstYear);
  const apart = value.indexOf(APART);
  if (apart === -1) return parseTimestamp(value, rules.zone, rules.localTimes, firstYear);
  const day = timestampOf(value.slice(0, apart), rules, firstYear);
  if (day === null) return null;
  const dateMs = dateMsOf(day, rules.zone);
  const time = plainText(value.slice(apart + APART.length));
  if (time === '') return { kind: 'date', dateMs };
  const [, hour, behind, minute, second = '00'] = TIME_OF_DAY.exec(time) ?? [];
  if (hour === undefined) return null;
  const clock = `${hour.padStart(2, '0')}:${behind ?? `${minute}:${second}`}`;
  const read = parseTimestamp(`${dateText(dateMs)}T${clock}`, rules.zone, rules.localTimes, firstYear);
  return MAYBE_RANGE.test(clock) && !hasOffsetOf(rules.zone, read, clock) ? null : read;
}

/** Returns whether a possible range, 09:00-10:00, ends with the zone's offset at that time. */
function hasOffsetOf(zone: Zone, read: Timestamp | null, clock: string): boolean {
  return read?.kind === 'instant' && offsetText(zone.offsetAt(read.at)) === clock.slice(-'-HH:MM'.length);
}

/**
 * Returns whether digits are a date (19800301), or a date with a time, even if times are numbers. As a number, eight digits would be an
 * instant of 1970 without full hundreds of seconds, unlike any birth date, and fourteen digits an instant after the year 2600.
 */
function isCalendar(digits: string): boolean {
  if (!CALENDAR.test(digits)) return false;
  const [year, month, day] = [digits.slice(0, 4), digits.slice(4, 6), digits.slice(6, 8)].map(Number);
  return dateOf(year ?? 0, month ?? 0, day ?? 0) !== null;
}

function fromEpoch(value: number, epochUnit: TimeRules['epochUnit'], firstYear: number): Timestamp | null {
  const at = Math.floor(epochUnit === 'seconds' ? value * SECOND_MS : value);
  const firstAt = Date.UTC(firstYear === FIRST_YEAR ? FIRST_YEAR + 1 : firstYear, 0);
  return at >= firstAt && at < Date.UTC(LAST_YEAR + 1, 0) ? { kind: 'instant', at } : null;
}

/** Returns the date as its midnight in UTC: the local date, except for an instant at midnight in UTC, which is a usual form of a date. */
export function dateMsOf(timestamp: Timestamp, zone: Zone): number {
  if (timestamp.kind === 'date') return timestamp.dateMs;
  if (timestamp.at % DAY_MS === 0) return timestamp.at;
  return Math.floor((timestamp.at + zone.offsetAt(timestamp.at)) / DAY_MS) * DAY_MS;
}

/** A clinic's format of times. */
export type TimeFormat = ClinicProfile['appointments']['window']['format'];

/** Formats an instant: `date` 2026-03-29, `utc` …T07:00:00Z, `offset` …T09:00:00+02:00, `local` …T09:00:00, epoch in digits. */
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

/** Formats a wall time, or a date's midnight, as `YYYY-MM-DD`; both in UTC. */
export function dateText(wallMs: number): string {
  return new Date(wallMs).toISOString().slice(0, 10);
}

function dateOf(year: number, month: number, day: number): number | null {
  if (year > LAST_YEAR || month < 1 || month > 12 || day < 1) return null;
  if (day > 28 && day > new Date(Date.UTC(year, month, 0)).getUTCDate()) return null;
  return Date.UTC(year, month - 1, day);
}

/** 24:00 is the end of the day. */
function timeOf({ hour, minute, second, ms }: NonNullable<WrittenTime['clock']>): number | null {
  if (hour > 24 || minute > 59 || second > 59) return null;
  const timeMs = hour * HOUR_MS + minute * MINUTE_MS + second * SECOND_MS + ms;
  return timeMs > DAY_MS ? null : timeMs;
}

/** How to treat a local time that a clock change skips or repeats. */
export interface LocalTimeRules {
  gap: 'later' | 'earlier' | 'set-aside';
  overlap: 'earlier' | 'later' | 'set-aside';
  /** Order of numeric dates with the year last; null if unknown. */
  dateOrder?: ClinicProfile['dateOrder'];
}

/** Local time of one IANA zone. Wall times are epoch milliseconds as if in UTC. */
export interface Zone {
  /** Milliseconds by which local time is ahead of UTC at an instant. */
  offsetAt(instant: Instant): number;
  /** Returns the instant of a wall time; null if the rules refuse it. */
  instantOf(wallMs: number, rules: LocalTimeRules): Instant | null;
  /** Returns the first instant of a local date, given as its midnight in UTC. */
  startOfDay(dateMs: number): Instant;
}

const START_OF_DAY: LocalTimeRules = { gap: 'later', overlap: 'earlier' };

/** Creates a zone by name; all users share its cached offsets. */
export function createZone(name: string): Zone {
  const offsetAt = (instant: Instant) => offsetMs(name, instant);

  function instantOf(wallMs: number, rules: LocalTimeRules): Instant | null {
    const before = offsetAt(wallMs - DAY_MS);
    const after = offsetAt(wallMs + DAY_MS);
    if (before === after && offsetAt(wallMs - before) === before) return wallMs - before;
    const candidates = [...new Set([wallMs - before, wallMs - after])].sort((a, b) => a - b);
    const [first, second] = candidates.filter((instant) => instant + offsetAt(instant) === wallMs);
    if (first !== undefined && second !== undefined) return choose(rules.overlap, first, second);
    if (first !== undefined) return first;
    return choose(rules.gap, candidates[0] ?? wallMs, candidates.at(-1) ?? wallMs);
  }

  return { offsetAt, instantOf, startOfDay: (dateMs) => instantOf(dateMs, START_OF_DAY) ?? dateMs };
}

function choose(rule: 'earlier' | 'later' | 'set-aside', earlier: Instant, later: Instant): Instant | null {
  if (rule === 'set-aside') return null;
  return rule === 'earlier' ? earlier : later;
}

/** A parsed time: calendar numbers, and the relation to UTC. */
interface WrittenTime {
  year: number;
  month: number;
  day: number;
  /** Null for a date without a time. */
  clock: { hour: number; minute: number; second: number; ms: number } | null;
  /** Minutes ahead of UTC, if written. */
  offsetMinutes: number | null;
  /** An IANA zone, if written. */
  zone: string | null;
}

/** ISO 8601 as most clinics write it: `T` or a space, seconds and fraction optional, offset optional (`+01`, `+0100`, `+01:00`, `Z`). */
const USUAL = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:(Z)|([+-]\d\d)(?::?(\d\d))?)?)?$/;

const CLOCK =
  '(?<hour>\\d{1,2}):(?<minute>\\d\\d)(?::(?<second>\\d\\d)(?:[.,](?<fraction>\\d+))?)?(?: ?(?<half>[ap])\\.?m\\.?)?';
/** `Z`, `UTC`, `GMT`, `+1`, `+01`, `+0100`, `+01:00`, `GMT+0100`, and the offset's name in brackets, as in JavaScript. */
const OFFSET =
  '(?: ?(?:(?<utc>Z|UTC|GMT)|(?:UTC|GMT)?(?<sign>[+-])(?:(?<ahead>\\d{1,2})(?::(?<aheadMinutes>\\d\\d))?|(?<aheadBoth>\\d{4}))(?: \\([^()]*\\))?))?';
/** `[Europe/Rome]` of RFC 9557 and Java, or the name after a space. */
const ZONE =
  '(?: ?\\[!?(?<zone>[A-Za-z][\\w+./ ()-]*)\\]| (?<namedZone>[A-Za-z]+/[\\w+/-]+))?(?:\\[u-ca=(?:iso8601|gregory)\\])?';
const TIME = `(?:(?:T|,? +)${CLOCK}${OFFSET}${ZONE})?$`;
const BASIC_CLOCK = '(?<hour>\\d\\d)(?<minute>\\d\\d)(?:(?<second>\\d\\d)(?:[.,]?(?<fraction>\\d+))?)?';
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const WEEKDAY = `(?:(?<weekday>${WEEKDAYS.join('|')})[a-z]*,? )?`;
const MONTH_NAME = `(?<monthName>${MONTHS.join('|')})[a-z]*`;

/** Unambiguous forms. */
const OTHERS = [
  // The year first: 2026-12-1, 2026/12/01, 2026.12.01.
  `^(?<year>\\d{4})([-/.])(?<month>\\d{1,2})\\2(?<day>\\d{1,2})${TIME}`,
  // The basic format of ISO 8601: 20261201T090000Z, 20261201090000.
  `^(?<year>\\d{4})(?<month>\\d\\d)(?<day>\\d\\d)(?:[T ]?${BASIC_CLOCK}${OFFSET}${ZONE})?$`,
  // Weeks and days of the year: 2026-W49-2, 2026-335.
  `^(?<year>\\d{4})-?W(?<week>\\d\\d)-?(?<weekDay>[1-7])${TIME}`,
  `^(?<year>\\d{4})-(?<dayOfYear>\\d{3})${TIME}`,
  // RFC 5322 and JavaScript: Tue, 1 Dec 2026 09:00:00 +0100, Tue Dec 01 2026 09:00:00 GMT+0100.
  `^${WEEKDAY}(?<day>\\d{1,2})[ -]${MONTH_NAME}[ -](?<year>\\d{4})${TIME}`,
  `^${WEEKDAY}${MONTH_NAME} (?<day>\\d{1,2}),? (?<year>\\d{4})${TIME}`,
  // The year last, with numbers that determine the order: 25/12/2026.
  `^(?<one>\\d{1,2})([-/.])(?<other>\\d{1,2})\\2(?<year>\\d{4})${TIME}`,
].map((form) => new RegExp(form, 'i'));

/** Maximum length of a known form, invisible characters included. */
const LONGEST = 120;
const QUOTED = /^(["'])(.*)\1$/;

type DateOrder = ClinicProfile['dateOrder'];

/** Returns whether only the unknown order of day and month makes a time unreadable. */
export function isAmbiguousDate(value: unknown, rules: TimeRules, firstYear?: number): boolean {
  if (rules.localTimes.dateOrder != null) return false;
  const localTimes = { ...rules.localTimes, dateOrder: 'day-first' as const };
  return timestampOf(value, { ...rules, localTimes }, firstYear) !== null;
}

/** Parses the calendar numbers of a text; null for an unknown or ambiguous form. */
function writtenTime(text: string, dateOrder: DateOrder): WrittenTime | null {
  return usualTime(text) ?? (text.length > LONGEST ? null : otherTime(unquoted(plainText(text)), dateOrder));
}

/** Parses only the usual form, which nearly all times have. */
function usualTime(text: string): WrittenTime | null {
  const match = USUAL.exec(text);
  if (match === null) return null;
  const [, year, month, day, hour, minute, second = '0', fraction = '', utc, ahead, aheadMinutes = '0'] = match;
  const date = { year: Number(year), month: Number(month), day: Number(day) };
  if (hour === undefined) return { ...date, clock: null, offsetMinutes: null, zone: null };
  const clock = { hour: Number(hour), minute: Number(minute), second: Number(second), ms: msOf(fraction) };
  const offsetMinutes = ahead === undefined ? (utc === undefined ? null : 0) : minutesOf(ahead, aheadMinutes);
  return { ...date, clock, offsetMinutes, zone: null };
}

function unquoted(plain: string): string {
  return QUOTED.exec(plain)?.[2]?.trim() ?? plain;
}

function otherTime(plain: string, dateOrder: DateOrder): WrittenTime | null {
  for (const form of OTHERS) {
    const groups = form.exec(plain)?.groups;
    if (groups !== undefined) return fromGroups(groups, dateOrder);
  }
  return null;
}

type Groups = Record<string, string | undefined>;

function fromGroups(groups: Groups, dateOrder: DateOrder): WrittenTime | null {
  const { year, one, other } = groups;
  const date = one === undefined ? dateIn(groups) : dayMonthOrder(Number(year), Number(one), Number(other), dateOrder);
  const clock = groups.hour === undefined ? null : clockIn(groups);
  if (date === null || (groups.hour !== undefined && clock === null)) return null;
  if (groups.weekday !== undefined && weekdayOf(date) !== groups.weekday.toLowerCase()) return null;
  return { ...date, clock, offsetMinutes: offsetIn(groups), zone: groups.zone ?? groups.namedZone ?? null };
}

type CalendarDate = Pick<WrittenTime, 'year' | 'month' | 'day'>;

function dateIn({ year: written, month, day, monthName, week, weekDay, dayOfYear }: Groups): CalendarDate | null {
  const year = Number(written);
  if (week !== undefined) return dayOfWeek(year, Number(week), Number(weekDay));
  if (dayOfYear !== undefined) return dayInYear(year, Number(dayOfYear));
  const name = monthName?.toLowerCase();
  return { year, month: name === undefined ? Number(month) : MONTHS.indexOf(name) + 1, day: Number(day) };
}

/** Determines day and month by the profile's order; otherwise one number must be above twelve, or both equal. */
function dayMonthOrder(year: number, one: number, other: number, dateOrder: DateOrder): CalendarDate | null {
  if (dateOrder === 'day-first') return { year, month: other, day: one };
  if (dateOrder === 'month-first') return { year, month: one, day: other };
  if (one > 12 || one === other) return { year, month: other, day: one };
  return other > 12 ? { year, month: one, day: other } : null;
}

/** ISO 8601: the first week of a year contains its first Thursday, so it contains 4 January. */
function dayOfWeek(year: number, week: number, weekDay: number): CalendarDate | null {
  const fourth = new Date(Date.UTC(year, 0, 4));
  const monday = 4 - ((fourth.getUTCDay() + 6) % 7);
  const date = new Date(Date.UTC(year, 0, monday + (week - 1) * 7 + weekDay - 1));
  const thursday = new Date(date.getTime());
  thursday.setUTCDate(date.getUTCDate() + 4 - weekDay);
  return week >= 1 && thursday.getUTCFullYear() === year ? partsOf(date) : null;
}

function dayInYear(year: number, day: number): CalendarDate | null {
  const date = new Date(Date.UTC(year, 0, day));
  return day >= 1 && date.getUTCFullYear() === year ? partsOf(date) : null;
}

function partsOf(date: Date): CalendarDate {
  return { year: date.getUTCFullYear(), month: date.getUTCMonth() + 1, day: date.getUTCDate() };
}

function weekdayOf({ year, month, day }: CalendarDate): string | undefined {
  return WEEKDAYS[new Date(Date.UTC(year, month - 1, day)).getUTCDay()];
}

function clockIn({ hour: timestamp, minute, second = '0', fraction = '', half }: Groups): WrittenTime['clock'] {
  const written = Number(timestamp);
  if (half !== undefined && (written < 1 || written > 12)) return null;
  const hour = half === undefined ? written : (written % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  return { hour, minute: Number(minute), second: Number(second), ms: msOf(fraction) };
}

/** Truncates a fraction to milliseconds. */
function msOf(fraction: string): number {
  return fraction === '' ? 0 : Number(fraction.slice(0, 3).padEnd(3, '0'));
}

function offsetIn({ utc, sign, ahead, aheadMinutes = '0', aheadBoth }: Groups): number | null {
  if (sign === undefined) return utc === undefined ? null : 0;
  return aheadBoth === undefined
    ? minutesOf(`${sign}${ahead}`, aheadMinutes)
    : minutesOf(`${sign}${aheadBoth.slice(0, 2)}`, aheadBoth.slice(2));
}

/** NaN for an invalid offset. */
function minutesOf(hours: string, minutes: string): number {
  if (Number(minutes) > 59) return Number.NaN;
  return Number(hours) * 60 + (hours.startsWith('-') ? -Number(minutes) : Number(minutes));
}
