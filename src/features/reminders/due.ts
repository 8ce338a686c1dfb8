import { createRequire } from 'node:module';
import type { Temporal } from 'temporal-polyfill';
import { type Instant, MINUTE_MS } from '../../model/time.ts';

/** Loads a package when it is first needed: where no reminder is due it isn't. */
const load = createRequire(import.meta.url);
const temporal = () => load('temporal-polyfill') as { Temporal: typeof Temporal };

/**
 * When a rule wants its reminder: `days` calendar days before, which keep the local time over a change of clocks, then exactly
 * `minutes` more; or at a local time some days before.
 */
export type When =
  | { kind: 'before'; days: number; minutes: number }
  | { kind: 'at'; daysBefore: number; minuteOfDay: number };

/** Minutes of the local day between which nothing is sent; over midnight when `from` is the later one, none when equal. */
export interface QuietHours {
  fromMinute: number;
  toMinute: number;
}

/** When a reminder is due, or why it can't be: the rule's time is too near the start, or the night leaves none. */
export type Due = { dueAt: Instant } | { excluded: 'too-close' | 'quiet-hours' };

/** One that is sent before the night has this long to be late in. */
const BEFORE_NIGHT_MS = 30 * MINUTE_MS;

/** The time that a rule names, whatever the night. A local time that the clocks skip comes after the gap, a doubled one first. */
export function nominalDueAt(when: When, startAt: Instant, zone: string): Instant {
  const start = zoned(startAt, zone);
  if (when.kind === 'before') {
    return start.subtract({ days: when.days }).subtract({ minutes: when.minutes }).epochMilliseconds;
  }
  return localInstant(start.toPlainDate().subtract({ days: when.daysBefore }), when.minuteOfDay, zone);
}

/**
 * When the reminder is due. One that falls into the quiet hours comes when they end, or, when that is less than the minimum lead
 * before the start, half an hour before they begin.
 */
export function dueAtOf(
  when: When,
  startAt: Instant,
  { zone, quiet, minimumLeadMs }: { zone: string; quiet: QuietHours; minimumLeadMs: number },
): Due {
  const latestAt = startAt - minimumLeadMs;
  const nominalAt = nominalDueAt(when, startAt, zone);
  const night = quietSpanAt(nominalAt, quiet, zone);
  if (night === null) return nominalAt > latestAt ? { excluded: 'too-close' } : { dueAt: nominalAt };
  if (night.toAt <= latestAt) return { dueAt: night.toAt };
  const earlierAt = night.fromAt - BEFORE_NIGHT_MS;
  if (earlierAt > latestAt) return { excluded: 'too-close' };
  return quietSpanAt(earlierAt, quiet, zone) === null ? { dueAt: earlierAt } : { excluded: 'quiet-hours' };
}

/** The quiet hours that an instant lies in, `fromAt` belonging to them and `toAt` not; null when it lies in none. */
export function quietSpanAt(
  at: Instant,
  { fromMinute, toMinute }: QuietHours,
  zone: string,
): { fromAt: Instant; toAt: Instant } | null {
  const today = zoned(at, zone).toPlainDate();
  const overMidnight = fromMinute > toMinute;
  for (const evening of overMidnight ? [today.subtract({ days: 1 }), today] : [today]) {
    const fromAt = localInstant(evening, fromMinute, zone);
    const toAt = localInstant(overMidnight ? evening.add({ days: 1 }) : evening, toMinute, zone);
    if (fromAt <= at && at < toAt) return { fromAt, toAt };
  }
  return null;
}

/** The span of a local day: `YYYY-MM-DD`, or the day after that of an instant. */
export function localDay(
  day: string | { after: Instant },
  zone: string,
): { day: string; fromAt: Instant; toAt: Instant } {
  const date =
    typeof day === 'string'
      ? temporal().Temporal.PlainDate.from(day)
      : zoned(day.after, zone).toPlainDate().add({ days: 1 });
  return {
    day: date.toString(),
    fromAt: localInstant(date, 0, zone),
    toAt: localInstant(date.add({ days: 1 }), 0, zone),
  };
}

function zoned(at: Instant, zone: string): Temporal.ZonedDateTime {
  return temporal().Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
}

function localInstant(date: Temporal.PlainDate, minute: number, zone: string): Instant {
  const plainTime = temporal().Temporal.PlainTime.from({ hour: Math.floor(minute / 60), minute: minute % 60 });
  return date.toZonedDateTime({ timeZone: zone, plainTime }).epochMilliseconds;
}
