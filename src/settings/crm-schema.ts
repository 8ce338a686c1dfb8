import { z } from 'zod';
import { mapOf, name, text, wholeNumber } from './common-schemas.ts';

/** A property as the CRM names it. */
const property = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_.]{0,99}$/, 'give the name that the CRM uses in its API, not its label');

/** What can be done to a value on its way, in the order that they are listed in. */
export const TRANSFORMS = ['e164', 'lower', 'upper', 'title-case', 'date', 'year', 'first-line'] as const;

/** Where a property's value comes from. */
const source = z.strictObject({
  from: text.optional().describe('A field of the record, such as lastName or derived.nextAppointmentAt'),
  value: z.union([text, z.number(), z.boolean()]).optional().describe('The same for every record'),
  expression: text
    .optional()
    .describe('A JSONata expression over the record; needs expressions: allowed in the same target'),
  transforms: z.array(z.enum(TRANSFORMS)).default([]).describe('Applied in this order'),
  kind: z
    .enum(['text', 'number', 'boolean', 'date', 'instant'])
    .optional()
    .describe('What an expression gives; text unless told'),
});

const rule = z.union([text.transform((from) => source.parse({ from })), source]);

/** What a target in a CRM follows, and how records become its objects. */
export const crmSchema = z.strictObject({
  stream: z
    .enum(['patients', 'appointments', 'invoices'])
    .default('patients')
    .describe('patients become contacts, appointments activities, invoices deals'),
  contacts: name
    .optional()
    .describe(
      'For appointments and invoices: the target that holds their patients; those whom it leaves out are left out here',
    ),
  consents: z
    .array(name)
    .default([])
    .describe("What a patient must have agreed to, by the names of the clinic profile's patients.consents"),
  withdrawn: z
    .enum(['remove', 'keep'])
    .default('remove')
    .describe('A patient who no longer agrees is removed, or kept as last written'),
  inactive: z
    .enum(['keep', 'remove'])
    .default('keep')
    .describe('Patients that the clinic has closed: kept up to date like others, or removed'),
  mapping: mapOf(rule, property).describe('What each property of the CRM holds'),
  sensitive: mapOf(text, text)
    .prefault({})
    .describe('Sensitive fields that may be mapped, each with the reason: who decided, and on what ground'),
  expressions: z.enum(['refused', 'allowed']).default('refused').describe('Whether the mapping may hold expressions'),
  region: z
    .string()
    .regex(/^[A-Z]{2}$/, 'give the two letters of a country, as in IT')
    .default('IT')
    .describe('Country of phone numbers that are written without one'),
  derived: z
    .strictObject({
      historyDays: wholeNumber(1, 3_660).default(1_096).describe('Days before today whose appointments count'),
      periodDays: wholeNumber(1, 3_660).default(365).describe('Days before today in which visits and no-shows count'),
      lapsedAfterDays: wholeNumber(1, 3_660)
        .default(548)
        .describe('A patient without a visit for so long, and without an appointment ahead, has lapsed'),
    })
    .prefault({})
    .describe('How the derived fields are reckoned'),
  everyMinutes: wholeNumber(1, 1_440)
    .default(15)
    .describe('How often patients and invoices are read; appointments are read with each pull'),
});

/** The part of a target in a CRM, as read. */
export type CrmFile = z.output<typeof crmSchema>;
