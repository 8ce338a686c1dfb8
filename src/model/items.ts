import type { Instant } from './time.ts';

/**
 * When an item is. Timed: RFC 3339 local time with the offset that held then, plus the IANA zone, so that both the
 * instant and the wall time survive: `2026-03-29T09:00:00+02:00` in `Europe/Rome`. All-day: dates, end exclusive.
 */
export type ItemTime =
  | { kind: 'timed'; start: string; end: string; zone: string }
  | { kind: 'all-day'; startDate: string; endDate: string };

/**
 * What a calendar should hold for one appointment: the projection under the target's policy. Always private, and made without
 * attendees and reminders; a connector adds those words of its vendor, and leaves what people add. Texts are plain (a connector escapes
 * them).
 */
export interface CalendarItem {
  title: string;
  description: string | null;
  location: string | null;
  time: ItemTime;
  /** Blocks the time (opaque) or leaves it free. */
  busy: boolean;
}

/** What a property of a CRM holds. Dates are `YYYY-MM-DD`, instants ISO 8601 in UTC with milliseconds; null is empty. */
export type PropertyValue = string | number | boolean | null;

/**
 * What a CRM should hold for one patient, appointment or invoice: the values of the mapped properties, each of them there, plus what
 * the object belongs to. Connectors write it as it is, and read it back so. A property that it lacks stays as it stands.
 */
export interface CrmItem {
  properties: Readonly<Record<string, PropertyValue>>;
  /** Key of the contact that an activity or a deal belongs to, as the patients' target names it; null for a contact. */
  contactKey: string | null;
  /**
   * How often that contact had to be made again, above 0: a new one under the same key has none of the old one's activities, so what
   * belongs to it is written again. Read back, 0 says that the object is not joined with the contact although it should be.
   */
  contactGeneration?: number;
  /** Start of the appointment or date of the invoice, in whole seconds; 0 for a contact. */
  startAt: Instant;
}

/** What any target may hold. */
export type Item = CalendarItem | CrmItem;

/** What values of a property are. */
export type PropertyKind = 'text' | 'number' | 'boolean' | 'date' | 'instant';

/** A property of a CRM that a target's mapping fills. */
export interface MappedProperty {
  /** As the CRM names it. */
  name: string;
  kind: PropertyKind;
  /** Every text that the mapping can give, where it names them itself; absent where they come from the clinic. */
  words?: readonly string[];
}
