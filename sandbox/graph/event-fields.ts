import { z } from 'zod';
import { type GraphError, invalidProperty, invalidRequest, notInSandbox } from './errors.ts';
import { extendedProperties, toProperties } from './extended-properties.ts';

const eventTime = z.strictObject({ dateTime: z.string(), timeZone: z.string() });

const location = z.strictObject({
  displayName: z.string().default(''),
  locationType: z.string().optional(),
  locationUri: z.string().optional(),
  locationEmailAddress: z.string().optional(),
  uniqueId: z.string().optional(),
  uniqueIdType: z.string().optional(),
  address: z.record(z.string(), z.unknown()).optional(),
  coordinates: z.record(z.string(), z.unknown()).optional(),
});

const attendee = z.strictObject({
  emailAddress: z.strictObject({ address: z.email(), name: z.string().optional() }),
  type: z.enum(['required', 'optional', 'resource']).default('required'),
  status: z.record(z.string(), z.unknown()).optional(),
});

/** Values in any case, as in the vendor's own examples (`HTML`, `Text`). */
const contentType = z
  .string()
  .transform((type) => type.toLowerCase())
  .pipe(z.enum(['text', 'html']));

/** Outlook's own programs accept at most 255 characters. A subject without a visible character is stored as empty. */
const subject = z
  .string()
  .max(255)
  .transform((text) => (/[^\p{C}\p{Z}]/u.test(text) ? text : ''));

const MAX_REMINDER_MINUTES = 2_629_800;

/** All fields are optional: a patch contains only the changed fields. */
const eventBody = z.strictObject({
  subject: subject.exactOptional(),
  body: z.strictObject({ contentType: contentType.default('text'), content: z.string().default('') }).exactOptional(),
  start: eventTime.exactOptional(),
  end: eventTime.exactOptional(),
  isAllDay: z.boolean().exactOptional(),
  location: location.exactOptional(),
  showAs: z.enum(['free', 'tentative', 'busy', 'oof', 'workingElsewhere', 'unknown']).exactOptional(),
  sensitivity: z.enum(['normal', 'personal', 'private', 'confidential']).exactOptional(),
  importance: z.enum(['low', 'normal', 'high']).exactOptional(),
  isReminderOn: z.boolean().exactOptional(),
  reminderMinutesBeforeStart: z.int().min(0).max(MAX_REMINDER_MINUTES).exactOptional(),
  categories: z.array(z.string()).exactOptional(),
  attendees: z.array(attendee).exactOptional(),
  responseRequested: z.boolean().exactOptional(),
  allowNewTimeProposals: z.boolean().exactOptional(),
  hideAttendees: z.boolean().exactOptional(),
  isOnlineMeeting: z.boolean().exactOptional(),
  onlineMeetingProvider: z
    .enum(['unknown', 'teamsForBusiness', 'skypeForBusiness', 'skypeForConsumer'])
    .exactOptional(),
  transactionId: z.string().min(1).exactOptional(),
  singleValueExtendedProperties: extendedProperties.exactOptional(),
});

const READ_ONLY = new Set([
  ...['id', 'changeKey', 'iCalUId', 'uid', 'createdDateTime', 'lastModifiedDateTime', 'bodyPreview', 'hasAttachments'],
  ...['isCancelled', 'isDraft', 'isOrganizer', 'onlineMeeting', 'onlineMeetingUrl', 'organizer', 'originalEndTimeZone'],
  ...['originalStart', 'originalStartTimeZone', 'occurrenceId', 'responseStatus', 'seriesMasterId', 'type', 'webLink'],
  ...['locations', 'cancelledOccurrences', 'exceptionOccurrences'],
]);
const NOT_MIRRORED: Record<string, string> = {
  recurrence: 'recurring events (series)',
  multiValueExtendedProperties: 'multi-value extended properties',
  extensions: 'open extensions',
  attachments: 'attachments',
};
/** Values of fields that null clears. For all other fields, null means absent. */
const CLEARED: Record<string, unknown> = {
  subject: '',
  body: { contentType: 'text', content: '' },
  location: { displayName: '' },
  categories: [],
  attendees: [],
};

/** A checked event, or the changed part of one, as a client sent it. */
export type EventBody = Omit<z.infer<typeof eventBody>, 'singleValueExtendedProperties'> & {
  /** By canonical id. */
  properties: ReadonlyMap<string, string>;
};
/** Start or end: wall time and the name of its zone, Windows or IANA. */
export type EventTime = z.infer<typeof eventTime>;

/**
 * Checks an event from a client. The error message names the field, never the value.
 * @throws GraphError 400
 */
export function parseEventBody(body: Record<string, unknown>): EventBody {
  const parsed = eventBody.safeParse(withoutAnnotations(body));
  if (!parsed.success) {
    throw toGraphError(parsed.error.issues[0]!);
  }
  const { singleValueExtendedProperties = [], ...event } = parsed.data;
  return { ...event, properties: toProperties(singleValueExtendedProperties) };
}

/** A request as text: the same for equal ones. */
export function requestText({ properties, ...event }: EventBody): string {
  return JSON.stringify([event, [...properties]]);
}

function withoutAnnotations(body: Record<string, unknown>): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(body)) {
    if (name.includes('@')) {
      continue;
    }
    if (READ_ONLY.has(name)) {
      throw invalidRequest(`The property '${name}' is read-only and cannot be set.`);
    }
    const notMirrored = NOT_MIRRORED[name];
    if (notMirrored !== undefined && value !== null && !(Array.isArray(value) && value.length === 0)) {
      throw notInSandbox(notMirrored);
    }
    if (value !== null && notMirrored === undefined) {
      kept[name] = value;
    } else if (name in CLEARED) {
      kept[name] = CLEARED[name];
    }
  }
  return kept;
}

function toGraphError(issue: z.core.$ZodIssue): GraphError {
  const place = issue.path.join('.');
  switch (issue.code) {
    case 'unrecognized_keys':
      return invalidRequest(`The property '${[...issue.path, issue.keys[0]].join('.')}' does not exist on the type.`);
    case 'invalid_value':
    case 'invalid_format':
    case 'too_small':
    case 'too_big':
      return invalidProperty(`Property: ${place}.`);
    default:
      return invalidRequest(`The value of '${place}' has the wrong type.`);
  }
}
