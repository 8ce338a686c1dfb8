import { MEBIBYTE } from '../../http/client.ts';

/** Operations of one `apply`. Zoho CRM takes as many rows in one upsert (zoho.com/crm/developer/docs/api/v8/upsert-records.html). */
export const BATCH_SIZE = 100;

/** Largest answer: a page of some thousand records. Our choice. */
export const LARGEST_ANSWER_BYTES = 16 * MEBIBYTE;

/** Writers at once for one target: between the look by key and the create nobody else may create. */
export const CONCURRENCY = 1;

/** Pages of one list; a CRM that never comes to an end is given up. Our choice. */
export const MAX_PAGES = 20_000;

/** Names of fields that an error lists, at most. */
export const NAMED_FIELDS = 8;

/** A key that no record has: 32 characters as keys have, which a keyed hash gives once in 2^160 times. */
export const KEY_OF_NOTHING = '0'.repeat(32);

/**
 * How late a search may show a write, unless the settings say otherwise. CRMs that search their database show it at once; a request of a
 * worker that stalled may still be on its way for as long as its connection lives. Our choice.
 */
export const SEARCH_LAG_SECONDS = 60;
