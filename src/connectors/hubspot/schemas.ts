import { z } from 'zod';
import { issueText, message } from '../../messages/message.ts';
import { baseAddress, text, wholeNumber } from '../../settings/common-schemas.ts';
import { HUBSPOT_VERSION } from '../../settings/crm-clients.ts';
import { DEFAULT_API_URL, LARGEST_LIST, SEARCH_LAG_SECONDS } from './limits.ts';

/** Name of a property or a group in HubSpot's form (developers.hubspot.com, properties). */
const internalName = z.string().regex(/^[a-z][a-z0-9_]{0,99}$/, issueText(message('hubspot.internal-name')));

/**
 * HubSpot's names for the legal basis of mails.
 * @see https://developers.hubspot.com/docs/api-reference/latest/communication-preferences/status/update-subscription
 */
const LEGAL_BASES = [
  'CONSENT_WITH_NOTICE',
  'LEGITIMATE_INTEREST_CLIENT',
  'LEGITIMATE_INTEREST_OTHER',
  'LEGITIMATE_INTEREST_PQL',
  'NON_GDPR',
  'PERFORMANCE_OF_CONTRACT',
  'PROCESS_AND_STORE',
] as const;

/** Consent of the clinic as a HubSpot subscription. */
const subscriptionRule = z
  .strictObject({
    property: internalName.describe('Mapped property that contains the consent: true, false or empty.'),
    subscription: wholeNumber(1, Number.MAX_SAFE_INTEGER).describe('Id of the subscription type in HubSpot.'),
    legalBasis: z.enum(LEGAL_BASES).describe("Legal basis of communication, with HubSpot's value."),
    explanation: text
      .optional()
      .describe('How and where patients gave consent. Required for every legal basis except `NON_GDPR`.'),
  })
  .refine(
    ({ legalBasis, explanation }) => legalBasis === 'NON_GDPR' || explanation !== undefined,
    issueText(message('hubspot.explanation')),
  );

export type SubscriptionRule = z.infer<typeof subscriptionRule>;

/** HubSpot-specific part of a target in the tenant file. */
export const settingsSchema = z.strictObject({
  apiUrl: baseAddress
    .default(DEFAULT_API_URL)
    .describe(`URL of the API, for tests and demonstrations. Default: \`${DEFAULT_API_URL}\`.`),
  version: z
    .string()
    .regex(/^20\d{2}-(03|09)$/, issueText(message('hubspot.version')))
    .default(HUBSPOT_VERSION)
    .describe('API version, by date.'),
  object: z
    .string()
    .regex(/^(2-\d{1,12}|p\d*_[a-z0-9_]{1,100})$/, issueText(message('hubspot.object')))
    .optional()
    .describe(
      'Id or full name of a custom object that replaces meetings or deals. Keys of custom objects are unique; keys of meetings are not guaranteed to be unique.',
    ),
  searchLagSeconds: wholeNumber(1, 3_600)
    .default(SEARCH_LAG_SECONDS)
    .describe(
      "Seconds until HubSpot's search shows a new meeting. After a lost response the daemon waits this long before a retry.",
    ),
  subscriptions: z
    .array(subscriptionRule)
    .max(20)
    .default([])
    .describe(
      'Consents of patients that also set HubSpot subscription statuses. HubSpot uses these statuses to allow mails.',
    ),
  keyProperty: internalName
    .default('clinic_mirror_key')
    .describe(
      "Unique property for clinic-mirror's key, created if missing. All targets of one account must use the same property, because activities and deals find contacts by this key.",
    ),
  stampProperty: internalName
    .default('clinic_mirror_stamp')
    .describe("Property for clinic-mirror's owner tag and the encrypted record id, created if missing."),
  propertyGroup: internalName.default('clinic_mirror').describe('Group of both properties, created if missing.'),
});

/** Validated settings of one HubSpot target. */
export type HubSpotSettings = z.infer<typeof settingsSchema>;

// Schemas of HubSpot's responses contain only the fields in use, so that new API fields break nothing.

const lists = z.record(z.string(), z.array(z.string())).optional().catch(undefined);
const word = z.string().optional().catch(undefined);

const errorDetailsSchema = z
  .array(z.object({ code: word, message: word, context: lists }))
  .optional()
  .catch(undefined);

/** Error of a call, or of an object in a batch (developers.hubspot.com, error handling). */
export const errorBodySchema = z.object({
  category: word,
  /** Exceeded limit, with 429. */
  policyName: word,
  message: word,
  errors: errorDetailsSchema,
  context: lists,
});

/** Account of a connection (developers.hubspot.com, account information). */
export const accountSchema = z.object({ portalId: z.number().int(), timeZone: z.string().optional().catch(undefined) });

/** Definition of a property (developers.hubspot.com, properties). */
export const propertySchema = z.object({
  name: z.string(),
  type: z.string(),
  fieldType: z.string(),
  hasUniqueValue: z.boolean().default(false),
  options: z.array(z.object({ value: z.string(), label: z.string().default('') })).default([]),
  modificationMetadata: z.object({ readOnlyValue: z.boolean() }).optional(),
});

export type PropertyDefinition = z.infer<typeof propertySchema>;

/** Properties of a type of object, parsed separately. */
export const propertiesSchema = z.object({ results: z.array(z.unknown()) });

const stageSchema = z.object({ id: z.string(), label: z.string() });

/** Pipeline with its stages (developers.hubspot.com, pipelines). */
export const pipelineSchema = z.object({ id: z.string(), label: z.string(), stages: z.array(stageSchema) });

/** Object. Only upserts return `new` and `objectWriteTraceId`. */
export const recordSchema = z.object({
  id: z.string().min(1),
  properties: z.record(z.string(), z.unknown()),
  new: z.boolean().optional(),
  objectWriteTraceId: z.string().optional(),
});

/** Object in a search result. Its current state is fetched separately. */
export const foundSchema = z.object({ id: z.string().min(1) });

/** Response to a batch, 200 or 207. Objects are parsed separately. */
export const batchSchema = z.object({
  results: z.array(z.unknown()).max(LARGEST_LIST),
  errors: z.array(z.unknown()).max(LARGEST_LIST).default([]),
});

/** One page of a list. Objects are parsed separately. */
export const pageSchema = z.object({
  results: z.array(z.unknown()).max(LARGEST_LIST),
  paging: z.object({ next: z.object({ after: z.string().min(1) }).optional() }).nullish(),
});

/** Listed object that has a contact association of any type. */
export const joinedSchema = z.object({
  associations: z.object({ contacts: z.object({ results: z.array(z.unknown()).min(1) }) }),
});

/** Subscription type of the account (developers.hubspot.com, communication preferences, definitions). */
export const definitionSchema = z.object({ id: z.union([z.string(), z.number()]).transform(String) });

/** Subscription status of an e-mail address, as read and as written. */
export const statusSchema = z.object({
  subscriberIdString: z.string(),
  subscriptionId: z.number(),
  status: z.string(),
});

/** Subscription statuses of one e-mail address in a batch response. */
export const subscriberSchema = z.object({ subscriberIdString: z.string(), statuses: z.array(statusSchema) });

/** Created association. */
export const associationSchema = z.object({ from: z.object({ id: z.string() }) });
