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

export type Colour = (typeof COLOURS)[number];

/** Longest URL of an event, because calendars limit their fields. Our choice. */
export const LONGEST_URL = 500;

/**
 * Initial values that users may change; a changed value belongs to the user. A connector receives only the values that its vendor supports
 * (`supports.presets`).
 */
export interface Presets {
  colour?: Colour;
  category?: string;
  /** Minutes before the start. `none` also suppresses the default alert of a calendar program. */
  reminderMinutes?: number | 'none';
  /** URL of the appointment in the clinic system, https. */
  pageUrl?: string;
  /** URL of the video visit, https. */
  teleVisitUrl?: string;
}

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
  /** Key of the contact of an activity or a deal in the patients' target; null for a contact. */
  contactRecreations?: number;
  /** Start of the appointment or date of the invoice, in whole seconds; 0 for a contact. */
  startAt: Instant;
}

/** What any target may hold. */
export type Item = CalendarItem | CrmItem;

/** What values of a property are. */
export type PropertyKind = 'text' | 'number' | 'boolean' | 'date' | 'instant';

/** A property of a CRM that a target's mapping fills. */
export interface MappedProperty {
  /** A CRM property that a target's mapping fills. */
  name: string;
  kind: PropertyKind;
  /** Every text that the mapping can give, where it names them itself; absent where they come from the clinic. */
  words?: readonly string[];
  /** All values that the mapping itself can produce; absent if the values come from the clinic. */
  namePart?: 'first' | 'last';
}

/** A kind of source record that the clinic holds and targets follow. A target follows one. */
export type StreamName = 'appointments' | 'patients' | 'invoices';

/** A property of a contact that is true for whoever refuses: to be written to, to be called. */
export interface Refusal {
  property: string;
  /**
   * The property with whose value the CRM keeps the refusal, such as the e-mail address of an opt-out: whoever is written last would decide for
   * all who have the same. Null where each contact has its own.
   */
  by: string | null;
}

/** Ids of records whose contacts somebody made refuse in the CRM itself, by property. */
export type RefusedThere = Readonly<Record<string, readonly string[]>>;

/** What a title may be put together of: the title of the target's level, and what its `fields` allow. */
export const TITLE_VALUES = ['title', 'location', 'agenda', 'treatment', 'status'] as const;

/** One of {@link TITLE_VALUES}. */
export type TitleValue = (typeof TITLE_VALUES)[number];

/** A piece of a title: it is left out where it is in brackets and one of its values is missing. */
export interface TitleSection {
  isOptional: boolean;
  parts: readonly (string | { value: TitleValue })[];
}

/** What a title is put together of, in the order of its text. */
export type TitleFormat = readonly TitleSection[];

const SECTION = /\[([^[\]]*)\]|([^[\]]+)/gy;
const PART = /\{([^{}]*)\}|([^{}]+)/gy;

/** Reads a format such as `[{agenda}: ]{title}`; null where it is none. At least one value must be in it. */
export function parseTitleFormat(text: string): TitleFormat | null {
  const sections = allOf(SECTION, text)?.map(([, inner, outer]) => {
    const parts = allOf(PART, inner ?? outer ?? '')?.map(([, value, plain]) => plain ?? { value: value as TitleValue });
    return parts === undefined ? null : { isOptional: inner !== undefined, parts };
  });
  if (sections?.every((section) => section !== null) !== true) return null;
  const values = sections.flatMap(valuesIn);
  return values.length > 0 && values.every((value) => TITLE_VALUES.includes(value)) ? sections : null;
}

/** The values that a format names, each as often as it stands there. */
export function valuesOf(format: TitleFormat): TitleValue[] {
  return format.flatMap(valuesIn);
}

/** @param resolve gives null where there is nothing to tell */
export function formatTitle(format: TitleFormat, resolve: (name: TitleValue) => string | null): string {
  const text = format.map((section) => {
    if (section.isOptional && valuesIn(section).some((value) => !resolve(value))) return '';
    return section.parts.map((part) => (typeof part === 'string' ? part : (resolve(part.value) ?? ''))).join('');
  });
  return text.join('').replaceAll(/\s+/g, ' ').trim();
}

function valuesIn({ parts }: TitleSection): TitleValue[] {
  return parts.flatMap((part) => (typeof part === 'string' ? [] : [part.value]));
}

/** Matches that follow each other from the beginning to the end; undefined where something lies between them. */
function allOf(expression: RegExp, text: string): RegExpMatchArray[] | undefined {
  const matches = [...text.matchAll(expression)];
  return matches.reduce((sum, [whole]) => sum + whole.length, 0) === text.length ? matches : undefined;
}
