import { MEBIBYTE } from '../../core/http/client.ts';

/** Operations that one `apply` runs in sequence. Each operation is a separate request, since CalDAV has no batch of writes. */
export const BATCH_SIZE = 20;

/** Hrefs in one calendar-multiget. RFC 4791 section 7.9 sets no limit; servers become slow or refuse more than about a hundred. */
export const MULTIGET_SIZE = 50;

/** Largest response: a list has about 400 bytes for each of 60,000 events, and a calendar object may contain users' attachments. */
export const LARGEST_ANSWER_BYTES = 24 * MEBIBYTE;

/** Redirects per request: discovery needs two or three (RFC 6764 section 5, then a separate host). */
export const MAX_REDIRECTS = 5;

/** Number of names to try for a new calendar, because a server's trash bin can keep the name of a deleted calendar. */
export const MAX_CALENDAR_NAMES = 5;

/** Pages of one sync-collection report, as a limit for servers whose report never ends. */
export const MAX_SYNC_PAGES = 1_000;

/**
 * SEQUENCE is the number of seconds since this instant. The number grows with each write, without a fetch of the stored object, until 2088.
 */
export const SEQUENCE_START_AT = Date.UTC(2020, 0, 1);

/** Longest body of a refusal that is parsed, without a break of at most 30 ms. */
export const LONGEST_PROBLEM = 128 * 1_024;

/** Members of one 207: as many as the limit of elements permits, with eight elements each. */
export const MOST_MEMBERS = 62_500;

/** Longest URL of a resource, also after redirects. RFC 9110 section 4.1 recommends support for 8,000; a calendar's URL has about 100. */
export const LONGEST_URL = 2_048;

/** Characters in all URLs of one 207: a short href also takes the path of the requested URL. */
export const MOST_URL_CHARACTERS = LARGEST_ANSWER_BYTES;
