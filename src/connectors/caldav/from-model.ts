import { isDeepStrictEqual } from 'node:util';
import ICAL from 'ical.js';
import { foldLines } from '../../model/content-lines.ts';
import type { CalendarItem, ItemTime } from '../../model/items.ts';
import type { ItemKey } from '../../model/operations.ts';
import type { Instant } from '../../model/time.ts';
import {
  type DescriptionParts,
  joinDescription,
  NO_DESCRIPTION,
  type PresetsThere,
  readDescription,
  toDescriptionStamp,
  withPresets,
} from '../event-content.ts';
import { addInstant, addText, addTimes, carriable, isModestCalendar, readTimes, textOf } from '../icalendar.ts';
import { fromRevisionText, toRevisionText, withRevision } from '../owner.ts';
import { SEQUENCE_START_AT } from './limits.ts';
import { addPresets, OF_A_SERIES, readPresets, retainedOf } from './presets.ts';

/** Everything that goes into one calendar object. */
export interface ObjectToWrite {
  key: ItemKey;
  /** Says whose it is. */
  ownerTag: string;
  sealedRecordId: string;
  revision: number;
  item: CalendarItem;
  writtenAt: Instant;
  /** What is there, when it was looked at: its SEQUENCE is surpassed, and what people added stays. */
  stored: Pick<ObjectContent, 'sequence' | 'kept' | 'notes' | 'presets'> | null;
}

/** A calendar object as it is stored. */
export interface ObjectContent {
  uid: string | null;
  ownerTag: string | null;
  sealedRecordId: string | null;
  /** The stamped revision of the write that made it so. */
  revision?: number;
  sequence: number;
  /** What is none of ours, as lines of iCalendar (`keptOf`). */
  kept: string;
  /** Whose its description is; what is a person's is no part of the item. */
  notes: DescriptionParts;
  presets: PresetsThere;
  /** Null when it can't be read as an item. */
  item: CalendarItem | null;
}

const MARK_PROPERTY = 'x-clinic-mirror';
const LOCATOR_PROPERTY = 'x-clinic-mirror-locator';
const REVISION_PROPERTY = 'x-clinic-mirror-revision';
/** By it what our last write put into the description is told from what a person wrote there. */
const DESCRIPTION_STAMP_PROPERTY = 'x-clinic-mirror-notes';

/** Names of a property of ours as filters in requests write it. */
export const MARK_PROPERTY_NAME = MARK_PROPERTY.toUpperCase();

const HEAD = ['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//clinic-mirror//clinic-mirror//EN'];

const END_OF_EVENT = 'END:VEVENT';

/** The calendar object of an item, with no guests, and no alarms but its own and those that people added, as text with CRLF (RFC 5545). */
export function toCalendarObject(object: ObjectToWrite): string {
  const { item, stored } = object;
  const event = new ICAL.Component('vevent');
  addText(event, 'uid', object.key);
  addInstant(event, 'dtstamp', object.writtenAt);
  event.addPropertyWithValue('sequence', nextSequence(object));
  const timeZone = addTimes(event, item.time);
  addText(event, 'summary', carriable(item.title));
  const description = item.description === null ? null : carriable(item.description);
  const wording = joinDescription(description, stored?.notes ?? NO_DESCRIPTION);
  if (wording !== '') addText(event, 'description', wording);
  if (item.location !== null) addText(event, 'location', carriable(item.location));
  addText(event, 'class', item.visibility === 'default' ? 'PUBLIC' : 'PRIVATE');
  if (item.tentative === true) addText(event, 'status', 'TENTATIVE');
  addText(event, 'transp', item.busy ? 'OPAQUE' : 'TRANSPARENT');
  addText(event, MARK_PROPERTY, object.ownerTag);
  addText(event, LOCATOR_PROPERTY, object.sealedRecordId);
  addText(event, REVISION_PROPERTY, toRevisionText(object.revision));
  addText(event, DESCRIPTION_STAMP_PROPERTY, toDescriptionStamp(description));
  addPresets(event, item.presets, stored?.presets ?? null);
  const lines = event.toString().slice(0, -END_OF_EVENT.length);
  const whole = `${lines}${stored === null || stored.kept === '' ? '' : `${stored.kept}\r\n`}${END_OF_EVENT}`;
  const parts = timeZone === null ? [whole] : [timeZone, whole];
  return foldLines([...HEAD, ...parts, 'END:VCALENDAR', ''].join('\r\n'));
}

/**
 * SEQUENCE must grow when the time changes (RFC 5545 section 3.8.7.4). The number of seconds since 2020 grows with every
 * write, so an update costs no look at what is stored.
 */
function nextSequence({ writtenAt, stored }: ObjectToWrite): number {
  const seconds = Math.floor((writtenAt - SEQUENCE_START_AT) / 1_000);
  return Math.max(seconds, (stored?.sequence ?? -1) + 1, 0);
}

/** Reads a stored calendar object; null when it is not one, or none that can be read. */
export function fromCalendarObject(text: string): ObjectContent | null {
  if (!isModestCalendar(text)) return null;
  try {
    const parsed: unknown = ICAL.parse(text);
    return Array.isArray(parsed) && parsed[0] === 'vcalendar' ? contentOf(new ICAL.Component(parsed)) : null;
  } catch {
    // What a value means is looked at when it is asked for: any of it may be none.
    return null;
  }
}

function contentOf(calendar: ICAL.Component): ObjectContent | null {
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
    ownerTag: textOf(event, MARK_PROPERTY),
    sealedRecordId: textOf(event, LOCATOR_PROPERTY),
    ...withRevision(fromRevisionText(textOf(event, REVISION_PROPERTY))),
    sequence: Number(textOf(event, 'sequence')) || 0,
    kept: retainedOf(event, presets),
    notes: wording,
    presets,
    item: events.length === 1 ? readItem(calendar, event, { notes: wording, presets }) : null,
  };
}

function readItem(
  calendar: ICAL.Component,
  event: ICAL.Component,
  { notes, presets }: Pick<ObjectContent, 'notes' | 'presets'>,
): CalendarItem | null {
  if (OF_A_SERIES.some((name) => event.hasProperty(name))) return null;
  const status = textOf(event, 'status')?.toUpperCase();
  // Called off: not what we wrote, so it has to be written again.
  if (status === 'CANCELLED') return null;
  const time = tryReadTimes(calendar, event);
  if (time === null) return null;
  return {
    title: carriable(textOf(event, 'summary') ?? ''),
    description: notes.ours || null,
    location: carriable(textOf(event, 'location') ?? '') || null,
    time,
    busy: textOf(event, 'transp')?.toUpperCase() !== 'TRANSPARENT',
    ...(status === 'TENTATIVE' ? { tentative: true } : {}),
    // A server that keeps no class shows nobody's events to everybody.
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

/** Whether a stored item says what it should; how a server writes it down (offsets, line ends, outer spaces) is its own affair. */
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
