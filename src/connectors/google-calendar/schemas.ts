import { z } from 'zod';
import { OWN_CALENDAR } from '../owner.ts';
import { DEFAULT_ROOT_URL, EVENTS_PAGE_SIZE } from './limits.ts';

/** Google-specific part of a target in the tenant file. */
export const settingsSchema = z.strictObject({
  calendar: z.union([
    z.strictObject({
      id: z
        .string()
        .min(1)
        .max(1_024)
        .describe("Id of an existing calendar from the calendar's settings page, or `primary`."),
    }),
    z.strictObject({ create: z.string().min(1).max(254).meta(OWN_CALENDAR) }),
  ]),
  rootUrl: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .default(DEFAULT_ROOT_URL)
    .describe('URL of the API, for tests and demonstrations. Default: `https://www.googleapis.com`.'),
});

/** Validated settings of one Google calendar target. */
export type GoogleCalendarSettings = z.infer<typeof settingsSchema>;

// Schemas of Google's responses contain only the fields in use, so that new API fields break nothing.

/** Body of an error (developers.google.com/workspace/calendar/api/guides/errors). */
export const errorBodySchema = z.object({
  error: z.object({
    message: z.string().optional().catch(undefined),
    errors: z
      .array(
        z.object({
          domain: z.string().optional(),
          reason: z.string().optional(),
          message: z.string().optional().catch(undefined),
        }),
      )
      .optional(),
  }),
});

/** Fields that only users and Google's own programs set. */
const userFields = {
  attendees: z
    .array(z.looseObject({ email: z.string().optional() }))
    .optional()
    .catch(undefined),
  attachments: z
    .array(z.looseObject({ fileUrl: z.string() }))
    .optional()
    .catch(undefined),
  conferenceData: z.looseObject({}).optional().catch(undefined),
};

/** Fields that show an event's owner and state. Google guarantees only the id for cancelled events. */
export const eventHeadSchema = z.object({
  id: z.string().min(1),
  etag: z.string().optional(),
  status: z.string().optional(),
  sequence: z.number().int().optional().catch(undefined),
  description: z.string().optional().catch(undefined),
  colorId: z.string().optional().catch(undefined),
  reminders: z
    .object({
      useDefault: z.boolean().optional(),
      overrides: z.array(z.object({ method: z.string(), minutes: z.number() })).optional(),
    })
    .optional()
    .catch(undefined),
  source: z.object({ url: z.string().optional() }).optional().catch(undefined),
  ...userFields,
  extendedProperties: z.object({ private: z.record(z.string(), z.string()).optional() }).optional(),
});

/** What users added to an event: text, and the fields that they set. */
export const additionsSchema = z.strictObject({
  description: z.string(),
  ...eventHeadSchema.pick({ colorId: true, reminders: true, attendees: true, attachments: true, conferenceData: true })
    .shape,
});
export type Additions = z.infer<typeof additionsSchema>;

/** Parts of an event whose head is in an unknown form. */
export const eventIdSchema = z.object({ id: z.string().min(1), status: z.string().optional().catch(undefined) });

/** Web page of an event. Only web URLs are shown to users. */
export const pageSchema = z.object({ htmlLink: z.url({ protocol: /^https?$/, normalize: true }) });

const eventTimeSchema = z.object({
  date: z.string().optional(),
  dateTime: z.string().optional(),
  timeZone: z.string().optional(),
});
export type EventTime = z.infer<typeof eventTimeSchema>;

export type EventHead = z.infer<typeof eventHeadSchema>;

export const eventContentSchema = z.object({
  status: z.string().optional(),
  eventType: z.string().optional(),
  summary: z.string().optional(),
  description: z.string().optional(),
  location: z.string().optional(),
  start: eventTimeSchema,
  end: eventTimeSchema,
  transparency: z.string().optional(),
  visibility: z.string().optional(),
  recurrence: z.array(z.unknown()).optional(),
  recurringEventId: z.string().optional(),
});

/** One page of `events.list`. Events are parsed separately, so that an invalid event does not break the page. */
export const eventsPageSchema = z.object({
  items: z.array(z.unknown()).max(EVENTS_PAGE_SIZE).default([]),
  nextPageToken: z.string().optional(),
  /** Present on the last page of a list without filters. */
  nextSyncToken: z.string().optional(),
});

/** Calendar, from `calendars` or `calendarList`. */
export const calendarSchema = z.object({ id: z.string().min(1), description: z.string().optional() });

/** Watch channel, with its expiry in epoch ms as text. */
export const channelSchema = z.object({
  resourceId: z.string().min(1),
  expiration: z.string().regex(/^\d+$/).optional(),
});

/** One page of `calendarList.list`. Calendars are parsed separately, with pauses. */
export const calendarsPageSchema = z.object({
  items: z.array(z.unknown()).max(EVENTS_PAGE_SIZE).default([]),
  nextPageToken: z.string().optional(),
});

/** Calendar of `calendarList.list`. `dataOwner` is the e-mail of a secondary calendar's owner; the calendar can have additional owners. */
export const listedCalendarSchema = calendarSchema.extend({
  accessRole: z.string().optional(),
  primary: z.boolean().optional(),
  dataOwner: z.string().optional(),
});
