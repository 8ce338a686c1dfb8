import { MEBIBYTE } from '../../core/http/client.ts';
import { DAY_MS, HOUR_MS } from '../../core/model/time.ts';

/** Root URL of the Calendar API v3. */
export const DEFAULT_ROOT_URL = 'https://www.googleapis.com';

/**
 * Calls in one multipart batch. The batch guide listed 50, and later copies list 1,000, so the lower number is used. If a server accepts
 * fewer, batches are halved (developers.google.com/workspace/calendar/api/guides/batch).
 */
export const BATCH_SIZE = 50;

/** Largest page of `events.list` (reference of events.list, `maxResults`). */
export const EVENTS_PAGE_SIZE = 2_500;

/** Largest response: a page of own events, 6 KiB each. A larger one would block the daemon's other work for more than 0.1 s. */
export const LARGEST_ANSWER_BYTES = 16 * MEBIBYTE;

/**
 * Changed events that are fetched one by one. Above this number, as after a first sync, listing all own events costs less, since each call
 * of a batch is charged separately. Own choice.
 */
export const CHANGES_READ_SINGLY = 2 * BATCH_SIZE;

/** Pages of one pass through the change feed. For longer feeds, own events are listed by owner tag. Own choice. */
export const MAX_FEED_PAGES = 200;

/** Largest page of `calendarList.list` (reference of calendarList.list, `maxResults`). */
export const CALENDARS_PAGE_SIZE = 250;

/**
 * Concurrent writers per calendar. Google limits writes "to a single calendar in quick succession" without a number
 * (developers.google.com/workspace/calendar/api/guides/quota), so writes are serial.
 */
export const CONCURRENCY = 1;

/**
 * Pause after "Calendar usage limits exceeded" and after an exhausted daily quota. Both recover within hours to months
 * (support.google.com/a/answer/2905486), so one attempt per hour is harmless and early enough.
 */
export const USAGE_LIMIT_PAUSE_MS = HOUR_MS;

/**
 * Time until an unreadable id is abandoned. The event may still be arriving, or may have moved to another calendar, where the id stays in
 * use forever (github.com/taers232c/GAMADV-X/issues/82). Own choice.
 */
export const UNREADABLE_FOR_MS = DAY_MS;

/** Private extended properties with the labels (keys: at most 44 characters, values: 1,024). The event's id is the key. */
export const LABEL_FIELDS = {
  ownerTag: 'clinicMirror',
  sealedRecordId: 'clinicMirrorLocator',
  revision: 'clinicMirrorRevision',
} as const;

/**
 * Private extended property that separates the description of the last write from users' text. Without this property, an outdated
 * description would stay forever, or a user's description would be cleared.
 */
export const DESCRIPTION_STAMP_PROPERTY = 'clinicMirrorNotes';

/** Private extended property with the colour, reminder and source of the last write. Other values belong to users. */
export const PRESETS_PROPERTY = 'clinicMirrorPresets';

/**
 * Characters of a description, HTML included. Practitioners report 8,192 (support.nylas.com, "Event description limits"); the reference has
 * no number.
 */
export const LONGEST_DESCRIPTION = 8_192;

/** Characters of a description that is read. An event with more is unreadable and stays as it is. Own choice. */
export const LONGEST_READ = 100_000;

/** Characters of the headers of one part in a batch. Own choice. */
export const LONGEST_HEAD = 16_384;

/** Quota units of a PATCH; other calls cost 1 (reference of events.patch). */
export const PATCH_UNITS = 3;

/** Event fields in use (partial responses: developers.google.com/workspace/calendar/api/guides/performance). */
export const EVENT_FIELDS =
  'id,etag,status,sequence,eventType,summary,description,location,start,end,transparency,visibility,colorId,reminders,source/url,recurrence,recurringEventId,attendees(email,displayName,optional,comment),attachments,conferenceData,extendedProperties/private';

/**
 * Fields requested from the change feed: owner tags only. Google cannot filter the feed by property, so the feed includes foreign events,
 * whose content must not be fetched.
 */
export const HEAD_FIELDS = 'id,status,extendedProperties/private';
