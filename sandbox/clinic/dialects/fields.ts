import { isDate, type Zone } from '../data/zone.ts';

/** Changes one member of an object; undefined leaves it out. */
type Change = (name: string, value: unknown) => readonly [name: string, value: unknown] | undefined;

/** A copy of a JSON value in which every member of every object went through `change`, the inner ones first. */
export function mapMembers(value: unknown, change: Change): unknown {
  if (Array.isArray(value)) return value.map((one) => mapMembers(one, change));
  if (!isObject(value)) return value;
  const members = Object.entries(value).flatMap(([name, inner]) => {
    const changed = change(name, mapMembers(inner, change));
    return changed === undefined ? [] : [changed];
  });
  return Object.fromEntries(members);
}

/** Whether a value is a JSON object. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Whether a member of this documented name holds an instant (or, on whole days, a date). */
export function isTimeName(name: string): boolean {
  return name === 'start' || name === 'end' || /[a-z]At$/.test(name);
}

/** An instant with offset as local time without one; anything else unchanged. */
export function withoutOffset(value: unknown, between: 'T' | ' ' = 'T'): unknown {
  if (typeof value !== 'string') return value;
  const parts = /^(\d{4}-\d{2}-\d{2})T(\d{2}:\d{2}:\d{2})(?:Z|[+-]\d{2}:\d{2})$/.exec(value);
  return parts === null ? value : `${parts[1]}${between}${parts[2]}`;
}

/** A local time without offset as an instant with one, in the zone; anything else unchanged. */
export function withOffset(value: unknown, zone: Zone): unknown {
  if (typeof value !== 'string') return value;
  const [, date = '', hours, minutes, seconds = '0'] =
    /^(\d{4}-\d{2}-\d{2})[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d+)?)?$/.exec(value) ?? [];
  if (!isDate(date) || Number(hours) > 23 || Number(minutes) > 59 || Number(seconds) > 59) return value;
  return zone.formatInstant(zone.at(date, Number(hours), Number(minutes)) + Number(seconds) * 1000);
}
