import { message } from '../../messages/message.ts';

export const SECOND_MS = 1_000;
export const MINUTE_MS = 60 * SECOND_MS;
export const HOUR_MS = 60 * MINUTE_MS;
/** 24 hours. */
export const DAY_MS = 24 * HOUR_MS;
/** Accepted clock difference between hosts: a time within this tolerance is not in the future. Our choice. */
export const CLOCK_TOLERANCE_MS = MINUTE_MS;

/** A point in time: epoch milliseconds. Names of such fields end in `At`. */
export type Instant = number;

/** Returns the current time. Passed as a parameter so that tests can choose the time. */
export type Clock = () => Instant;

/** A half-open span: includes `fromAt`, excludes `toAt`. */
export interface TimeWindow {
  fromAt: Instant;
  toAt: Instant;
}

/** Duration of an appointment. An end that is not after the start means a moment. */
export interface TimeSpan {
  startAt: Instant;
  endAt: Instant;
}

/** Returns the time of a future attempt; null if the attempt is due, because a next attempt in the past would be untrue. */
export function upcoming(at: Instant | null, now: Instant): Instant | null {
  return at !== null && at > now ? at : null;
}

/** Decides whether a span overlaps a window. All window tests use this function: a block of a month ends with its end. */
export function overlaps(span: TimeSpan, window: TimeWindow): boolean {
  return span.startAt < window.toAt && !hasPassed(span, window);
}

/** Decides whether a span is completely before a window, by elapsed time or after a move. */
export function hasPassed({ startAt, endAt }: TimeSpan, { fromAt }: TimeWindow): boolean {
  return Math.max(endAt, startAt + 1) <= fromAt;
}

/** The spans of a list, as one window overlaps them. */
export interface WindowOverlaps {
  /** Adds a span. @returns whether the window overlaps it, as {@link overlaps} */
  look(span: TimeSpan): boolean;
  /** Whether another window overlaps exactly the same of these spans: no end of the window moved past an end of a span. */
  holdsIn(other: TimeWindow): boolean;
}

/** Starts a list of spans for one window. */
export function sameOverlaps({ fromAt, toAt }: TimeWindow): WindowOverlaps {
  let [lastPassedAt, nextPassedAt, lastBegunAt, nextBegunAt] = [-Infinity, Infinity, -Infinity, Infinity];
  return {
    look({ startAt, endAt }) {
      const passedAt = Math.max(endAt, startAt + 1);
      const isPassed = passedAt <= fromAt;
      if (isPassed) lastPassedAt = Math.max(lastPassedAt, passedAt);
      else nextPassedAt = Math.min(nextPassedAt, passedAt);
      const hasBegun = startAt < toAt;
      if (hasBegun) lastBegunAt = Math.max(lastBegunAt, startAt);
      else nextBegunAt = Math.min(nextBegunAt, startAt);
      return hasBegun && !isPassed;
    },
    holdsIn: (other) =>
      lastPassedAt <= other.fromAt &&
      other.fromAt < nextPassedAt &&
      lastBegunAt < other.toAt &&
      other.toAt <= nextBegunAt,
  };
}

/**
 * Returns the elapsed milliseconds between two wall-clock times; the earlier possibly from another process. Negative only if a clock that
 * ran ahead produced the earlier time.
 */
export type ElapsedBetween = (fromAt: Instant, toAt: Instant) => number;

/** A wall clock, and the elapsed time corrected for clock jumps. */
export interface WatchedClock {
  clock: Clock;
  elapsedBetween: ElapsedBetween;
}

/** Offset of the wall clock from the steady clock for a period, both ends by the steady clock. */
interface Stand {
  offsetMs: number;
  fromAt: Instant;
  /** Advances with each check; after a jump, the time of the check that found it. */
  untilAt: Instant;
}

/** Smaller differences are gradual corrections or delays between two clock queries. Our choice. */
const JUMP_MS = SECOND_MS / 2;
/** Maximum number of stored jumps. Before the oldest jump, only the wall clock is known. */
const STORED_OFFSETS = 32;

/**
 * Checks for wall-clock jumps at each use. Within this process the steady clock measures elapsed time, so a jump between two times has no
 * effect. Before the start of the process, only the wall clock is known.
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
  /** Converts a moment to the steady clock; null outside the observed time. */
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

/** Remedy for an unknown time zone. */
export const ZONE_REMEDY = message('settings.zone');

/** Offsets change only on a quarter of an hour, so one look-up serves a whole quarter. */
const QUARTER_MS = 15 * MINUTE_MS;
/** Cache limit per zone: over a year of quarters, the span of a list. */
const CACHE_LIMIT = 50_000;

/** Most appointments begin and end on such steps, many at equal times, so the text of a step is cached. */
const COMMON_STEP_MS = 5 * MINUTE_MS;

/** Limit of cached names. IANA has six hundred zones, but case variations allow thousands of spellings each. */
const MOST_ZONES = 1_000;

interface ZoneCache {
  format: Intl.DateTimeFormat;
  offsets: Map<number, number>;
  /** Formatted local times by step number. */
  texts: Map<number, string>;
}

const caches = new Map<string, ZoneCache>();

/**
 * Returns the UTC offset of a zone at an instant in milliseconds, east positive.
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

/** Returns the local date of an instant, `YYYY-MM-DD`. @param zone IANA name */
export function localDate(zone: string, at: Instant): string {
  return new Date(at + offsetMs(zone, at)).toISOString().slice(0, 10);
}

/** Formats an instant as RFC 3339 local time with offset, whole seconds: `2026-03-29T09:00:00+02:00`. */
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
  // `join` creates one flat string; a template would keep its parts in memory while the string is cached.
  return [local, sign, twoDigits(Math.floor(minutes / 60)), ':', twoDigits(minutes % 60)].join('');
}

/** Decides whether the IANA data contains a zone name. */
export function isZone(name: string): boolean {
  try {
    cacheOf(name);
    return true;
  } catch {
    return false;
  }
}

/** Decides whether a local time is unambiguous: the zone's clock shows the local time at this instant only. */
export function meansOnly(local: string, zone: string, at: Instant): boolean {
  const shownAt = Date.parse(`${local}Z`);
  if (offsetMs(zone, at) !== shownAt - at) return false;
  // A clock change is less than a day, unless a day is skipped; then no local time repeats.
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
