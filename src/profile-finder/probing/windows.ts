import { asId, isJsonObject } from '../../clinic/http/rows.ts';
import type { BookedAppointment } from '../../clinic/read/appointment-rows.ts';
import { formatInstant, type TimeFormat } from '../../clinic/read/timestamps.ts';
import { createZone } from '../../clinic/read/zone.ts';
import { parsePath } from '../../clinic/schema/paths.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { DAY_MS, type Instant, MINUTE_MS } from '../../model/time.ts';
import { spotsOf } from '../specification/match-fields.ts';
import { type WindowName, windowNameOf } from '../specification/window-names.ts';
import type { Asked, Asker, Told } from './asking.ts';
import { rowsIn } from './paging.ts';

/** Parameters of windows that are tried, the likeliest first. */
const PAIRS: readonly (readonly [from: string, to: string])[] = [
  ['from', 'to'],
  ['date_start', 'date_end'],
  ['dateFrom', 'dateTo'],
  ['date_from', 'date_to'],
  ['starts_from', 'starts_to'],
  ['start_from', 'start_to'],
  ['startFrom', 'startTo'],
  ['starts_after', 'starts_before'],
  ['from_date', 'to_date'],
  ['startDate', 'endDate'],
  ['start_date', 'end_date'],
  ['dateStart', 'dateEnd'],
  ['start', 'end'],
  ['timeMin', 'timeMax'],
  ['since', 'until'],
  ['dal', 'al'],
];
const AGENDAS = [
  'agendaId',
  'agenda_ids',
  'agendaIds',
  'agenda_id',
  'calendarId',
  'calendar',
  'resourceId',
  'idAgenda',
  'agenda',
  'agendas',
  'calendar_id',
  'calendarIds',
  'calendars',
  'resource_id',
  'resource',
  'scheduleId',
  'schedule',
  'providerId',
  'practitionerId',
  'doctorId',
];
/** Forms of times that are tried after those that the profile and the rows have. */
const FORMATS: readonly TimeFormat[] = ['offset', 'date', 'epoch-seconds', 'local'];
/** Pairs of parameters that are taken from the words of a refusal. */
const MOST_HINTS = 4;
/** Days of the window that every clinic should allow. */
export const USUAL_DAYS = 28;
/** Long ago: there are no appointments. */
const LONG_AGO: Instant = Date.parse('1990-01-01T00:00:00Z');
const LENGTHS = [30, 92, 366];

/** How a list is asked for a window. */
export interface WindowSeen {
  from: string;
  to: string;
  format: TimeFormat;
}

/** Writes a window for the clinic. */
export function windowParameters(
  { from, to, format }: WindowSeen,
  fromAt: Instant,
  toAt: Instant,
  profile: Pick<ClinicProfile, 'zone'>,
): Asked[] {
  const zone = createZone(profile.zone);
  return [
    [from, formatInstant(fromAt, format, zone)],
    [to, formatInstant(toAt, format, zone)],
  ];
}

/** Finds the parameters of a window: those with which something comes from now, and nothing, or a refusal, from long ago. */
export async function probeWindow(asker: Asker, now: Instant, profile: ClinicProfile): Promise<WindowSeen | null> {
  const { filters, window } = profile.appointments;
  const own = filters.from !== null && filters.to !== null ? [[filters.from, filters.to] as const] : [];
  const unasked = await asker.ask('appointments');
  const pairs = [...own, ...hintsOf(unasked), ...PAIRS].filter(
    ([from, to], index, all) => all.findIndex((pair) => pair[0] === from && pair[1] === to) === index,
  );
  const formats = [...new Set<TimeFormat>([window.format, ...epochsOf(unasked), ...FORMATS])];
  for (const [from, to] of pairs) {
    for (const format of formats) {
      const seen = { from, to, format };
      const ask = async (fromAt: Instant, days: number) => {
        const parameters = windowParameters(seen, fromAt, fromAt + days * DAY_MS, profile);
        return asker.ask('appointments', parameters);
      };
      const present = rowsIn(await ask(now - (USUAL_DAYS / 4) * DAY_MS, USUAL_DAYS), 'appointments');
      if (present === null || present.rows.length === 0) continue;
      const past = rowsIn(await ask(LONG_AGO, 1), 'appointments');
      if (past === null || past.rows.length === 0) return seen;
      // Rows from long ago: the parameters are not heeded, in whatever form.
      break;
    }
  }
  return null;
}

/** A clinic that wants a window says so: the names in its refusal that speak of one, in pairs, the longest first. */
function hintsOf({ status, body }: Told): (readonly [from: string, to: string])[] {
  if (status < 400 || !isJsonObject(body)) return [];
  const names = [...new Set(JSON.stringify(body).match(/[\p{L}_][\p{L}\d_.[\]-]*/gu))].sort(
    (a, b) => b.length - a.length,
  );
  const of = (end: WindowName['end']) => names.filter((name) => windowNameOf(name)?.end === end);
  return of('from')
    .flatMap((from) => of('to').map((to) => [from, to] as const))
    .slice(0, MOST_HINTS);
}

/** The form of times that are numbers in the rows that came unasked. */
function epochsOf(told: Told): TimeFormat[] {
  const row = rowsIn(told, 'appointments')?.envelope.row;
  const units = row === undefined ? [] : spotsOf(row).flatMap(({ schema }) => schema.epochUnit ?? []);
  return units.slice(0, 1).map((unit): TimeFormat => `epoch-${unit}`);
}

/** What is found out of a window beside its parameters. */
export interface WindowManners {
  /** Null: it could not be told. */
  lists: 'overlap' | 'start' | null;
  /** Whether the day of the end belongs to it; null where that is no question or could not be told. */
  toIncluded: boolean | null;
  /** Longest that was taken, in days, and whether a longer one was refused. */
  longestDays: number;
  isRefusedAbove: boolean;
}

/** @param paging what makes an answer as large as it gets */
export async function probeWindowManners(
  asker: Asker,
  seen: WindowSeen,
  rows: readonly BookedAppointment[],
  paging: readonly Asked[],
  profile: ClinicProfile,
): Promise<WindowManners> {
  const holds = async (fromAt: Instant, toAt: Instant, id: string) => {
    const parameters = windowParameters(seen, fromAt, toAt, profile);
    const found = rowsIn(await asker.ask('appointments', [...parameters, ...paging]), 'appointments');
    return found?.rows.some((row) => JSON.stringify(row).includes(JSON.stringify(id)) || hasId(row, id)) ?? null;
  };
  const timed = rows.find(({ start, end, allDay }) => allDay !== true && end !== null && end - start >= 10 * MINUTE_MS);
  const manners = { lists: null, toIncluded: null } as Pick<WindowManners, 'lists' | 'toIncluded'>;
  if (timed !== undefined && seen.format === 'date') {
    manners.toIncluded = await holds(timed.start, timed.start, timed.id);
  } else if (timed !== undefined) {
    const { start, end, id } = timed;
    const middle = Math.floor((start + (end ?? start)) / 2 / MINUTE_MS) * MINUTE_MS;
    const isOverlap = await holds(middle, middle + MINUTE_MS, id);
    const isStart = isOverlap === false ? await holds(start - MINUTE_MS, start + MINUTE_MS, id) : null;
    manners.lists = isOverlap === true ? 'overlap' : isStart === true ? 'start' : null;
  }
  const from = rows[0]?.start ?? LONG_AGO;
  let longestDays = USUAL_DAYS;
  for (const days of LENGTHS) {
    const { status } = await asker.ask('appointments', [
      ...windowParameters(seen, from, from + days * DAY_MS, profile),
      ...paging.map(([name]): Asked => [name, '1']),
    ]);
    if (status >= 400) return { ...manners, longestDays, isRefusedAbove: true };
    longestDays = days;
  }
  return { ...manners, longestDays, isRefusedAbove: false };
}

/** How a list is asked for agendas. */
export interface AgendaSeen {
  name: string;
  /** Null: one at a time. */
  several: 'repeated' | 'comma' | null;
}

/**
 * Finds the parameter for agendas: the one with which rows of one agenda come and no other.
 * @param read reads an answer's rows
 * @param profile as rows are read so far
 */
export async function probeAgendas(
  asker: Asker,
  base: readonly Asked[],
  rows: readonly BookedAppointment[],
  read: (rows: readonly unknown[]) => BookedAppointment[],
  profile: ClinicProfile,
): Promise<AgendaSeen | null> {
  const [one, other] = [...new Set(rows.map(({ agendaId }) => agendaId))];
  if (one === undefined || other === undefined) return null;
  const agendasOf = async (...more: Asked[]) => {
    const found = rowsIn(await asker.ask('appointments', [...base, ...more]), 'appointments');
    return found === null ? [] : [...new Set(read(found.rows).map(({ agendaId }) => agendaId))].sort();
  };
  const { filters, fields } = profile.appointments;
  const things = fields.agendaId.map((path) => parsePath(path));
  const spelled = things.flatMap((steps) => {
    const [thing, inner] = [steps[0]?.name ?? '', steps[1]?.name];
    const joined =
      inner === undefined ? [] : [`${thing}_${inner}`, `${thing}${inner.charAt(0).toUpperCase()}${inner.slice(1)}`];
    return [...joined, thing, `${thing}Id`, `${thing}_id`, `${thing}s`];
  });
  const own = [filters.agenda ?? [], spelled].flat();
  for (const name of new Set([...own, ...AGENDAS])) {
    const alone = await agendasOf([name, one]);
    if (alone.length !== 1 || alone[0] !== one) continue;
    const both = [one, other].sort();
    const isBoth = (agendas: string[]) => JSON.stringify(agendas) === JSON.stringify(both);
    if (isBoth(await agendasOf([name, one], [name, other]))) return { name, several: 'repeated' };
    if (isBoth(await agendasOf([name, `${one},${other}`]))) return { name, several: 'comma' };
    return { name, several: null };
  }
  return null;
}

function hasId(row: unknown, id: string): boolean {
  return typeof row === 'object' && row !== null && Object.values(row).some((value) => asId(value) === id);
}
