import { bodyPreview, normalizedBody } from './body-text.ts';
import type { EventTime } from './event-fields.ts';
import type { StoredEvent } from './event-store.ts';
import { changeKeyOf, etagOf } from './ids.ts';
import type { Settings } from './options.ts';
import type { Preferences } from './preferences.ts';
import { formatWallTime, storedZoneName } from './time.ts';
import type { Mailbox } from './world.ts';

/** An event in an API answer. */
export interface EventResource {
  '@odata.etag': string;
  id: string;
  changeKey: string;
  transactionId?: string;
  subject: string;
  body: { contentType: string; content: string };
  start: EventTime;
  end: EventTime;
  isAllDay: boolean;
  location: { displayName: string; [field: string]: unknown };
  showAs: string;
  sensitivity: string;
  isReminderOn: boolean;
  reminderMinutesBeforeStart: number;
  categories: string[];
  attendees: { emailAddress: { address: string; name: string } }[];
  singleValueExtendedProperties?: { id: string; value: string }[];
  [field: string]: unknown;
}

/** How an event is shown: to whom, and which extended properties are expanded. */
export interface View {
  mailbox: Mailbox;
  settings: Settings;
  preferences: Preferences;
  /** Canonical ids of the requested extended properties; empty if the client requested none. */
  expanded: readonly string[];
}

/** Returns the event's id in the requested format. */
export function idOf(event: StoredEvent, immutableIds: boolean): string {
  return immutableIds ? event.immutableId : event.restId;
}

/** Makes the resource of an event. Extended properties come only when expanded, and only those that it has. */
export function toResource(event: StoredEvent, view: View): EventResource {
  const { settings, preferences, mailbox, expanded } = view;
  const { content } = event;
  const { address, coordinates, ...place } = content.location;
  const found = expanded.flatMap((id) => {
    const value = event.properties.get(id);
    return value === undefined ? [] : [{ id, value }];
  });
  return {
    '@odata.etag': etagOf(event.change),
    id: idOf(event, preferences.immutableIds),
    createdDateTime: formatInstant(event.createdAt),
    lastModifiedDateTime: formatInstant(event.updatedAt),
    changeKey: changeKeyOf(event.change),
    ...(event.transactionId === undefined ? {} : { transactionId: event.transactionId }),
    ...content,
    body: settings.normalizeBodies ? normalizedBody(content.body, preferences.bodyType) : content.body,
    bodyPreview: bodyPreview(content.body),
    start: shownTime(event, 'start', view),
    end: shownTime(event, 'end', view),
    originalStartTimeZone: settings.customTimeZones
      ? 'tzone://Microsoft/Custom'
      : storedZoneName(content.start.timeZone),
    originalEndTimeZone: settings.customTimeZones ? 'tzone://Microsoft/Custom' : storedZoneName(content.end.timeZone),
    location: {
      ...place,
      locationType: place.locationType ?? 'default',
      uniqueId: place.uniqueId ?? place.displayName,
      uniqueIdType: place.uniqueIdType ?? 'private',
      ...(address ? { address } : {}),
      ...(coordinates ? { coordinates } : {}),
    },
    locations: place.displayName === '' ? [] : [{ displayName: place.displayName, locationType: 'default' }],
    attendees: content.attendees.map(({ emailAddress, type }) => ({
      type,
      status: { response: 'none', time: '0001-01-01T00:00:00Z' },
      emailAddress: { name: emailAddress.name ?? emailAddress.address, address: emailAddress.address },
    })),
    organizer: { emailAddress: { name: mailbox.mail, address: mailbox.mail } },
    ...SERVER_MADE,
    iCalUId: event.iCalUId,
    uid: event.iCalUId,
    webLink: `https://outlook.office365.example/owa/?itemid=${encodeURIComponent(event.restId)}&path=/calendar/item`,
    onlineMeeting: content.isOnlineMeeting ? { joinUrl: 'https://teams.example/l/meetup-join/sandbox' } : null,
    ...(found.length === 0 ? {} : { singleValueExtendedProperties: found }),
  };
}

const SERVER_MADE = {
  hasAttachments: false,
  isCancelled: false,
  isDraft: false,
  isOrganizer: true,
  onlineMeetingUrl: null,
  recurrence: null,
  responseStatus: { response: 'organizer', time: '0001-01-01T00:00:00Z' },
  seriesMasterId: null,
  type: 'singleInstance',
};

/**
 * Returns the time in the requested zone, by default UTC. The day of an all-day event is equal in every zone, unless configured
 * differently.
 */
function shownTime(event: StoredEvent, side: 'start' | 'end', { settings, preferences }: View): EventTime {
  const { name, iana } = preferences.timeZone;
  if (event.content.isAllDay && settings.allDayReads === 'midnight') {
    return { dateTime: `${event.content[side].dateTime.slice(0, 10)}T00:00:00.0000000`, timeZone: name };
  }
  const instant = side === 'start' ? event.startMs : event.endMs;
  return { dateTime: formatWallTime(instant, iana), timeZone: name };
}

function formatInstant(epochMs: number): string {
  return `${formatWallTime(epochMs, 'UTC')}Z`;
}
