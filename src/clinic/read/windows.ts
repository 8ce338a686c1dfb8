import { DAY_MS, HOUR_MS, type Instant, SECOND_MS, type TimeWindow } from '../../model/time.ts';
import type { ClinicProfile } from '../schema/profile.ts';
import { createZone, dateText, formatInstant, type TimeFormat, type Zone } from './timestamps.ts';

type WindowSettings = Pick<ClinicProfile['appointments'], 'filters' | 'agendaFilter' | 'window'>;
type Parameter = [name: string, value: string];

/** Whether a form of times says nothing of the zone that is meant. */
export function isLocalFormat(format: TimeFormat): boolean {
  return format === 'date' || format === 'local' || format === 'local-space';
}

/**
 * A window that covers the same instants whichever of the zones its ends are taken to be local times of. Rows beside the window itself are left
 * out by who reads them.
 * @param names of zones that local times may be meant in, beside the zone that the ends are written in
 */
export function widened(
  { fromAt, toAt }: TimeWindow,
  format: TimeFormat,
  zone: Zone,
  names: Iterable<string>,
): TimeWindow {
  if (!isLocalFormat(format)) return { fromAt, toAt };
  const zones = [...names].map(createZone);
  const ahead = (at: Instant) => zones.map((other) => other.offsetAt(at) - zone.offsetAt(at));
  return { fromAt: fromAt + Math.min(0, ...ahead(fromAt)), toAt: toAt + Math.max(0, ...ahead(toAt)) };
}

/**
 * The query parameters of every list call that together cover a window and the agendas: the window in chunks of at most the
 * profile's days, the agendas in groups. One empty set when the server filters by neither; no set at all when no agenda is asked for.
 */
export function listCalls(
  settings: WindowSettings,
  zone: Zone,
  window: TimeWindow,
  agendaIds: readonly string[] | null,
): Parameter[][] {
  if (agendaIds?.length === 0) return [];
  const groups = agendaParameters(settings, agendaIds);
  return windowParameters(settings, zone, window).flatMap((chunk) => groups.map((group) => [...chunk, ...group]));
}

function windowParameters(settings: WindowSettings, zone: Zone, window: TimeWindow): Parameter[][] {
  const { from, to } = settings.filters;
  if (from === null || to === null) return [[]];
  const wide = { fromAt: window.fromAt - settings.window.leadHours * HOUR_MS, toAt: window.toAt };
  const chunks =
    settings.window.format === 'date' ? dateChunks(settings, zone, wide) : instantChunks(settings, zone, wide);
  return chunks.map(([start, end]) => [
    [from, start],
    [to, end],
  ]);
}

/** Whole local dates, so that a limit in days is kept however the window's ends lie within their days. */
function dateChunks(settings: WindowSettings, zone: Zone, window: TimeWindow): [string, string][] {
  const { maxDays, toIncluded } = settings.window;
  const firstMs = floorToDay(window.fromAt + zone.offsetAt(window.fromAt));
  const lastMs = floorToDay(window.toAt - 1 + zone.offsetAt(window.toAt - 1));
  const days = (lastMs - firstMs) / DAY_MS + 1;
  const step = (maxDays ?? days) * DAY_MS;
  const chunks: [string, string][] = [];
  for (let startMs = firstMs; startMs <= lastMs; startMs += step) {
    const endMs = Math.min(startMs + step, lastMs + DAY_MS);
    chunks.push([dateText(startMs), dateText(toIncluded ? endMs - DAY_MS : endMs)]);
  }
  return chunks;
}

function instantChunks(settings: WindowSettings, zone: Zone, window: TimeWindow): [string, string][] {
  const { maxDays } = settings.window;
  const chunks: [string, string][] = [];
  let startAt = floorToSecond(window.fromAt);
  const lastAt = ceilToSecond(window.toAt);
  while (startAt < lastAt) {
    const endAt = maxDays === null ? lastAt : Math.min(chunkEnd(startAt, maxDays, zone), lastAt);
    chunks.push([
      formatInstant(startAt, settings.window.format, zone),
      formatInstant(endAt, settings.window.format, zone),
    ]);
    startAt = endAt;
  }
  return chunks;
}

/** A server that counts local days would find an hour too many where the clock was put forward: that hour is left off. */
function chunkEnd(startAt: Instant, maxDays: number, zone: Zone): Instant {
  const endAt = startAt + maxDays * DAY_MS;
  return endAt - Math.max(0, zone.offsetAt(endAt) - zone.offsetAt(startAt));
}

function agendaParameters(settings: WindowSettings, agendaIds: readonly string[] | null): Parameter[][] {
  const name = settings.filters.agenda;
  if (name === null || agendaIds === null) return [[]];
  const { style, maxPerCall } = settings.agendaFilter;
  const groups: Parameter[][] = [];
  for (let start = 0; start < agendaIds.length; start += maxPerCall) {
    const group = agendaIds.slice(start, start + maxPerCall);
    groups.push(style === 'comma' ? [[name, group.join(',')]] : group.map((id): Parameter => [name, id]));
  }
  return groups;
}

function floorToDay(wallMs: number): number {
  return Math.floor(wallMs / DAY_MS) * DAY_MS;
}

function floorToSecond(at: Instant): Instant {
  return Math.floor(at / SECOND_MS) * SECOND_MS;
}

function ceilToSecond(at: Instant): Instant {
  return Math.ceil(at / SECOND_MS) * SECOND_MS;
}
