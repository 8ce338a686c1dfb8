import { MEBIBYTE } from '../../http/client.ts';
import type { Refusal } from '../../model/items.ts';
import { HOUR_MS, MINUTE_MS } from '../../model/time.ts';

/** The version of the REST API that is asked for unless the settings name another; retired ones answer 404 or 410. */
export const API_VERSION = '68.0';

/** The first version with the header for duplicate rules (REST API Developer Guide, Duplicate Rule Header). */
export const DUPLICATE_HEADER_SINCE = 52;

/** Rows in one collection, and ids in one deletion (REST API Developer Guide, sObject Collections). */
export const COLLECTION_SIZE = 200;

/** Collections and queries in one composite call, which counts as one API call (REST API Developer Guide, Composite). */
export const COMPOSITE_PARTS = 5;

/**
 * Operations of one `apply`: two collections, and two queries that read back what became of them, fit into one composite call with a
 * part to spare. 10,000 writes are 25 API calls. Larger ones would run into time limits where an org has triggers and flows.
 */
export const BATCH_SIZE = 2 * COLLECTION_SIZE;

/** Calls at once for one target: writes that overlap lock each other's parents out (`UNABLE_TO_LOCK_ROW`). */
export const CONCURRENCY = 1;

/** Largest answer: a page of a query has 2,000 rows, and the description of an object some megabytes. */
export const LARGEST_ANSWER_BYTES = 16 * MEBIBYTE;

/** Bytes of the rows in one collection. Five of them stay below 50 MB, what one REST call may hold; our choice. */
export const COLLECTION_BYTES = MEBIBYTE;

/**
 * Keys in one query. With a percent-encoded key taking 41 characters and an id 27, the address stays below the 16,384 characters
 * beyond which Salesforce answers 414 (REST API Developer Guide, status codes).
 */
export const QUERY_KEYS = COLLECTION_SIZE;

/** Records that one call takes out of the recycle bin (SOAP API Developer Guide, emptyRecycleBin). */
export const EMPTIED_AT_ONCE = 200;

/** Records in a page of a query: the most that can be asked for (Sforce-Query-Options); it may give less. */
export const PAGE_SIZE = 2_000;

/** Pages of one reading; a server that never comes to an end is given up. */
export const MAX_PAGES = 5_000;

/** Calls that go into finding the rows for which Salesforce refuses a whole collection. One such row takes eight. Our choice. */
export const MAX_HALVINGS = 16;

/** Rows in a collection are halved after a call that had no answer in time, down to this. Our choice. */
export const LEAST_ROWS = 10;

/** Share of the org's API calls in 24 hours at which we stop: the rest is for people and other integrations. Our choice. */
export const STOP_AT_SHARE = 0.8;

/** Wait at the limit of API calls. It is a window of 24 hours that slides, so calls come back all the time. Our choice. */
export const API_LIMIT_PAUSE_MS = HOUR_MS;

/**
 * Share of the API calls from which a refused one counts as the last of the day. Below it as many calls run at once as the org allows, which
 * is told by the same code (Salesforce Developer Limits, "Concurrent API Request Limits": 25 that last 20 s or longer).
 */
export const USED_UP_SHARE = 0.98;

/** Wait while the org's storage is full: a person must act, and one try an hour finds the end in time. Our choice. */
export const STORAGE_FULL_PAUSE_MS = HOUR_MS;

/** A login is renewed for a new address at most so often while the old one does not answer. Our choice. */
export const ADDRESS_RENEWAL_MS = 5 * MINUTE_MS;

/** Characters that the field for the key must hold: an item key has 32. */
export const KEY_LENGTH = 32;

/** Characters that the field for the stamp must hold: 110 for a short record id, 150 for a UUID, and some to spare. */
export const STAMP_LENGTH = 200;

/** Names of fields that an error lists, at most. */
export const NAMED_FIELDS = 8;

/** Stands for a name where Salesforce wants one and nothing is to be told. Our choice. */
export const NAMELESS = '–';

/** Fields by which people refuse: of contacts, and of accounts of one person (Object Reference, Contact and Account). */
export const REFUSALS: readonly Refusal[] = ['HasOptedOutOfEmail', 'HasOptedOutOfFax', 'DoNotCall'].flatMap(
  (property) => [
    { property, by: null },
    { property: `Person${property}`, by: null },
  ],
);
