import { MEBIBYTE } from '../../http/client.ts';

/** Operations that one `apply` runs one after another; each is a request of its own (CalDAV has no batch of writes). */
export const BATCH_SIZE = 20;

/** Hrefs in one calendar-multiget. RFC 4791 section 7.9 sets no limit; servers grow slow or refuse above about a hundred. */
export const MULTIGET_SIZE = 50;

/** Largest answer: a listing has some 400 bytes for each of 60,000 events, and a calendar object may hold what people attach. */
export const LARGEST_ANSWER_BYTES = 24 * MEBIBYTE;

/**
 * Elements, attributes and references (`&amp;`) of one answer: a listing has eight elements for each event, and the calendar objects of a
 * multiget a few references each.
 */
export const MOST_ELEMENTS = 500_000;

/** Elements within each other: DAV has a dozen. */
export const DEEPEST_ELEMENT = 64;

/** Redirects followed for one request: discovery needs two or three (RFC 6764 section 5, then a host of one's own). */
export const MAX_REDIRECTS = 5;

/** Names tried for a calendar of ours, because a server's trash bin can keep the name of a deleted one. */
export const MAX_CALENDAR_NAMES = 5;

/** Pages of one sync-collection listing; a server that never comes to an end is given up. */
export const MAX_SYNC_PAGES = 1_000;

/** SEQUENCE counts the seconds since this instant: it grows with every write without a look at what is stored, until 2088. */
export const SEQUENCE_START_AT = Date.UTC(2020, 0, 1);

/** Larger answers of XML are parsed in a thread: so much takes the thread that serves all tenants at most 30 ms. */
export const LARGE_XML_LENGTH = 128 * 1_024;
