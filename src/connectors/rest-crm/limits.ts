import { MEBIBYTE } from '../../core/http/client.ts';

/** Operations of one `apply`. Zoho CRM accepts 100 objects in one upsert (zoho.com/crm/developer/docs/api/v8/upsert-records.html). */
export const BATCH_SIZE = 100;

/** Largest response: a page of a few thousand objects. Own choice. */
export const LARGEST_ANSWER_BYTES = 16 * MEBIBYTE;

/** Concurrent writers per target: no other worker may create an object between the search by key and the create. */
export const CONCURRENCY = 1;

/** Pages of one list, as a limit for CRMs whose list never ends. Own choice. */
export const MAX_PAGES = 20_000;

/** Largest number of field names in an error. */
export const NAMED_FIELDS = 8;

/**
 * Delay until a search shows a write, unless the settings contain a value. CRMs that search their database have no delay. However, a
 * request of a stalled worker may arrive as long as its connection lives. Own choice.
 */
export const SEARCH_LAG_SECONDS = 60;
