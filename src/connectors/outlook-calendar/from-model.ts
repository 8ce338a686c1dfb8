import { isDeepStrictEqual } from 'node:util';
import type { CalendarItem, ItemTime, Presets } from '../../core/model/items.ts';
import type { ItemKey, RemoteItem } from '../../core/model/operations.ts';
import { storableTag } from '../../core/model/stored-limits.ts';
import { isVisible, shortened } from '../../core/model/text.ts';
import { type Instant, isZone, meansOnly, offsetMs, toZonedIso } from '../../core/model/time.ts';
import {
  BLANK_ITEM,
  type DescriptionParts,
  fromPresetsText,
  hasPresets,
  isTheirsAlone,
  joinDescription,
  mayHoldTheirs,
  NO_DESCRIPTION,
  NO_PRESETS,
  type PresetsThere,
  presetChanges,
  presetsThere,
  readDescription,
  tagWithAdditions,
  toDescriptionStamp,
  toPresetsText,
  withPresets,
} from '../event-content.ts';
import {
  areOfWrite,
  fromFields,
  KEY_FORM,
  type Labels,
  type LabelsToWrite,
  NO_RECORD,
  type Owned,
  ownedBy,
  ownedPart,
  toFields,
} from '../labels.ts';
import { hasAdditions } from './additions.ts';
import { htmlToText } from './html.ts';
import { LONGEST_BODY, LONGEST_LINE, PROPERTIES } from './limits.ts';
import { type EventHead, type EventTime, eventContentSchema, eventHeadSchema, eventIdSchema } from './schemas.ts';

/** Short names of the properties with the labels, in {@link PROPERTIES}. */
const LABEL_FIELDS = { ownerTag: 'ownerTag', key: 'key', sealedRecordId: 'sealedRecordId', revision: 'revision' };

/** Outlook always accepts this zone. */
export const UTC = 'UTC';

/** Event with this target's owner tag, with the fields that decide the next step. */
export interface OwnEvent extends Owned {
  id: string;
  etag: string | null;
  /** Null for an event that clinic-mirror did not create under a key, such as a user's copy. */
  transactionId: string | null;
  /** The event exists, but Graph returned it in an unknown form. */
  unreadable?: true;
  /** A user invited guests. Outlook sends e-mails to guests at each change and at the deletion. */
  hasGuests: boolean;
  /** Body parts of clinic-mirror and of users, as plain text. The item excludes users' parts. */
  descriptionParts: DescriptionParts;
  presets: PresetsThere;
  /** All categories, including users' categories. */
  categories: readonly string[];
  /** Minutes before the start of a reminder that a user set; null for none. */
  theirReminder: number | null;
  /** Null if the event has no valid item form. */
  item: CalendarItem | null;
}

/** Fields that users may have changed, required for a PATCH. */
export type Touched = Pick<OwnEvent, 'descriptionParts' | 'presets' | 'categories' | 'theirReminder'>;

/** Fields of a new event, or of an event that only clinic-mirror changed. */
export const UNTOUCHED: Touched = {
  ...{ descriptionParts: NO_DESCRIPTION, presets: NO_PRESETS, categories: [], theirReminder: null },
};

/** Zones for written times. */
export interface Zones {
  /** Zone in which all-day events begin. */
  wholeDayZone: string;
  /** Zones that Outlook refuses. Times in these zones are written in UTC. */
  refusedZones: ReadonlySet<string>;
}

/**
 * Builds a PATCH for an existing event. Fields of clinic-mirror are present even if empty, so that Outlook clears them. Guests, users'
 * categories and reminders, and Outlook's additions are omitted and therefore kept. A user's body text stays: unchanged if clinic-mirror
 * writes no text, otherwise as plain text below a separator.
 * @see https://learn.microsoft.com/graph/api/event-update
 */
export function toPatch(item: CalendarItem, labels: LabelsToWrite, zones: Zones, touched: Touched) {
  const { title, description, location } = normaliseItem(item);
  const { descriptionParts, presets } = touched;
  const isStamped = item.presets !== undefined || hasPresets(presets.last);
  return {
    subject: title,
    ...(isTheirsAlone(description, descriptionParts)
      ? {}
      : { body: { contentType: 'text', content: joinDescription(description, descriptionParts) } }),
    location: { displayName: location ?? '' },
    ...toEventTimes(item.time, zones),
    showAs: showAsOf(item),
    sensitivity: item.visibility === 'default' ? 'normal' : 'private',
    ...toPresetFields(touched, item.presets),
    singleValueExtendedProperties: toProperties({
      ...toFields(LABEL_FIELDS, labels),
      notes: toDescriptionStamp(description),
      ...(isStamped ? { presets: toPresetsText(item.presets ?? {}) } : {}),
      ...(item.time.kind === 'timed' ? { zone: item.time.zone } : {}),
    }),
  };
}

/** Outlook has one field for free and tentative, so a free event cannot also be tentative. */
function showAsOf({ busy, tentative }: CalendarItem): string {
  if (!busy) return 'free';
  return tentative === true ? 'tentative' : 'busy';
}

/**
 * Builds the content of a new event, without a reminder unless the item has one. Guests are never sent, so that Outlook sends no e-mails.
 */
export function toEvent(item: CalendarItem, labels: LabelsToWrite, zones: Zones) {
  return { isReminderOn: false, ...toPatch(item, labels, zones, UNTOUCHED) };
}

/**
 * Builds a PATCH that clears an event that cannot be deleted permanently. The event keeps owner tag and key, so that a repeated deletion
 * finds the event.
 */
export function toBlankPatch(
  { ownerTag, key }: Pick<Required<LabelsToWrite>, 'ownerTag' | 'key'>,
  zones: Zones,
  { presets }: Pick<OwnEvent, 'presets'>,
): object {
  const labels = { ownerTag, key, sealedRecordId: NO_RECORD, revision: 0 };
  return { ...toPatch(BLANK_ITEM, labels, zones, { ...UNTOUCHED, presets }), categories: [] };
}

function toProperties(values: Partial<Record<keyof typeof PROPERTIES, string>>): { id: string; value: string }[] {
  return Object.entries(values).map(([name, value]) => ({ id: PROPERTIES[name as keyof typeof PROPERTIES], value }));
}

/**
 * Parses an event with the owner tag, or without a tag and with a key that only clinic-mirror can produce. Returns null for foreign events.
 * @param storedKey key of the event if its id is stored: then the event needs neither tag nor key
 */
export function readOwnEvent(
  event: unknown,
  { ownerTag, wholeDayZone }: Pick<LabelsToWrite, 'ownerTag'> & Pick<Zones, 'wholeDayZone'>,
  storedKey: ItemKey | null = null,
): OwnEvent | null {
  const head = eventHeadSchema.safeParse(event);
  if (!head.success) return unreadEvent(event, storedKey);
  const { id, transactionId, attendees, categories, singleValueExtendedProperties } = head.data;
  const values = readProperties(singleValueExtendedProperties ?? []);
  const owned = ownedBy(ownerTag, labelsIn(values), [transactionId, storedKey]);
  if (owned === null) return null;
  if ((head.data.body?.content.length ?? 0) > LONGEST_BODY) return unreadEvent(event, owned.key);
  const wording = readDescription(bodyText(head.data.body), values.notes, 'plain');
  const presets = readPresets(head.data, values.presets);
  return {
    id,
    etag: storableTag(head.data['@odata.etag']),
    ...owned,
    transactionId: transactionId ?? null,
    hasGuests: (attendees ?? []).length > 0,
    descriptionParts: wording,
    presets,
    categories: categories ?? [],
    theirReminder: presets.theirs.has('reminderMinutes') ? reminderOf(head.data) : null,
    item: readItem(event, { zone: values.zone ?? null, wholeDayZone, descriptionParts: wording, presets }),
  };
}

function labelsIn(values: Partial<Record<string, string>>): Labels {
  return fromFields(LABEL_FIELDS, (field) => values[field]);
}

/** Returns an event of which only the ids are known. */
function unreadEvent(event: unknown, storedKey: ItemKey | null): OwnEvent | null {
  const { data } = eventIdSchema.safeParse(event);
  const key = KEY_FORM.test(data?.transactionId ?? '') ? (data?.transactionId ?? null) : storedKey;
  if (data === undefined || key === null) return null;
  const unknown = { etag: null, sealedRecordId: null, hasGuests: false, categories: [], item: null };
  return { ...UNTOUCHED, id: data.id, key, transactionId: key, ...unknown, unreadable: true };
}

/** Returns clinic-mirror's properties by short name. Graph may change the case of the set's GUID, but not of names. */
export function readProperties(properties: readonly { id: string; value: string }[]) {
  const values: Partial<Record<keyof typeof PROPERTIES, string>> = {};
  for (const name of ['ownerTag', 'owner', 'key', 'sealedRecordId', 'revision', 'notes', 'presets', 'zone'] as const) {
    const found = properties.find(({ id }) => id.toLowerCase() === PROPERTIES[name].toLowerCase());
    if (found !== undefined) values[name] = found.value;
  }
  return values;
}

/**
 * Converts an own event to the contract's form. The version tag is omitted if the next write must fetch the event first: a blind write
 * would send e-mails to guests, clear users' notes or change their categories. It is marked if a deletion must fetch the event,
 * to keep what users added.
 */
export function toRemoteItem(event: OwnEvent): RemoteItem {
  const { id, etag, key, transactionId, item, unreadable } = event;
  const mustLook = event.hasGuests || mayHoldTheirs(event.descriptionParts) || hasPresets(event.presets.last);
  const versionTag = mustLook ? null : hasAdditions(event) ? tagWithAdditions(etag) : etag;
  const base = { key: key ?? transactionId ?? '', remoteId: id, versionTag, item, ...ownedPart(event) };
  return { ...base, ...(unreadable ? { unreadable } : {}) };
}

/** Checks whether the event already equals the result of this operation, so that no write is required. */
export function holds(
  event: OwnEvent,
  write: Pick<LabelsToWrite, 'sealedRecordId' | 'revision'> & { item: CalendarItem },
) {
  return areOfWrite(event, write) && isDeepStrictEqual(event.item, normaliseItem(write.item));
}

/**
 * Converts an item to the form that Exchange returns:
 * - Titles and locations are on one line, within Exchange's limit. A title without visible characters is empty.
 * - A description has no outer space and LF line ends. An empty description or location is null.
 * - Control characters, half surrogates and hard spaces are removed or replaced.
 * - Times are in whole seconds, with an offset such as `+02:00` (never `Z`).
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

/** Properties of an event besides its content. */
interface EventContext extends Pick<OwnEvent, 'descriptionParts' | 'presets'> {
  zone: string | null;
  wholeDayZone: string;
}

/** Returns null if a user changed the event to a form that items do not have: a series, personal, out of office, cancelled. */
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

/** Returns the text of a body without outer space. A user's body may be an HTML page with only breaks. */
function bodyText(body: { contentType: string; content: string } | null | undefined): string {
  if (body === null || body === undefined) return '';
  const isHtml = body.contentType.toLowerCase() === 'html';
  return plainText(isHtml ? htmlToText(body.content) : body.content).trim();
}

/**
 * Returns times in the clinic's zone, which Outlook keeps with the event. If the clock of the zone shows a time twice (end of summer time),
 * both times are written in UTC to be unambiguous.
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

/** Returns the zone for the written times of an item. */
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

/**
 * Parses a time in UTC, which each request asks Graph to return, so that no table of Windows zones is required. Fractions have seven
 * digits.
 */
function instantOf({ dateTime, timeZone }: EventTime): Instant | null {
  const wall = /^(\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2})(?:\.\d+)?Z?$/.exec(dateTime);
  if (wall === null || (timeZone !== 'UTC' && timeZone !== 'Etc/UTC')) return null;
  const at = Date.parse(`${wall[1]}Z`);
  return Number.isNaN(at) ? null : at;
}

/** Returns the date of an all-day event: Graph sends midnight UTC, or the instant of midnight in the zone of the write. */
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

/** All categories of an event, and the presets with their authors. */
export interface CategoriesThere {
  presets: PresetsThere;
  categories: readonly string[];
}

/**
 * Returns the fields that a write changes for presets. One category belongs to clinic-mirror; the others are kept.
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

/**
 * Separates the presets of clinic-mirror from users' presets.
 * @param stamped presets of the last write
 */
function readPresets(head: EventHead, stamped: string | undefined): PresetsThere {
  const { categories } = head;
  const last = fromPresetsText(stamped);
  const hasOurs = last.category !== undefined && categories?.includes(last.category) === true;
  return presetsThere(last, {
    category: hasOurs ? last.category : undefined,
    reminderMinutes: reminderOf(head) ?? undefined,
  });
}

function reminderOf({ isReminderOn, reminderMinutesBeforeStart }: EventHead): number | null {
  return isReminderOn === true ? (reminderMinutesBeforeStart ?? null) : null;
}

function toReminder(minutes: Presets['reminderMinutes'] | null): object {
  return typeof minutes === 'number'
    ? { isReminderOn: true, reminderMinutesBeforeStart: minutes }
    : { isReminderOn: false };
}
