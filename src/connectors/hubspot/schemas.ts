import { z } from 'zod';
import { issueText, message } from '../../messages/message.ts';
import { baseAddress, text, wholeNumber } from '../../settings/common-schemas.ts';
import { HUBSPOT_VERSION } from '../../settings/crm-clients.ts';
import { DEFAULT_API_URL, SEARCH_LAG_SECONDS } from './limits.ts';

/** The name of a property or a group, as HubSpot takes it (developers.hubspot.com, properties). */
const internalName = z.string().regex(/^[a-z][a-z0-9_]{0,99}$/, issueText(message('hubspot.internal-name')));

/**
 * On what ground somebody may be written to, as HubSpot names it.
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

/** A consent of the clinic as HubSpot's own: who is subscribed to which mails. */
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

/** Which mails follow which consent. */
export type SubscriptionRule = z.infer<typeof subscriptionRule>;

/** The vendor's part of a target in the tenant file. */
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

/** Settings of one HubSpot target, checked. */
export type HubSpotSettings = z.infer<typeof settingsSchema>;

// What HubSpot answers: only the fields that are used, so that the API may grow without breaking us.

const lists = z.record(z.string(), z.array(z.string())).optional().catch(undefined);
const word = z.string().optional().catch(undefined);

const errorDetailsSchema = z
  .array(z.object({ code: word, message: word, context: lists }))
  .optional()
  .catch(undefined);

/** What is wrong with a call, or with a row of a batch (developers.hubspot.com, error handling). */
export const errorBodySchema = z.object({
  category: word,
  /** With 429: which limit. */
  policyName: word,
  message: word,
  errors: errorDetailsSchema,
  context: lists,
});

/** The account of a login (developers.hubspot.com, account information). */
export const accountSchema = z.object({ portalId: z.number().int(), timeZone: z.string().optional().catch(undefined) });

/** A property's definition (developers.hubspot.com, properties). */
export const propertySchema = z.object({
  name: z.string(),
  type: z.string(),
  fieldType: z.string(),
  hasUniqueValue: z.boolean().default(false),
  options: z.array(z.object({ value: z.string(), label: z.string().default('') })).default([]),
  modificationMetadata: z.object({ readOnlyValue: z.boolean() }).optional(),
});

/** A property's definition. */
export type PropertyDefinition = z.infer<typeof propertySchema>;

/** The properties of a kind of record; each is parsed alone. */
export const propertiesSchema = z.object({ results: z.array(z.unknown()) });

const stageSchema = z.object({ id: z.string(), label: z.string() });

/** A pipeline with its stages (developers.hubspot.com, pipelines). */
export const pipelineSchema = z.object({ id: z.string(), label: z.string(), stages: z.array(stageSchema) });

/** A record. `new` and `objectWriteTraceId` come with upserts alone. */
export const recordSchema = z.object({
  id: z.string().min(1),
  properties: z.record(z.string(), z.unknown()),
  new: z.boolean().optional(),
  objectWriteTraceId: z.string().optional(),
});

/** A record that a search names; it is read as it is now. */
export const foundSchema = z.object({ id: z.string().min(1) });

/** The answer to a batch, 200 or 207; each row is parsed alone. */
export const batchSchema = z.object({ results: z.array(z.unknown()), errors: z.array(z.unknown()).default([]) });

/** One page of a list; each record is parsed alone. */
export const pageSchema = z.object({
  results: z.array(z.unknown()),
  paging: z.object({ next: z.object({ after: z.string().min(1) }).optional() }).nullish(),
});

/** A record of a list that is joined with a contact, of any type; one that is not has no such part. */
export const joinedSchema = z.object({
  associations: z.object({ contacts: z.object({ results: z.array(z.unknown()).min(1) }) }),
});

/** A subscription type of the account (developers.hubspot.com, communication preferences, definitions). */
export const definitionSchema = z.object({ id: z.union([z.string(), z.number()]).transform(String) });

const statusSchema = z.object({
  subscriberIdString: z.string(),
  subscriptionId: z.number(),
  status: z.string(),
});

/** What one address is subscribed to, as a batch reads it. */
export const subscriberSchema = z.object({ subscriberIdString: z.string(), statuses: z.array(statusSchema) });

/** One status as a batch wrote it. */
export const writtenStatusSchema = statusSchema;

/** One association that was made. */
export const associationSchema = z.object({ from: z.object({ id: z.string() }) });
