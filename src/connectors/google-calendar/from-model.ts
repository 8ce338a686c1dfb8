import { isDeepStrictEqual } from 'node:util';
import { type CalendarItem, COLOURS, type ItemTime, type Presets } from '../../core/model/items.ts';
import type { RemoteItem } from '../../core/model/operations.ts';
import { storableTag } from '../../core/model/stored-limits.ts';
import { shortened } from '../../core/model/text.ts';
import { isZone, toZonedIso } from '../../core/model/time.ts';
import {
  BLANK_ITEM,
  type DescriptionParts,
  fromPresetsText,
  hasPresets,
  isTheirsAlone,
  joinDescription,
  lengthOfTheirs,
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
  type LabelsToWrite,
  type Owned,
  ownedBy,
  ownedPart,
  toFields,
} from '../labels.ts';
import { additionsIn } from './additions.ts';
import {
  DESCRIPTION_STAMP_PROPERTY,
  LABEL_FIELDS,
  LONGEST_DESCRIPTION,
  LONGEST_READ,
  PRESETS_PROPERTY,
} from './limits.ts';
import {
  type Additions,
  type EventHead,
  type EventTime,
  eventContentSchema,
  eventHeadSchema,
  eventIdSchema,
} from './schemas.ts';

/** Own event, with the fields that decide the next step. */
export interface OwnEvent extends Omit<Owned, 'key'> {
  id: string;
  etag: string | null;
  cancelled: boolean;
  /** The event exists, but Google returned it in an unknown form. */
  unreadable?: true;
  /** Google's counter of changes. A PUT must not send a lower number. */
  sequence?: number;
  /** Description parts of clinic-mirror and of users. The item excludes users' parts. */
  descriptionParts: DescriptionParts;
  presets: PresetsThere;
  /** Fields that users set. */
  additions: Omit<Additions, 'description'>;
  /** Null if the event has no valid item form. */
  item: CalendarItem | null;
}

/** Fields that users may have changed, required for a PATCH. */
export type Touched = Pick<OwnEvent, 'descriptionParts' | 'presets' | 'additions'>;

/** Fields of a new event, or of an event that only clinic-mirror changed. */
export const UNTOUCHED: Touched = { descriptionParts: NO_DESCRIPTION, presets: NO_PRESETS, additions: {} };

/**
 * Builds the whole event for an item. A PUT clears all fields that are missing here. The event has no guests, and has reminders only if the
 * item has one, so that Google sends no e-mails or notifications. The status revives a deleted event.
 * @see https://developers.google.com/workspace/calendar/api/v3/reference/events
 */
export function toEvent(item: CalendarItem, labels: LabelsToWrite): object {
  const { title, description, location } = normaliseItem(item);
  return {
    ...ownedWith({ ...item, title, description }, labels, NO_PRESETS),
    ...(description === null ? {} : { description: escapeHtml(description) }),
    ...(location === null ? {} : { location }),
    ...toEventTimes(item.time),
    reminders: { useDefault: false, overrides: [] },
    ...toPresetFields(NO_PRESETS, item.presets),
  };
}

/**
 * Builds a PATCH for an existing event: only fields of clinic-mirror, with null for fields to clear. Guests, users' colours and reminders,
 * and Google's additions are omitted and therefore kept. A user's description stays, below a separator if clinic-mirror writes a
 * description too.
 * @see https://developers.google.com/workspace/calendar/api/guides/performance#patch
 */
export function toPatch(
  item: CalendarItem,
  labels: LabelsToWrite,
  { descriptionParts, presets }: Omit<Touched, 'additions'>,
): object {
  const { title, description, location } = normaliseItem(item, LONGEST_DESCRIPTION - lengthOfTheirs(descriptionParts));
  const { start, end } = toEventTimes(item.time);
  const noTime = { date: null, dateTime: null, timeZone: null };
  return {
    ...ownedWith({ ...item, title, description }, labels, presets),
    ...toPresetFields(presets, item.presets),
    ...(isTheirsAlone(description, descriptionParts)
      ? {}
      : { description: joinDescription(description && escapeHtml(description), descriptionParts) || null }),
    location,
    start: { ...noTime, ...start },
    end: { ...noTime, ...end },
  };
}

function ownedWith(item: CalendarItem, labels: LabelsToWrite, { last }: PresetsThere): object {
  const { title, busy, tentative, visibility, description, presets } = item;
  const presetsText = presets === undefined ? null : toPresetsText(presets);
  return {
    status: tentative === true ? 'tentative' : 'confirmed',
    summary: title,
    visibility: visibility ?? 'private',
    transparency: busy ? 'opaque' : 'transparent',
    extendedProperties: {
      private: {
        ...toFields(LABEL_FIELDS, labels),
        [DESCRIPTION_STAMP_PROPERTY]: toDescriptionStamp(description),
        ...(presetsText === null && !hasPresets(last) ? {} : { [PRESETS_PROPERTY]: presetsText }),
      },
    },
  };
}

/** Builds an empty event with only the owner tag. A repeated deletion still recognises the event as an own event. */
export function toBlankEvent(ownerTag: string): object {
  return {
    ...toEvent(BLANK_ITEM, { ownerTag, key: '', sealedRecordId: '', revision: 0 }),
    extendedProperties: { private: { [LABEL_FIELDS.ownerTag]: ownerTag } },
  };
}

/** Checks whether an own event was cleared: all others carry an encrypted record id. */
export function isBlank({ sealedRecordId }: OwnEvent): boolean {
  return sealedRecordId === null;
}

/**
 * Parses an event with the owner tag of this target, or without a tag and with an id in the form of a key. Returns null for foreign events,
 * and for data without an id.
 */
export function readOwnEvent(event: unknown, ownerTag: string): OwnEvent | null {
  const head = eventHeadSchema.safeParse(event);
  if (!head.success) return unreadEvent(event);
  const { id, etag, status, sequence, description } = head.data;
  const properties = head.data.extendedProperties?.private ?? {};
  const labels = fromFields(LABEL_FIELDS, (field) => properties[field]);
  const owned = ownedBy(ownerTag, labels, [id]);
  if (owned === null) return null;
  if ((description?.length ?? 0) > LONGEST_READ) return unreadEvent(event);
  const wording = readDescription(description ?? '', properties[DESCRIPTION_STAMP_PROPERTY], 'html');
  const presets = readPresets(head.data, properties[PRESETS_PROPERTY]);
  return {
    id,
    etag: storableTag(etag),
    cancelled: status === 'cancelled',
    ...ownedPart(owned),
    ...(sequence === undefined ? {} : { sequence }),
    descriptionParts: wording,
    presets,
    additions: additionsIn(head.data, presets.theirs),
    item: readItem(event, { descriptionParts: wording, presets }),
  };
}

/** Returns an event of which only the id is storedKey, if the id has the form of a key. */
function unreadEvent(event: unknown): OwnEvent | null {
  const { data } = eventIdSchema.safeParse(event);
  if (data === undefined || !KEY_FORM.test(data.id)) return null;
  const unknown = {
    etag: null,
    sealedRecordId: null,
    descriptionParts: NO_DESCRIPTION,
    presets: NO_PRESETS,
    additions: {},
    item: null,
  };
  return { id: data.id, cancelled: data.status === 'cancelled', ...unknown, unreadable: true };
}

/**
 * Converts an own event to the contract's form. The remote id equals the key, since clinic-mirror chooses the id. The version tag is
 * omitted if the next write must fetch the event first, because a blind write would clear users' notes or change their colours. It
 * is marked if a deletion must fetch the event, to keep what users added.
 */
export function toRemoteItem(event: OwnEvent): RemoteItem {
  const { id, etag, descriptionParts, presets, item, unreadable } = event;
  const isBare = Object.keys(event.additions).length === 0;
  const blindTag = isBare ? etag : tagWithAdditions(etag);
  const versionTag = mayHoldTheirs(descriptionParts) || hasPresets(presets.last) ? null : blindTag;
  return { key: id, remoteId: id, versionTag, item, ...ownedPart(event), ...(unreadable ? { unreadable } : {}) };
}

/** Checks whether the event already equals the result of this operation, so that no write is required. */
export function holds(
  event: OwnEvent,
  write: Pick<LabelsToWrite, 'sealedRecordId' | 'revision'> & { item: CalendarItem },
) {
  return areOfWrite(event, write) && isDeepStrictEqual(event.item, normaliseItem(write.item));
}

/**
 * Converts an item to the form that Google returns:
 * - Line ends are LF.
 * - An empty description or location is null.
 * - The description is shortened to Google's limit.
 * - Times are in whole seconds, with an offset such as `+02:00` (never `Z`).
 * - Half surrogates are replaced.
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

/**
 * Returns null if a user changed the event to a form that items do not have: a series, public visibility, or a different zone at the end.
 */
function readItem(event: unknown, { descriptionParts, presets }: Omit<Touched, 'additions'>): CalendarItem | null {
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

function readTime(start: EventTime, end: EventTime): ItemTime | null {
  if (start.date !== undefined && end.date !== undefined) {
    return { kind: 'all-day', startDate: start.date, endDate: end.date };
  }
  if (start.dateTime === undefined || end.dateTime === undefined) return null;
  if (start.timeZone === undefined || (end.timeZone ?? start.timeZone) !== start.timeZone) return null;
  return { kind: 'timed', start: start.dateTime, end: end.dateTime, zone: start.timeZone };
}

/** Google returns times in the calendar's zone. This function converts each instant back to the event's zone. */
function normaliseTime(time: ItemTime): ItemTime {
  if (time.kind === 'all-day' || !isZone(time.zone)) return time;
  const [startAt, endAt] = [Date.parse(time.start), Date.parse(time.end)];
  if (Number.isNaN(startAt) || Number.isNaN(endAt)) return time;
  return { ...time, start: toZonedIso(time.zone, startAt), end: toZonedIso(time.zone, endAt) };
}

function wellFormed(text: string): string {
  return text.toWellFormed().replace(/\r\n?/g, '\n');
}

/**
 * Google's limit applies to the escaped text, which is longer than the original.
 * @param longest if less than 1, no description fits
 */
function shortenedDescription(text: string, longest: number): string {
  if (longest < 1) return '';
  let wording = shortened(text, longest);
  for (let length = escapeHtml(wording).length; length > longest; length = escapeHtml(wording).length) {
    wording = shortened(wording, Math.floor((wording.length * longest) / length));
  }
  return wording;
}

/** Escapes plain text, because Google shows descriptions as HTML. */
function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

/** Placeholder for reminders that clinic-mirror never sets. */
const OTHER = 'other';

/**
 * Returns the fields that a write changes for presets: `colorId`, `reminders` and `source`, with null for removal.
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

/**
 * Separates the presets of clinic-mirror from users' presets.
 * @param stamped presets of the last write
 */
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
