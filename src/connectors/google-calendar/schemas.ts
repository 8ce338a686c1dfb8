import { z } from 'zod';
import { OWN_CALENDAR } from '../owner.ts';
import { DEFAULT_ROOT_URL } from './limits.ts';

/** The vendor's part of a target in the tenant file. */
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

/** Settings of one Google calendar target, checked. */
export type GoogleCalendarSettings = z.infer<typeof settingsSchema>;

// What Google answers: only the fields that are used, so that the API may grow without breaking us.

/** An error's body (developers.google.com/workspace/calendar/api/guides/errors). */
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

/** What tells whose event it is and whether it is alive; cancelled events guarantee no more than an id. */
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
  extendedProperties: z.object({ private: z.record(z.string(), z.string()).optional() }).optional(),
});

/** An event's page; nothing but an address of the web is shown to anybody. */
export const pageSchema = z.object({ htmlLink: z.url({ protocol: /^https?$/, normalize: true }) });

const eventTimeSchema = z.object({
  date: z.string().optional(),
  dateTime: z.string().optional(),
  timeZone: z.string().optional(),
});

/** An event's head, checked. */
export type EventHead = z.infer<typeof eventHeadSchema>;

/** An event's content. */
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

/** One page of `events.list`; each event is parsed alone, so that an odd one spoils no page. */
export const eventsPageSchema = z.object({
  items: z.array(z.unknown()).default([]),
  nextPageToken: z.string().optional(),
  /** On the last page of a list without filters. */
  nextSyncToken: z.string().optional(),
});

/** A calendar, or an entry of the calendar list. */
export const calendarSchema = z.object({ id: z.string().min(1), description: z.string().optional() });

/** A watch channel; its end in epoch ms, as text. */
export const channelSchema = z.object({
  resourceId: z.string().min(1),
  expiration: z.string().regex(/^\d+$/).optional(),
});

/** One page of `calendarList.list`. `dataOwner` is the address of a secondary calendar's owner, whom others may have made owners beside them. */
export const calendarsPageSchema = z.object({
  items: z
    .array(
      calendarSchema.extend({
        accessRole: z.string().optional(),
        primary: z.boolean().optional(),
        dataOwner: z.string().optional(),
      }),
    )
    .default([]),
  nextPageToken: z.string().optional(),
});
