import { isDeepStrictEqual } from 'node:util';
import type { CalendarItem, ItemTime } from '../../model/items.ts';
import type { RemoteItem } from '../../model/operations.ts';
import { isZone, toZonedIso } from '../../model/zones.ts';
import { BLANK_ITEM } from '../erasing.ts';
import { fromRevisionText, toRevisionText, withRevision } from '../revision.ts';
import { LOCATOR_PROPERTY, MARK_PROPERTY, REVISION_PROPERTY } from './limits.ts';
import { eventContentSchema, eventHeadSchema } from './schemas.ts';

/** An event of ours, read far enough to decide what to do with it. */
export interface OwnEvent {
  id: string;
  etag: string | null;
  cancelled: boolean;
  sealedRecordId: string | null;
  /** The stamped revision of the write that made it so. */
  revision?: number;
  /** Null when it can't be read as an item. */
  item: CalendarItem | null;
}

/** What an event is stamped with. */
export interface Stamp {
  ownerTag: string;
  sealedRecordId: string;
  revision: number;
}

/**
 * The whole event for an item: what is not named here is cleared by a PUT. Private, without guests and reminders, so
 * that nobody gets a mail and nobody's phone rings; status `confirmed` brings a deleted event back.
 * @see https://developers.google.com/workspace/calendar/api/v3/reference/events
 */
export function toEvent(item: CalendarItem, { ownerTag, sealedRecordId, revision }: Stamp): object {
  return {
    status: 'confirmed',
    summary: wellFormed(item.title),
    ...(item.description ? { description: escapeHtml(wellFormed(item.description)) } : {}),
    ...(item.location ? { location: wellFormed(item.location) } : {}),
    ...toEventTimes(item.time),
    visibility: 'private',
    transparency: item.busy ? 'opaque' : 'transparent',
    reminders: { useDefault: false, overrides: [] },
    extendedProperties: {
      private: {
        [MARK_PROPERTY]: ownerTag,
        [LOCATOR_PROPERTY]: sealedRecordId,
        [REVISION_PROPERTY]: toRevisionText(revision),
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
  const properties = head.data.extendedProperties?.private ?? {};
  if (properties[MARK_PROPERTY] !== ownerTag) return null;
  return {
    id: head.data.id,
    etag: head.data.etag ?? null,
    cancelled: head.data.status === 'cancelled',
    sealedRecordId: properties[LOCATOR_PROPERTY] ?? null,
    ...withRevision(fromRevisionText(properties[REVISION_PROPERTY])),
    item: readItem(event),
  };
}

/** An event of ours in the words of the contract. The id is the key: we chose it. */
export function toRemoteItem({ id, sealedRecordId, etag, item, revision }: OwnEvent): RemoteItem {
  return { key: id, sealedRecordId, remoteId: id, versionTag: etag, item, ...withRevision(revision) };
}

/** Whether the event is as this very operation leaves it, so that no write is needed. */
export function holds(event: OwnEvent, { item, revision }: { item: CalendarItem; revision: number }): boolean {
  const isStamped = event.sealedRecordId !== null && event.revision === revision;
  return isStamped && isDeepStrictEqual(event.item, normaliseItem(item));
}

/**
 * The form in which an item comes back from Google: line ends are LF, an empty description or location is null,
 * times are in whole seconds with the offset written as `+02:00` (never `Z`), half surrogates are replaced.
 */
export function normaliseItem(item: CalendarItem): CalendarItem {
  return {
    title: wellFormed(item.title),
    description: item.description ? wellFormed(item.description) : null,
    location: item.location ? wellFormed(item.location) : null,
    time: normaliseTime(item.time),
    busy: item.busy,
  };
}

/** Null when a person made of the event what an item can't say: guests, a series, not private, another zone at the end. */
function readItem(event: unknown): CalendarItem | null {
  const parsed = eventContentSchema.safeParse(event);
  if (!parsed.success) return null;
  const content = parsed.data;
  const isPlain = (content.eventType ?? 'default') === 'default' && (content.status ?? 'confirmed') === 'confirmed';
  const isSingle = content.recurrence === undefined && content.recurringEventId === undefined;
  const hasGuests = (content.attendees ?? []).length > 0;
  if (!isPlain || !isSingle || hasGuests || content.visibility !== 'private') return null;
  const time = readTime(content.start, content.end);
  if (time === null) return null;
  return normaliseItem({
    title: content.summary ?? '',
    description: content.description === undefined ? null : unescapeHtml(content.description),
    location: content.location ?? null,
    time,
    busy: content.transparency !== 'transparent',
  });
}

function toEventTimes(time: ItemTime): object {
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

const ENTITIES: Readonly<Record<string, string>> = {
  '&amp;': '&',
  '&lt;': '<',
  '&gt;': '>',
  '&quot;': '"',
  '&#39;': "'",
};

/** Google shows a description as HTML, so plain text must not contain any. */
function escapeHtml(text: string): string {
  return text.replace(/&/g, '&amp;').replace(/</g, '&lt;').replace(/>/g, '&gt;');
}

function unescapeHtml(text: string): string {
  return text.replace(/&(?:amp|lt|gt|quot|#39);/g, (entity) => ENTITIES[entity] ?? entity);
}
