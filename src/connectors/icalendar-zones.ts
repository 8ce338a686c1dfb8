import ICAL from 'ical.js';
import { Temporal } from 'temporal-polyfill';
import type { Instant } from '../model/time.ts';

/** A span in which one offset holds; `from` is when it began. */
interface Observance {
  from: Temporal.ZonedDateTime | null;
  offsetFromSeconds: number;
  offsetToSeconds: number;
  /** Set when the change comes back each year from `from` on, such as `FREQ=YEARLY;BYMONTH=10;BYDAY=-1SU`. */
  rule: string | null;
}

/** Where an offset began that has held as long as the zone data tells. */
const ALWAYS = '1970-01-01T00:00:00';

/** Years ahead for which a yearly rule must hold to be written as one. */
const RULE_YEARS = 10;
const EARLIEST_YEAR = 1970;
const WEEKDAYS = ['MO', 'TU', 'WE', 'TH', 'FR', 'SA', 'SU'] as const;

/** VTIMEZONEs made before, by zone and years: they are the same in all events of a year, and cost most of what an event does. */
const cached = new Map<string, string>();

/**
 * A VTIMEZONE for an IANA zone (RFC 5545 section 3.6.5) as text, from this machine's zone data. A zone that changes its clocks by a
 * yearly rule is written as that rule since it began, so that all our events define the zone in the same words: some servers and
 * clients keep only one definition for a whole calendar. Otherwise every change in the years given is written out.
 * @throws RangeError for a zone that the data does not know
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
  // What holds at the start began with the change before it.
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

/** Both changes of a year as rules, each from the first year since which it has held; null when they follow none. */
function yearlyRules(zone: string, year: number): Observance[] | null {
  const changes = changesIn(zone, year);
  if (changes.length !== 2) return null;
  const found: Observance[] = [];
  for (const change of changes) {
    const rule = rulesOf(change).find((candidate) => holdsAhead(zone, year, candidate));
    if (rule === undefined) return null;
    found.push(firstOf(zone, year, rule, change));
  }
  // A rule that begins in this very year leaves the months before it without an offset.
  return found.every(({ from }) => from !== null && from.year < year) ? found : null;
}

function holdsAhead(zone: string, year: number, rule: string): boolean {
  for (let ahead = 1; ahead <= RULE_YEARS; ahead += 1) if (!holdsIn(zone, year + ahead, rule)) return false;
  return true;
}

/** Walks back to the first year of an unbroken run. */
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

/** The rules that a change fits, with its local time and offsets behind a bar: what must come back as a whole. */
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

/** The local time as the clock showed it before the change: DTSTART of an observance (RFC 5545 section 3.6.5). */
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
 * The instant of a local time in a zone; one that comes twice means the first, one in a gap is taken with the offset
 * before the gap (RFC 5545 section 3.3.5, which is Temporal's `compatible`).
 * @param local `2026-03-29T09:00:00`
 */
export function instantOfLocal(local: string, zone: string): Instant {
  return Temporal.PlainDateTime.from(local).toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds;
}
