import { MEBIBYTE } from '../../http/client.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../model/time.ts';

/** Where Microsoft serves Graph; national clouds have other hosts (learn.microsoft.com/graph/deployments). */
export const DEFAULT_ROOT_URL = 'https://graph.microsoft.com';

/** The version of the API, the first segment of every path. */
export const API_VERSION = 'v1.0';

/** Requests in one JSON batch (learn.microsoft.com/graph/json-batching); a server that takes fewer is met by halving. */
export const BATCH_SIZE = 20;

/**
 * Requests at once for one target. Outlook allows four at once for an application and a mailbox, and works on as many of a
 * batch (learn.microsoft.com/graph/throttling-limits#outlook-service-limits), so one batch at a time fills the allowance.
 */
export const CONCURRENCY = 1;

/** Largest answer: a page of a delta round has the bodies of everybody's events, which hold pages of HTML. */
export const LARGEST_ANSWER_BYTES = 32 * MEBIBYTE;

/** Events in a page of a list. Up to 1,000 are allowed (`$top`); with expanded properties such pages run into time limits. */
export const EVENTS_PAGE_SIZE = 500;

/** Events in a page of a delta round, whose fields can't be chosen; the server may take less. Our choice. */
export const DELTA_PAGE_SIZE = 200;

/**
 * Pages of one delta round: 50,000 events of anybody in full pages. A calendar with more is read by our owner tag, which costs less than
 * the round. Our choice.
 */
export const MAX_DELTA_PAGES = 250;

/**
 * Pages in turn that name nothing but what the round named before. Graph may repeat a page for ever, each time with another link
 * (github.com/microsoftgraph/msgraph-sdk-dotnet/issues/3082, 3070); one repetition alone is documented (delta-query-overview, replays).
 */
export const MAX_REPEATED_PAGES = 2;

/** How far the window of a delta link reaches beyond the one that was asked for: as long the link can be followed. Our choice. */
export const DELTA_SPARE_MS = 3 * DAY_MS;

/** Changed events that are read one by one, in batches; more of them cost less as one listing of all that is ours. Our choice. */
export const CHANGES_READ_SINGLY = 5 * BATCH_SIZE;

/** Calendars in a page of the list of calendars. */
export const CALENDARS_PAGE_SIZE = 100;

/** Names under which a calendar of our own is tried when others hold it: `Name`, `Name (2)`, … A choice of ours. */
export const NAME_TRIES = 9;

/** Wait while a mailbox is full: a person must act, and one try an hour finds the end in time. Our choice. */
export const MAILBOX_FULL_PAUSE_MS = HOUR_MS;

/**
 * Longest life of a subscription to events: 10,080 minutes (learn.microsoft.com/graph/api/resources/subscription), with ten to
 * spare for clocks that differ.
 */
export const SUBSCRIPTION_LIFE_MS = 10_070 * MINUTE_MS;

/** The same under the limit of before, 4,230 minutes, which a cloud may still have. */
export const OLDER_SUBSCRIPTION_LIFE_MS = 4_220 * MINUTE_MS;

/**
 * For how long batches stay smaller after one that was too large for the mailbox at once: the window of Outlook's allowance
 * (learn.microsoft.com/graph/throttling-limits#outlook-service-limits).
 */
export const CROWDED_FOR_MS = 10 * MINUTE_MS;

/**
 * How much earlier than its request an event must have been made to be that of an earlier one: the answer's `Date` is in whole seconds,
 * and two servers' clocks differ a little. Our choice.
 */
export const EARLIER_BY_MS = 5 * SECOND_MS;

/**
 * UTF-16 code units of a title and of a location. Outlook's own programs take no more; whether Graph refuses or cuts what is longer is
 * not documented (docs/design/unproved.md).
 */
export const LONGEST_LINE = 255;

/** Our own set of named properties: random, fixed for ever, since events are found by it. */
const PROPERTY_SET = '9c8d4f1e-5b7a-4e0c-a3d6-2f71b86e40d5';

/** Id of a named property as Graph writes it (learn.microsoft.com/graph/api/resources/extended-properties-overview). */
function propertyId(name: string): string {
  return `String {${PROPERTY_SET}} Name ${name}`;
}

/**
 * The properties that an event of ours carries. Values are compared without regard to case when filtered by, so only owner tag and
 * key, which are lower case, are ever filtered by.
 */
export const PROPERTIES = {
  ownerTag: propertyId('MirrorMark'),
  /** On calendars alone: tenant and target, and the fingerprint of the identity key. */
  owner: propertyId('MirrorOwner'),
  key: propertyId('MirrorKey'),
  sealedRecordId: propertyId('MirrorLocator'),
  revision: propertyId('MirrorRevision'),
  /** By it what our last write put into the body is told from what a person wrote there. */
  notes: propertyId('MirrorNotes'),
  /** What of category and reminder our last write wanted: the rest is a person's. */
  presets: propertyId('MirrorPresets'),
  /** The IANA zone of the appointment: Outlook tells a name of its own for it, or none. */
  zone: propertyId('MirrorZone'),
} as const;

/** In place of the sealed record id of an event that was emptied before its deletion. */
export const NO_RECORD = '-';

/**
 * Goes with every request, outer and inner: a batch hands its own on to none. Ids that survive a move, times in UTC, bodies
 * as text (learn.microsoft.com/graph/outlook-immutable-id, learn.microsoft.com/graph/api/event-get#request-headers).
 */
export const PREFER = 'IdType="ImmutableId", outlook.timezone="UTC", outlook.body-content-type="text"';

/** The fields of an event that are read: the rest need not travel. */
export const EVENT_FIELDS =
  'id,transactionId,type,isCancelled,subject,body,location,start,end,isAllDay,showAs,sensitivity,attendees,categories,isReminderOn,reminderMinutesBeforeStart';
