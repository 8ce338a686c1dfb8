import { z } from 'zod';
import { isZone, ZONE_REMEDY } from '../../core/model/time.ts';
import { issueText, message } from '../../messages/message.ts';
import { OWN_CALENDAR } from '../owner.ts';
import { DEFAULT_ROOT_URL, LARGEST_PAGE } from './limits.ts';

/** Outlook-specific part of a target in the tenant file. */
export const settingsSchema = z.strictObject({
  mailbox: z
    .union([z.literal('me'), z.email(issueText(message('microsoft.mailbox')))])
    .describe("`me` for the mailbox of the connected account, otherwise the mailbox's user principal name."),
  calendar: z.union([
    z.strictObject({
      id: z
        .string()
        .min(1)
        .max(1_024)
        .describe("Id of an existing calendar, or `primary` for the mailbox's default calendar."),
    }),
    z.strictObject({ create: z.string().trim().min(1).max(200).meta(OWN_CALENDAR) }),
  ]),
  deleteMode: z
    .enum(['soft', 'permanent'])
    .default('soft')
    .describe('`soft` moves deleted events to Deleted Items. `permanent` deletes without recovery.'),
  wholeDayZone: z
    .string()
    .refine(isZone, issueText(ZONE_REMEDY))
    .optional()
    .describe(
      "Time zone in which whole days begin. Older Outlook versions show a whole day of another zone as two days. Default: the tenant's zone.",
    ),
  rootUrl: z
    .url({ protocol: /^https?$/ })
    .transform((url) => url.replace(/\/+$/, ''))
    .default(DEFAULT_ROOT_URL)
    .describe(
      `URL of Microsoft Graph, for national clouds, tests and demonstrations. Default: \`${DEFAULT_ROOT_URL}\`.`,
    ),
});

/** Validated settings of one Outlook calendar target. */
export type OutlookCalendarSettings = z.infer<typeof settingsSchema>;

// Schemas of Graph's responses contain only the fields in use, so that new API fields break nothing.

/** Body of an error (learn.microsoft.com/graph/errors); inner errors nest to any depth. */
export const errorBodySchema = z.object({
  error: z.object({ code: z.string(), innerError: z.unknown().optional(), innererror: z.unknown().optional() }),
});

const extendedPropertiesSchema = z.array(z.object({ id: z.string(), value: z.string() }));

const bodySchema = z.object({ contentType: z.string(), content: z.string() });

/** Fields that show an event's owner. */
export const eventHeadSchema = z.object({
  id: z.string().min(1),
  '@odata.etag': z.string().optional(),
  transactionId: z.string().nullish(),
  createdDateTime: z.string().nullish(),
  attendees: z.array(z.unknown()).nullish(),
  body: bodySchema.nullish().catch(null),
  categories: z.array(z.string()).nullish().catch(null),
  isReminderOn: z.boolean().nullish().catch(null),
  reminderMinutesBeforeStart: z.number().nullish().catch(null),
  singleValueExtendedProperties: extendedPropertiesSchema.nullish(),
});

/** What users added to an event: text, categories, and a reminder. */
export const additionsSchema = z.strictObject({
  description: z.string(),
  categories: z.array(z.string()),
  reminderMinutesBeforeStart: z.number().nullable(),
});

/** Ids of an event whose head is in an unknown form. */
export const eventIdSchema = z.object({
  id: z.string().min(1),
  transactionId: z.string().nullish().catch(null),
});

export type EventHead = z.infer<typeof eventHeadSchema>;

/** Web page of an event. Only web URLs are shown to users. */
export const pageLinkSchema = z.object({ webLink: z.url({ protocol: /^https?$/, normalize: true }) });

const eventTimeSchema = z.object({ dateTime: z.string(), timeZone: z.string() });
export type EventTime = z.infer<typeof eventTimeSchema>;

export const eventContentSchema = z.object({
  type: z.string().nullish(),
  isCancelled: z.boolean().nullish(),
  subject: z.string().nullish(),
  body: bodySchema.nullish(),
  location: z.object({ displayName: z.string().nullish() }).nullish(),
  start: eventTimeSchema,
  end: eventTimeSchema,
  isAllDay: z.boolean().nullish(),
  showAs: z.string().nullish(),
  sensitivity: z.string().nullish(),
});

/** One page of a list. Elements are parsed separately, so that an invalid element does not break the page. */
export const pageSchema = z.object({
  value: z.array(z.unknown()).max(LARGEST_PAGE),
  '@odata.nextLink': z.string().optional(),
  '@odata.deltaLink': z.string().optional(),
});

/** Element of a delta round, removed or not. */
export const namedSchema = z.object({ id: z.string().min(1) });

export const calendarSchema = z.object({
  id: z.string().min(1),
  /** Only the calendar's creator may share it (learn.microsoft.com/graph/api/resources/calendar). */
  canShare: z.boolean().nullish(),
  singleValueExtendedProperties: extendedPropertiesSchema.nullish(),
});

/** Subscription (learn.microsoft.com/graph/api/resources/subscription). */
export const subscriptionSchema = z
  .object({
    id: z.string().min(1),
    resource: z.string(),
    notificationUrl: z.string(),
    expirationDateTime: z.iso.datetime({ offset: true }),
  })
  .transform(({ expirationDateTime, ...rest }) => ({ ...rest, expiresAt: Date.parse(expirationDateTime) }));

/** Body of a notification request; notifications are parsed separately. */
export const notificationsSchema = z.object({ value: z.array(z.unknown()) });

/** Notification of a change, or of the subscription. */
export const notificationSchema = z.object({
  clientState: z.string().min(1),
  changeType: z.string().nullish(),
  lifecycleEvent: z.string().nullish(),
});

/** Response to a batch; parts are parsed separately. */
export const batchAnswerSchema = z.object({ responses: z.array(z.unknown()) });

export const batchPartSchema = z.object({
  id: z.string(),
  status: z.number().int(),
  headers: z.record(z.string(), z.unknown()).nullish(),
  body: z.unknown().optional(),
});
