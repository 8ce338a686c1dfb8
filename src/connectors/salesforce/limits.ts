import { MEBIBYTE } from '../../core/http/client.ts';
import type { Refusal } from '../../core/model/items.ts';
import { HOUR_MS, MINUTE_MS } from '../../core/model/time.ts';

/** Version of the REST API, unless the settings contain a version. Retired versions return 404 or 410. */
export const API_VERSION = '68.0';

/** First version with the header for duplicate rules (REST API Developer Guide, Duplicate Rule Header). */
export const DUPLICATE_HEADER_SINCE = 52;

/** Objects in one collection, and ids in one deletion (REST API Developer Guide, sObject Collections). */
export const COLLECTION_SIZE = 200;

/** Collections and queries in one composite, which costs one API call (REST API Developer Guide, Composite). */
export const COMPOSITE_PARTS = 5;

/**
 * Operations of one `apply`: two collections and two queries for their results fit into one composite, with one spare part. 10,000 writes
 * cost 25 API calls. Larger batches would reach time limits in orgs with triggers and flows.
 */
export const BATCH_SIZE = 2 * COLLECTION_SIZE;

/** Concurrent calls per target: overlapping writes lock their shared parent records (`UNABLE_TO_LOCK_ROW`). */
export const CONCURRENCY = 1;

/** Largest response: a page of a query has 2,000 objects, and an object description has some megabytes. */
export const LARGEST_ANSWER_BYTES = 16 * MEBIBYTE;

/** Bytes of the objects in one collection. Five collections stay below 50 MB, the limit of one REST call. Own choice. */
export const COLLECTION_BYTES = MEBIBYTE;

/**
 * Keys per query. A percent-encoded key uses 41 characters and an id 27, so the URL stays below 16,384 characters. Salesforce responds to
 * longer URLs with 414 (REST API Developer Guide, status codes).
 */
export const QUERY_KEYS = COLLECTION_SIZE;

/** Objects that one call removes from the recycle bin (SOAP API Developer Guide, emptyRecycleBin). */
export const EMPTIED_AT_ONCE = 200;

/** Objects per page of a query: the largest allowed request (Sforce-Query-Options); Salesforce may send fewer. */
export const PAGE_SIZE = 2_000;

/** Pages of one fetch, as a limit for servers whose list never ends. */
export const MAX_PAGES = 5_000;

/** Calls for finding the objects that made Salesforce refuse a whole collection. One such object costs eight. Own choice. */
export const MAX_HALVINGS = 16;

/** After a timeout, collections are halved, down to this number of objects. Own choice. */
export const LEAST_ROWS = 10;

/**
 * Share of the org's API calls in 24 hours at which clinic-mirror stops: the rest is reserved for users and other integrations. Own choice.
 */
export const STOP_AT_SHARE = 0.8;

/** Pause at the limit of API calls. The window of 24 hours slides, so calls become available continuously. Own choice. */
export const API_LIMIT_PAUSE_MS = HOUR_MS;

/**
 * Share of the API calls above which a refusal means the daily limit. Below this share, the refusal means too many concurrent calls, which
 * has an equal code (Salesforce Developer Limits, "Concurrent API Request Limits": 25 that last 20 s or longer).
 */
export const USED_UP_SHARE = 0.98;

/** Pause while the org's storage is full: an operator must free space, and one attempt per hour is early enough. Own choice. */
export const STORAGE_FULL_PAUSE_MS = HOUR_MS;

/** Shortest interval between token renewals for a new URL while the known URL does not respond. Own choice. */
export const ADDRESS_RENEWAL_MS = 5 * MINUTE_MS;

/** Required length of the key field, in characters: a key has 32. */
export const KEY_LENGTH = 32;

/** Required length of the stamp field, in characters: 110 for a short record id, 150 for a UUID, and some spare. */
export const STAMP_LENGTH = 200;

/** Largest number of field names in an error. */
export const NAMED_FIELDS = 8;

/** Placeholder for a required name without content. Own choice. */
export const NAMELESS = '–';

/** Fields for refusals: of contacts, and of person accounts (Object Reference, Contact and Account). */
export const REFUSALS: readonly Refusal[] = ['HasOptedOutOfEmail', 'HasOptedOutOfFax', 'DoNotCall'].flatMap(
  (property) => [
    { property, by: null },
    { property: `Person${property}`, by: null },
  ],
);
