import { z } from 'zod';
import { issueText, message } from '../messages/message.ts';
import { COLOURS, parseTitleFormat, TITLE_VALUES } from '../model/items.ts';
import { parseJson } from '../model/json.ts';
import { APPOINTMENT_STATUSES } from '../model/records.ts';
import { NAME, NAME_REMEDY } from '../model/text.ts';
import { tenantApprovals } from './access-schema.ts';
import { AT_LEAST_ONE, distinctList, mapOf, name, text, wholeNumber, zone } from './common-schemas.ts';
import { crmSchema } from './crm-schema.ts';
import { webhookKeys } from './delivery-schema.ts';
import { reminderSchema } from './reminder-schema.ts';
import type { SecretSchemas } from './secret-reference.ts';
import { guardOverrides } from './settings-schema.ts';

/** A directory of Microsoft Entra ID: a part of the path of its endpoints. */
const directory = z.string().regex(/^[a-z0-9][a-z0-9.-]*$/i, issueText(message('settings.directory')));

/** Schema of one login in a tenant file, by its kind. */
export function connection(secrets: SecretSchemas) {
  const serviceAccountKey = secrets.text.refine(
    (secret) => isServiceAccountKey(secret.reveal()),
    issueText(message('settings.service-account')),
  );
  return z.discriminatedUnion('kind', [
    z.strictObject({
      kind: z
        .literal('google')
        .describe(
          'Kind of the connection. An administrator connects `google`, `microsoft`, `hubspot`, `salesforce` and `oauth` once with `clinic-mirror login`. `google-service-account`, `microsoft-app` and `salesforce-app` act without a user. The other kinds use a fixed secret. The connection to the clinic needs no configuration here and has the name `clinic`.',
        ),
      client: name.meta({
        description:
          'Name from the settings: `googleClients`, `microsoftClients`, `hubspotClients`, `salesforceClients` or `oauthClients`, by kind.',
        examples: ['main'],
      }),
      account: expectedAccount.byDomain,
    }),
    z.strictObject({
      kind: z.literal('google-service-account'),
      keyFile: serviceAccountKey.describe('JSON key file of the service account.'),
      subject: z.email(issueText(message('settings.service-account-user'))).meta({
        description:
          'User that the connection acts for. `google-service-account`: an e-mail address. `salesforce-app`: a user name; without `subject` the client secret is used.',
        examples: ['dr.rossi@practice.example'],
      }),
    }),
    z.strictObject({
      kind: z.literal('microsoft'),
      client: name.describe('Name from `microsoftClients` in the settings.'),
      directory: directory
        .default('organizations')
        .describe(
          "Id or domain of the organisation's directory. `organizations` selects the directory of the account that signs in.",
        ),
      account: expectedAccount.byDomain,
    }),
    z.strictObject({
      kind: z.literal('microsoft-app'),
      client: name.describe(
        'Name from `microsoftClients` in the settings. The registration needs a client secret or a certificate.',
      ),
      directory: directory.describe('Id or domain of the directory that granted consent to the app.'),
    }),
    z.strictObject({
      kind: z.literal('caldav'),
      username: text.describe('User name, without a colon.'),
      password: secrets.text.describe('Password. Most hosted servers require an app password.'),
    }),
    z.strictObject({ kind: z.literal('feed') }),
    ...crmConnections(secrets),
  ]);
}

/** The fields of a service account's key that a login needs (Google, "Using OAuth 2.0 for server to server applications"). */
const serviceAccountKeyFields = z.object({ client_email: z.string().min(1), private_key: z.string().min(1) });

function isServiceAccountKey(content: string): boolean {
  return serviceAccountKeyFields.safeParse(parseJson(content)).success;
}

/** What RFC 6750 section 2.1 allows in a header after the word Bearer. */
const BEARER_TOKEN = /^[A-Za-z0-9._~+/!$-]+=*$/;
/** A name of a header (RFC 9110 section 5.1). */
const HEADER_NAME = /^[A-Za-z0-9!#$%&'*+.^_`|~-]+$/;
/** Headers that belong to the request itself. */
const REQUEST_HEADERS =
  /^(accept|connection|content-.*|cookie|expect|host|keep-alive|te|trailer|transfer-encoding|upgrade)$/i;
/** What can go into a header as it is: visible characters with spaces between (RFC 9110 section 5.5). */
const HEADER_VALUE = /^[\x21-\x7e]([\x20-\x7e]*[\x21-\x7e])?$/;

/** Logins at CRMs: of persons, of applications, and by what never changes. */
function crmConnections(secrets: SecretSchemas) {
  return [
    z.strictObject({
      kind: z.literal('hubspot'),
      client: name.describe('Name from `hubspotClients` in the settings.'),
      account: expectedAccount.bySubject,
    }),
    z.strictObject({
      kind: z.literal('salesforce'),
      client: name.describe('Name from `salesforceClients` in the settings.'),
      account: expectedAccount.byAddress,
    }),
    z.strictObject({
      kind: z.literal('salesforce-app'),
      client: name.describe('Name from `salesforceClients` in the settings.'),
      subject: text
        .optional()
        .describe('User name that the app acts for, with a certificate. Without a value the client secret is used.'),
    }),
    z.strictObject({
      kind: z.literal('oauth'),
      client: name.describe('Name from `oauthClients` in the settings.'),
      account: expectedAccount.byAddress,
    }),
    z.strictObject({
      kind: z.literal('bearer'),
      token: secrets.text
        .refine((token) => BEARER_TOKEN.test(token.reveal()), issueText(message('settings.bearer')))
        .describe('Token that does not expire, such as a HubSpot Service Key.'),
    }),
    z.strictObject({
      kind: z.literal('api-key'),
      header: z
        .string()
        .regex(HEADER_NAME, issueText(message('settings.header-name')))
        .refine((header) => !REQUEST_HEADERS.test(header), issueText(message('settings.header-refused')))
        .transform((header) => header.toLowerCase())
        .meta({ description: 'Name of the header that contains the key.', examples: ['X-Api-Key'] }),
      key: secrets.text
        .refine((key) => HEADER_VALUE.test(key.reveal()), issueText(message('settings.header-value')))
        .describe('Complete value of the header.'),
    }),
    z.strictObject({
      kind: z.literal('basic'),
      username: text
        .refine((username) => !username.includes(':'), issueText(message('username-invalid.remedy')))
        .describe('User name, without a colon.'),
      password: secrets.text.describe('Password.'),
    }),
  ] as const;
}

const subject = text
  .optional()
  .describe("The vendor's id of the account, shown by `status` in parentheses. For HubSpot: the Hub ID.");
const address = text.optional().meta({
  description: 'E-mail address that the vendor has verified, or user name (Microsoft, Salesforce).',
  examples: ['calendar@practice.example'],
});
const domain = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/i, issueText(message('settings.domain')))
  .optional()
  .meta({
    description: "Domain of the organisation's users: Google Workspace domain, or domain of Microsoft user names.",
    examples: ['practice.example'],
  });

/**
 * Whose login a connection must be, by what its vendor vouches for; a login with another account is refused. A HubSpot user may be in
 * several accounts, and anybody may give their Salesforce user name any ending.
 */
const expectedAccount = {
  bySubject: notEmpty(z.strictObject({ subject })),
  byAddress: notEmpty(z.strictObject({ subject, address })),
  byDomain: notEmpty(z.strictObject({ subject, address, domain })),
};

function notEmpty<Schema extends z.ZodObject>(schema: Schema) {
  const names = Object.keys(schema.shape).join(', ');
  return schema
    .refine(
      (account) => Object.values(account).some((value) => value !== undefined),
      issueText(message('settings.one-of', { names })),
    )
    .optional();
}

/** The connection that every tenant has without naming it. */
export const CLINIC_CONNECTION = 'clinic';

/** Scopes of the clinic API without the profile's prefix. */
const CLINIC_SCOPES = ['patients', 'agenda', 'treatments', 'episodes', 'medicalreports', 'invoices', 'fhir'] as const;

/** An id of the clinic system: opaque, and a text even when it looks like a number (0012 is not 12). */
const clinicId = text;

const connectionName = z
  .string()
  .regex(NAME, issueText(NAME_REMEDY))
  .refine((id) => id !== CLINIC_CONNECTION, issueText(message('settings.clinic-name')));

const TITLES = ['busy', 'appointment', 'code', 'initials', 'full'] as const;
const FIELDS = ['location', 'agenda', 'treatment', 'status'] as const;
/** Statuses whose time stays free where a target doesn't say. */
export const FREE_BY_DEFAULT = ['cancelled', 'no_show'] as const;
const SHOWN_BY_DEFAULT = APPOINTMENT_STATUSES.filter((status) => status !== 'cancelled');

/** Longest reminder that Google takes: four weeks (reference of events, `reminders.overrides.minutes`). */
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
  fields: distinctList(z.enum(FIELDS))
    .default([])
    .meta({ description: 'Additional details of an event.', examples: [['location', 'treatment']] }),
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
          "Handling of manual changes. `repair` restores the clinic's data. `keep` leaves the change until the appointment changes. `report` only reports the change.",
        ),
      rewritesPerDay: wholeNumber(1, 1_000)
        .default(10)
        .describe(
          'Maximum number of restores of one event per day. After that the daemon leaves the event unchanged and reports the conflict.',
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

/** What `language` is. */
export const LANGUAGE = { description: 'Language of titles and pages.' };

/** Schema of `tenants/<tenant>.yaml`. Each target's own part is left to its connector's schema. */
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
    connections: mapOf(connection(secrets), connectionName).prefault({}),
    targets: mapOf(target).prefault({}),
    reminders: reminderSchema.optional(),
    triggers: triggerSchema(secrets).optional(),
  });
}

/** A tenant file as read, before defaults of the settings are put in. */
export type TenantFile = z.output<ReturnType<typeof tenantSchema>>;
/** A target as read. */
export type TargetFile = z.output<typeof target>;
/** A login that a tenant's targets use. */
export type ConnectionConfiguration = z.output<ReturnType<typeof connection>>;

/** What a receiver can be told of. */
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

/** `triggers` of a tenant file as read. */
export type TriggerFile = z.output<ReturnType<typeof triggerSchema>>;
/** One receiver as read. */
export type TriggerEndpoint = TriggerFile['endpoints'] extends ReadonlyMap<string, infer Endpoint> ? Endpoint : never;
