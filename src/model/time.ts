import { message } from '../messages/message.ts';

/** One second in milliseconds. */
export const SECOND_MS = 1_000;
/** One minute in milliseconds. */
export const MINUTE_MS = 60 * SECOND_MS;
/** One hour in milliseconds. */
export const HOUR_MS = 60 * MINUTE_MS;
/** One day of 24 hours in milliseconds. */
export const DAY_MS = 24 * HOUR_MS;
/** Clocks of two machines may differ by so much: a time that is no further ahead is not one to come. Our choice. */
export const CLOCK_TOLERANCE_MS = MINUTE_MS;

/** A point in time: epoch milliseconds. Fields that hold one end in `At`. */
export type Instant = number;

/** Tells the time; passed in wherever time matters, so that tests choose it. */
export type Clock = () => Instant;

/** A half-open span of time: `fromAt` belongs to it, `toAt` does not. */
export interface TimeWindow {
  fromAt: Instant;
  toAt: Instant;
}

/** The time that something takes up; an end that is not after its start makes it a moment. */
export interface TimeSpan {
  startAt: Instant;
  endAt: Instant;
}

/** Whether a span lies in a window, at least in part. Every test of a window is this one: a block of a month ends with its end. */
export function overlaps(span: TimeSpan, window: TimeWindow): boolean {
  return span.startAt < window.toAt && !hasPassed(span, window);
}

/** Whether a span lies wholly before a window: time has passed over it, or it was moved there. */
export function hasPassed({ startAt, endAt }: TimeSpan, { fromAt }: TimeWindow): boolean {
  return Math.max(endAt, startAt + 1) <= fromAt;
}

/**
 * How much time, in milliseconds, passed between two moments by the wall clock, of whatever process; the later one of this process.
 * Negative where only a clock that ran ahead can have told the earlier one.
 */
export type ElapsedBetween = (fromAt: Instant, toAt: Instant) => number;

/** A wall clock beside one that does not jump with it. */
export interface WatchedClock {
  clock: Clock;
  elapsedBetween: ElapsedBetween;
}

/** How the wall clock stood to the steady one for a while, both ends by the steady one. */
interface Stand {
  offsetMs: number;
  fromAt: Instant;
  /** Moves on with each look; of one that is over: the look that found another. */
  untilAt: Instant;
}

/** Less is no jump: clocks that are kept right step by step, or that were read one after the other. Our choice. */
const JUMP_MS = SECOND_MS / 2;
/** Jumps that are remembered; of what was before them only the wall clock tells. */
const STORED_OFFSETS = 32;

/**
 * Has everybody who asks for the time look whether the wall clock jumped. What passes while this process runs is told by the steady one: two
 * readings that a jump took apart are as near to each other as they were. Of the time before, only the wall clock tells.
 * @param steady milliseconds since any moment, such as `performance.now`
 */
export function watchClock(wall: Clock, steady: () => number): WatchedClock {
  const offsets: Stand[] = [];
  const look = () => {
    const now = steady();
    const wallNow = wall();
    const last = offsets.at(-1);
    if (last !== undefined) last.untilAt = now;
    if (last === undefined || Math.abs(wallNow - now - last.offsetMs) >= JUMP_MS) {
      offsets.push({ offsetMs: wallNow - now, fromAt: now, untilAt: now });
      if (offsets.length > STORED_OFFSETS) offsets.shift();
    }
    return { now, wallNow };
  };
  const first = look();
  /** The same moment by the steady clock; null when it was not while this process looked, nor before. */
  const steadyAt = (at: Instant): number | null => {
    const may = offsets.flatMap(({ offsetMs, fromAt, untilAt }) => {
      const moment = at - offsetMs;
      return moment > fromAt - JUMP_MS && moment < untilAt + JUMP_MS ? [moment] : [];
    });
    if (may.length > 0) return Math.max(...may);
    const before = at - first.wallNow + first.now;
    return before < first.now ? before : null;
  };
  return {
    clock: () => look().wallNow,
    elapsedBetween(fromAt, toAt) {
      look();
      const [from, to] = [steadyAt(fromAt), steadyAt(toAt)];
      return from === null || to === null ? toAt - fromAt : to - from;
    },
  };
}

/** Remedy for a text that names no time zone. */
export const ZONE_REMEDY = message('settings.zone');

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
