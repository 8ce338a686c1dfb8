import { Temporal } from 'temporal-polyfill';

const OFFSET_AT_END = /(?:Z|[+-]\d{2}:\d{2})$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})?$/i;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
const DAY_MS = 86_400_000;

const knownZones = new Map<string, boolean>();
const offsets = new Map<string, Map<number, number | 'changes'>>();

/** True for an IANA zone name that this Node knows. */
export function isZone(zone: string): boolean {
  let known = knownZones.get(zone);
  if (known === undefined) {
    known = !OFFSET_AT_END.test(zone) && isAccepted(() => new Intl.DateTimeFormat('en', { timeZone: zone }));
    knownZones.set(zone, known);
  }
  return known;
}

/** Returns true if Z or an offset is the last part of a timestamp. */
export function hasOffset(dateTime: string): boolean {
  return OFFSET_AT_END.test(dateTime.toUpperCase());
}

/**
 * Returns the epoch ms of an RFC 3339 timestamp. Without an offset, the timestamp is wall time in `zone`. Undefined if the text is not a
 * valid time.
 */
export function parseDateTime(dateTime: string, zone: string): number | undefined {
  if (!DATE_TIME.test(dateTime) || !isDay(dateTime.slice(0, 10))) {
    return undefined;
  }
  const withOffset = hasOffset(dateTime);
  const parsed = Date.parse(withOffset ? dateTime.toUpperCase() : `${dateTime}Z`);
  if (Number.isNaN(parsed)) {
    return undefined;
  }
  return withOffset ? parsed : wallTime(parsed, dateTime, zone);
}

/** The instant of a wall time, whose digits read as UTC are `asUtc`. In a gap or overlap of the clock Temporal decides. */
function wallTime(asUtc: number, dateTime: string, zone: string): number {
  const before = offsetMinutes(asUtc - DAY_MS, zone);
  return before === offsetMinutes(asUtc + DAY_MS, zone)
    ? asUtc - before * 60_000
    : Temporal.PlainDateTime.from(dateTime).toZonedDateTime(zone).epochMilliseconds;
}

/** Date.parse takes the 30th of February for a day in March. */
function isDay(date: string): boolean {
  const parsed = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(parsed) && new Date(parsed).toISOString().startsWith(date);
}

/** Returns the epoch ms of the first moment of a day (`YYYY-MM-DD`) in `zone`. Undefined if the text is not a valid day. */
export function parseDate(date: string, zone: string): number | undefined {
  if (!DATE.test(date)) {
    return undefined;
  }
  return attempt(() => Temporal.PlainDate.from(date).toZonedDateTime(zone).epochMilliseconds);
}

/** An RFC 3339 timestamp with seconds and the offset of `zone`, as the API answers it. */
export function formatInZone(epochMs: number, zone: string): string {
  const offset = offsetMinutes(epochMs, zone);
  const wall = new Date(epochMs + offset * 60_000).toISOString().slice(0, 19);
  if (offset === 0) {
    return `${wall}Z`;
  }
  const minutes = Math.abs(offset);
  const hh = String(Math.floor(minutes / 60)).padStart(2, '0');
  const mm = String(minutes % 60).padStart(2, '0');
  return `${wall}${offset < 0 ? '-' : '+'}${hh}:${mm}`;
}

/** The zone's offset; worked out once per UTC day, unless the clock changes on it. */
function offsetMinutes(epochMs: number, zone: string): number {
  const day = Math.floor(epochMs / DAY_MS);
  let days = offsets.get(zone);
  if (!days) {
    days = new Map();
    offsets.set(zone, days);
  }
  let offset = days.get(day);
  if (offset === undefined) {
    const first = exactOffset(day * DAY_MS, zone);
    offset = first === exactOffset((day + 1) * DAY_MS, zone) ? first : 'changes';
    days.set(day, offset);
  }
  return offset === 'changes' ? exactOffset(epochMs, zone) : offset;
}

function exactOffset(epochMs: number, zone: string): number {
  const zoned = Temporal.Instant.fromEpochMilliseconds(epochMs).toZonedDateTimeISO(zone);
  return Math.round(zoned.offsetNanoseconds / 60e9);
}

function isAccepted(make: () => unknown): boolean {
  return (
    attempt(() => {
      make();
      return true;
    }) === true
  );
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError) {
      return undefined;
    }
    throw error;
  }
}
