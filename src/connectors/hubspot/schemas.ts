import { z } from 'zod';
import { baseAddress } from '../../settings/common-schemas.ts';
import { DEFAULT_API_URL } from './limits.ts';

/** The name of a property or a group, as HubSpot takes it (developers.hubspot.com, properties). */
const internalName = z
  .string()
  .regex(/^[a-z][a-z0-9_]{0,99}$/, 'begin with a letter and use a-z, 0-9 and _, as HubSpot wants its internal names');

/** The vendor's part of a target in the tenant file. */
export const settingsSchema = z.strictObject({
  apiUrl: baseAddress
    .default(DEFAULT_API_URL)
    .describe(`Where HubSpot is served: tests, demonstrations. Default: ${DEFAULT_API_URL}`),
  version: z
    .union([z.literal('v3'), z.string().regex(/^\d{4}-\d{2}$/, 'give v3, or year and month as in 2026-09')])
    .default('v3')
    .describe('Version of the API: v3 (with v4 for associations), or the date of a dated one, such as 2026-09'),
  keyProperty: internalName
    .default('clinic_mirror_key')
    .describe(
      'Property that holds our key, unique; made when it is absent. The same for all targets of an account, since activities and deals find their contacts by it',
    ),
  stampProperty: internalName
    .default('clinic_mirror_stamp')
    .describe('Property that holds our owner tag and the sealed record id; made when it is absent'),
  propertyGroup: internalName
    .default('clinic_mirror')
    .describe('Group in which the two properties are made; made when it is absent'),
});

/** Settings of one HubSpot target, checked. */
export type HubSpotSettings = z.infer<typeof settingsSchema>;

// What HubSpot answers: only the fields that are used, so that the API may grow without breaking us.

const lists = z.record(z.string(), z.array(z.string())).optional().catch(undefined);
const word = z.string().optional().catch(undefined);

const errorDetailsSchema = z
  .array(z.object({ code: word, context: lists }))
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
  options: z.array(z.object({ value: z.string() })).default([]),
  modificationMetadata: z.object({ readOnlyValue: z.boolean() }).optional(),
});

/** A property's definition. */
export type PropertyDefinition = z.infer<typeof propertySchema>;

/** The properties of a kind of record; each is parsed alone. */
export const propertiesSchema = z.object({ results: z.array(z.unknown()) });

/** A record. `new` and `objectWriteTraceId` come with upserts alone. */
export const recordSchema = z.object({
  id: z.string().min(1),
  properties: z.record(z.string(), z.unknown()),
  new: z.boolean().optional(),
  objectWriteTraceId: z.string().optional(),
});

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

/** One association that was made. */
export const associationSchema = z.object({ from: z.object({ id: z.string() }) });
