import type ICAL from 'ical.js';
import type { PresetsThere } from '../presets.ts';
import { isOurAlarm, keptOfProperty } from './presets.ts';

/** Properties of an event that are ours, or that stand for one of ours in other words, and would contradict it. */
const OURS = new Set([
  ...[
    'uid',
    'dtstamp',
    'sequence',
    'dtstart',
    'dtend',
    'duration',
    'summary',
    'description',
    'location',
    'class',
    'transp',
    'status',
  ],
  ...['x-alt-desc', 'geo', 'x-apple-structured-location', 'x-microsoft-cdo-busystatus', 'x-microsoft-cdo-alldayevent'],
]);

const OWN_PREFIX = 'x-clinic-mirror';

/** What a person's client writes without anybody having asked for it. */
const OF_CLIENTS = new Set(['created', 'last-modified', 'x-moz-generation', 'x-microsoft-cdo-intendedstatus']);

/** What makes an event a series; an appointment is none. */
export const OF_A_SERIES = ['rrule', 'rdate', 'exdate', 'exrule', 'recurrence-id'];

/**
 * What people and their clients added to an event of ours, as lines of iCalendar: a colour, reminders, guests, notes. Nothing of it is
 * ours, and an update leaves it there. '' when there is nothing.
 */
export function keptOf(event: ICAL.Component, presets: PresetsThere): string {
  const kept = event.getAllProperties().filter(({ name }) => isKept(name));
  const properties = [...Map.groupBy(kept, ({ name }) => name).values()].flat();
  const lines = properties.flatMap((one) => keptOfProperty(one, presets) ?? []);
  const components = event.getAllSubcomponents().filter((one) => !isOurAlarm(one, presets.last));
  return [...lines, ...components.map(String)].join('\r\n');
}

function isKept(name: string): boolean {
  return !name.startsWith(OWN_PREFIX) && !OURS.has(name) && !OF_CLIENTS.has(name) && !OF_A_SERIES.includes(name);
}
