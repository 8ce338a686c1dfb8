import { plainText } from '../../model/plain-text.ts';

/** A time as its text writes it: the calendar's numbers, and how they stand to UTC. */
export interface WrittenTime {
  year: number;
  month: number;
  day: number;
  /** Null for a date alone. */
  clock: { hour: number; minute: number; second: number; ms: number } | null;
  /** Minutes ahead of UTC, where the text tells it. */
  offsetMinutes: number | null;
  /** An IANA zone, where the text names one. */
  zone: string | null;
}

/** ISO 8601 as most clinics write it: `T` or a space, seconds and fraction optional, offset optional (`+01`, `+0100`, `+01:00`, `Z`). */
const USUAL = /^(\d{4})-(\d\d)-(\d\d)(?:[T ](\d\d):(\d\d)(?::(\d\d)(?:[.,](\d+))?)?(?:(Z)|([+-]\d\d)(?::?(\d\d))?)?)?$/;

const CLOCK =
  '(?<hour>\\d{1,2}):(?<minute>\\d\\d)(?::(?<second>\\d\\d)(?:[.,](?<fraction>\\d+))?)?(?: ?(?<half>[ap])\\.?m\\.?)?';
/** `Z`, `UTC`, `GMT`, `+1`, `+01`, `+0100`, `+01:00`, `GMT+0100`, and behind an offset its name in brackets, as JavaScript writes it. */
const OFFSET =
  '(?: ?(?:(?<utc>Z|UTC|GMT)|(?:UTC|GMT)?(?<sign>[+-])(?:(?<ahead>\\d{1,2})(?::(?<aheadMinutes>\\d\\d))?|(?<aheadBoth>\\d{4}))(?: \\([^()]*\\))?))?';
/** `[Europe/Rome]` of RFC 9557 and Java, or the name behind a space. */
const ZONE =
  '(?: ?\\[!?(?<zone>[A-Za-z][\\w+/-]*)\\]| (?<namedZone>[A-Za-z]+/[\\w+/-]+))?(?:\\[u-ca=(?:iso8601|gregory)\\])?';
const TIME = `(?:(?:T|,? +)${CLOCK}${OFFSET}${ZONE})?$`;
const BASIC_CLOCK = '(?<hour>\\d\\d)(?<minute>\\d\\d)(?:(?<second>\\d\\d)(?:[.,]?(?<fraction>\\d+))?)?';
const MONTHS = ['jan', 'feb', 'mar', 'apr', 'may', 'jun', 'jul', 'aug', 'sep', 'oct', 'nov', 'dec'];
const WEEKDAYS = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];
const WEEKDAY = `(?:(?<weekday>${WEEKDAYS.join('|')})[a-z]*,? )?`;
const MONTH_NAME = `(?<monthName>${MONTHS.join('|')})[a-z]*`;

/** Each can be read in one way only. */
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
  // The year last, in an order that the numbers themselves tell: 25/12/2026.
  `^(?<one>\\d{1,2})([-/.])(?<other>\\d{1,2})\\2(?<year>\\d{4})${TIME}`,
].map((form) => new RegExp(form, 'i'));

/** No known form is longer, whatever invisible characters stand in it. */
const LONGEST = 120;
const QUOTED = /^(["'])(.*)\1$/;

/** Reads the calendar's numbers of a text; null for one in no known form, or in a form that can be read in two ways. */
export function writtenTime(text: string): WrittenTime | null {
  return usualTime(text) ?? (text.length > LONGEST ? null : otherTime(unquoted(plainText(text))));
}

/** The same of the usual form alone, by which nearly all times are read. */
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

function otherTime(plain: string): WrittenTime | null {
  for (const form of OTHERS) {
    const groups = form.exec(plain)?.groups;
    if (groups !== undefined) return fromGroups(groups);
  }
  return null;
}

type Groups = Record<string, string | undefined>;

function fromGroups(groups: Groups): WrittenTime | null {
  const date = dateIn(groups);
  const clock = groups.hour === undefined ? null : clockIn(groups);
  if (date === null || (groups.hour !== undefined && clock === null)) return null;
  if (groups.weekday !== undefined && weekdayOf(date) !== groups.weekday.toLowerCase()) return null;
  return { ...date, clock, offsetMinutes: offsetIn(groups), zone: groups.zone ?? groups.namedZone ?? null };
}

type CalendarDate = Pick<WrittenTime, 'year' | 'month' | 'day'>;

function dateIn({
  year: written,
  month,
  day,
  monthName,
  week,
  weekDay,
  dayOfYear,
  one,
  other,
}: Groups): CalendarDate | null {
  const year = Number(written);
  if (week !== undefined) return dayOfWeek(year, Number(week), Number(weekDay));
  if (dayOfYear !== undefined) return dayInYear(year, Number(dayOfYear));
  if (one !== undefined) return inTellingOrder(year, Number(one), Number(other));
  const name = monthName?.toLowerCase();
  return { year, month: name === undefined ? Number(month) : MONTHS.indexOf(name) + 1, day: Number(day) };
}

/** A day and a month without a word which is which: one of them must be above twelve, or both the same. */
function inTellingOrder(year: number, one: number, other: number): CalendarDate | null {
  if (one > 12 || one === other) return { year, month: other, day: one };
  return other > 12 ? { year, month: one, day: other } : null;
}

/** ISO 8601: the first week of a year is the one with its first Thursday, so the one with 4 January. */
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

function clockIn({ hour: told, minute, second = '0', fraction = '', half }: Groups): WrittenTime['clock'] {
  const written = Number(told);
  if (half !== undefined && (written < 1 || written > 12)) return null;
  const hour = half === undefined ? written : (written % 12) + (half.toLowerCase() === 'p' ? 12 : 0);
  return { hour, minute: Number(minute), second: Number(second), ms: msOf(fraction) };
}

/** A fraction is cut to milliseconds, however many digits it has. */
function msOf(fraction: string): number {
  return fraction === '' ? 0 : Number(fraction.slice(0, 3).padEnd(3, '0'));
}

function offsetIn({ utc, sign, ahead, aheadMinutes = '0', aheadBoth }: Groups): number | null {
  if (sign === undefined) return utc === undefined ? null : 0;
  return aheadBoth === undefined
    ? minutesOf(`${sign}${ahead}`, aheadMinutes)
    : minutesOf(`${sign}${aheadBoth.slice(0, 2)}`, aheadBoth.slice(2));
}

/** NaN for an offset that is none. */
function minutesOf(hours: string, minutes: string): number {
  if (Number(minutes) > 59) return Number.NaN;
  return Number(hours) * 60 + (hours.startsWith('-') ? -Number(minutes) : Number(minutes));
}
