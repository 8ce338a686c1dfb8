import { z } from 'zod';
import { COLOURS } from '../core/model/items.ts';
import { APPOINTMENT_STATUSES } from '../core/model/records.ts';
import { NAME, NAME_REMEDY } from '../core/model/text.ts';
import { issueText, message } from '../messages/message.ts';
import { tenantApprovals } from './access-schema.ts';
import { AT_LEAST_ONE, distinctList, mapOf, name, text, wholeNumber, zone } from './common-schemas.ts';
import { connection, expectedAccount } from './connection-schema.ts';
import { crmSchema } from './crm-schema.ts';
import { webhookKeys } from './delivery-schema.ts';
import { ALLOWED_FIELDS, EVENT_FIELDS, parseTitleFormat, TITLE_VALUES } from './event-fields.ts';
import { tenantLimits } from './redis-schema.ts';
import { reminderSchema } from './reminder-schema.ts';
import type { SecretSchemas } from './secret-reference.ts';
import { guardOverrides } from './settings-schema.ts';

/** Name of the implicit clinic connection. */
export const CLINIC_CONNECTION = 'clinic';

/** Scopes of the clinic API without the profile's prefix. */
const CLINIC_SCOPES = ['patients', 'agenda', 'treatments', 'episodes', 'medicalreports', 'invoices', 'fhir'] as const;

/** An opaque id of the clinic system, always a string (0012 is not 12). */
const clinicId = text;

const connectionName = z
  .string()
  .regex(NAME, issueText(NAME_REMEDY))
  .refine((id) => id !== CLINIC_CONNECTION, issueText(message('settings.clinic-name')));

const TITLES = ['busy', 'appointment', 'code', 'initials', 'full'] as const;
/** Default statuses with free time. */
export const FREE_BY_DEFAULT = ['cancelled', 'no_show'] as const;
const SHOWN_BY_DEFAULT = APPOINTMENT_STATUSES.filter((status) => status !== 'cancelled');

/** Google's longest reminder: four weeks (reference of events, `reminders.overrides.minutes`). */
const LONGEST_REMINDER_MINUTES = 40_320;

const label = z
  .strictObject({
    statuses: distinctList(z.enum(APPOINTMENT_STATUSES)).min(1).optional().describe('Statuses that match.'),
    agendas: distinctList(clinicId).min(1).optional().describe('Ids of the agendas that match.'),
    treatments: distinctList(clinicId).min(1).optional().describe('Ids of the treatments that match.'),
    colour: z
      .enum(COLOURS)
      .optional()
      .describe(
        "CSS name of the colour, for Google and CalDAV (`COLOR`, RFC 7986); not for Outlook. Apple's apps ignore the colour. Google calls the colours, in this order: lavender, sage, grape, flamingo, banana, tangerine, peacock, graphite, blueberry, basil and tomato.",
      ),
    category: z
      .string()
      .trim()
      .min(1)
      .max(60)
      .regex(/^[^,;\p{Cc}]+$/u, issueText(message('settings.category-name')))
      .optional()
      .describe(
        "Category, for Outlook and CalDAV (`CATEGORIES`); not for Google. Users choose the colour of a category in Outlook. clinic-mirror manages only this category and leaves a user's other categories unchanged.",
      ),
  })
  .refine(
    ({ colour, category }) => colour !== undefined || category !== undefined,
    issueText(message('settings.label')),
  )
  .meta({ description: 'Conditions, all of which must match, and the resulting colour or category.' });
/** Colour and category of appointments that meet every given condition. */
export type Label = z.infer<typeof label>;

const target = z.strictObject({
  connector: z.string().describe('Connector of the target.'),
  connection: z.string().describe('Name from `connections`.'),
  agendas: z
    .union([z.literal('all'), distinctList(clinicId).min(1)])
    .optional()
    .meta({
      description:
        'Ids of the agendas that the target receives, or `all`. Required for calendars; a CRM receives all. Two targets must not write the same agenda into the same calendar.',
      examples: [['12']],
    }),
  treatments: z
    .union([z.literal('all'), distinctList(clinicId).min(1)])
    .default('all')
    .describe('Ids of the treatments that the target receives, or `all`.'),
  blockedTime: z
    .enum(['show', 'hide'])
    .default('show')
    .describe('Blocked time without a patient: `show` as busy, or `hide`.'),
  window: z
    .strictObject({
      pastDays: wholeNumber(0, 366).default(7).describe('Days in the past that the daemon keeps up to date.'),
      futureDays: wholeNumber(1, 1_096).default(180).describe('Days in the future that the daemon keeps up to date.'),
    })
    .prefault({}),
  title: z
    .enum(TITLES)
    .optional()
    .describe(
      'Content of event titles. `initials` and `full` identify the patient and require `titleReason`; see [Privacy](privacy.md). Default: `appointment`; in a feed `busy`.',
    ),
  titleReason: text
    .optional()
    .describe('Reason for titles that identify patients: the decision maker and the legal basis.'),
  titleFormat: text
    .transform((format, context) => {
      const parsed = parseTitleFormat(format);
      if (parsed !== null) return parsed;
      const values = TITLE_VALUES.map((name) => `{${name}}`).join(', ');
      context.addIssue({
        code: 'custom',
        message: issueText(message('settings.title-format', { values })),
      });
      return z.NEVER;
    })
    .optional()
    .meta({
      description:
        'Format of the title, with `{title}` and the values in `fields`. Text in [square brackets] is omitted if a value is missing. Example: `[{agenda}: ]{title}`.',
    }),
  fields: distinctList(z.enum(ALLOWED_FIELDS))
    .default([])
    .meta({
      description: `Additional details of an event: ${ALLOWED_FIELDS.map((name) => `\`${name}\` (${EVENT_FIELDS[name].description})`).join(', ')}.`,
      examples: [['location', 'treatment']],
    }),
  statuses: distinctList(z.enum(APPOINTMENT_STATUSES))
    .min(1)
    .default(SHOWN_BY_DEFAULT)
    .describe('Statuses of appointments that appear in the target.'),
  free: distinctList(z.enum(APPOINTMENT_STATUSES))
    .default([...FREE_BY_DEFAULT])
    .describe('Statuses of appointments that are visible but do not block time. These events have no reminder.'),
  tentative: distinctList(z.enum(APPOINTMENT_STATUSES))
    .default([])
    .meta({
      description:
        'Statuses of appointments that block time and appear as tentative: status `tentative` in Google, tentative in Outlook, `STATUS:TENTATIVE` in CalDAV.',
      examples: [['booked']],
    }),
  visibility: z
    .enum(['private', 'default'])
    .default('private')
    .describe(
      "`private`: only the calendar's owner sees details. `default`: every reader of the calendar sees details (Outlook sensitivity `normal`, CalDAV `CLASS:PUBLIC`).",
    ),
  labels: z
    .array(label)
    .max(100)
    .default([])
    .meta({
      description:
        "Colours and categories of events. The first matching label applies. If a user changes or removes a colour, category, reminder or URL in the calendar, the user's choice remains. A label by treatment can reveal a disease to every reader of the calendar.",
      examples: [[{ statuses: ['no_show'], colour: 'gray' }]],
    }),
  reminderMinutes: z
    .union([wholeNumber(0, LONGEST_REMINDER_MINUTES), z.literal('none')])
    .optional()
    .meta({
      description:
        "Minutes before the start at which the calendar reminds the user. `none` prevents alerts, including Apple's default alert, and works only with CalDAV. For events with a reminder, colour or category, Google and Outlook need one additional read before each update.",
      examples: [15],
    }),
  links: distinctList(z.enum(['page', 'teleVisit']))
    .default([])
    .meta({
      description:
        "URLs in the event. `page`: the appointment in the clinic system (profile key `appointments.pageUrl`), as the event's source in Google (visible only to the connected account), a line of text in Outlook, and `URL` in CalDAV. `teleVisit`: the video visit (profile key `appointments.teleVisitUrl`), as a line of text, or `CONFERENCE` in CalDAV. A video URL is omitted unless it is https and free of the patient's name and e-mail addresses.",
      examples: [['page', 'teleVisit']],
    }),
  firstRun: z
    .enum(['apply', 'plan'])
    .default('apply')
    .describe("`plan`: the first run waits for an operator's approval."),
  policy: z
    .enum(['sync', 'upsert-only', 'create-only'])
    .default('sync')
    .meta({
      description:
        'Changes that clinic-mirror may write. `sync`: all changes. `upsert-only`: objects are created and updated, never removed. `create-only`: objects are only created, and neither updated, removed nor repaired after manual changes. `status` and plans count the withheld changes. Erasures of forgotten patients are always written.',
      examples: ['upsert-only'],
    }),
  guard: guardOverrides,
  formerly: name
    .optional()
    .describe(
      'Previous id of the target, if you renamed the target. clinic-mirror then recognizes the events and objects of the previous id.',
    ),
  audit: z
    .strictObject({
      drift: z
        .enum(['repair', 'keep', 'report'])
        .default('repair')
        .describe(
          "Handling of manual changes. `repair` restores the clinic's data; many removed objects wait for an approval. `keep` leaves the change until the appointment changes. `report` only reports the change.",
        ),
      rewritesPerDay: wholeNumber(1, 1_000)
        .default(10)
        .describe(
          'Maximum number of restores of one event per day. After that the daemon leaves the event unchanged and reports the conflict.',
        ),
      changesEverySeconds: wholeNumber(60, 86_400)
        .default(300)
        .describe(
          "Seconds between two requests for changes in the calendar. A calendar without a list of changes is only asked whether it exists. Of a tenant's calendars, the shortest time applies to all. Not used for CRMs.",
        ),
    })
    .prefault({}),
  paused: z
    .boolean()
    .default(false)
    .describe('Stops plans and writes for this target. Erasures of forgotten patients continue.'),
  crm: crmSchema.optional().describe('Content for a CRM. Required for CRM targets, not allowed for calendars.'),
  settings: z.unknown().optional().describe('Settings of the connector, described below by connector.'),
});

export const LANGUAGE = { description: 'Language of titles and pages.' };

/** Schema of `tenants/<tenant>.yaml`. Each target's settings are checked by its connector's schema. */
export function tenantSchema(secrets: SecretSchemas) {
  return z.strictObject({
    name: text.meta({ description: 'Name of the clinic for people.', examples: ['Studio Rossi'] }),
    language: z.enum(['it', 'en']).meta(LANGUAGE),
    zone: zone().meta({ description: 'IANA time zone of the clinic.', examples: ['Europe/Rome'] }),
    paused: z.boolean().default(false).describe('Stops all reads and writes for this tenant.'),
    formerly: name
      .optional()
      .describe(
        'Previous id of the tenant, if you renamed the file. clinic-mirror then recognizes the events and objects of the previous id.',
      ),
    clinic: z.strictObject({
      client: name.meta({ description: 'Name from `clinicClients` in `clinic-mirror.yaml`.', examples: ['main'] }),
      tenantId: clinicId
        .nullable()
        .default(null)
        .meta({
          description:
            'Id of the clinic in the clinic system. Required if the connection has access to several clinics. Keep the quotes.',
          examples: ['1001'],
        }),
      scopes: z
        .array(z.enum(CLINIC_SCOPES))
        .default([])
        .meta({
          description:
            'Additional scopes for the command `clinic-mirror clinic`. Targets, reminders and triggers add the required scopes automatically.',
          examples: [['episodes', 'invoices']],
        }),
      account: expectedAccount.byAddress,
    }),
    approvals: tenantApprovals
      .optional()
      .describe('Stricter approval rules for this tenant, in addition to the settings.'),
    limits: tenantLimits,
    connections: mapOf(connection(secrets), connectionName).prefault({}),
    targets: mapOf(target).prefault({}),
    reminders: reminderSchema.optional(),
    triggers: triggerSchema(secrets).optional(),
  });
}

/** Parsed tenant file before the settings' defaults. */
export type TenantFile = z.output<ReturnType<typeof tenantSchema>>;
/** Parsed target. */
export type TargetFile = z.output<typeof target>;
/** A connection for a tenant's targets. */
export type ConnectionConfiguration = z.output<ReturnType<typeof connection>>;

/** Events for receivers. */
export const TRIGGER_EVENTS = [
  'report.available',
  'invoice.issued',
  'appointment.booked',
  'appointment.moved',
  'appointment.cancelled',
] as const;

/** Schema of `triggers` in a tenant file. */
export function triggerSchema(secrets: SecretSchemas) {
  const endpoint = z.strictObject({
    ...webhookKeys(secrets),
    events: distinctList(z.enum(TRIGGER_EVENTS)).min(1).describe('Events that the receiver gets.'),
  });
  return z.strictObject({
    everyMinutes: wholeNumber(1, 1_440)
      .default(10)
      .describe('Minutes between two reads of reports, invoices and appointments.'),
    mostAtOnce: wholeNumber(1, 100_000)
      .default(200)
      .describe(
        'Maximum number of new documents and changed or missing appointments in one read. If the number is larger, the daemon sends no message until an operator decides.',
      ),
    endpoints: mapOf(endpoint)
      .refine((endpoints) => endpoints.size > 0, AT_LEAST_ONE)
      .describe('Receivers of messages about reports, invoices and appointments, by name.'),
  });
}

/** Parsed `triggers` of a tenant file. */
export type TriggerFile = z.output<ReturnType<typeof triggerSchema>>;
/** Parsed receiver. */
export type TriggerEndpoint = TriggerFile['endpoints'] extends ReadonlyMap<string, infer Endpoint> ? Endpoint : never;
