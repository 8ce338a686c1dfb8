import { isDeepStrictEqual } from 'node:util';
import { type CalendarItem, COLOURS, type ItemTime, type Presets } from '../../model/items.ts';
import type { RemoteItem } from '../../model/operations.ts';
import { shortened } from '../../model/text.ts';
import { isZone, toZonedIso } from '../../model/time.ts';
import {
  BLANK_ITEM,
  type DescriptionParts,
  fromPresetsText,
  hasPresets,
  joinDescription,
  lengthOfTheirs,
  NO_DESCRIPTION,
  NO_PRESETS,
  type PresetsThere,
  presetChanges,
  presetsThere,
  readDescription,
  toDescriptionStamp,
  toPresetsText,
  withPresets,
} from '../event-content.ts';
import { fromRevisionText, toRevisionText, withRevision } from '../owner.ts';
import {
  DESCRIPTION_STAMP_PROPERTY,
  LOCATOR_PROPERTY,
  LONGEST_DESCRIPTION,
  MARK_PROPERTY,
  PRESETS_PROPERTY,
  REVISION_PROPERTY,
} from './limits.ts';
import { type EventHead, eventContentSchema, eventHeadSchema } from './schemas.ts';

/** An event of ours, read far enough to decide what to do with it. */
export interface OwnEvent {
  id: string;
  etag: string | null;
  cancelled: boolean;
  sealedRecordId: string | null;
  /** The stamped revision of the write that made it so. */
  revision?: number;
  /** Google's count of changes; a PUT must not fall behind it. */
  sequence?: number;
  /** Whose its description is; what is a person's is no part of the item. */
  descriptionParts: DescriptionParts;
  presets: PresetsThere;
  /** Null when it can't be read as an item. */
  item: CalendarItem | null;
}

/** What an event is stamped with. */
export interface Stamp {
  ownerTag: string;
  sealedRecordId: string;
  revision: number;
}

/** What a change of an event must know of it. */
export type Touched = Pick<OwnEvent, 'descriptionParts' | 'presets'>;

/** Of an event that is new, or that nobody but us changed. */
export const UNTOUCHED: Touched = { descriptionParts: NO_DESCRIPTION, presets: NO_PRESETS };

/**
 * The whole event for an item: what is not named here is cleared by a PUT. Without guests, and without reminders unless the item has one,
 * so that nobody gets a mail and nobody's phone rings; the status brings a deleted event back.
 * @see https://developers.google.com/workspace/calendar/api/v3/reference/events
 */
export function toEvent(item: CalendarItem, stamp: Stamp): object {
  const { title, description, location } = normaliseItem(item);
  return {
    ...ownedWith({ ...item, title, description }, stamp, NO_PRESETS),
    ...(description === null ? {} : { description: escapeHtml(description) }),
    ...(location === null ? {} : { location }),
    ...toEventTimes(item.time),
    reminders: { useDefault: false, overrides: [] },
    ...toPresetFields(NO_PRESETS, item.presets),
  };
}

/**
 * What a PATCH changes of an event that is there: what is ours, null where it is to be cleared. The rest (guests, a colour and reminders
 * that are not ours, and whatever Google adds) is a person's and not named. What a person wrote into the description stays, below a line where
 * we write one too.
 * @see https://developers.google.com/workspace/calendar/api/guides/performance#patch
 */
export function toPatch(item: CalendarItem, stamp: Stamp, { descriptionParts, presets }: Touched): object {
  const { title, description, location } = normaliseItem(item, LONGEST_DESCRIPTION - lengthOfTheirs(descriptionParts));
  const isTheirsAlone = description === null && descriptionParts.ours === null && descriptionParts.theirs !== '';
  const { start, end } = toEventTimes(item.time);
  const noTime = { date: null, dateTime: null, timeZone: null };
  return {
    ...ownedWith({ ...item, title, description }, stamp, presets),
    ...toPresetFields(presets, item.presets),
    ...(isTheirsAlone
      ? {}
      : { description: joinDescription(description && escapeHtml(description), descriptionParts) || null }),
    location,
    start: { ...noTime, ...start },
    end: { ...noTime, ...end },
  };
}

function ownedWith(item: CalendarItem, stamp: Stamp, { last }: PresetsThere): object {
  const { title, busy, tentative, visibility, description, presets } = item;
  const presetsText = presets === undefined ? null : toPresetsText(presets);
  return {
    status: tentative === true ? 'tentative' : 'confirmed',
    summary: title,
    visibility: visibility ?? 'private',
    transparency: busy ? 'opaque' : 'transparent',
    extendedProperties: {
      private: {
        [MARK_PROPERTY]: stamp.ownerTag,
        [LOCATOR_PROPERTY]: stamp.sealedRecordId,
        [REVISION_PROPERTY]: toRevisionText(stamp.revision),
        [DESCRIPTION_STAMP_PROPERTY]: toDescriptionStamp(description),
        ...(presetsText === null && !hasPresets(last) ? {} : { [PRESETS_PROPERTY]: presetsText }),
      },
    },
  };
}

/** An event that says nothing and carries the owner tag alone, so that it is still ours when the deletion after it has to be repeated. */
export function toBlankEvent(ownerTag: string): object {
  return {
    ...toEvent(BLANK_ITEM, { ownerTag, sealedRecordId: '', revision: 0 }),
    extendedProperties: { private: { [MARK_PROPERTY]: ownerTag } },
  };
}

/** Whether an event of ours was emptied: all others carry a sealed record id. */
export function isBlank({ sealedRecordId }: OwnEvent): boolean {
  return sealedRecordId === null;
}

/** An event that carries our owner tag; null for any other, and for what is no event. */
export function readOwnEvent(event: unknown, ownerTag: string): OwnEvent | null {
  const head = eventHeadSchema.safeParse(event);
  if (!head.success) return null;
  const { id, etag, status, sequence, description } = head.data;
  const properties = head.data.extendedProperties?.private ?? {};
  if (properties[MARK_PROPERTY] !== ownerTag) return null;
  const wording = readDescription(description ?? '', properties[DESCRIPTION_STAMP_PROPERTY], 'html');
  const presets = readPresets(head.data, properties[PRESETS_PROPERTY]);
  return {
    id,
    etag: etag ?? null,
    cancelled: status === 'cancelled',
    sealedRecordId: properties[LOCATOR_PROPERTY] ?? null,
    ...withRevision(fromRevisionText(properties[REVISION_PROPERTY])),
    ...(sequence === undefined ? {} : { sequence }),
    descriptionParts: wording,
    presets,
    item: readItem(event, { descriptionParts: wording, presets }),
  };
}

/**
 * An event of ours in the words of the contract. The id is the key: we chose it. Without a version tag where a write must look first:
 * one that knows nothing of a person's notes would clear them, one that knows nothing of their colour would change it.
 */
export function toRemoteItem(event: OwnEvent): RemoteItem {
  const { id, sealedRecordId, etag, descriptionParts, presets, item, revision } = event;
  const versionTag = descriptionParts.theirs !== '' || hasPresets(presets.last) ? null : etag;
  return { key: id, sealedRecordId, remoteId: id, versionTag, item, ...withRevision(revision) };
}

/** Whether the event is as this very operation leaves it, so that no write is needed. */
export function holds(event: OwnEvent, { item, revision }: { item: CalendarItem; revision: number }): boolean {
  const isStamped = event.sealedRecordId !== null && event.revision === revision;
  return isStamped && isDeepStrictEqual(event.item, normaliseItem(item));
}

/**
 * The form in which an item comes back from Google: line ends are LF, an empty description or location is null, a description is no
 * longer than Google takes, times are in whole seconds with the offset written as `+02:00` (never `Z`), half surrogates are replaced.
 */
export function normaliseItem(item: CalendarItem, longest = LONGEST_DESCRIPTION): CalendarItem {
  const description = item.description ? shortenedDescription(wellFormed(item.description), longest) : '';
  return {
    ...item,
    title: wellFormed(item.title),
    description: description || null,
    location: item.location ? wellFormed(item.location) : null,
    time: normaliseTime(item.time),
  };
}

/** Null when a person made of the event what an item can't say: a series, shown to everybody, another zone at the end. */
function readItem(event: unknown, { descriptionParts, presets }: Touched): CalendarItem | null {
  const parsed = eventContentSchema.safeParse(event);
  if (!parsed.success) return null;
  const content = parsed.data;
  const { status = 'confirmed', visibility = 'default' } = content;
  const isPlain = (content.eventType ?? 'default') === 'default' && (status === 'confirmed' || status === 'tentative');
  const isSingle = content.recurrence === undefined && content.recurringEventId === undefined;
  if (!isPlain || !isSingle || (visibility !== 'private' && visibility !== 'default')) return null;
  const time = readTime(content.start, content.end);
  if (time === null) return null;
  return normaliseItem({
    title: content.summary ?? '',
    description: descriptionParts.ours,
    location: content.location ?? null,
    time,
    busy: content.transparency !== 'transparent',
    ...(status === 'tentative' ? { tentative: true } : {}),
    ...(visibility === 'default' ? { visibility } : {}),
    ...withPresets(presets.last),
  });
}

function toEventTimes(time: ItemTime): { start: object; end: object } {
  if (time.kind === 'all-day') return { start: { date: time.startDate }, end: { date: time.endDate } };
  return {
    start: { dateTime: time.start, timeZone: time.zone },
    end: { dateTime: time.end, timeZone: time.zone },
  };
}

interface EventTime {
  date?: string | undefined;
  dateTime?: string | undefined;
  timeZone?: string | undefined;
}

function readTime(start: EventTime, end: EventTime): ItemTime | null {
  if (start.date !== undefined && end.date !== undefined) {
    return { kind: 'all-day', startDate: start.date, endDate: end.date };
  }
  if (start.dateTime === undefined || end.dateTime === undefined) return null;
  if (start.timeZone === undefined || (end.timeZone ?? start.timeZone) !== start.timeZone) return null;
  return { kind: 'timed', start: start.dateTime, end: end.dateTime, zone: start.timeZone };
}

/** Google answers in the calendar's zone; the instant is the same, so it is written again in the event's own. */
function normaliseTime(time: ItemTime): ItemTime {
  if (time.kind === 'all-day' || !isZone(time.zone)) return time;
  const [startAt, endAt] = [Date.parse(time.start), Date.parse(time.end)];
  if (Number.isNaN(startAt) || Number.isNaN(endAt)) return time;
  return { ...time, start: toZonedIso(time.zone, startAt), end: toZonedIso(time.zone, endAt) };
}

function wellFormed(text: string): string {
  return text.toWellFormed().replace(/\r\n?/g, '\n');
}

/** Escaping makes a text longer, and it is the escaped one that is limited. @param longest less than 1: there is no room for any */
function shortenedDescription(text: string, longest: number): string {
  if (longest < 1) return '';
  let wording = shortened(text, longest);
  for (let length = escapeHtml(wording).length; length > longest; length = escapeHtml(wording).length) {
    wording = shortened(wording, Math.floor((wording.length * longest) / length));
  }
  return wording;
}

/** Google shows a description as HTML, so plain text must not contain any. */
function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

/** What stands for reminders that we never set. */
const OTHER = 'other';

/**
 * The fields of an event that a write changes for its presets: `colorId`, `reminders` and `source`, null where one is to go.
 * @see https://developers.google.com/workspace/calendar/api/v3/reference/events
 */
function toPresetFields(there: PresetsThere, wanted: Presets | undefined): object {
  const { colour, reminderMinutes, pageUrl } = presetChanges(there, wanted);
  return {
    ...(colour === undefined ? {} : { colorId: colour === null ? null : String(COLOURS.indexOf(colour) + 1) }),
    ...(reminderMinutes === undefined ? {} : { reminders: { useDefault: false, overrides: alarms(reminderMinutes) } }),
    ...(pageUrl === undefined ? {} : { source: pageUrl === null ? null : { url: pageUrl, title: hostOf(pageUrl) } }),
  };
}

/** Whose the presets of an event are. @param stamped what our last write wanted */
function readPresets({ colorId, reminders, source }: EventHead, stamped: string | undefined): PresetsThere {
  const last = fromPresetsText(stamped);
  const colour = colorId === undefined ? undefined : (COLOURS[Number(colorId) - 1] ?? OTHER);
  return presetsThere(last, { colour, reminderMinutes: shownReminder(reminders), pageUrl: source?.url });
}

function alarms(minutes: Presets['reminderMinutes'] | null): object[] {
  return typeof minutes === 'number' ? [{ method: 'popup', minutes }] : [];
}

function shownReminder(reminders: EventHead['reminders']): unknown {
  const [first, ...more] = reminders?.overrides ?? [];
  if (reminders?.useDefault === true || more.length > 0) return OTHER;
  return first?.method === 'email' ? OTHER : first?.minutes;
}

function hostOf(url: string): string {
  return new URL(url).host;
}
