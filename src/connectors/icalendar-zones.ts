import ICAL from 'ical.js';
import { Temporal } from 'temporal-polyfill';
import type { ItemTime } from '../core/model/items.ts';
import type { Instant, TimeSpan } from '../core/model/time.ts';

/** Period with one offset; `from` is its start. */
interface Observance {
  from: Temporal.ZonedDateTime | null;
  offsetFromSeconds: number;
  offsetToSeconds: number;
  /** Set if the change recurs each year after `from`, such as `FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU`. */
  rule: string | null;
}

/** Start of an offset without an earlier change in the zone data. */
const ALWAYS = '1970-01-01T00:00:00';

/** Number of future years for which a change must follow a yearly rule to be written as a rule. */
const RULE_YEARS = 10;
const EARLIEST_YEAR = 1970;
const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;

/** Cached VTIMEZONEs by zone and years: they are equal in all events of a year, and cause most of an event's cost. */
const cached = new Map<string, string>();

/**
 * Returns a VTIMEZONE for an IANA zone (RFC 5545 section 3.6.5) as text, from this host's zone data. A zone with yearly rules is written
 * with those rules from their first year, so that all events contain an equal definition: some servers and clients keep only one definition
 * per calendar. Otherwise, each change in the given years is written.
 * @throws RangeError for a zone that is missing in the data
 */
export function timeZoneText(zone: string, fromYear: number, toYear: number): string {
  const key = `${zone} ${fromYear} ${toYear}`;
  let text = cached.get(key);
  if (text === undefined) {
    text = timeZoneComponent(zone, fromYear, toYear).toString();
    cached.set(key, text);
  }
  return text;
}

function timeZoneComponent(zone: string, fromYear: number, toYear: number): ICAL.Component {
  const component = new ICAL.Component('vtimezone');
  component.addPropertyWithValue('tzid', zone);
  const observances = yearlyRules(zone, fromYear) ?? findObservances(zone, fromYear, toYear);
  for (const observance of observances) component.addSubcomponent(observanceComponent(observance));
  return component;
}

function findObservances(zone: string, fromYear: number, toYear: number): Observance[] {
  const start = Temporal.PlainDate.from({ year: fromYear, month: 1, day: 1 }).toZonedDateTime(zone);
  const end = Temporal.PlainDate.from({ year: toYear + 1, month: 1, day: 1 }).toZonedDateTime(zone);
  const found: Observance[] = [];
  // The first offset began at the previous change.
  let change = start.getTimeZoneTransition('previous');
  if (change === null) {
    const offset = secondsOf(start);
    found.push({ from: null, offsetFromSeconds: offset, offsetToSeconds: offset, rule: null });
    change = start.getTimeZoneTransition('next');
  }
  while (change !== null && Temporal.ZonedDateTime.compare(change, end) < 0) {
    const before = change.subtract({ nanoseconds: 1 });
    found.push({ from: change, offsetFromSeconds: secondsOf(before), offsetToSeconds: secondsOf(change), rule: null });
    change = change.getTimeZoneTransition('next');
  }
  return found;
}

/** Returns both changes of a year as rules, each from its first year; null if the changes follow no rules. */
function yearlyRules(zone: string, year: number): Observance[] | null {
  const changes = changesIn(zone, year);
  if (changes.length !== 2) return null;
  const found: Observance[] = [];
  for (const change of changes) {
    const rule = rulesOf(change).find((candidate) => holdsAhead(zone, year, candidate));
    if (rule === undefined) return null;
    found.push(firstOf(zone, year, rule, change));
  }
  // A rule that starts in this year would leave the earlier months without an offset.
  return found.every(({ from }) => from !== null && from.year < year) ? found : null;
}

function holdsAhead(zone: string, year: number, rule: string): boolean {
  for (let ahead = 1; ahead <= RULE_YEARS; ahead += 1) if (!holdsIn(zone, year + ahead, rule)) return false;
  return true;
}

/** Finds the first year of an unbroken series. */
function firstOf(zone: string, year: number, rule: string, change: Observance): Observance {
  let first = change;
  for (let past = year - 1; past >= EARLIEST_YEAR; past -= 1) {
    const same = changesIn(zone, past).find((candidate) => rulesOf(candidate).includes(rule));
    if (same === undefined) break;
    first = same;
  }
  return { ...first, rule: rule.split('|')[0] ?? null };
}

function holdsIn(zone: string, year: number, rule: string): boolean {
  return changesIn(zone, year).some((change) => rulesOf(change).includes(rule));
}

function changesIn(zone: string, year: number): Observance[] {
  return findObservances(zone, year, year).filter(({ from }) => from?.year === year);
}

/** Returns the rules that match a change, with its local time and offsets after a bar, which must recur together. */
function rulesOf(change: Observance): string[] {
  const local = localStart(change);
  const day = Temporal.PlainDateTime.from(local);
  const weekday = WEEKDAYS[day.dayOfWeek - 1];
  const ordinals = [Math.ceil(day.day / 7), ...(day.day + 7 > day.daysInMonth ? [-1] : [])];
  const clock = `${local.slice(11)} ${change.offsetFromSeconds} ${change.offsetToSeconds}`;
  return ordinals.map((ordinal) => `FREQ=YEARLY;BYMONTH=${day.month};BYDAY=${ordinal}${weekday}|${clock}`);
}

function secondsOf(time: Temporal.ZonedDateTime): number {
  return Math.round(time.offsetNanoseconds / 1e9);
}

/** Returns the local time by the clock before the change: DTSTART of an observance (RFC 5545 section 3.6.5). */
function localStart({ from, offsetFromSeconds }: Observance): string {
  if (from === null) return ALWAYS;
  return from.toInstant().add({ seconds: offsetFromSeconds }).toString({ fractionalSecondDigits: 0 }).slice(0, 19);
}

function observanceComponent(observance: Observance): ICAL.Component {
  const { offsetFromSeconds, offsetToSeconds, rule } = observance;
  const component = new ICAL.Component(offsetToSeconds > offsetFromSeconds ? 'daylight' : 'standard');
  component.addPropertyWithValue('dtstart', ICAL.Time.fromDateTimeString(localStart(observance)));
  component.addPropertyWithValue('tzoffsetfrom', ICAL.UtcOffset.fromSeconds(offsetFromSeconds));
  component.addPropertyWithValue('tzoffsetto', ICAL.UtcOffset.fromSeconds(offsetToSeconds));
  if (rule !== null) component.addPropertyWithValue('rrule', ICAL.Recur.fromString(rule));
  return component;
}

/**
 * Returns the instant of a local time in a zone. An ambiguous time means the first instant; a time in a gap uses the offset before the gap
 * (RFC 5545 section 3.3.5, Temporal's `compatible`).
 * @param local `2026-03-29T09:00:00`
 */
export function instantOfLocal(local: string, zone: string): Instant {
  return Temporal.PlainDateTime.from(local).toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds;
}

/** Returns the span of an event. @param zone in which whole days begin and end */
export function spanOf(time: ItemTime, zone: string): TimeSpan {
  if (time.kind === 'timed') return { startAt: Date.parse(time.start), endAt: Date.parse(time.end) };
  const midnight = (date: string) => instantOfLocal(`${date}T00:00:00`, zone);
  return { startAt: midnight(time.startDate), endAt: midnight(time.endDate) };
}
