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
      kind: z.literal('google'),
      client: name.describe(
        'A name in the settings, by the kind: of googleClients, microsoftClients, hubspotClients, salesforceClients or oauthClients',
      ),
      account: expectedAccount.byDomain,
    }),
    z.strictObject({
      kind: z.literal('google-service-account'),
      keyFile: serviceAccountKey.describe('The JSON key that Google gave for the service account'),
      subject: z
        .email(issueText(message('settings.service-account-user')))
        .describe(
          'User that the login acts for: of a service account the e-mail address; of salesforce-app the user name, without which its secret is used',
        ),
    }),
    z.strictObject({
      kind: z.literal('microsoft'),
      client: name.describe('A name of microsoftClients in the settings'),
      directory: directory
        .default('organizations')
        .describe("Id or domain of the organisation's directory; organizations takes that of whoever logs in"),
      account: expectedAccount.byDomain,
    }),
    z.strictObject({
      kind: z.literal('microsoft-app'),
      client: name.describe('A name of microsoftClients in the settings; it needs a clientSecret or a certificate'),
      directory: directory.describe(
        "Id or domain of the organisation's directory, where the application is consented to",
      ),
    }),
    z.strictObject({
      kind: z.literal('caldav'),
      username: text.describe('Name of the login; no colon'),
      password: secrets.text.describe('Its password; most hosted servers want one made for this application'),
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
      client: name.describe('A name of hubspotClients in the settings'),
      account: expectedAccount.bySubject,
    }),
    z.strictObject({
      kind: z.literal('salesforce'),
      client: name.describe('A name of salesforceClients in the settings'),
      account: expectedAccount.byAddress,
    }),
    z.strictObject({
      kind: z.literal('salesforce-app'),
      client: name.describe('A name of salesforceClients in the settings'),
      subject: text
        .optional()
        .describe('User name that the application acts for, by its certificate; without it its secret is used'),
    }),
    z.strictObject({
      kind: z.literal('oauth'),
      client: name.describe('A name of oauthClients in the settings'),
      account: expectedAccount.byAddress,
    }),
    z.strictObject({
      kind: z.literal('bearer'),
      token: secrets.text
        .refine((token) => BEARER_TOKEN.test(token.reveal()), issueText(message('settings.bearer')))
        .describe('A token without an end, such as a Service Key of HubSpot'),
    }),
    z.strictObject({
      kind: z.literal('api-key'),
      header: z
        .string()
        .regex(HEADER_NAME, issueText(message('settings.header-name')))
        .refine((header) => !REQUEST_HEADERS.test(header), issueText(message('settings.header-refused')))
        .transform((header) => header.toLowerCase())
        .describe('Name of the header that takes the key'),
      key: secrets.text
        .refine((key) => HEADER_VALUE.test(key.reveal()), issueText(message('settings.header-value')))
        .describe("The header's whole value"),
    }),
    z.strictObject({
      kind: z.literal('basic'),
      username: text
        .refine((username) => !username.includes(':'), issueText(message('username-invalid.remedy')))
        .describe('Name of the login; no colon'),
      password: secrets.text.describe('Its password'),
    }),
  ] as const;
}

const subject = text
  .optional()
  .describe(
    "The vendor's own id of the account, as status shows it in brackets; of HubSpot the id of the account (Hub ID)",
  );
const address = text
  .optional()
  .describe('E-mail address that the vendor has verified, or user name (Microsoft, Salesforce)');
const domain = z
  .string()
  .regex(/^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$/i, issueText(message('settings.domain')))
  .optional()
  .describe("Domain of the organisation's users: of Google Workspace, or of user names at Microsoft");

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
    statuses: distinctList(z.enum(APPOINTMENT_STATUSES)).min(1).optional().describe('Of these statuses'),
    agendas: distinctList(clinicId).min(1).optional().describe("Of these of the clinic's agendas, by id"),
    treatments: distinctList(clinicId).min(1).optional().describe('Of these treatments, by id'),
    colour: z.enum(COLOURS).optional().describe('For Google and CalDAV'),
    category: z
      .string()
      .trim()
      .min(1)
      .max(60)
      .regex(/^[^,;\p{Cc}]+$/u, issueText(message('settings.category-name')))
      .optional()
      .describe('For Outlook and CalDAV'),
  })
  .refine(
    ({ colour, category }) => colour !== undefined || category !== undefined,
    issueText(message('settings.label')),
  )
  .meta({ description: 'Appointments that meet every condition named, and what they get.' });

const target = z.strictObject({
  connector: z.string().describe('What kind of target this is'),
  connection: z.string().describe('A name of connections above'),
  agendas: z
    .union([z.literal('all'), distinctList(clinicId).min(1)])
    .optional()
    .describe(
      "Ids of the clinic's agendas that go into this target, or all; a calendar must name them, for a CRM it is all",
    ),
  treatments: z
    .union([z.literal('all'), distinctList(clinicId).min(1)])
    .default('all')
    .describe('Ids of the treatments whose appointments go into this target, or all'),
  blockedTime: z
    .enum(['show', 'hide'])
    .default('show')
    .describe('Time that is blocked for no patient: shown as busy, or left out'),
  window: z
    .strictObject({
      pastDays: wholeNumber(0, 366).default(7).describe('Days before today that are kept up to date'),
      futureDays: wholeNumber(1, 1_096).default(180).describe('Days ahead that are kept up to date'),
    })
    .prefault({}),
  title: z
    .enum(TITLES)
    .optional()
    .describe(
      'What titles tell; initials and full tell of the patient and need titleReason. Default: appointment, and busy in a feed',
    ),
  titleReason: text.optional().describe('Why the titles may tell of patients: who decided, and on what ground'),
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
    .describe(
      'How a title is put together, such as `[{agenda}: ]{title}`; what is named beside title must be in fields',
    ),
  fields: distinctList(z.enum(FIELDS)).default([]).describe('What else an entry may tell'),
  statuses: distinctList(z.enum(APPOINTMENT_STATUSES))
    .min(1)
    .default(SHOWN_BY_DEFAULT)
    .describe('Appointments to show'),
  free: distinctList(z.enum(APPOINTMENT_STATUSES))
    .default([...FREE_BY_DEFAULT])
    .describe('Appointments that are shown and leave their time free'),
  tentative: distinctList(z.enum(APPOINTMENT_STATUSES))
    .default([])
    .describe('Appointments that block their time and are shown as not yet certain'),
  visibility: z
    .enum(['private', 'default'])
    .default('private')
    .describe('Who may read an entry: private, or whoever may read its calendar (default)'),
  labels: z
    .array(label)
    .max(100)
    .default([])
    .describe('Colours and categories of appointments; the first that fits counts. What people choose instead stands'),
  reminderMinutes: z
    .union([wholeNumber(0, LONGEST_REMINDER_MINUTES), z.literal('none')])
    .optional()
    .describe(
      "Minutes before the start at which calendars remind whoever reads them; none: no alert, also not Apple's own (CalDAV alone)",
    ),
  links: distinctList(z.enum(['page', 'teleVisit']))
    .default([])
    .describe("Addresses that an entry may show: the appointment's page in the clinic system, and its video visit"),
  firstRun: z.enum(['apply', 'plan']).default('apply').describe('plan: the first run waits for a person to approve it'),
  guard: guardOverrides,
  formerly: name
    .optional()
    .describe('Id under which its entries were first written; keeps them its own when the target is given another id'),
  audit: z
    .strictObject({
      drift: z
        .enum(['repair', 'keep', 'report'])
        .default('repair')
        .describe(
          'What is done about changes by hand: restore them, keep them until the appointment changes, or only tell',
        ),
      rewritesPerDay: wholeNumber(1, 1_000)
        .default(10)
        .describe('An entry that had to be restored more often than this in a day is left alone and reported'),
    })
    .prefault({}),
  paused: z
    .boolean()
    .default(false)
    .describe('Nothing is planned or written for this target, but for the erasures of forgotten patients'),
  crm: crmSchema.optional().describe('What a CRM is told; calendars have no such part, and CRMs need it'),
  settings: z.unknown().optional().describe("The connector's own part"),
});

/** What `language` is. */
export const LANGUAGE = { description: 'Language of titles and pages' };

/** Schema of `tenants/<tenant>.yaml`. Each target's own part is left to its connector's schema. */
export function tenantSchema(secrets: SecretSchemas) {
  return z.strictObject({
    name: text.describe('What people call the clinic'),
    language: z.enum(['it', 'en']).meta(LANGUAGE),
    zone: zone().describe("The clinic's time zone, an IANA name"),
    paused: z.boolean().default(false).describe('Nothing is read or written for this tenant'),
    formerly: name
      .optional()
      .describe("Id under which its targets' entries were first written; keeps them its own when the file is renamed"),
    clinic: z.strictObject({
      client: name.describe('A name of clinicClients in the settings'),
      tenantId: clinicId.nullable().default(null).describe("The clinic's id; needed when the login sees several"),
      scopes: z
        .array(z.enum(CLINIC_SCOPES))
        .default([])
        .describe('Asked for at the login beside what targets, reminders and triggers need, for the command clinic'),
      account: expectedAccount.byAddress,
    }),
    approvals: tenantApprovals.optional().describe('What two persons have to want here, beside what the settings say'),
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
    events: distinctList(z.enum(TRIGGER_EVENTS)).min(1).describe('What this receiver is told of'),
  });
  return z.strictObject({
    everyMinutes: wholeNumber(1, 1_440)
      .default(10)
      .describe('How often the lists of reports, invoices and appointments are read'),
    mostAtOnce: wholeNumber(1, 100_000)
      .default(200)
      .describe(
        'When one reading finds more new documents or changed or missing appointments than this, the receiver is told of none until a person looks',
      ),
    endpoints: mapOf(endpoint)
      .refine((endpoints) => endpoints.size > 0, AT_LEAST_ONE)
      .describe('Receivers of messages about reports, invoices and appointments, by name'),
  });
}

/** `triggers` of a tenant file as read. */
export type TriggerFile = z.output<ReturnType<typeof triggerSchema>>;
/** One receiver as read. */
export type TriggerEndpoint = TriggerFile['endpoints'] extends ReadonlyMap<string, infer Endpoint> ? Endpoint : never;
