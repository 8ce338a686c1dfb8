import { z } from 'zod';
import { issueText, message } from '../../messages/message.ts';
import { baseAddress } from '../../settings/common-schemas.ts';
import { API_VERSION, DUPLICATE_HEADER_SINCE, PAGE_SIZE, STOP_AT_SHARE } from './limits.ts';

/** API name of an object or a field (Object Reference, Naming Conventions). */
const apiName = z.string().regex(/^[A-Za-z]\w{0,79}$/, issueText(message('salesforce.api-name')));

/**
 * Opt-out fields of the object Individual; the settings select one.
 * @see https://developer.salesforce.com/docs/atlas.en-us.object_reference.meta/object_reference/sforce_api_objects_individual.htm
 */
const OPT_OUTS = [
  'HasOptedOutSolicit',
  'HasOptedOutProcessing',
  'HasOptedOutProfiling',
  'HasOptedOutTracking',
  'HasOptedOutGeoTracking',
] as const;

/** Consent of the clinic as a Salesforce opt-out. */
const individualRule = z.strictObject({
  property: apiName.describe('Mapped field that contains the consent: true, false or empty.'),
  optOut: z.enum(OPT_OUTS).describe('Field of Individual that is set for refused consent.'),
});

export type IndividualRule = z.infer<typeof individualRule>;

/** Salesforce-specific part of a target in the tenant file. */
export const settingsSchema = z
  .strictObject({
    object: apiName
      .optional()
      .describe(
        'Object to write. Default: `Contact` for patients, `Event` for appointments, `Opportunity` for invoices.',
      ),
    keyField: apiName
      .default('Clinic_Key__c')
      .describe("Text field of the object for clinic-mirror's key. The field must be External ID and Unique."),
    stampField: apiName
      .default('Clinic_Stamp__c')
      .describe("Text field of the object (255 characters) for clinic-mirror's owner tag."),
    contactField: apiName
      .optional()
      .describe(
        'Field that refers to the contact. Default: `WhoId` for `Event`, otherwise `Contact__c`. Not for patients.',
      ),
    contactObject: apiName.default('Contact').describe('`object` of the patients target.'),
    contactKeyField: apiName.default('Clinic_Key__c').describe('`keyField` of the patients target.'),
    apiVersion: z
      .string()
      .regex(/^([5-9]\d|\d{3})\.0$/, issueText(message('salesforce.version')))
      .default(API_VERSION)
      .describe('Version of the REST API, at least 50.0.'),
    stopAtShare: z
      .number()
      .min(0.05)
      .max(1)
      .default(STOP_AT_SHARE)
      .describe("Share of the org's daily API calls, by all apps, at which this target pauses."),
    allowDuplicates: z
      .boolean()
      .default(false)
      .describe(
        'Saves records that only cause a warning of a Salesforce duplicate rule. Records that a rule blocks are refused.',
      ),
    emptyBin: z
      .boolean()
      .default(false)
      .describe(
        'When you forget a patient, `true` deletes the records from the recycle bin at once with a call of the SOAP API. Otherwise the cleared records remain in the bin for 15 days.',
      ),
    individuals: z
      .array(individualRule)
      .max(20)
      .default([])
      .describe("Refused consents of contacts that also go to Salesforce's Individual object."),
    individualKeyField: apiName
      .default('Clinic_Key__c')
      .describe("Text field of Individual for clinic-mirror's key. The field must be External ID and Unique."),
    instanceUrl: baseAddress
      .optional()
      .describe('URL of the org. Required only if the connection does not contain the URL.'),
  })
  .refine(({ allowDuplicates, apiVersion }) => !allowDuplicates || Number(apiVersion) >= DUPLICATE_HEADER_SINCE, {
    message: issueText(message('salesforce.duplicates-version', { version: `${DUPLICATE_HEADER_SINCE}.0` })),
    path: ['apiVersion'],
  });

/** Validated settings of one Salesforce target. */
export type SalesforceSettings = z.infer<typeof settingsSchema>;

// Schemas of Salesforce's responses contain only the fields in use, so that new API fields break nothing.

/** Refusal of a whole request: a list of errors. Messages repeat sent values, so they are not parsed. */
export const refusalSchema = z.array(z.object({ errorCode: z.string() })).min(1);

/** Response to a composite; parts are parsed separately. */
export const compositeSchema = z.object({ compositeResponse: z.array(z.unknown()) });

export const partSchema = z.object({
  referenceId: z.string(),
  httpStatusCode: z.number().int(),
  body: z.unknown().optional(),
});

const rowErrorSchema = z.object({ statusCode: z.string(), fields: z.array(z.string()).nullish() });

/** Result of one object in a collection; results are in the order of the objects. */
export const rowResultSchema = z.object({
  id: z.string().nullish(),
  success: z.boolean(),
  created: z.boolean().optional(),
  errors: z.array(rowErrorSchema).nullish(),
});

export const rowResultsSchema = z.array(rowResultSchema);

export type RowResult = z.infer<typeof rowResultSchema>;

/** One page of a query; objects are parsed separately. */
export const pageSchema = z.object({
  done: z.boolean(),
  nextRecordsUrl: z.string().optional(),
  records: z.array(z.unknown()).max(PAGE_SIZE),
});

/** Object in a query result, parsed separately with pauses. */
export const recordSchema = z.looseObject({ Id: z.string().regex(/^\w{15,18}$/) });
export type SeenRecord = z.infer<typeof recordSchema>;

/** Field in an object's description. */
export const fieldSchema = z.object({
  name: z.string(),
  type: z.string(),
  length: z.number().default(0),
  createable: z.boolean().default(false),
  updateable: z.boolean().default(false),
  nillable: z.boolean().default(true),
  defaultedOnCreate: z.boolean().default(false),
  externalId: z.boolean().default(false),
  unique: z.boolean().default(false),
  relationshipName: z.string().nullish(),
  referenceTo: z.array(z.string()).nullish(),
  restrictedPicklist: z.boolean().default(false),
  picklistValues: z.array(z.object({ value: z.string(), label: z.string().nullish() })).default([]),
});

/** Field of an object description. Fields that are invisible to the connection are missing. */
export type DescribedField = z.infer<typeof fieldSchema>;

/** Object description. Fields are parsed separately, with pauses. */
export const describeSchema = z.object({
  name: z.string(),
  createable: z.boolean().default(false),
  updateable: z.boolean().default(false),
  deletable: z.boolean().default(false),
  fields: z.array(z.unknown()),
});
