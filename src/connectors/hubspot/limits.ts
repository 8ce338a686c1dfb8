import { MEBIBYTE } from '../../core/http/client.ts';
import type { StreamName } from '../../core/model/items.ts';
import { HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';

/** Root URL of the API (developers.hubspot.com, API overview). */
export const DEFAULT_API_URL = 'https://api.hubapi.com';

/**
 * Type of object for each stream unless the settings name a custom object, in the form for paths (developers.hubspot.com, object type ids).
 */
export const OBJECT_OF_STREAM = {
  patients: 'contacts',
  appointments: 'meetings',
  invoices: 'deals',
} as const satisfies Record<StreamName, string>;

/** Type numbers in the URLs of web pages (developers.hubspot.com, object type ids). */
export const TYPE_IDS: Readonly<Record<string, string>> = { contacts: '0-1', deals: '0-3', meetings: '0-47' };

/** Largest response: a batch of objects with hundreds of properties each, or the list of all properties with their options. */
export const LARGEST_ANSWER_BYTES = 16 * MEBIBYTE;

/**
 * Values in an answer, as `core/model/json` counts them: four times those of a page of 200 objects with a hundred properties each. The list of
 * properties may have more, because of its options. Own choice.
 */
export const MOST_ANSWER_VALUES = 200_000;

/** Characters of one value (developers.hubspot.com, properties). */
export const LONGEST_VALUE = 65_536;

/** Largest number of inputs in a batch that reads, upserts or archives objects (developers.hubspot.com, CRM batch endpoints). */
export const BATCH_SIZE = 100;

/**
 * Keys per search: the body of a search may have 3,000 characters, and each key uses 35.
 * @see https://developers.hubspot.com/docs/api-reference/latest/crm/search-the-crm
 */
export const SEARCH_BATCH_SIZE = 50;

/** HubSpot's largest page of a search, in objects (developers.hubspot.com, search the CRM). */
export const SEARCH_PAGE_SIZE = 200;

/**
 * Delay until a search shows a write, unless the settings contain a value. HubSpot documents "a few moments"; users report ten seconds
 * after a create and sixty after an update (help.okta.com, HubSpot CRM connector, search contacts).
 */
export const SEARCH_LAG_SECONDS = 60;

/** Pause after the limit of searches per second (developers.hubspot.com, usage guidelines). */
export const SEARCH_PAUSE_MS = SECOND_MS;

/**
 * Largest number of inputs in a batch of subscription statuses. HubSpot publishes no limit, so the limit of objects is used. Own choice.
 */
export const STATUS_BATCH_SIZE = 100;

/**
 * Largest number of inputs in a batch that removes associations (developers.hubspot.com, associations v4). A batch that creates
 * associations accepts 2,000.
 */
export const DISSOCIATE_BATCH_SIZE = 100;

/**
 * Concurrent requests per target. HubSpot locks a type of object during many fast upserts (423; developers.hubspot.com, error handling).
 * Serial requests stay below the limit of an app, 100 to 190 requests in ten seconds. Own choice.
 */
export const CONCURRENCY = 1;

/** Elements of any list that is read: the properties of a type are the longest. Own choice. */
export const LARGEST_LIST = 10_000;

/** HubSpot's largest page of a list, in objects (developers.hubspot.com, CRM objects, `limit`). */
export const PAGE_SIZE = 100;

/** Pause after the limit per ten seconds. HubSpot sends no reliable Retry-After (developers.hubspot.com, usage guidelines). */
export const TEN_SECONDLY_PAUSE_MS = 10 * SECOND_MS;

/** Added to the account's midnight, when the daily limit is reset, for clock differences. Own choice. */
export const MIDNIGHT_SPARE_MS = MINUTE_MS;

/** Pause after the daily limit while the account's time zone is unknown. Own choice. */
export const DAILY_PAUSE_MS = HOUR_MS;

/** Duration of a lock after fast upserts (developers.hubspot.com, error handling, 423). */
export const LOCK_PAUSE_MS = 2 * SECOND_MS;

/** Pause while HubSpot moves the account to a different data centre, if the response has no delay (477; up to 24 hours). Own choice. */
export const MOVING_PAUSE_MS = HOUR_MS;

/**
 * Additional requests per call for finding the objects that made HubSpot refuse a whole batch: enough for three invalid objects of a
 * hundred. The remaining objects are retried later. Own choice.
 */
export const HALVING_ALLOWANCE = 44;
