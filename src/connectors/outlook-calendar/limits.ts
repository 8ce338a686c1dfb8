import { MEBIBYTE } from '../../core/http/client.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS, SECOND_MS } from '../../core/model/time.ts';

/** Root URL of Graph; national clouds have other hosts (learn.microsoft.com/graph/deployments). */
export const DEFAULT_ROOT_URL = 'https://graph.microsoft.com';

/** Version of the API, the first segment of each path. */
export const API_VERSION = 'v1.0';

/** Requests in one JSON batch (learn.microsoft.com/graph/json-batching). If a server accepts fewer, batches are halved. */
export const BATCH_SIZE = 20;

/**
 * Concurrent requests per target. Outlook allows four concurrent requests per application and mailbox, and processes up to four parts of a
 * batch at once (learn.microsoft.com/graph/throttling-limits#outlook-service-limits). One batch therefore uses the whole allowance.
 */
export const CONCURRENCY = 1;

/**
 * Largest response: a page of a delta round contains the HTML bodies of all users' events. A larger one would block the daemon's other work
 * for more than 0.1 s.
 */
export const LARGEST_ANSWER_BYTES = 16 * MEBIBYTE;

/**
 * Values in an answer, as `core/model/json` counts them: five times those of a page of events with twenty attendees each. Own choice.
 */
export const MOST_ANSWER_VALUES = 200_000;

/** Events in a page of a list. Graph allows up to 1,000 (`$top`), but large pages with expanded properties time out. */
export const EVENTS_PAGE_SIZE = 500;

/** Largest page of any list that is read: Graph's limit of `$top`. */
export const LARGEST_PAGE = 1_000;

/** Events in a page of a delta round, whose fields cannot be selected; the server may send fewer. Own choice. */
export const DELTA_PAGE_SIZE = 200;

/**
 * Pages of one delta round: 50,000 events of all users in full pages. Larger calendars are listed by owner tag, which costs less than the
 * round. Own choice.
 */
export const MAX_DELTA_PAGES = 250;

/**
 * Consecutive pages that list only events from earlier pages of the round. Graph may repeat a page forever, each time with a different link
 * (github.com/microsoftgraph/msgraph-sdk-dotnet/issues/3082, 3070). Only one repetition is documented (delta-query-overview, replays).
 */
export const MAX_REPEATED_PAGES = 2;

/** Extra length of a delta link's window after the requested window, which determines how long the link is usable. Own choice. */
export const DELTA_SPARE_MS = 3 * DAY_MS;

/** Changed events that are fetched one by one, in batches. Above this number, listing all own events costs less. Own choice. */
export const CHANGES_READ_SINGLY = 5 * BATCH_SIZE;

/** Calendars in a page of the list of calendars. */
export const CALENDARS_PAGE_SIZE = 100;

/** Number of names to try for a dedicated calendar if other calendars use them: `Name`, `Name (2)`, … Own choice. */
export const NAME_TRIES = 9;

/** Pause while a mailbox is full: an operator must free space, and one attempt per hour is early enough. Own choice. */
export const MAILBOX_FULL_PAUSE_MS = HOUR_MS;

/**
 * Longest lifetime of a subscription to events: 10,080 minutes (learn.microsoft.com/graph/api/resources/subscription), minus ten for clock
 * differences.
 */
export const SUBSCRIPTION_LIFE_MS = 10_070 * MINUTE_MS;

/** Lifetime under the older limit of 4,230 minutes, which some clouds may still have. */
export const OLDER_SUBSCRIPTION_LIFE_MS = 4_220 * MINUTE_MS;

/**
 * How long batches stay smaller after a batch exceeded the mailbox's limit: the window of Outlook's allowance
 * (learn.microsoft.com/graph/throttling-limits#outlook-service-limits).
 */
export const CROWDED_FOR_MS = 10 * MINUTE_MS;

/**
 * An event that is older than its request by this time belongs to an earlier request: the `Date` header is in whole seconds, and clocks of
 * two servers differ slightly. Own choice.
 */
export const EARLIER_BY_MS = 5 * SECOND_MS;

/**
 * UTF-16 code units of a title and of a location. Outlook's own programs accept no more. Whether Graph refuses or truncates longer strings
 * is not documented (docs/design/unproved.md).
 */
export const LONGEST_LINE = 255;

/** Characters of a body that is read, with its tags: twenty milliseconds at most. An event with more is unreadable and stays as it is. Own choice. */
export const LONGEST_BODY = 200_000;

/** Set of clinic-mirror's named properties: a random GUID that must never change, since events are searched by these properties. */
const PROPERTY_SET = '9c8d4f1e-5b7a-4e0c-a3d6-2f71b86e40d5';

/** Returns the id of a named property in Graph's form (learn.microsoft.com/graph/api/resources/extended-properties-overview). */
function propertyId(name: string): string {
  return `String {${PROPERTY_SET}} Name ${name}`;
}

/** Properties of an own event. Graph filters ignore case, so only owner tag and key, which are lower case, are used in filters. */
export const PROPERTIES = {
  ownerTag: propertyId('MirrorMark'),
  /** On calendars only: tenant and target, and the fingerprint of the identity key. */
  owner: propertyId('MirrorOwner'),
  key: propertyId('MirrorKey'),
  sealedRecordId: propertyId('MirrorLocator'),
  revision: propertyId('MirrorRevision'),
  /** Separates the body text of the last write from users' text. */
  notes: propertyId('MirrorNotes'),
  /** Category and reminder of the last write. Other values belong to users. */
  presets: propertyId('MirrorPresets'),
  /** IANA zone of the appointment: Outlook returns its own zone name, or none. */
  zone: propertyId('MirrorZone'),
} as const;

/**
 * Header of each request, including each request within a batch, since a batch does not pass its headers to its parts. Asks for ids that
 * survive a move, times in UTC, and bodies as text (learn.microsoft.com/graph/outlook-immutable-id,
 * learn.microsoft.com/graph/api/event-get#request-headers).
 */
export const PREFER = 'IdType="ImmutableId", outlook.timezone="UTC", outlook.body-content-type="text"';

/** Event fields in use. */
export const EVENT_FIELDS =
  'id,transactionId,type,isCancelled,subject,body,location,start,end,isAllDay,showAs,sensitivity,attendees,categories,isReminderOn,reminderMinutesBeforeStart';
