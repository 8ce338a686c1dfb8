import { Temporal } from 'temporal-polyfill';

/** Offsets of real zones change on quarter hours at the finest, so one answer serves a whole quarter hour. */
const QUARTER_HOUR_MS = 15 * 60_000;
const MINUTE_MS = 60_000;

/** A time zone that turns epoch milliseconds into local wall time and back. */
export interface Zone {
  /** IANA name, for example `Europe/Rome`. */
  readonly name: string;
  /** ISO 8601 with offset and whole seconds: `2026-03-29T09:00:00+02:00`. */
  formatInstant(epochMs: number): string;
  /** The local date, `YYYY-MM-DD`. */
  formatDate(epochMs: number): string;
  /** First instant of a local date, in epoch ms. Throws RangeError when it is no date. */
  startOfDay(date: string): number;
  /** Epoch ms of a local wall time; in the spring gap the later offset, in the autumn overlap the earlier one. */
  at(date: string, hour: number, minute?: number): number;
}

/** Makes a Zone for an IANA name. Throws RangeError when the name is unknown. */
export function createZone(name: string): Zone {
  const offsets = new Map<number, number>();
  Temporal.Instant.fromEpochMilliseconds(0).toZonedDateTimeISO(name);

  function offsetMs(epochMs: number): number {
    const quarter = Math.floor(epochMs / QUARTER_HOUR_MS);
    const known = offsets.get(quarter);
    if (known !== undefined) return known;
    const zoned = Temporal.Instant.fromEpochMilliseconds(quarter * QUARTER_HOUR_MS).toZonedDateTimeISO(name);
    const offset = zoned.offsetNanoseconds / 1e6;
    if (offsets.size > 50_000) offsets.clear();
    offsets.set(quarter, offset);
    return offset;
  }

  function localIso(epochMs: number): string {
    return new Date(epochMs + offsetMs(epochMs)).toISOString();
  }

  function formatInstant(epochMs: number): string {
    const offset = offsetMs(epochMs) / MINUTE_MS;
    const hours = String(Math.floor(Math.abs(offset) / 60)).padStart(2, '0');
    const minutes = String(Math.abs(offset) % 60).padStart(2, '0');
    return `${localIso(epochMs).slice(0, 19)}${offset < 0 ? '-' : '+'}${hours}:${minutes}`;
  }

  function at(date: string, hour: number, minute = 0): number {
    return Temporal.PlainDate.from(date).toZonedDateTime({
      timeZone: name,
      plainTime: new Temporal.PlainTime(hour, minute),
    }).epochMilliseconds;
  }

  return {
    name,
    formatInstant,
    formatDate: (epochMs) => localIso(epochMs).slice(0, 10),
    startOfDay: (date) => Temporal.PlainDate.from(date).toZonedDateTime(name).epochMilliseconds,
    at,
  };
}

/** The date `days` after (or before) a date, both `YYYY-MM-DD`. */
export function addDays(date: string, days: number): string {
  return Temporal.PlainDate.from(date).add({ days }).toString();
}

/** Day of the week by ISO 8601: Monday 1 to Sunday 7. */
export function dayOfWeek(date: string): number {
  return Temporal.PlainDate.from(date).dayOfWeek;
}

/** Every local date on which the zone's offset changes, from `from` to `to` (both included, `YYYY-MM-DD`). */
export function offsetChangeDates(zone: Zone, from: string, to: string): string[] {
  const dates: string[] = [];
  let moment = Temporal.PlainDate.from(from).toZonedDateTime(zone.name);
  for (;;) {
    const change = moment.getTimeZoneTransition('next');
    if (change === null) return dates;
    const date = change.toPlainDate().toString();
    if (date > to) return dates;
    dates.push(date);
    moment = change;
  }
}

/** Epoch ms of an ISO 8601 date-time that states its offset or `Z`; undefined for anything else, naive times too. */
export function parseInstant(text: string): number | undefined {
  if (!/^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}(:\d{2}(\.\d{1,9})?)?(Z|[+-]\d{2}:\d{2})$/.test(text)) return undefined;
  try {
    return Temporal.Instant.from(text).epochMilliseconds;
  } catch {
    return undefined;
  }
}

/** Whether a text is a calendar date `YYYY-MM-DD` that exists. */
export function isDate(text: string): boolean {
  if (!/^\d{4}-\d{2}-\d{2}$/.test(text)) return false;
  try {
    Temporal.PlainDate.from(text);
    return true;
  } catch {
    return false;
  }
}
