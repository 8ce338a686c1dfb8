import { asId } from '../../clinic/http/rows.ts';
import type { BookedAppointment } from '../../clinic/read/appointment-rows.ts';
import { createZone, formatInstant, type TimeFormat } from '../../clinic/read/timestamps.ts';
import { parameterWith } from '../../clinic/schema/paging.ts';
import type { ClinicProfile } from '../../clinic/schema/profile.ts';
import { DAY_MS, type Instant, MINUTE_MS } from '../../core/model/time.ts';
import { isJsonObject } from '../../described-api/paths.ts';
import { type Answer, rowsIn } from '../profile-finder/answer-rows.ts';
import { PARAMETERS, WINDOWS } from '../profile-finder/names.ts';
import { spotsOf } from '../profile-finder/values.ts';
import type { Asked, Asker } from './questions.ts';

/** Time formats to attempt after those of the profile and the records. */
const FORMATS: readonly TimeFormat[] = ['offset', 'date', 'epoch-seconds', 'local'];
/** Length of a window in days that every clinic should allow. */
const USUAL_DAYS = 28;
/** A time without appointments. */
const LONG_AGO: Instant = Date.parse('1990-01-01T00:00:00Z');
const LENGTHS = [30, 92, 366];

/** Window parameters of a list. */
export interface WindowSeen {
  from: string;
  to: string;
  format: TimeFormat;
}

/** Formats a window for the clinic. */
export function windowParameters(
  { from, to, format }: WindowSeen,
  { fromAt, toAt }: { fromAt: Instant; toAt: Instant },
  profile: ClinicProfile,
): Asked[] {
  const zone = createZone(profile.zone);
  return [
    parameterWith(from, formatInstant(fromAt, format, zone)),
    parameterWith(to, formatInstant(toAt, format, zone)),
  ];
}

/** Returns the weeks around now for all requests of a probe. */
export function usualWindow(now: Instant): { fromAt: Instant; toAt: Instant } {
  const fromAt = now - (USUAL_DAYS / 4) * DAY_MS;
  return { fromAt, toAt: fromAt + USUAL_DAYS * DAY_MS };
}

/** Finds the window parameters: records return for the current window, and none, or a refusal, for a window long ago. */
export async function probeWindow(asker: Asker, now: Instant, profile: ClinicProfile): Promise<WindowSeen | null> {
  const { filters, window } = profile.appointments;
  const own = filters.from !== null && filters.to !== null ? [[filters.from, filters.to] as const] : [];
  const unasked = await asker.ask('appointments');
  const pairs = new Map([...own, ...WINDOWS].map((pair) => [pair.join(' '), pair]));
  const formats = new Set<TimeFormat>([window.format, ...numericFormatsOf(unasked), ...FORMATS]);
  for (const [from, to] of pairs.values()) {
    for (const format of formats) {
      const seen = { from, to, format };
      const isEmpty = async (range: { fromAt: Instant; toAt: Instant }) =>
        ((await asker.rows(...windowParameters(seen, range, profile)))?.rows ?? []).length === 0;
      if (await isEmpty(usualWindow(now))) continue;
      if (await isEmpty({ fromAt: LONG_AGO, toAt: LONG_AGO + DAY_MS })) return seen;
      // Records from long ago: the server ignores the parameters in any format.
      break;
    }
  }
  return null;
}

/** Returns the format of numeric times in records without a window. */
function numericFormatsOf(unasked: Answer): TimeFormat[] {
  const row = rowsIn(unasked, 'appointments')?.envelope.row;
  const units = row === undefined ? [] : spotsOf(row).flatMap(({ schema }) => schema.epochUnit ?? []);
  return units.slice(0, 1).map((unit): TimeFormat => `epoch-${unit}`);
}

/** Observed behaviour of a window. */
export interface WindowManners {
  /** Null: unknown. */
  lists: 'overlap' | 'start' | null;
  /** Whether the last day is included; null if irrelevant or unknown. */
  toIncluded: boolean | null;
  /** Longest accepted window in days, and whether a longer window was refused. */
  longestDays: number;
  isRefusedAbove: boolean;
}

/** @param paging parameters of the largest page */
export async function probeWindowManners(
  asker: Asker,
  profile: ClinicProfile,
  seen: WindowSeen,
  { rows, paging }: { rows: readonly BookedAppointment[]; paging: readonly Asked[] },
): Promise<WindowManners> {
  const holds = async (fromAt: Instant, toAt: Instant, id: string) => {
    const found = await asker.rows(...windowParameters(seen, { fromAt, toAt }, profile), ...paging);
    return found?.rows.some((row) => hasId(row, id)) ?? null;
  };
  const timed = rows.find(({ start, end, allDay }) => allDay !== true && end !== null && end - start >= 10 * MINUTE_MS);
  const manners: WindowManners = { lists: null, toIncluded: null, longestDays: USUAL_DAYS, isRefusedAbove: false };
  if (timed !== undefined) {
    const { start, end, id } = timed;
    const middle = Math.floor((start + (end ?? start)) / 2 / MINUTE_MS) * MINUTE_MS;
    const isDate = seen.format === 'date';
    if (isDate) manners.toIncluded = await holds(start, start, id);
    const isOverlap = isDate ? null : await holds(middle, middle + MINUTE_MS, id);
    const isStart = isOverlap === false && (await holds(start - MINUTE_MS, start + MINUTE_MS, id));
    manners.lists = isOverlap === true ? 'overlap' : isStart === true ? 'start' : null;
  }
  const fromAt = rows[0]?.start ?? LONG_AGO;
  const one = paging.map(([name]): Asked => [name, '1']);
  for (const days of LENGTHS) {
    const parameters = windowParameters(seen, { fromAt, toAt: fromAt + days * DAY_MS }, profile);
    const { status } = await asker.ask('appointments', [...parameters, ...one]);
    manners.isRefusedAbove = status >= 400;
    if (manners.isRefusedAbove) break;
    manners.longestDays = days;
  }
  return manners;
}

function hasId(row: unknown, id: string): boolean {
  const isThere = JSON.stringify(row).includes(JSON.stringify(id));
  return isThere || (isJsonObject(row) && Object.values(row).some((value) => asId(value) === id));
}

/** Agenda parameters of a list. */
export interface AgendaSeen {
  name: string;
  /** Null: one agenda per request. */
  several: 'repeated' | 'comma' | null;
}

/**
 * Finds the agenda parameter: only records of the requested agenda return.
 * @param own the name in the profile
 * @param read reads an answer's records
 */
export async function probeAgendas(
  asker: Asker,
  base: readonly Asked[],
  own: string | null,
  { rows, read }: { rows: readonly BookedAppointment[]; read(rows: readonly unknown[]): BookedAppointment[] },
): Promise<AgendaSeen | null> {
  const [one, other] = new Set(rows.map(({ agendaId }) => agendaId));
  if (one === undefined || other === undefined) return null;
  const both = [one, other].sort().join(' ');
  const agendasOf = async (...more: Asked[]) => {
    const found = await asker.rows(...base, ...more);
    return [...new Set(read(found?.rows ?? []).map(({ agendaId }) => agendaId))].sort().join(' ');
  };
  for (const name of new Set([...(own === null ? [] : [own]), ...PARAMETERS.agenda])) {
    if ((await agendasOf([name, one])) !== one) continue;
    if ((await agendasOf([name, one], [name, other])) === both) return { name, several: 'repeated' };
    if ((await agendasOf([name, `${one},${other}`])) === both) return { name, several: 'comma' };
    return { name, several: null };
  }
  return null;
}
