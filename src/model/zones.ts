import { DAY_MS, type Instant, MINUTE_MS } from './time.ts';

/** Remedy for a text that names no time zone. */
export const ZONE_REMEDY = 'give an IANA time zone such as Europe/Rome';

/** Offsets change at most on a quarter of an hour, so one look-up serves a whole quarter. */
const QUARTER_MS = 15 * MINUTE_MS;
/** Bound of what is known of one zone: over a year of quarters, since lists reach so far. */
const CACHE_LIMIT = 50_000;

/** Most appointments begin and end on one of these, many at the same one: such an instant is written once. */
const COMMON_STEP_MS = 5 * MINUTE_MS;

/** Names that are known at once. IANA has six hundred; each may be written in thousands of ways, in capitals or not. */
const MOST_ZONES = 1_000;

interface ZoneCache {
  format: Intl.DateTimeFormat;
  offsets: Map<number, number>;
  /** Local times as they are written, by the number of their step. */
  texts: Map<number, string>;
}

const caches = new Map<string, ZoneCache>();

/**
 * The offset from UTC that held in a zone at an instant, in milliseconds (east positive).
 * @throws RangeError for a zone that the IANA data does not know
 */
export function offsetMs(zone: string, at: Instant): number {
  const cache = cacheOf(zone);
  const quarter = Math.floor(at / QUARTER_MS);
  const cached = cache.offsets.get(quarter);
  if (cached !== undefined) return cached;
  if (cache.offsets.size >= CACHE_LIMIT) cache.offsets.clear();
  const offset = lookUpOffset(cache.format, quarter * QUARTER_MS);
  cache.offsets.set(quarter, offset);
  return offset;
}

/** An instant as RFC 3339 local time with offset in a zone, whole seconds: `2026-03-29T09:00:00+02:00`. */
export function toZonedIso(zone: string, at: Instant): string {
  const step = at / COMMON_STEP_MS;
  if (!Number.isInteger(step)) return zonedIso(zone, at);
  const { texts } = cacheOf(zone);
  const cached = texts.get(step);
  if (cached !== undefined) return cached;
  if (texts.size >= CACHE_LIMIT) texts.clear();
  const text = zonedIso(zone, at);
  texts.set(step, text);
  return text;
}

function zonedIso(zone: string, at: Instant): string {
  const offset = offsetMs(zone, at);
  const local = new Date(Math.floor(at / 1_000) * 1_000 + offset).toISOString().slice(0, 19);
  const sign = offset < 0 ? '-' : '+';
  const minutes = Math.round(Math.abs(offset) / MINUTE_MS);
  // Joined it is one text; a template would keep its parts beside it, for as long as it is known.
  return [local, sign, twoDigits(Math.floor(minutes / 60)), ':', twoDigits(minutes % 60)].join('');
}

/** Whether the IANA data knows a zone by this name. */
export function isZone(name: string): boolean {
  try {
    cacheOf(name);
    return true;
  } catch {
    return false;
  }
}

/** Whether clients agree that a local time means an instant: the clock of the zone shows it then, and never again or before. */
export function meansOnly(local: string, zone: string, at: Instant): boolean {
  const shownAt = Date.parse(`${local}Z`);
  if (offsetMs(zone, at) !== shownAt - at) return false;
  // A clock is put on or back by less than a day, unless it skips one: then nothing comes twice.
  return [at - DAY_MS, at + DAY_MS].every((adjacentAt) => {
    const other = shownAt - offsetMs(zone, adjacentAt);
    return other === at || offsetMs(zone, other) !== shownAt - other;
  });
}

function cacheOf(zone: string): ZoneCache {
  const cached = caches.get(zone);
  if (cached !== undefined) return cached;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone: zone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
    second: 'numeric',
  });
  const cache = { format, offsets: new Map<number, number>(), texts: new Map<number, string>() };
  if (caches.size >= MOST_ZONES) caches.clear();
  caches.set(zone, cache);
  return cache;
}

function lookUpOffset(format: Intl.DateTimeFormat, at: Instant): number {
  const parts = new Map(format.formatToParts(at).map((part) => [part.type, Number(part.value)]));
  const field = (type: Intl.DateTimeFormatPartTypes) => parts.get(type) ?? 0;
  const local = Date.UTC(
    field('year'),
    field('month') - 1,
    field('day'),
    field('hour'),
    field('minute'),
    field('second'),
  );
  return local - at;
}

function twoDigits(value: number): string {
  return String(value).padStart(2, '0');
}
