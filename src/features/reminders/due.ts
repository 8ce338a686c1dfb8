import { createRequire } from 'node:module';
import type { Temporal } from 'temporal-polyfill';
import { type Instant, MINUTE_MS } from '../../core/model/time.ts';

/** Loads the package for the first due reminder. */
const load = createRequire(import.meta.url);
const temporal = () => load('temporal-polyfill') as { Temporal: typeof Temporal };

/**
 * Time of a rule: `days` calendar days before, with constant local time across clock changes, and then exactly `minutes` more; or a local
 * time some days before.
 */
export type When =
  | { kind: 'before'; days: number; minutes: number }
  | { kind: 'at'; daysBefore: number; minuteOfDay: number };

/** Minutes of the local day without messages; across midnight if `from` is later, empty if equal. */
export interface QuietHours {
  fromMinute: number;
  toMinute: number;
}

/** Due time of a reminder, or the reason against a reminder: too close to the start, or no time outside of quiet hours. */
export type Due = { dueAt: Instant } | { excluded: 'too-close' | 'quiet-hours' };

/** Time between a reminder before quiet hours and their begin, to allow for delays. */
const BEFORE_NIGHT_MS = 30 * MINUTE_MS;

/**
 * Returns the time of a rule without quiet hours. A skipped local time moves after the gap, and the first of a doubled local time applies.
 */
export function nominalDueAt(when: When, startAt: Instant, zone: string): Instant {
  const start = zoned(startAt, zone);
  if (when.kind === 'before') {
    return start.subtract({ days: when.days }).subtract({ minutes: when.minutes }).epochMilliseconds;
  }
  return localInstant(start.toPlainDate().subtract({ days: when.daysBefore }), when.minuteOfDay, zone);
}

/**
 * Returns the due time. A reminder in quiet hours moves to their end. If the end is less than the minimum lead before the start, the
 * reminder moves to half an hour before quiet hours.
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

/** Returns the quiet hours around an instant, including `fromAt` and excluding `toAt`, or null. */
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

/** Returns a local day: `YYYY-MM-DD`, or the day after an instant. */
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

/** Returns the local day of an instant, `YYYY-MM-DD`. */
export function dayOf(at: Instant, zone: string): string {
  return zoned(at, zone).toPlainDate().toString();
}

function zoned(at: Instant, zone: string): Temporal.ZonedDateTime {
  return temporal().Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
}

function localInstant(date: Temporal.PlainDate, minute: number, zone: string): Instant {
  const plainTime = temporal().Temporal.PlainTime.from({ hour: Math.floor(minute / 60), minute: minute % 60 });
  return date.toZonedDateTime({ timeZone: zone, plainTime }).epochMilliseconds;
}
