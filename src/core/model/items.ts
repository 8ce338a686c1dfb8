import { z } from 'zod';
import type { Instant } from './time.ts';

/**
 * Time of an event. Timed: RFC 3339 local time with the offset at that time, plus the IANA zone, so that instant and wall time both
 * survive: `2026-03-29T09:00:00+02:00` in `Europe/Rome`. All-day: dates, end exclusive.
 */
export type ItemTime =
  | { kind: 'timed'; start: string; end: string; zone: string }
  | { kind: 'all-day'; startDate: string; endDate: string };

/**
 * Colours for events: CSS names, as RFC 7986 section 5.9 requires. The eleven colours are Google's, ordered by `colorId`
 * (developers.google.com/workspace/calendar/api/v3/reference/colors).
 */
export const COLOURS = [
  ...(['lavender', 'mediumseagreen', 'purple', 'salmon', 'gold', 'orangered'] as const),
  ...(['deepskyblue', 'gray', 'royalblue', 'green', 'red'] as const),
] as const;

/** Longest URL of an event, because calendars limit their fields. Our choice. */
export const LONGEST_URL = 500;

export const presetsSchema = z.strictObject({
  colour: z.enum(COLOURS).exactOptional(),
  category: z.string().exactOptional(),
  /** Minutes before the start. `none` also suppresses the default alert of a calendar program. */
  reminderMinutes: z.union([z.number(), z.literal('none')]).exactOptional(),
  /** URL of the appointment in the clinic system, https. */
  pageUrl: z.string().exactOptional(),
  /** URL of the video visit, https. */
  teleVisitUrl: z.string().exactOptional(),
});
/**
 * Initial values that users may change; a changed value belongs to the user. A connector receives only the values that its vendor supports
 * (`supports.presets`).
 */
export type Presets = z.infer<typeof presetsSchema>;

/**
 * Wanted event for one appointment under the target's policy. Has no attendees, and a connector preserves attendees added by users. Texts
 * are plain, and a connector escapes them. Rare fields are absent so that fingerprints remain stable.
 */
export interface CalendarItem {
  title: string;
  description: string | null;
  location: string | null;
  time: ItemTime;
  /** Whether the event blocks its time (opaque). */
  busy: boolean;
  /** The event blocks its time but is not confirmed. */
  tentative?: true;
  /** Visibility of the calendar applies; absent: private. */
  visibility?: 'default';
  /** At least one preset. */
  presets?: Presets;
}

/** Value of a CRM property. Dates are `YYYY-MM-DD`, instants ISO 8601 in UTC with milliseconds, null is empty. */
export type PropertyValue = string | number | boolean | null;

/**
 * Wanted CRM object for one patient, appointment or invoice: the value of each mapped property, plus the associations. Connectors write and
 * return the values unchanged. Absent properties are not written.
 */
export interface CrmItem {
  properties: Readonly<Record<string, PropertyValue>>;
  /** Key of the contact of an activity or a deal in the patients' target; null for a contact. */
  contactKey: string | null;
  /**
   * Recreations of the contact, above 0. A new contact under the same key has no activities, so clinic-mirror writes all associated objects
   * again. In a fetched object, 0 means that a required association with the contact is missing.
   */
  contactRecreations?: number;
  /** Start of the appointment or date of the invoice, in whole seconds; 0 for a contact. */
  startAt: Instant;
}

/** Wanted content of any target. */
export type Item = CalendarItem | CrmItem;

/** Type of a property's values. */
export type PropertyKind = 'text' | 'number' | 'boolean' | 'date' | 'instant';

/** A CRM property that a target's mapping fills. */
export interface MappedProperty {
  /** Name in the CRM. */
  name: string;
  kind: PropertyKind;
  /** All values that the mapping itself can produce; absent if the values come from the clinic. */
  words?: readonly string[];
  /** Part of the patient's name that the property holds unchanged; absent for other properties. */
  namePart?: 'first' | 'last';
}

/** All kinds of source records. */
export const STREAM_NAMES = ['appointments', 'patients', 'invoices'] as const;

/** Kind of source record. Each target uses one stream. */
export type StreamName = (typeof STREAM_NAMES)[number];

/** A contact property that is true if the contact refuses messages or calls. */
export interface Refusal {
  property: string;
  /**
   * Property by which the CRM stores the refusal, such as the e-mail address of an opt-out. The last written contact then decides for all
   * contacts with an equal value. Null if each contact has a separate refusal.
   */
  by: string | null;
}

/** Ids of records whose contacts refuse in the CRM itself, by property. */
export type RefusedThere = Readonly<Record<string, readonly string[]>>;
