import { isDeepStrictEqual } from 'node:util';
import type { CalendarItem, ItemTime, Presets } from '../../model/items.ts';
import type { ItemKey, RemoteItem } from '../../model/operations.ts';
import { isVisible, shortened } from '../../model/text.ts';
import { type Instant, isZone, meansOnly, offsetMs, toZonedIso } from '../../model/time.ts';
import {
  BLANK_ITEM,
  type DescriptionParts,
  fromPresetsText,
  hasPresets,
  joinDescription,
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
import { htmlToText } from './html.ts';
import { LONGEST_LINE, NO_RECORD, PROPERTIES } from './limits.ts';
import { type EventHead, eventContentSchema, eventHeadSchema } from './schemas.ts';

/** The zone that is always taken. */
export const UTC = 'UTC';

/** What an event is stamped with. */
export interface Stamp {
  ownerTag: string;
  key: ItemKey;
  sealedRecordId: string;
  revision: number;
}

/** An event that carries our owner tag, read far enough to decide what to do with it. */
export interface OwnEvent {
  id: string;
  etag: string | null;
  key: ItemKey | null;
  /** Null for one that we did not create under a key, such as a copy that a person made. */
  transactionId: string | null;
  sealedRecordId: string | null;
  /** The stamped revision of the write that made it so. */
  revision?: number;
  /** Somebody invited guests, whom Outlook mails at every change and at the deletion. */
  hasGuests: boolean;
  /** Whose its body is, as plain text; what is a person's is no part of the item. */
  descriptionParts: DescriptionParts;
  presets: PresetsThere;
  /** All of them, a person's too. */
  categories: readonly string[];
  /** Null when it can't be read as an item. */
  item: CalendarItem | null;
}

/** What a change of an event must know of it. */
export type Touched = Pick<OwnEvent, 'descriptionParts' | 'presets' | 'categories'>;

/** Of an event that is new, or that nobody but us changed. */
export const UNTOUCHED: Touched = { descriptionParts: NO_DESCRIPTION, presets: NO_PRESETS, categories: [] };

/** In which zones times are written. */
export interface Zones {
  /** The zone in which whole days begin. */
  wholeDayZone: string;
  /** Zones that Outlook does not take: what is in them is written in UTC. */
  refusedZones: ReadonlySet<string>;
}

/**
 * What a PATCH changes of an event that is there: what is ours, named even when empty, so that it is cleared. The rest (guests, categories
 * and a reminder that are not ours, and whatever Outlook adds) is a person's and not named. What a person wrote into the body stays: as it is
 * while we write none, else as plain text below a line.
 * @see https://learn.microsoft.com/graph/api/event-update
 */
export function toPatch(item: CalendarItem, stamp: Stamp, zones: Zones, touched: Touched) {
  const { title, description, location } = normaliseItem(item);
  const { descriptionParts, presets } = touched;
  const isTheirsAlone = description === null && descriptionParts.ours === null && descriptionParts.theirs !== '';
  const isStamped = item.presets !== undefined || hasPresets(presets.last);
  return {
    subject: title,
    ...(isTheirsAlone
      ? {}
      : { body: { contentType: 'text', content: joinDescription(description, descriptionParts) } }),
    location: { displayName: location ?? '' },
    ...toEventTimes(item.time, zones),
    showAs: showAsOf(item),
    sensitivity: item.visibility === 'default' ? 'normal' : 'private',
    ...toPresetFields(touched, item.presets),
    singleValueExtendedProperties: toProperties({
      ...stamp,
      revision: toRevisionText(stamp.revision),
      notes: toDescriptionStamp(description),
      ...(isStamped ? { presets: toPresetsText(item.presets ?? {}) } : {}),
      ...(item.time.kind === 'timed' ? { zone: item.time.zone } : {}),
    }),
  };
}

/** Outlook has one word for both: what leaves its time free can't be tentative beside. */
function showAsOf({ busy, tentative }: CalendarItem): string {
  if (!busy) return 'free';
  return tentative === true ? 'tentative' : 'busy';
}

/**
 * The content of an event that is made: the same, and no reminder unless the item has one. Guests are never named, so that nobody gets a
 * mail.
 */
export function toEvent(item: CalendarItem, stamp: Stamp, zones: Zones) {
  return { isReminderOn: false, ...toPatch(item, stamp, zones, UNTOUCHED) };
}

/**
 * What a PATCH makes of an event that can't be deleted for good: it says nothing, and carries owner tag and key, so that it is still
 * found when the deletion after it has to be repeated.
 */
export function toBlankPatch(
  { ownerTag, key }: Pick<Stamp, 'ownerTag' | 'key'>,
  zones: Zones,
  { presets }: Pick<OwnEvent, 'presets'>,
): object {
  const stamp: Stamp = { ownerTag, key, sealedRecordId: NO_RECORD, revision: 0 };
  return { ...toPatch(BLANK_ITEM, stamp, zones, { ...UNTOUCHED, presets }), categories: [] };
}

function toProperties(values: Partial<Record<keyof typeof PROPERTIES, string>>): { id: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ id: PROPERTIES[name as keyof typeof PROPERTIES], value }));
}

/** An event that carries our owner tag; null for any other, and for what is no event. */
export function readOwnEvent(event: unknown, ownerTag: string, wholeDayZone: string): OwnEvent | null {
  const head = eventHeadSchema.safeParse(event);
  if (!head.success) return null;
  const { id, transactionId, attendees, categories, singleValueExtendedProperties } = head.data;
  const values = readProperties(singleValueExtendedProperties ?? []);
  if (values.ownerTag !== ownerTag) return null;
  const wording = readDescription(bodyText(head.data.body), values.notes, 'plain');
  const presets = readPresets(head.data, values.presets);
  const sealedRecordId = values.sealedRecordId === NO_RECORD ? null : (values.sealedRecordId ?? null);
  return {
    id,
    etag: head.data['@odata.etag'] ?? null,
    key: values.key ?? null,
    transactionId: transactionId ?? null,
    sealedRecordId,
    ...withRevision(fromRevisionText(values.revision)),
    hasGuests: (attendees ?? []).length > 0,
    descriptionParts: wording,
    presets,
    categories: categories ?? [],
    item: readItem(event, { zone: values.zone ?? null, wholeDayZone, descriptionParts: wording, presets }),
  };
}

/** Our properties by their short names. Graph may write the set's GUID in the other case; names keep theirs. */
export function readProperties(properties: readonly { id: string; value: string }[]) {
  const values: Partial<Record<keyof typeof PROPERTIES, string>> = {};
  for (const name of ['ownerTag', 'owner', 'key', 'sealedRecordId', 'revision', 'notes', 'presets', 'zone'] as const) {
    const found = properties.find(({ id }) => id.toLowerCase() === PROPERTIES[name].toLowerCase());
    if (found !== undefined) values[name] = found.value;
  }
  return values;
}

/**
 * An event of ours in the words of the contract. Without a version tag where a write must look first: one that knows nothing of guests
 * would mail them, one that knows nothing of a person's notes would clear them, one that knows nothing of their categories would change
 * them.
 */
export function toRemoteItem(event: OwnEvent): RemoteItem {
  const { id, etag, key, transactionId, sealedRecordId, item, revision } = event;
  const mustLook = event.hasGuests || event.descriptionParts.theirs !== '' || hasPresets(event.presets.last);
  const versionTag = mustLook ? null : etag;
  const base = { key: key ?? transactionId ?? '', sealedRecordId, remoteId: id, versionTag, item };
  return { ...base, ...withRevision(revision) };
}

/** Whether the event is as this very operation leaves it, so that no write is needed. */
export function holds(event: OwnEvent, { item, revision }: { item: CalendarItem; revision: number }): boolean {
  const isStamped = event.sealedRecordId !== null && event.revision === revision;
  return isStamped && isDeepStrictEqual(event.item, normaliseItem(item));
}

/**
 * The form in which an item comes back from Exchange: titles and locations on one line and no longer than it takes, a title of which
 * nothing shows is empty, no space around a description, line ends are LF, an empty description or location is null, no control
 * characters and half surrogates, no hard spaces, times in whole seconds with the offset written as `+02:00` (never `Z`).
 */
export function normaliseItem(item: CalendarItem): CalendarItem {
  const title = oneLine(item.title);
  return {
    ...item,
    title: isVisible(title) ? shortened(title, LONGEST_LINE) : '',
    description: plainText(item.description ?? '').trim() || null,
    location: shortened(oneLine(item.location ?? ''), LONGEST_LINE) || null,
    time: normaliseTime(item.time),
  };
}

/** What is known of an event beside its content. */
interface EventContext extends Pick<OwnEvent, 'descriptionParts' | 'presets'> {
  zone: string | null;
  wholeDayZone: string;
}

/** Null when a person made of the event what an item can't say: a series, personal, out of office, cancelled. */
function readItem(
  event: unknown,
  { zone, wholeDayZone, descriptionParts, presets }: EventContext,
): CalendarItem | null {
  const parsed = eventContentSchema.safeParse(event);
  if (!parsed.success) return null;
  const { type, isCancelled, subject, location, showAs, sensitivity } = parsed.data;
  const isSingle = (type ?? 'singleInstance') === 'singleInstance' && isCancelled !== true;
  if (!isSingle || (sensitivity !== 'private' && sensitivity !== 'normal')) return null;
  if (showAs !== 'busy' && showAs !== 'free' && showAs !== 'tentative') return null;
  const time = readTime(parsed.data, zone, wholeDayZone);
  if (time === null) return null;
  return normaliseItem({
    title: subject ?? '',
    description: descriptionParts.ours,
    location: location?.displayName ?? null,
    time,
    busy: showAs !== 'free',
    ...(showAs === 'tentative' ? { tentative: true } : {}),
    ...(sensitivity === 'normal' ? { visibility: 'default' } : {}),
    ...withPresets(presets.last),
  });
}

/** What a body says, without space around it; a person's may be an HTML page of nothing but breaks. */
function bodyText(body: { contentType: string; content: string } | null | undefined): string {
  if (body === null || body === undefined) return '';
  const isHtml = body.contentType.toLowerCase() === 'html';
  return plainText(isHtml ? htmlToText(body.content) : body.content).trim();
}

/**
 * Times on the clock of the clinic, whose zone Outlook then keeps with the event. Where that clock shows a time twice it would be anybody's
 * guess which is meant, so both go out in UTC.
 */
function toEventTimes(time: ItemTime, zones: Zones): { isAllDay: boolean; start: EventTime; end: EventTime } {
  const timeZone = writtenZone(time, zones);
  if (time.kind === 'all-day') {
    const midnight = (date: string) => ({ dateTime: `${date}T00:00:00`, timeZone });
    return { isAllDay: true, start: midnight(time.startDate), end: midnight(time.endDate) };
  }
  const wall = (text: string) => ({ dateTime: toZonedIso(timeZone, Date.parse(text)).slice(0, 19), timeZone });
  return { isAllDay: false, start: wall(time.start), end: wall(time.end) };
}

/** The zone that an item's times go out in. */
export function writtenZone(time: ItemTime, { wholeDayZone, refusedZones }: Zones): string {
  const zone = time.kind === 'all-day' ? wholeDayZone : time.zone;
  const isClear = (text: string) => meansOnly(toZonedIso(zone, Date.parse(text)).slice(0, 19), zone, Date.parse(text));
  const isOnce = time.kind === 'all-day' || (isZone(zone) && isClear(time.start) && isClear(time.end));
  return refusedZones.has(zone) || !isOnce ? UTC : zone;
}

interface EventTimes {
  isAllDay?: boolean | null | undefined;
  start: EventTime;
  end: EventTime;
}
interface EventTime {
  dateTime: string;
  timeZone: string;
}

function readTime({ isAllDay, start, end }: EventTimes, zone: string | null, wholeDayZone: string): ItemTime | null {
  const [startAt, endAt] = [instantOf(start), instantOf(end)];
  if (startAt === null || endAt === null) return null;
  if (isAllDay === true) {
    const [startDate, endDate] = [dateOf(startAt, wholeDayZone), dateOf(endAt, wholeDayZone)];
    return startDate === null || endDate === null ? null : { kind: 'all-day', startDate, endDate };
  }
  if (zone === null || !isZone(zone)) return null;
  return { kind: 'timed', start: toZonedIso(zone, startAt), end: toZonedIso(zone, endAt), zone };
}

/** UTC is asked for with every request, so that no table of Windows zones is needed; fractions have seven digits. */
function instantOf({ dateTime, timeZone }: EventTime): Instant | null {
  const wall = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.\d+)?Z?$/.exec(dateTime);
  if (wall === null || (timeZone !== 'UTC' && timeZone !== 'Etc/UTC')) return null;
  const at = Date.parse(`${wall[1]}Z`);
  return Number.isNaN(at) ? null : at;
}

/** A whole day's date: midnight comes as it is, or as the instant of midnight in the zone that it was written in. */
function dateOf(at: Instant, wholeDayZone: string): string | null {
  const isMidnightUtc = new Date(at).toISOString().endsWith('T00:00:00.000Z');
  const wall = new Date(isMidnightUtc ? at : at + offsetMs(wholeDayZone, at)).toISOString();
  return wall.endsWith('T00:00:00.000Z') ? wall.slice(0, 10) : null;
}

function normaliseTime(time: ItemTime): ItemTime {
  if (time.kind === 'all-day' || !isZone(time.zone)) return time;
  const [startAt, endAt] = [Date.parse(time.start), Date.parse(time.end)];
  if (Number.isNaN(startAt) || Number.isNaN(endAt)) return time;
  return { ...time, start: toZonedIso(time.zone, startAt), end: toZonedIso(time.zone, endAt) };
}

function plainText(text: string): string {
  const lines = text.toWellFormed().replace(/\r\n?/g, '\n').replaceAll('\u00A0', ' ');
  return lines.replace(/[^\P{Cc}\t\n]/gu, '');
}

function oneLine(text: string): string {
  return plainText(text).replaceAll(/\s+/g, (space) => (space.includes('\n') ? ' ' : space));
}

/** Whose the presets of an event are, and all of its categories. */
export interface CategoriesThere {
  presets: PresetsThere;
  categories: readonly string[];
}

/**
 * The fields of an event that a write changes for its presets. Of the categories one is ours; the others stay.
 * @see https://learn.microsoft.com/graph/api/resources/event
 */
function toPresetFields({ presets, categories }: CategoriesThere, wanted: Presets | undefined): object {
  const { category, reminderMinutes } = presetChanges(presets, wanted);
  const others = categories.filter((one) => one !== presets.last.category && one !== category);
  return {
    ...(category === undefined ? {} : { categories: category === null ? others : [...others, category] }),
    ...(reminderMinutes === undefined ? {} : toReminder(reminderMinutes)),
  };
}

/** Whose the presets of an event are. @param stamped what our last write wanted */
function readPresets(head: EventHead, stamped: string | undefined): PresetsThere {
  const { categories, isReminderOn, reminderMinutesBeforeStart } = head;
  const last = fromPresetsText(stamped);
  const hasOurs = last.category !== undefined && categories?.includes(last.category) === true;
  return presetsThere(last, {
    category: hasOurs ? last.category : undefined,
    reminderMinutes: isReminderOn === true ? reminderMinutesBeforeStart : undefined,
  });
}

function toReminder(minutes: Presets['reminderMinutes'] | null): object {
  return typeof minutes === 'number'
    ? { isReminderOn: true, reminderMinutesBeforeStart: minutes }
    : { isReminderOn: false };
}
