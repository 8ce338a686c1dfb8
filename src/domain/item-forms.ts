import type { CalendarItem, CrmItem, StreamName } from '../core/model/items.ts';
import { overlaps } from '../core/model/time.ts';
import type { ItemForm } from '../engine/identity.ts';

const NEEDED_FIELDS = ['title', 'description', 'location', 'time', 'busy'] as const;
/** Add new fields at the end: an item without them keeps its fingerprint after an upgrade of clinic-mirror. */
const OPTIONAL_FIELDS = ['tentative', 'visibility', 'presets'] as const;

/** Structure of calendar events. */
export const CALENDAR_FORM: ItemForm = {
  stream: 'appointments',
  fields: [...NEEDED_FIELDS, ...OPTIONAL_FIELDS],
  needed: NEEDED_FIELDS.length,
  unlike: ['time'],
  values(item) {
    const event = item as CalendarItem;
    const { title, description, location, time, busy } = event;
    const last = OPTIONAL_FIELDS.findLastIndex((field) => event[field] !== undefined);
    const values: unknown[] = [title, description, location, time, busy];
    for (const field of OPTIONAL_FIELDS.slice(0, last + 1)) values.push(event[field]);
    return values;
  },
  whole: (texts) => texts,
  spanOf(item) {
    const { time } = item as CalendarItem;
    const [start, end] =
      time.kind === 'timed' ? [time.start, time.end] : [`${time.startDate}T00:00:00Z`, `${time.endDate}T00:00:00Z`];
    return { startAt: Date.parse(start), endAt: Date.parse(end) };
  },
  isShown: overlaps,
};

/**
 * Returns the structure of CRM objects with these properties. Names are part of the hash: under another mapping every object differs.
 * @param properties unique names, in any order
 */
export function crmForm(stream: StreamName, properties: readonly string[]): ItemForm {
  const names = [...properties].sort();
  const written = JSON.stringify(names);
  return {
    stream,
    fields: [...names, 'contact', 'start'],
    needed: names.length + 2,
    unlike: ['start'],
    values(item) {
      const { properties: values, contactKey, contactRecreations, startAt } = item as CrmItem;
      const contact = contactRecreations === undefined ? contactKey : `${contactKey} ${contactRecreations}`;
      return [...names.map((name) => values[name] ?? null), contact, startAt];
    },
    whole: (texts) => `[${written},${texts}]`,
    spanOf(item) {
      const { startAt } = item as CrmItem;
      return { startAt, endAt: startAt };
    },
    isShown: ({ startAt }, window) => overlaps({ startAt, endAt: startAt }, window),
  };
}
