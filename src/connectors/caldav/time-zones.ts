import ICAL from 'ical.js';
import { Temporal } from 'temporal-polyfill';

/** A span in which one offset holds; `from` is when it began. */
interface Observance {
  from: Temporal.ZonedDateTime | null;
  offsetFromSeconds: number;
  offsetToSeconds: number;
}

/** Where an offset began that has held as long as the zone data tells. */
const ALWAYS = '1970-01-01T00:00:00';

/** Parts of VTIMEZONEs made before, as jCal, by zone and years. */
const known = new Map<string, Observance[]>();

/**
 * A VTIMEZONE for an IANA zone (RFC 5545 section 3.6.5), from this machine's zone data: every change of offset in the
 * years given and the one before, each written out, without rules that could turn wrong.
 * @throws RangeError for a zone that the data does not know
 */
export function timeZoneComponent(zone: string, fromYear: number, toYear: number): ICAL.Component {
  const component = new ICAL.Component('vtimezone');
  component.addPropertyWithValue('tzid', zone);
  for (const observance of observances(zone, fromYear, toYear))
    component.addSubcomponent(observanceComponent(observance));
  return component;
}

function observances(zone: string, fromYear: number, toYear: number): Observance[] {
  const key = `${zone} ${fromYear} ${toYear}`;
  let found = known.get(key);
  if (found === undefined) {
    found = findObservances(zone, fromYear, toYear);
    known.set(key, found);
  }
  return found;
}

function findObservances(zone: string, fromYear: number, toYear: number): Observance[] {
  const start = Temporal.PlainDate.from({ year: fromYear, month: 1, day: 1 }).toZonedDateTime(zone);
  const end = Temporal.PlainDate.from({ year: toYear + 1, month: 1, day: 1 }).toZonedDateTime(zone);
  const found: Observance[] = [];
  // What holds at the start began with the change before it.
  let change = start.getTimeZoneTransition('previous');
  if (change === null) {
    const offset = secondsOf(start);
    found.push({ from: null, offsetFromSeconds: offset, offsetToSeconds: offset });
    change = start.getTimeZoneTransition('next');
  }
  while (change !== null && Temporal.ZonedDateTime.compare(change, end) < 0) {
    const before = change.subtract({ nanoseconds: 1 });
    found.push({ from: change, offsetFromSeconds: secondsOf(before), offsetToSeconds: secondsOf(change) });
    change = change.getTimeZoneTransition('next');
  }
  return found;
}

function secondsOf(time: Temporal.ZonedDateTime): number {
  return Math.round(time.offsetNanoseconds / 1e9);
}

/** DTSTART of an observance is the local time as the clock showed it before the change (RFC 5545 section 3.6.5). */
function observanceComponent({ from, offsetFromSeconds, offsetToSeconds }: Observance): ICAL.Component {
  const component = new ICAL.Component(offsetToSeconds > offsetFromSeconds ? 'daylight' : 'standard');
  const local =
    from === null
      ? ALWAYS
      : from.toInstant().add({ seconds: offsetFromSeconds }).toString({ fractionalSecondDigits: 0 }).slice(0, 19);
  component.addPropertyWithValue('dtstart', ICAL.Time.fromDateTimeString(local));
  component.addPropertyWithValue('tzoffsetfrom', ICAL.UtcOffset.fromSeconds(offsetFromSeconds));
  component.addPropertyWithValue('tzoffsetto', ICAL.UtcOffset.fromSeconds(offsetToSeconds));
  return component;
}

/**
 * The instant of a local time in a zone; one that comes twice means the first, one in a gap is taken with the offset
 * before the gap (RFC 5545 section 3.3.5, which is Temporal's `compatible`).
 * @param local `2026-03-29T09:00:00`
 * @returns epoch milliseconds
 */
export function instantOfLocal(local: string, zone: string): number {
  return Temporal.PlainDateTime.from(local).toZonedDateTime(zone, { disambiguation: 'compatible' }).epochMilliseconds;
}

/** Whether clients agree on what a local time means: it is neither left out nor does it come twice. */
export function isPlainLocal(local: string, zone: string): boolean {
  const time = Temporal.PlainDateTime.from(local);
  const [earlier, later] = [
    time.toZonedDateTime(zone, { disambiguation: 'earlier' }),
    time.toZonedDateTime(zone, { disambiguation: 'later' }),
  ];
  return Temporal.ZonedDateTime.compare(earlier, later) === 0;
}
