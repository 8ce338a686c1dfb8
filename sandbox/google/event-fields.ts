import { z } from 'zod';
import { ApiError, invalid, notInSandbox } from './errors.ts';

/** Limits of developers.google.com/workspace/calendar/api/guides/extended-properties and …/v3/reference/events. */
const MAX_PROPERTIES = 300;
const MAX_PROPERTIES_BYTES = 32 * 1024;
const MAX_PROPERTY_KEY = 44;
const MAX_PROPERTY_VALUE = 1024;
const MAX_REMINDER_MINUTES = 40_320;
const MAX_REMINDERS = 5;
/** Named by practitioners (support.nylas.com, "Event description limits"); the reference names none. */
const MAX_DESCRIPTION = 8192;

const EVENT_ID = /^[a-v0-9]{5,1024}$/;

const eventTime = z.strictObject({
  date: z.string().optional(),
  dateTime: z.string().optional(),
  timeZone: z.string().optional(),
});

const reminders = z.strictObject({
  useDefault: z.boolean().default(false),
  overrides: z
    .array(
      z.strictObject({
        method: z.enum(['email', 'popup']),
        minutes: z.int().min(0).max(MAX_REMINDER_MINUTES),
      }),
    )
    .max(MAX_REMINDERS)
    .optional(),
});

const attendee = z.strictObject({
  email: z.email(),
  id: z.string().optional(),
  displayName: z.string().optional(),
  organizer: z.boolean().optional(),
  self: z.boolean().optional(),
  resource: z.boolean().optional(),
  optional: z.boolean().optional(),
  responseStatus: z.enum(['needsAction', 'declined', 'tentative', 'accepted']).default('needsAction'),
  comment: z.string().optional(),
  additionalGuests: z.int().min(0).optional(),
});

const person = z.strictObject({
  id: z.string().optional(),
  email: z.email().optional(),
  displayName: z.string().optional(),
  self: z.boolean().optional(),
});

const properties = z.record(z.string(), z.string());

/** What a client may say. Server-made fields are accepted, for a read event may be sent back, and ignored. */
const eventBody = z.strictObject({
  id: z.string().regex(EVENT_ID).optional(),
  iCalUID: z.string().min(1).max(1024).optional(),
  sequence: z.int().min(0).optional(),
  status: z.enum(['confirmed', 'tentative', 'cancelled']).optional(),
  summary: z.string().optional(),
  description: z.string().max(MAX_DESCRIPTION).optional(),
  location: z.string().optional(),
  colorId: z
    .string()
    .regex(/^(?:[1-9]|1[01])$/)
    .optional(),
  start: eventTime.optional(),
  end: eventTime.optional(),
  transparency: z.enum(['opaque', 'transparent']).optional(),
  visibility: z.enum(['default', 'public', 'private', 'confidential']).optional(),
  reminders: reminders.optional(),
  extendedProperties: z.strictObject({ private: properties.optional(), shared: properties.optional() }).optional(),
  attendees: z.array(attendee).optional(),
  organizer: person.optional(),
  source: z.strictObject({ title: z.string().optional(), url: z.url({ protocol: /^https?$/ }) }).optional(),
  guestsCanInviteOthers: z.boolean().optional(),
  guestsCanModify: z.boolean().optional(),
  guestsCanSeeOtherGuests: z.boolean().optional(),
  anyoneCanAddSelf: z.boolean().optional(),
  eventType: z.literal('default').optional(),
  kind: z.literal('calendar#event').optional(),
  etag: z.string().optional(),
  htmlLink: z.string().optional(),
  hangoutLink: z.string().optional(),
  created: z.string().optional(),
  updated: z.string().optional(),
  creator: person.optional(),
  locked: z.boolean().optional(),
  privateCopy: z.boolean().optional(),
  attendeesOmitted: z.boolean().optional(),
});

const NOT_MIRRORED: Record<string, string> = {
  recurrence: 'recurring events (series)',
  recurringEventId: 'recurring events (series)',
  originalStartTime: 'recurring events (series)',
  conferenceData: 'conferences',
  attachments: 'attachments',
  eventLabelId: 'event labels',
  gadget: 'gadgets',
  endTimeUnspecified: 'events without an end',
};

/** A checked event as a client sent it. */
export type EventBody = z.infer<typeof eventBody>;
/** Start or end of an event: a day, or a date-time with a zone. */
export type EventTime = z.infer<typeof eventTime>;

/**
 * Checks an event from a client; nulls are treated as absent. Like the vendor, drops properties with too long keys and cuts too long values
 * without an error. `onDropped` receives their number.
 * @throws ApiError 400
 */
export function parseEventBody(body: unknown, onDropped: (count: number) => void): EventBody {
  if (typeof body !== 'object' || body === null || Array.isArray(body)) {
    throw new ApiError(400, 'parseError', 'Parse Error');
  }
  const present = withoutNulls(body);
  refuseWhatIsNotMirrored(present);
  const parsed = eventBody.safeParse(present);
  if (!parsed.success) {
    throw toApiError(parsed.error.issues[0]!);
  }
  const event = parsed.data;
  if (event.reminders?.useDefault === true && (event.reminders.overrides?.length ?? 0) > 0) {
    const reason = 'cannotUseDefaultRemindersAndSpecifyOverride';
    const message = 'Cannot specify both default reminders and overrides at the same time.';
    throw new ApiError(400, reason, message, { domain: 'calendar' });
  }
  if (event.extendedProperties) {
    event.extendedProperties = limitProperties(event.extendedProperties, onDropped);
  }
  return event;
}

/** RFC 7396 on JSON values: objects merge, null removes, anything else replaces. */
export function mergePatch(target: unknown, patch: unknown): unknown {
  if (!isObject(patch)) {
    return patch;
  }
  const merged: Record<string, unknown> = isObject(target) ? { ...target } : {};
  for (const [key, value] of Object.entries(patch)) {
    if (value === null) {
      delete merged[key];
    } else {
      merged[key] = mergePatch(merged[key], value);
    }
  }
  return merged;
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function withoutNulls(value: object): Record<string, unknown> {
  const kept: Record<string, unknown> = {};
  for (const [key, inner] of Object.entries(value)) {
    if (inner !== null) {
      kept[key] = isObject(inner) ? withoutNulls(inner) : inner;
    }
  }
  return kept;
}

/** Throws for a field that the sandbox can't honour; an empty list of them is left out of `body`. */
function refuseWhatIsNotMirrored(body: Record<string, unknown>): void {
  for (const [field, what] of Object.entries(NOT_MIRRORED)) {
    const value = body[field];
    if (value !== undefined && !(Array.isArray(value) && value.length === 0)) {
      throw notInSandbox(what);
    }
    delete body[field];
  }
  if (typeof body.eventType === 'string' && body.eventType !== 'default') {
    throw notInSandbox('event types other than default');
  }
}

/** The message names the field, never the value: a client's values may concern a patient. */
function toApiError(issue: z.core.$ZodIssue): ApiError {
  if (issue.code === 'unrecognized_keys') {
    const name = issue.keys[0];
    return new ApiError(400, 'badRequest', `Invalid JSON payload received. Unknown name "${name}": Cannot find field.`);
  }
  if (issue.path[0] === 'id') {
    return invalid('Invalid resource id value.');
  }
  return invalid(`Invalid value for: ${issue.path.join('.')}`);
}

type Properties = NonNullable<EventBody['extendedProperties']>;

function limitProperties(given: Properties, onDropped: (count: number) => void): Properties {
  let dropped = 0;
  let count = 0;
  let bytes = 0;
  const limited: Properties = {};
  for (const side of ['private', 'shared'] as const) {
    if (!given[side]) {
      continue;
    }
    const kept: Record<string, string> = {};
    for (const [key, value] of Object.entries(given[side])) {
      if (key.length > MAX_PROPERTY_KEY) {
        dropped += 1;
        continue;
      }
      dropped += value.length > MAX_PROPERTY_VALUE ? 1 : 0;
      kept[key] = value.slice(0, MAX_PROPERTY_VALUE);
      count += 1;
      bytes += Buffer.byteLength(key) + Buffer.byteLength(kept[key]);
    }
    limited[side] = kept;
  }
  if (count > MAX_PROPERTIES || bytes > MAX_PROPERTIES_BYTES) {
    throw invalid('Invalid value for: extendedProperties');
  }
  if (dropped > 0) {
    onDropped(dropped);
  }
  return limited;
}
