import { isDeepStrictEqual } from 'node:util';
import ICAL from 'ical.js';
import type { CalendarItem, ItemTime, Presets } from '../../core/model/items.ts';
import { atOnce, eachInPieces, type Pieces } from '../../core/model/pieces.ts';
import { foldLines } from '../../core/model/text.ts';
import { type Instant, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';
import {
  type DescriptionParts,
  fromPresetsText,
  joinDescription,
  NO_DESCRIPTION,
  NO_PRESETS,
  type PresetsThere,
  presetsThere,
  readDescription,
  toDescriptionStamp,
  toPresetsText,
  withPresets,
} from '../event-content.ts';
import {
  addInstant,
  addText,
  addTimes,
  carriable,
  isModestCalendar,
  MOST_CHARACTERS,
  readTimes,
  textOf,
} from '../icalendar.ts';
import { fromFields, type Labels, type LabelsToWrite, toFields } from '../labels.ts';
import { SEQUENCE_START_AT } from './limits.ts';

/** Content of one calendar object. */
export interface ObjectToWrite extends Required<LabelsToWrite> {
  item: CalendarItem;
  writtenAt: Instant;
  /** Stored object, if fetched. The write exceeds its SEQUENCE and keeps users' additions. */
  stored: Pick<ObjectContent, 'sequence' | 'userText' | 'descriptionParts' | 'presets'> | null;
}

/** Calendar object as stored. */
export interface ObjectContent extends Labels {
  uid: string | null;
  sequence: number;
  /** Users' content, as lines of iCalendar (`retainedOf`). */
  userText: string;
  /** Description parts of clinic-mirror and of users. The item excludes users' parts. */
  descriptionParts: DescriptionParts;
  presets: PresetsThere;
  /** Null if the object has no valid item form. */
  item: CalendarItem | null;
}

/** Properties with the labels. The UID is the key. */
const LABEL_FIELDS = {
  ownerTag: 'x-clinic-mirror',
  sealedRecordId: 'x-clinic-mirror-locator',
  revision: 'x-clinic-mirror-revision',
} as const;
/** Separates the description of the last write from users' text. */
const DESCRIPTION_STAMP_PROPERTY = 'x-clinic-mirror-notes';

/** Name of the owner tag property in the form for filters. */
export const MARK_PROPERTY_NAME = LABEL_FIELDS.ownerTag.toUpperCase();

const HEAD = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//clinic-mirror//clinic-mirror//EN'];

const END_OF_EVENT = 'END:VEVENT';

/** Builds the calendar object of an item, as text with CRLF (RFC 5545). The object has no guests, and only the item's and users' alarms. */
export function toCalendarObject(object: ObjectToWrite): string {
  const { item, stored } = object;
  const event = new ICAL.Component('vevent');
  addText(event, 'uid', object.key);
  addInstant(event, 'dtstamp', object.writtenAt);
  event.addPropertyWithValue('sequence', nextSequence(object));
  const timeZone = addTimes(event, item.time);
  addText(event, 'summary', carriable(item.title));
  const description = item.description === null ? null : carriable(item.description);
  const wording = joinDescription(description, stored?.descriptionParts ?? NO_DESCRIPTION);
  if (wording !== '') addText(event, 'description', wording);
  if (item.location !== null) addText(event, 'location', carriable(item.location));
  addText(event, 'class', item.visibility === 'default' ? 'PUBLIC' : 'PRIVATE');
  if (item.tentative === true) addText(event, 'status', 'TENTATIVE');
  addText(event, 'transp', item.busy ? 'OPAQUE' : 'TRANSPARENT');
  for (const [field, value] of Object.entries(toFields(LABEL_FIELDS, object))) addText(event, field, value);
  addText(event, DESCRIPTION_STAMP_PROPERTY, toDescriptionStamp(description));
  addPresets(event, item.presets, stored?.presets ?? null);
  const lines = event.toString().slice(0, -END_OF_EVENT.length);
  const whole = `${lines}${stored === null || stored.userText === '' ? '' : `${stored.userText}\r\n`}${END_OF_EVENT}`;
  const parts = timeZone === null ? [whole] : [timeZone, whole];
  return foldLines([...HEAD, ...parts, 'END:VCALENDAR', ''].join('\r\n'));
}

/**
 * SEQUENCE must grow when the time changes (RFC 5545 section 3.8.7.4). The number of seconds since 2020 grows with each write, so an update
 * needs no fetch of the stored object.
 */
function nextSequence({ writtenAt, stored }: ObjectToWrite): number {
  const seconds = Math.floor((writtenAt - SEQUENCE_START_AT) / 1_000);
  return Math.max(seconds, (stored?.sequence ?? -1) + 1, 0);
}

/** Parses a stored calendar object. Returns null if the text is not a readable calendar object. */
export function fromCalendarObject(text: string): ObjectContent | null {
  return atOnce(readCalendarObject(text));
}

/** As {@link fromCalendarObject}, in pieces. */
export function* readCalendarObject(text: string): Pieces<ObjectContent | null> {
  if (text.length > MOST_CHARACTERS) return null;
  // The parser takes much longer to join each folded line.
  const unfolded = text.replaceAll(/\r?\n[\t ]/g, '');
  yield;
  if (!isModestCalendar(unfolded)) return null;
  yield;
  try {
    const parsed: unknown = ICAL.parse(unfolded);
    yield;
    return Array.isArray(parsed) && parsed[0] === 'vcalendar' ? yield* contentOf(new ICAL.Component(parsed)) : null;
  } catch {
    // Values are checked at their use: any value may be missing.
    return null;
  }
}

function* contentOf(calendar: ICAL.Component): Pieces<ObjectContent | null> {
  const events = calendar.getAllSubcomponents('vevent');
  const [event] = events;
  if (event === undefined) return null;
  const presets = readPresets(event);
  const wording = readDescription(
    carriable(textOf(event, 'description') ?? ''),
    textOf(event, DESCRIPTION_STAMP_PROPERTY),
    'plain',
  );
  return {
    uid: textOf(event, 'uid'),
    ...fromFields(LABEL_FIELDS, (field) => textOf(event, field)),
    sequence: Number(textOf(event, 'sequence')) || 0,
    userText: yield* retainedOf(event, presets),
    descriptionParts: wording,
    presets,
    item: events.length === 1 ? readItem(calendar, event, { descriptionParts: wording, presets }) : null,
  };
}

function readItem(
  calendar: ICAL.Component,
  event: ICAL.Component,
  { descriptionParts, presets }: Pick<ObjectContent, 'descriptionParts' | 'presets'>,
): CalendarItem | null {
  if (OF_A_SERIES.some((name) => event.hasProperty(name))) return null;
  const status = textOf(event, 'status')?.toUpperCase();
  // A cancelled event differs from the written event, so it must be written again.
  if (status === 'CANCELLED') return null;
  const time = tryReadTimes(calendar, event);
  if (time === null) return null;
  return {
    title: carriable(textOf(event, 'summary') ?? ''),
    description: descriptionParts.ours || null,
    location: carriable(textOf(event, 'location') ?? '') || null,
    time,
    busy: textOf(event, 'transp')?.toUpperCase() !== 'TRANSPARENT',
    ...(status === 'TENTATIVE' ? { tentative: true } : {}),
    // If a server keeps no class, events are not public by default.
    ...(textOf(event, 'class')?.toUpperCase() === 'PUBLIC' ? { visibility: 'default' } : {}),
    ...withPresets(presets.last),
  };
}

function tryReadTimes(calendar: ICAL.Component, event: ICAL.Component): ItemTime | null {
  try {
    return readTimes(calendar, event);
  } catch {
    return null;
  }
}

/** Checks whether a stored item has the desired content. The server's notation (offsets, line ends, outer spaces) is ignored. */
export function isSameItem(stored: CalendarItem | null, wanted: CalendarItem): boolean {
  return (
    stored !== null &&
    isSameText(stored.title, wanted.title) &&
    isSameText(stored.description, wanted.description) &&
    isSameText(stored.location, wanted.location) &&
    stored.busy === wanted.busy &&
    stored.tentative === wanted.tentative &&
    stored.visibility === wanted.visibility &&
    isDeepStrictEqual(stored.presets, wanted.presets) &&
    isSameTime(stored.time, wanted.time)
  );
}

function isSameText(stored: string | null, wanted: string | null): boolean {
  return carriable(stored ?? '').trim() === carriable(wanted ?? '').trim();
}

function isSameTime(stored: ItemTime, wanted: ItemTime): boolean {
  if (stored.kind === 'all-day' || wanted.kind === 'all-day') {
    if (stored.kind !== wanted.kind) return false;
    return 'startDate' in stored && 'startDate' in wanted
      ? stored.startDate === wanted.startDate && stored.endDate === wanted.endDate
      : false;
  }
  return (
    Date.parse(stored.start) === Date.parse(wanted.start) &&
    Date.parse(stored.end) === Date.parse(wanted.end) &&
    stored.zone === wanted.zone
  );
}

/** Presets of the last write. Other values belong to users. */
const PRESETS_PROPERTY = 'x-clinic-mirror-presets';

/** Time of an alarm that never rings, as Apple's programs set it (github.com/tine20/tine20/issues/3595). */
const NEVER = '1976-04-01T00:55:45Z';

/**
 * Adds the presets of an item, with a stamp that identifies them later. Presets that users changed are omitted and stay in the kept
 * content.
 * @param there presets of the fetched object with their authors; null if no object was fetched
 */
function addPresets(event: ICAL.Component, wanted: Presets | undefined, there: PresetsThere | null): void {
  if (wanted === undefined) return;
  addText(event, PRESETS_PROPERTY, toPresetsText(wanted));
  const { theirs } = there ?? NO_PRESETS;
  const { colour, category, reminderMinutes, pageUrl, teleVisitUrl } = wanted;
  if (colour !== undefined && !theirs.has('colour')) event.addPropertyWithValue('color', colour);
  if (category !== undefined && !theirs.has('category')) addText(event, 'categories', carriable(category));
  if (pageUrl !== undefined && !theirs.has('pageUrl')) event.addPropertyWithValue('url', pageUrl);
  if (teleVisitUrl !== undefined && !theirs.has('teleVisitUrl')) addConference(event, teleVisitUrl);
  if (reminderMinutes !== undefined && !theirs.has('reminderMinutes')) event.addSubcomponent(alarm(reminderMinutes));
}

/** Separates the presets of clinic-mirror from users' presets. */
function readPresets(event: ICAL.Component): PresetsThere {
  const last = fromPresetsText(textOf(event, PRESETS_PROPERTY));
  const hasOurs = event.getAllProperties('categories').some((one) => valuesOf(one).includes(last.category ?? ''));
  return presetsThere(last, {
    colour: textOf(event, 'color')?.toLowerCase(),
    category: hasOurs ? last.category : undefined,
    pageUrl: textOf(event, 'url') ?? undefined,
    teleVisitUrl: textOf(event, 'conference') ?? undefined,
    reminderMinutes: shownReminder(event, last),
  });
}

/** Returns the part of a property that is not a preset of clinic-mirror, as lines of iCalendar. Other properties are returned unchanged. */
function retainedOfProperty(property: ICAL.Property, { last, theirs }: PresetsThere): string | null {
  const text = () => String(property.getFirstValue());
  switch (property.name) {
    case 'color':
      return isOurs('colour', text().toLowerCase()) ? null : property.toICALString();
    case 'url':
      return isOurs('pageUrl', text()) ? null : property.toICALString();
    case 'conference':
      return isOurs('teleVisitUrl', text()) ? null : property.toICALString();
    case 'categories':
      return retainedCategories(property, last.category);
    default:
      return property.toICALString();
  }
  function isOurs(name: 'colour' | 'pageUrl' | 'teleVisitUrl', shown: string): boolean {
    return !theirs.has(name) && last[name] === shown;
  }
}

/** Checks whether an alarm equals the alarm of the last write. An alarm that a user acknowledged belongs to the user. */
function isOurAlarm(component: ICAL.Component, { reminderMinutes }: Presets): boolean {
  if (component.name !== 'valarm' || reminderMinutes === undefined || component.hasProperty('acknowledged'))
    return false;
  const action = textOf(component, 'action')?.toUpperCase();
  if (reminderMinutes === 'none') return action === 'NONE';
  const trigger: unknown = component.getFirstPropertyValue('trigger');
  return (
    action === 'DISPLAY' && trigger instanceof ICAL.Duration && trigger.toSeconds() === secondsBefore(reminderMinutes)
  );
}

function shownReminder(event: ICAL.Component, last: Presets): unknown {
  const alarms = event.getAllSubcomponents('valarm');
  if (alarms.some((one) => isOurAlarm(one, last))) return last.reminderMinutes;
  return alarms.length === 0 ? undefined : 'other';
}

function retainedCategories(property: ICAL.Property, ours: string | undefined): string | null {
  const values = valuesOf(property);
  const others = values.filter((value) => value !== ours);
  if (others.length === values.length) return property.toICALString();
  if (others.length === 0) return null;
  const retained = new ICAL.Property('categories');
  retained.setValues(others);
  return retained.toICALString();
}

function valuesOf(property: ICAL.Property): string[] {
  return property.getValues().map(String);
}

/** RFC 7986 section 5.11. */
function addConference(event: ICAL.Component, url: string): void {
  const property = new ICAL.Property('conference');
  property.resetType('uri');
  property.setParameter('feature', 'VIDEO');
  property.setValue(url);
  event.addProperty(property);
}

/** RFC 5545 section 3.6.6. Apple uses `NONE` for no alert, which also disables Apple's default alert. */
function alarm(minutes: number | 'none'): ICAL.Component {
  const component = new ICAL.Component('valarm');
  component.addPropertyWithValue('action', minutes === 'none' ? 'NONE' : 'DISPLAY');
  if (minutes === 'none') {
    component.addPropertyWithValue('trigger', ICAL.Time.fromDateTimeString(NEVER));
    component.addPropertyWithValue('x-apple-default-alarm', 'TRUE');
  } else {
    component.addPropertyWithValue('trigger', ICAL.Duration.fromSeconds(secondsBefore(minutes)));
    addText(component, 'description', 'Reminder');
  }
  return component;
}

function secondsBefore(minutes: number): number {
  return (-minutes * MINUTE_MS) / SECOND_MS;
}

/** Event properties of clinic-mirror, and properties that express them in another form and would contradict them. */
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

/** Properties that clients add automatically. */
const OF_CLIENTS = new Set(['created', 'last-modified', 'x-moz-generation', 'x-microsoft-cdo-intendedstatus']);

/** Properties of a series; appointments are never a series. */
const OF_A_SERIES = ['rrule', 'rdate', 'exdate', 'exrule', 'recurrence-id'];

/**
 * Returns the additions of users and clients to an own event, as lines of iCalendar: a colour, reminders, guests, notes. An update keeps
 * these lines. Returns '' if no additions exist.
 */
function* retainedOf(event: ICAL.Component, presets: PresetsThere): Pieces<string> {
  const retained = event.getAllProperties().filter(({ name }) => isRetained(name));
  const properties = [...Map.groupBy(retained, ({ name }) => name).values()].flat();
  const lines: string[] = [];
  yield* eachInPieces(properties, (one) => {
    const line = retainedOfProperty(one, presets);
    if (line !== null) lines.push(line);
  });
  yield* eachInPieces(event.getAllSubcomponents(), (one) => {
    if (!isOurAlarm(one, presets.last)) lines.push(String(one));
  });
  return lines.join('\r\n');
}

function isRetained(name: string): boolean {
  return !name.startsWith(OWN_PREFIX) && !OURS.has(name) && !OF_CLIENTS.has(name) && !OF_A_SERIES.includes(name);
}
