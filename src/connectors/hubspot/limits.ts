import { MEBIBYTE } from '../../http/client.ts';
import type { StreamName } from '../../model/items.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../model/time.ts';

/** Where HubSpot serves its API (developers.hubspot.com, API overview). */
export const DEFAULT_API_URL = 'https://api.hubapi.com';

/**
 * The kind of record that each stream becomes unless the settings name a custom object, as HubSpot names it in paths
 * (developers.hubspot.com, object type ids).
 */
export const OBJECT_OF_STREAM = {
  patients: 'contacts',
  appointments: 'meetings',
  invoices: 'deals',
} as const satisfies Record<StreamName, string>;

/** Numbers of the kinds of record, as addresses of their pages name them (developers.hubspot.com, object type ids). */
export const TYPE_IDS: Readonly<Record<string, string>> = { contacts: '0-1', deals: '0-3', meetings: '0-47' };

/** Largest answer: a batch of records with hundreds of properties each, or the list of all properties with their options. */
export const LARGEST_ANSWER_BYTES = 16 * MEBIBYTE;

/** Characters of one value (developers.hubspot.com, properties). */
export const LONGEST_VALUE = 65_536;

/** Most inputs of a batch of records, whether read, upserted or archived (developers.hubspot.com, CRM batch endpoints). */
export const BATCH_SIZE = 100;

/**
 * Keys of one search: the body of a search may have 3,000 characters, and a key takes 35 of them.
 * @see https://developers.hubspot.com/docs/api-reference/latest/crm/search-the-crm
 */
export const SEARCH_BATCH_SIZE = 50;

/** Records in a page of a search, the most that HubSpot gives (developers.hubspot.com, search the CRM). */
export const SEARCH_PAGE_SIZE = 200;

/**
 * How late the search may show a write, unless the settings say otherwise. HubSpot says "a few moments"; who works with it waits ten
 * seconds after a create and sixty after an update (help.okta.com, HubSpot CRM connector, search contacts).
 */
export const SEARCH_LAG_SECONDS = 60;

/** Wait after the limit of searches, which counts by the second (developers.hubspot.com, usage guidelines). */
export const SEARCH_PAUSE_MS = SECOND_MS;

/** Most inputs of a batch that reads or writes who gets which mails. None is published; as for records. Our choice. */
export const STATUS_BATCH_SIZE = 100;

/** A key that no record has: 32 characters as keys have, which a keyed hash gives once in 2^160 times. */
export const KEY_OF_NOTHING = '0'.repeat(32);

/** Most inputs of a batch that ends associations (developers.hubspot.com, associations v4). One that makes them takes 2,000. */
export const DISSOCIATE_BATCH_SIZE = 100;

/**
 * Requests at once for one target. HubSpot locks a kind of record when much is upserted fast (423; developers.hubspot.com, error
 * handling), and the allowance of an app, 100 to 190 requests in ten seconds, is not reached by one after the other. Our choice.
 */
export const CONCURRENCY = 1;

/** Records in a page of a list, the most that HubSpot gives (developers.hubspot.com, CRM objects, `limit`). */
export const PAGE_SIZE = 100;

/** Wait after the limit by ten seconds; HubSpot sends no Retry-After that could be relied on (developers.hubspot.com, usage guidelines). */
export const TEN_SECONDLY_PAUSE_MS = 10 * SECOND_MS;

/** Added to the account's midnight, when the daily limit begins again, for clocks that differ. Our choice. */
export const MIDNIGHT_SPARE_MS = MINUTE_MS;

/** Wait after the daily limit while the account's time zone is not known. Our choice. */
export const DAILY_PAUSE_MS = HOUR_MS;

/** How long a lock by fast upserts lasts (developers.hubspot.com, error handling, 423). */
export const LOCK_PAUSE_MS = 2 * SECOND_MS;

/** Wait while the account is moved to another data centre and the answer names no time (477; it takes up to 24 hours). Our choice. */
export const MOVING_PAUSE_MS = HOUR_MS;

/**
 * Further requests that one call may spend on finding the rows for which HubSpot refused a whole batch: enough for three bad rows
 * of a hundred. What is left over then is tried again later. Our choice.
 */
export const HALVING_ALLOWANCE = 44;
