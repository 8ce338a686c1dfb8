import { z } from 'zod';
import { mapOf, name, text, wholeNumber } from './common-schemas.ts';
import { LONGEST_EXPRESSION, MOST_PARENTS, parentsIn } from './crm-expressions.ts';
import { CRM_TRANSFORMS, type CrmTransform } from './crm-sources.ts';

/** A property as the CRM names it. */
const property = z
  .string()
  .regex(/^[A-Za-z][A-Za-z0-9_.]{0,99}$/, 'give the name that the CRM uses in its API, not its label');

/** What can be done to a value on its way; what each takes and gives stands in {@link CRM_TRANSFORMS}. */
export const TRANSFORMS = Object.keys(CRM_TRANSFORMS) as CrmTransform[];

const KINDS = ['text', 'number', 'boolean', 'date', 'instant'] as const;

const hasFewParents = (expression: string) => parentsIn(expression) <= MOST_PARENTS;

/** Where a property's value comes from. */
const source = z
  .strictObject({
    from: text.optional().describe('A field of the record, such as lastName or derived.nextAppointmentAt'),
    value: z
      .union([z.string(), z.number(), z.boolean()], { error: 'give a text, a number, true or false' })
      .optional()
      .describe('The same for every record, written as it stands here'),
    expression: text
      .max(LONGEST_EXPRESSION, `give at most ${LONGEST_EXPRESSION} characters`)
      .refine(hasFewParents, `use the sign % (the parent) at most ${MOST_PARENTS} times`)
      .optional()
      .describe('A JSONata expression over the record; needs expressions: allowed in the same target'),
    transforms: z.array(z.enum(TRANSFORMS)).max(10).default([]).describe('Applied in this order'),
    values: mapOf(z.union([z.string(), z.number(), z.boolean()]), text)
      .refine(
        (values) => new Set([...values.values()].map((value) => typeof value)).size <= 1,
        'give values of one kind',
      )
      .optional()
      .describe(
        "The CRM's own value for each of the field's, such as booked: SCHEDULED; what is not listed is left empty",
      ),
    kind: z.enum(KINDS).optional().describe('What an expression gives; text unless told'),
  })
  .refine(
    ({ from, value, expression }) => [from, value, expression].filter((one) => one !== undefined).length === 1,
    'give exactly one of from, value and expression',
  )
  .refine(
    ({ kind, expression }) => kind === undefined || expression !== undefined,
    'kind belongs to an expression alone',
  )
  .refine(
    ({ value, transforms, values }) => value === undefined || (transforms.length === 0 && values === undefined),
    'write the value as it should be, without transforms and values',
  );

/** Of one property: the name of a field, or how its value is made. */
const rule = z.union([text.transform((from): z.output<typeof source> => ({ from, transforms: [] })), source]);

/** How the value of one property is made, as read. */
export type CrmRule = z.output<typeof source>;

/** Days that the derived fields compute with, unless told. */
export const DEFAULT_DAYS = { historyDays: 1_096, periodDays: 365, lapsedAfterDays: 548 } as const;

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
  mapping: mapOf(rule, property)
    .refine((rules) => rules.size > 0, 'name at least one property')
    .describe('What each property of the CRM holds'),
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
      historyDays: wholeNumber(1, 3_660)
        .default(DEFAULT_DAYS.historyDays)
        .describe('Days before today whose appointments count'),
      periodDays: wholeNumber(1, 3_660)
        .default(DEFAULT_DAYS.periodDays)
        .describe('Days before today in which visits and no-shows count'),
      lapsedAfterDays: wholeNumber(1, 3_660)
        .default(DEFAULT_DAYS.lapsedAfterDays)
        .describe('A patient without a visit for so long, and without an appointment ahead, has lapsed'),
    })
    .prefault({})
    .describe('How the derived fields are computed'),
  everyMinutes: wholeNumber(1, 1_440)
    .default(15)
    .describe('How often patients and invoices are read; appointments are read with each pull'),
});

/** The part of a target in a CRM, as read. */
export type CrmFile = z.output<typeof crmSchema>;
