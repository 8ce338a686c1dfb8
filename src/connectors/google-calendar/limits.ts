import { MEBIBYTE } from '../../http/client.ts';
import { DAY_MS, HOUR_MS } from '../../model/time.ts';

/** Where Google serves the Calendar API v3. */
export const DEFAULT_ROOT_URL = 'https://www.googleapis.com';

/**
 * Calls in one multipart batch. The batch guide said 50 and later copies say 1,000, so the lower number is the plan;
 * a server that takes fewer is met by halving (developers.google.com/workspace/calendar/api/guides/batch).
 */
export const BATCH_SIZE = 50;

/** Largest page of `events.list` (reference of events.list, `maxResults`). */
export const EVENTS_PAGE_SIZE = 2_500;

/** Largest answer: a page of events of which each has the longest description, and as much again. */
export const LARGEST_ANSWER_BYTES = 32 * MEBIBYTE;

/**
 * Changed events that are read one by one; more of them, as after a first sync, cost less as one listing of all that is
 * ours (each call of a batch is charged for itself). Our choice.
 */
export const CHANGES_READ_SINGLY = 2 * BATCH_SIZE;

/** Pages of one round through the change feed: of a calendar with more, all of ours is read by our owner tag instead. Our choice. */
export const MAX_FEED_PAGES = 200;

/** Largest page of `calendarList.list` (reference of calendarList.list, `maxResults`). */
export const CALENDARS_PAGE_SIZE = 250;

/**
 * Writers at once in one calendar. Google limits writes "to a single calendar in quick succession" without a number
 * (developers.google.com/workspace/calendar/api/guides/quota), so writes are serial.
 */
export const CONCURRENCY = 1;

/**
 * Wait after "Calendar usage limits exceeded" and after a spent daily quota: these recover within hours to months
 * (support.google.com/a/answer/2905486), so one try an hour does no harm and finds the end in time.
 */
export const USAGE_LIMIT_PAUSE_MS = HOUR_MS;

/**
 * An id that is taken and can't be read may be one whose event is on its way, or one that was moved out of the calendar and stays taken
 * for ever (github.com/taers232c/GAMADV-X/issues/82): after so long it is given up. Our choice.
 */
export const UNREADABLE_FOR_MS = DAY_MS;

/** Name of the private extended property that carries the owner tag (keys: at most 44 characters, values: 1,024). */
export const MARK_PROPERTY = 'clinicMirror';

/** Name of the private extended property that carries the sealed record id. */
export const LOCATOR_PROPERTY = 'clinicMirrorLocator';

/** Name of the private extended property that carries the revision of the write. */
export const REVISION_PROPERTY = 'clinicMirrorRevision';

/**
 * Name of the private extended property by which what our last write put into the description is told from what a person wrote there.
 * Without it a description that we no longer write would stand for ever, or one that a person wrote would be cleared.
 */
export const DESCRIPTION_STAMP_PROPERTY = 'clinicMirrorNotes';

/** Name of the private extended property that tells what of colour, reminder and source our last write wanted: the rest is a person's. */
export const PRESETS_PROPERTY = 'clinicMirrorPresets';

/**
 * Characters of a description, HTML counted: 8,192 is what practitioners name (support.nylas.com, "Event description limits"), the
 * reference names none.
 */
export const LONGEST_DESCRIPTION = 8_192;

/** What a PATCH of an event is charged; other calls cost 1 (reference of events.patch). */
export const PATCH_UNITS = 3;

/**
 * The fields of an event that are read (partial responses: developers.google.com/workspace/calendar/api/guides/performance):
 * the rest need not travel.
 */
export const EVENT_FIELDS =
  'id,etag,status,sequence,eventType,summary,description,location,start,end,transparency,visibility,colorId,reminders,source/url,recurrence,recurringEventId,extendedProperties/private';

/**
 * What is asked of the change feed, which can't be filtered by property: whose each event is, and none of its content, since it may be
 * somebody else's.
 */
export const HEAD_FIELDS = 'id,status,extendedProperties/private';
