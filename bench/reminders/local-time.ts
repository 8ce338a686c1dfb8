import { Temporal } from 'temporal-polyfill';
import { type PlannedRule, PROMISE } from './world-plan.ts';

const MINUTE_MS = 60_000;

/** Permitted time of a reminder, computed independently from the promise. */
export interface Allowed {
  fromAt: number;
  untilAt: number;
}

/** The instant as people there read it: `29/03/2026 10:00`. */
export function localText(at: number, zone: string): string {
  const { day, month, year, hour, minute } = local(at, zone);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${two(day)}/${two(month)}/${year} ${two(hour)}:${two(minute)}`;
}

/** The instant of a local date (`2026-03-29`) and time (`10:00`). */
export function instantOf(date: string, time: string, zone: string): number {
  return Temporal.PlainDate.from(date).toZonedDateTime({ timeZone: zone, plainTime: time }).epochMilliseconds;
}

/** Whether patients sleep. */
export function isNight(at: number, zone: string): boolean {
  const time = local(at, zone).toPlainTime().toString().slice(0, 5);
  return time >= PROMISE.quiet.from || time < PROMISE.quiet.to;
}

/** Returns the permitted time of a reminder; null if the rule leaves no time. */
export function allowedFor(rule: Pick<PlannedRule, 'when'>, startAt: number, zone: string): Allowed | null {
  const latestAt = startAt - PROMISE.leadMinutes * MINUTE_MS;
  const wantedAt = wantedFor(rule, startAt, zone);
  const fromAt = isNight(wantedAt, zone) ? outsideNight(wantedAt, latestAt, zone) : wantedAt;
  if (fromAt > latestAt || isNight(fromAt, zone)) return null;
  return { fromAt, untilAt: Math.min(fromAt + PROMISE.graceMinutes * MINUTE_MS, latestAt) };
}

function wantedFor({ when }: Pick<PlannedRule, 'when'>, startAt: number, zone: string): number {
  const start = local(startAt, zone);
  if (when === 'two-hours-before') return startAt - 120 * MINUTE_MS;
  const eve = start.subtract({ days: 1 });
  return when === 'eve-at-six' ? eve.with({ hour: 18, minute: 0 }).epochMilliseconds : eve.epochMilliseconds;
}

/** The morning after; the evening before when the morning is too late. */
function outsideNight(at: number, latestAt: number, zone: string): number {
  const there = local(at, zone);
  const isEvening = there.toPlainTime().toString().slice(0, 5) >= PROMISE.quiet.from;
  const morning = (isEvening ? there.add({ days: 1 }) : there).withPlainTime(PROMISE.quiet.to).epochMilliseconds;
  if (morning <= latestAt) return morning;
  const evening = isEvening ? there : there.subtract({ days: 1 });
  return evening.withPlainTime(PROMISE.quiet.from).epochMilliseconds - 30 * MINUTE_MS;
}

function local(at: number, zone: string): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(at).toZonedDateTimeISO(zone);
}
