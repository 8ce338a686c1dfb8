import ICAL from 'ical.js';
import type { FeedEntry } from '../core/model/feeds.ts';
import type { ItemTime } from '../core/model/items.ts';
import type { ItemKey } from '../core/model/operations.ts';
import { foldLines } from '../core/model/text.ts';
import { DAY_MS, type Instant, isZone, meansOnly, SECOND_MS, toZonedIso } from '../core/model/time.ts';
import { instantOfLocal, timeZoneText } from './icalendar-zones.ts';

/**
 * Length of an event without duration on a server. iCloud returns 404 for an event without DTEND. Cyrus 3.6 and RFC 5545 section 3.8.2.2
 * require a DTEND after the start.
 * @see https://github.com/bitfireAT/davx5-ose/issues/1859 and https://github.com/pimutils/vdirsyncer/issues/1200
 */
const POINT_LENGTH_MS = 1_000;

/** Stores the zone of an event whose times are written, or stored by the server, as UTC. */
const ZONE_PROPERTY = 'x-clinic-mirror-zone';

/** Marks an event without duration, whose end exists only for servers. */
const LENGTH_PROPERTY = 'x-clinic-mirror-length';
const NO_LENGTH = '0';

const UTC_NAMES = new Set(['UTC', 'Etc/UTC', 'Z', 'GMT', 'Etc/GMT']);

/**
 * Returns text that iCalendar within XML can contain: only line feeds, no other control characters except tab, no half surrogates. Texts
 * that differ only in these characters are equal.
 */
export function carriable(text: string): string {
  return (
    text
      .toWellFormed()
      .replaceAll(/\r\n?|[\u0085\u2028\u2029]/g, '\n')
      // biome-ignore lint/suspicious/noControlCharactersInRegex: they are what is taken out
      .replaceAll(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\ufeff\ufffe\uffff]/g, '')
  );
}

/**
 * Adds DTSTART and DTEND, and the zone property if the times are in UTC.
 * @returns the required VTIMEZONE as text, or null
 */
export function addTimes(event: ICAL.Component, time: ItemTime): string | null {
  if (time.kind === 'all-day') {
    event.addPropertyWithValue('dtstart', ICAL.Time.fromDateString(time.startDate));
    event.addPropertyWithValue('dtend', ICAL.Time.fromDateString(time.endDate));
    return null;
  }
  addText(event, ZONE_PROPERTY, time.zone);
  const isStartLocal = addTime(event, 'dtstart', time.start, time.zone);
  const isPoint = Date.parse(time.end) <= Date.parse(time.start);
  if (isPoint) addText(event, LENGTH_PROPERTY, NO_LENGTH);
  const end = isPoint ? toZonedIso(time.zone, Date.parse(time.start) + POINT_LENGTH_MS) : time.end;
  const isEndLocal = addTime(event, 'dtend', end, time.zone);
  return isStartLocal || isEndLocal ? timeZoneText(time.zone, yearOf(time.start), yearOf(time.end)) : null;
}

/** @returns whether the time is written as local time, which requires a VTIMEZONE */
function addTime(event: ICAL.Component, name: string, zonedIso: string, zone: string): boolean {
  const property = new ICAL.Property(name);
  const local = zonedIso.slice(0, 19);
  const at = Date.parse(zonedIso);
  // An ambiguous local time means the first instant (RFC 5545 section 3.3.5), but not for all clients, so both instants are written in UTC.
  const isLocal = !UTC_NAMES.has(zone) && meansOnly(local, zone, at);
  if (isLocal) property.setParameter('tzid', zone);
  property.setValue(ICAL.Time.fromDateTimeString(isLocal ? local : utcText(at)));
  event.addProperty(property);
  return isLocal;
}

function yearOf(iso: string): number {
  return Number(iso.slice(0, 4));
}

function utcText(at: Instant): string {
  return `${new Date(at).toISOString().slice(0, 19)}Z`;
}

export function addInstant(component: ICAL.Component, name: string, at: Instant): void {
  component.addPropertyWithValue(name, ICAL.Time.fromDateTimeString(utcText(at)));
}

/** Adds a text, which is also escaped in non-standard properties. */
export function addText(component: ICAL.Component, name: string, text: string): void {
  const property = new ICAL.Property(name);
  property.resetType('text');
  property.setValue(text);
  component.addProperty(property);
}

/** Returns the text of a property, or null. */
export function textOf(component: ICAL.Component, name: string): string | null {
  const value: unknown = component.getFirstPropertyValue(name);
  return value === null || value === undefined ? null : String(value);
}

/** Returns the time of an event, or null if an item cannot express the time: floating, unknown zone, no start, mixed kinds. */
export function readTimes(calendar: ICAL.Component, event: ICAL.Component): ItemTime | null {
  const start = event.getFirstProperty('dtstart');
  if (start === null) return null;
  const startTime: unknown = start.getFirstValue();
  if (!(startTime instanceof ICAL.Time)) return null;
  const end = event.getFirstProperty('dtend');
  return startTime.isDate ? readDates(event, startTime, end) : readTimed(calendar, event, start, end);
}

function readDates(event: ICAL.Component, start: ICAL.Time, end: ICAL.Property | null): ItemTime | null {
  const endTime: unknown = end?.getFirstValue() ?? afterDuration(event, start) ?? dayAfter(start);
  if (!(endTime instanceof ICAL.Time) || !endTime.isDate) return null;
  return { kind: 'all-day', startDate: start.toString(), endDate: endTime.toString() };
}

/** Longest appointment, since days are processed one by one up to its end. */
const LONGEST_SECONDS = (10 * 366 * DAY_MS) / SECOND_MS;

function dayAfter(date: ICAL.Time): ICAL.Time {
  const next = date.clone();
  next.adjust(1, 0, 0, 0);
  return next;
}

function afterDuration(event: ICAL.Component, start: ICAL.Time): ICAL.Time | null {
  const duration: unknown = event.getFirstPropertyValue('duration');
  if (!(duration instanceof ICAL.Duration) || Math.abs(duration.toSeconds()) > LONGEST_SECONDS) return null;
  const end = start.clone();
  end.addDuration(duration);
  return end;
}

function readTimed(
  calendar: ICAL.Component,
  event: ICAL.Component,
  start: ICAL.Property,
  end: ICAL.Property | null,
): ItemTime | null {
  const startAt = readInstant(calendar, start);
  if (startAt === null) return null;
  const statedEndAt = end === null ? startAt + durationMs(event) : readInstant(calendar, end);
  if (statedEndAt === null) return null;
  const isPoint = textOf(event, LENGTH_PROPERTY) === NO_LENGTH && statedEndAt <= startAt + POINT_LENGTH_MS;
  const endAt = isPoint ? startAt : statedEndAt;
  const zone = ianaZone(start) ?? validZone(textOf(event, ZONE_PROPERTY)) ?? 'UTC';
  return { kind: 'timed', start: toZonedIso(zone, startAt), end: toZonedIso(zone, endAt), zone };
}

function durationMs(event: ICAL.Component): number {
  const duration: unknown = event.getFirstPropertyValue('duration');
  return duration instanceof ICAL.Duration ? duration.toSeconds() * 1_000 : 0;
}

function readInstant(calendar: ICAL.Component, property: ICAL.Property): Instant | null {
  const time: unknown = property.getFirstValue();
  if (!(time instanceof ICAL.Time) || time.isDate) return null;
  if (time.zone === ICAL.Timezone.utcTimezone) return time.toUnixTime() * 1_000;
  const zone = ianaZone(property);
  if (zone !== null) return instantOfLocal(time.toString().slice(0, 19), zone);
  const definition = calendar
    .getAllSubcomponents('vtimezone')
    .find((candidate) => textOf(candidate, 'tzid') === property.getFirstParameter('tzid'));
  if (definition === undefined || !isPlainZone(definition) || !isPlainTime(time)) return null;
  const inZone = time.clone();
  inZone.zone = new ICAL.Timezone(definition);
  return inZone.toUnixTime() * 1_000;
}

/** Example: `America/Argentina/Buenos_Aires`. */
const MOST_PARTS = 3;

/** Returns the IANA name in a TZID, also after a client's prefix: `/example.org/2026/Europe/Rome`. */
function ianaZone(property: ICAL.Property): string | null {
  const id = property.getFirstParameter('tzid');
  if (id === undefined || id === null) return null;
  const parts = String(id).split('/');
  for (let skipped = Math.max(0, parts.length - MOST_PARTS); skipped < parts.length; skipped += 1) {
    const name = parts.slice(skipped).join('/');
    if ((skipped === 0 || name.includes('/')) && isZone(name)) return name;
  }
  return null;
}

function validZone(name: string | null): string | null {
  return name !== null && isZone(name) ? name : null;
}

/**
 * Returns a whole feed for clients (RFC 5545; name and interval as in RFC 7986 sections 5.1 and 5.7, and in Apple's and Microsoft's earlier
 * properties). Without METHOD, which would require an organizer for each event (RFC 5546 section 3.2.1). Equal events produce equal text.
 */
export function calendarText(name: string, entries: ReadonlyMap<ItemKey, FeedEntry>): string {
  const sorted = [...entries].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry);
  const title = escaped(carriable(name));
  const head = [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//clinic-mirror//clinic-mirror//EN'],
    ...[`NAME:${title}`, `X-WR-CALNAME:${title}`],
    ...['REFRESH-INTERVAL;VALUE=DURATION:PT15M', 'X-PUBLISHED-TTL:PT15M'],
  ];
  return foldLines(
    [...head, ...zonesOf(sorted), ...sorted.map(({ event }) => event), 'END:VCALENDAR', ''].join('\r\n'),
  );
}

/** Returns each zone once, for all required years. */
function zonesOf(entries: readonly FeedEntry[]): string[] {
  const years = new Map<string, { from: number; to: number }>();
  for (const { zone } of entries) {
    if (zone === null) continue;
    const existing = years.get(zone.name) ?? { from: zone.fromYear, to: zone.toYear };
    years.set(zone.name, { from: Math.min(existing.from, zone.fromYear), to: Math.max(existing.to, zone.toYear) });
  }
  return [...years].sort().map(([zone, { from, to }]) => timeZoneText(zone, from, to));
}

/** Escapes the text of a property (RFC 5545 section 3.3.11). */
function escaped(text: string): string {
  return text.replaceAll(/[\\;,]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
}

/*
 * Limits of input for ical.js, since the author of a calendar object controls the parser's time and memory. The parser searches the rest of
 * a line for each parameter, and computes time zones change by change.
 */

/** Characters of one object, which may contain users' photographs and letters. */
export const MOST_CHARACTERS = 4_000_000;
/** Unfolded lines of one object, enough for a thousand guests. */
export const MOST_LINES = 10_000;
/** Sum of the characters that the parser searches for the ends of parameters and values: about a fortieth of a second. */
const MOST_SEARCHED = 250_000_000;
/** Work for a parameter or value of its own, in searched characters. */
const WORK_PER_VALUE = 5_000;
/** Offsets of a zone (some clients write all of them), and rules of a zone. */
const MOST_OBSERVANCES = 200;
const MOST_RULES = 32;
/** Years of all rules of a zone together: the parser computes each change. Outlook's zones have two rules of 600 years. */
const MOST_RULE_YEARS = 1_500;
/** Last day that exists in each month, and number of days in a rule. */
const LAST_DAY_OF_ALL = 28;
const MOST_DAYS = 31;
/** Outlook's zones begin in 1601. */
const FIRST_YEAR = 1_600;
const LAST_YEAR = 2_199;

/** Decides whether a calendar object can be parsed quickly, by one pass over its folded lines (RFC 5545 section 3.1). */
export function isModestCalendar(text: string): boolean {
  if (text.length > MOST_CHARACTERS) return false;
  const sign = /[,;=]|\n(?![ \t])/g;
  let [lines, searched, lineAt, separators] = [1, 0, 0, 0];
  const isCostly = (lineEnd: number) => searched + separators * (lineEnd - lineAt + WORK_PER_VALUE) > MOST_SEARCHED;
  while (sign.test(text)) {
    const at = sign.lastIndex - 1;
    if (text[at] !== '\n') separators += 1;
    if (lines > MOST_LINES || isCostly(at)) return false;
    if (text[at] !== '\n') continue;
    searched += separators * (at - lineAt + WORK_PER_VALUE);
    [lines, lineAt, separators] = [lines + 1, at, 0];
  }
  return lines <= MOST_LINES && !isCostly(text.length);
}

/** Checks whether a time is plausible for an appointment. */
function isPlainTime({ year }: ICAL.Time): boolean {
  return year >= FIRST_YEAR && year <= LAST_YEAR;
}

/** Checks whether a VTIMEZONE is plausible: yearly changes on a day of a month. */
function isPlainZone(definition: ICAL.Component): boolean {
  const observances = definition.getAllSubcomponents();
  const rules = observances.filter((observance) => observance.hasProperty('rrule'));
  return (
    observances.length <= MOST_OBSERVANCES &&
    rules.length <= MOST_RULES &&
    rules.every(isPlainRule) &&
    rules.reduce((years, rule) => years + yearsOf(rule), 0) <= MOST_RULE_YEARS
  );
}

function yearsOf(observance: ICAL.Component): number {
  const { until } = observance.getFirstPropertyValue('rrule') as ICAL.Recur;
  const start = observance.getFirstPropertyValue('dtstart') as ICAL.Time;
  return Math.max(0, Math.min(until?.year ?? LAST_YEAR, LAST_YEAR) - start.year) + 1;
}

/** Parts of a rule for the time of day, which some clients write. */
const OF_THE_DAY = ['BYHOUR', 'BYMINUTE', 'BYSECOND'];

/**
 * Accepts a day of a month that occurs each year, or at least every few years: for a date that never occurs, the parser would search twenty
 * thousand years.
 */
function isPlainRule(observance: ICAL.Component): boolean {
  const rule: unknown = observance.getFirstPropertyValue('rrule');
  const start: unknown = observance.getFirstPropertyValue('dtstart');
  if (!(rule instanceof ICAL.Recur) || !(start instanceof ICAL.Time)) return false;
  const {
    BYMONTH: months = [],
    BYDAY: [weekday, ...otherWeekdays] = [],
    BYMONTHDAY: days = [],
    ...others
  } = rule.parts;
  const isOfEachYear =
    otherWeekdays.length === 0 &&
    months.every((month) => Number(month) >= 1 && Number(month) <= 12) &&
    days.length <= MOST_DAYS &&
    (days.length === 0 || days.some((day) => Number(day) >= 1 && Number(day) <= LAST_DAY_OF_ALL)) &&
    Object.entries(others).every(([name, values]) => OF_THE_DAY.includes(name) && (values?.length ?? 0) <= 1);
  if (rule.freq !== 'YEARLY' || rule.interval !== 1 || !isOfEachYear || !isPlainTime(start)) return false;
  if (months.length !== 1) return months.length === 0 && weekday === undefined && days.length === 0;
  if (weekday === undefined) return days.length <= 1;
  // The last Sunday, or the Sunday within the seven days from the 8th.
  return days.length === 0 ? /^[+-]?[1-5][A-Z]{2}$/.test(String(weekday)) : /^[A-Z]{2}$/.test(String(weekday));
}
