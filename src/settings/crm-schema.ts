import { z } from 'zod';
import { parseTextFormat, type TextFormat } from '../core/model/text-format.ts';
import { issueText, message } from '../messages/message.ts';
import { mapOf, name, text, wholeNumber } from './common-schemas.ts';

/** Type of a source value, named like the types of CRM properties. */
export type SourceKind = 'text' | 'number' | 'boolean' | 'date' | 'instant';

/** A stream whose records become CRM objects. */
export type CrmStream = 'patients' | 'appointments' | 'invoices';

/** A record field for mappings. */
interface CrmSource {
  kind: SourceKind;
  /** Reveals health or identifies permanently: requires a reason in `sensitive`. */
  sensitive: boolean;
  /** Description for the documentation. */
  describe: string;
}

function open(kind: SourceKind, describe: string): CrmSource {
  return { kind, sensitive: false, describe };
}

function sensitive(kind: SourceKind, describe: string): CrmSource {
  return { kind, sensitive: true, describe };
}

/** Prefix of consents, by the names in the clinic profile: `consents.marketing`. */
export const CONSENT_PREFIX = 'consents.';

const PATIENTS: Readonly<Record<string, CrmSource>> = {
  firstName: open('text', 'First name'),
  lastName: open('text', 'Last name'),
  fullName: open('text', 'First and last name with a space between; only the existing one if the other is missing'),
  email: open('text', 'E-mail address'),
  phone: open('text', 'Telephone number, in E.164 if the number is valid'),
  mobilePhone: open('text', 'Mobile number, in E.164 if the number is valid'),
  language: open('text', 'Language as the clinic writes it, such as it or en-GB'),
  isActive: open('boolean', 'false for a patient that the clinic has closed'),
  gender: sensitive('text', '`M`, `F`, `Other`, `Unknown`, or the word of the clinic'),
  birthDate: sensitive('date', 'Date of birth'),
  taxCode: sensitive('text', 'Tax code; reveals the date and place of birth'),
  'address.street': open('text', 'Street and number; the one field that may have several lines'),
  'address.postalCode': open('text', 'Postal code'),
  'address.city': open('text', 'City'),
  'address.province': open('text', 'Province'),
  'address.country': open('text', 'Country as the clinic writes it'),
  updatedAt: open('instant', "The clinic's last change of the patient"),
  'derived.lastVisitAt': open('instant', 'Start of the last visit'),
  'derived.lastVisitOn': open('date', "Day of the last visit, in the clinic's zone"),
  'derived.nextAppointmentAt': open('instant', 'Start of the next appointment'),
  'derived.nextAppointmentOn': open('date', "Day of the next appointment, in the clinic's zone"),
  'derived.visits': open('number', 'Visits in the period'),
  'derived.noShows': open('number', 'Appointments in the period to which the patient did not come'),
  'derived.firstSeenOn': open('date', "Day of the first visit that is known, in the clinic's zone"),
  'derived.standing': open('text', '`new`, `active` or `lapsed`'),
  'derived.invoiced': open('number', 'Sum of the invoices'),
  'derived.paid': open('number', 'Sum of the paid amounts'),
  'derived.open': open('number', 'What is left to pay: invoiced less paid'),
};

const APPOINTMENTS: Readonly<Record<string, CrmSource>> = {
  startAt: open('instant', 'Start'),
  endAt: open('instant', 'End'),
  date: open('date', "Day of the start, in the clinic's zone"),
  durationMinutes: open('number', 'Length in minutes'),
  status: open(
    'text',
    '`booked`, `confirmed`, `arrived`, `in_progress`, `completed`, `cancelled`, `no_show` or `unknown`',
  ),
  location: open('text', 'Name of the location'),
  agenda: sensitive('text', "Name of the agenda; a doctor's or a department's name can reveal health"),
  treatment: sensitive('text', 'Name of the treatment'),
};

const INVOICES: Readonly<Record<string, CrmSource>> = {
  number: open('text', 'Number of the invoice'),
  date: open('date', 'Date of the invoice'),
  total: open('number', 'Total'),
  paid: open('number', 'Paid amount'),
  open: open('number', 'What is left to pay: total less paid'),
  currency: open('text', 'Currency, such as EUR'),
  doctors: sensitive('text', "Names of the doctors, with commas between; a doctor's name can reveal health"),
  isPaid: open('boolean', 'true when nothing is left to pay'),
  status: open('text', 'Status as the clinic writes it'),
};

/**
 * All mappable fields by stream. Clinic ids, notes, diagnoses and line texts are excluded permanently. `consents.<name>` of patients is
 * added by {@link crmSourceOf}.
 */
export const CRM_SOURCES: Readonly<Record<CrmStream, Readonly<Record<string, CrmSource>>>> = {
  patients: PATIENTS,
  appointments: APPOINTMENTS,
  invoices: INVOICES,
};

const CONSENT = open(
  'boolean',
  'What the patient agreed to, by the names of the clinic profile; empty if the clinic has no answer',
);

/** Returns the source of a path, or null. Any consent name is valid. */
export function crmSourceOf(stream: CrmStream, path: string): CrmSource | null {
  const sources = CRM_SOURCES[stream];
  if (Object.hasOwn(sources, path)) return sources[path] ?? null;
  return consentOf(stream, path) === null ? null : CONSENT;
}

/** Returns the consent name in a path, or null. */
export function consentOf(stream: CrmStream, path: string): string | null {
  if (stream !== 'patients' || !path.startsWith(CONSENT_PREFIX)) return null;
  return path.slice(CONSENT_PREFIX.length) || null;
}

/** Transforms with input and output types. */
export const CRM_TRANSFORMS = {
  e164: { takes: ['text'], gives: 'text' },
  lower: { takes: ['text'], gives: 'text' },
  upper: { takes: ['text'], gives: 'text' },
  'title-case': { takes: ['text'], gives: 'text' },
  date: { takes: ['instant', 'date'], gives: 'date' },
  year: { takes: ['instant', 'date'], gives: 'number' },
  'first-line': { takes: ['text'], gives: 'text' },
} as const satisfies Readonly<Record<string, { takes: readonly SourceKind[]; gives: SourceKind }>>;

export type CrmTransform = keyof typeof CRM_TRANSFORMS;

/** Returns the type after a sequence of transforms; `misfit` is the first transform with a wrong input type. */
export function kindAfter(
  kind: SourceKind,
  transforms: readonly CrmTransform[],
): { kind: SourceKind } | { misfit: CrmTransform; actual: SourceKind } {
  let currentKind = kind;
  for (const transform of transforms) {
    const { takes, gives } = CRM_TRANSFORMS[transform];
    if (!takes.some((taken) => taken === currentKind)) return { misfit: transform, actual: currentKind };
    currentKind = gives;
  }
  return { kind: currentKind };
}

/** Name of a CRM property. */
const property = z.string().regex(/^[A-Za-z][A-Za-z0-9_.]{0,99}$/, issueText(message('mapping.property')));

/** Names of transforms; {@link CRM_TRANSFORMS} has the input and output types. */
export const TRANSFORMS = Object.keys(CRM_TRANSFORMS) as CrmTransform[];

const constant = z.union([z.string(), z.number(), z.boolean()], { error: issueText(message('mapping.value')) });

/** Longest template of a mapping, in characters; with its fields, far below the longest property of a CRM. */
export const LONGEST_TEMPLATE = 1_000;

/** Characters of all templates of a mapping: each record reads them all in one turn. A mapping of a hundred fields has a fifth. */
export const MOST_TEMPLATE_CHARACTERS = 20_000;

/** Parses a template; null if malformed. Its fields are checked with the stream. */
export function parseTemplate(template: string): TextFormat | null {
  return parseTextFormat(template, (_name): _name is string => true);
}

const template = text
  .max(LONGEST_TEMPLATE, issueText(message('mapping.longest', { count: LONGEST_TEMPLATE })))
  .transform((written, context) => {
    const parsed = parseTemplate(written);
    if (parsed !== null) return parsed;
    context.addIssue({
      code: 'custom',
      message: issueText(message('mapping.template', { example: '{address.city}[ ({address.province})]' })),
    });
    return z.NEVER;
  });

const condition = z
  .strictObject({
    field: text.meta({ description: 'Field of the record.', examples: ['status'] }),
    equals: constant.optional().describe('The field has this value.'),
    in: z.array(constant).min(1).max(200).optional().describe('The field has one of these values.'),
    empty: z.boolean().optional().describe('The field is empty (`true`), or not empty (`false`).'),
  })
  .refine(
    ({ equals, in: list, empty }) => [equals, list, empty].filter((one) => one !== undefined).length === 1,
    issueText(message('mapping.one-condition')),
  );

/** Parsed condition of a rule. */
export type CrmCondition = z.output<typeof condition>;

/** Source of a property's value. */
const source = z
  .strictObject({
    from: text.optional().meta({ description: 'Field of the record.', examples: ['derived.nextAppointmentAt'] }),
    value: constant.optional().meta({ description: 'Constant value for every record.', examples: ['clinic'] }),
    template: template.optional().meta({
      description:
        'Text with fields in braces. Text in [square brackets] is omitted if one of its fields is empty. Without a value in any field, the property is empty.',
      examples: ['{address.city}[ ({address.province})]'],
    }),
    first: z
      .array(text)
      .min(2)
      .max(20)
      .optional()
      .meta({
        description: 'Fields of one kind; the first that is not empty is used.',
        examples: [['mobilePhone', 'phone']],
      }),
    transforms: z.array(z.enum(TRANSFORMS)).max(10).default([]).describe('Transformations, applied in this order.'),
    values: mapOf(constant, text)
      .refine(
        (values) => new Set([...values.values()].map((value) => typeof value)).size <= 1,
        issueText(message('mapping.kinds')),
      )
      .optional()
      .meta({
        description: 'CRM value for each value of the field. Values without a translation become empty.',
        examples: [{ booked: 'SCHEDULED' }],
      }),
    when: condition
      .optional()
      .describe('Condition; if it is not met, the property is empty, or has the value of `otherwise`.'),
    otherwise: constant.optional().meta({
      description: 'Constant value instead of an empty one. Default: empty.',
      examples: ['Other'],
    }),
  })
  .refine(
    ({ from, value, template, first }) =>
      [from, value, template, first].filter((one) => one !== undefined).length === 1,
    issueText(message('mapping.one-source')),
  )
  .refine(
    ({ value, transforms, values }) => value === undefined || (transforms.length === 0 && values === undefined),
    issueText(message('mapping.fixed-value')),
  );

/** Rule of a property: a field name, or a value description. */
const rule = z.union([text.transform((from): z.output<typeof source> => ({ from, transforms: [] })), source]);

/** Whether all templates of a mapping together may be parsed. @param written unchecked content */
export function hasModestTemplates(written: unknown): boolean {
  const lengths = Object.values(written ?? {}).map((one) => String(Object(one).template ?? '').length);
  return lengths.reduce((sum, length) => sum + length, 0) <= MOST_TEMPLATE_CHARACTERS;
}

/** Checks the templates before they are parsed. */
function withModestTemplates(written: unknown, context: z.RefinementCtx): unknown {
  if (hasModestTemplates(written)) return written;
  const remedy = issueText(message('mapping.all-templates', { count: MOST_TEMPLATE_CHARACTERS }));
  context.addIssue({ code: 'custom', message: remedy });
  return z.NEVER;
}

/** Parsed rule of a property. */
export type CrmRule = z.output<typeof source>;

/** Default periods of derived fields in days. */
export const DEFAULT_DAYS = { historyDays: 1_096, periodDays: 365, lapsedAfterDays: 548 } as const;

/** Stream and mapping of a CRM target. */
export const crmSchema = z.strictObject({
  stream: z
    .enum(['patients', 'appointments', 'invoices'])
    .default('patients')
    .describe('`patients` become contacts, `appointments` become activities, `invoices` become deals.'),
  contacts: name
    .optional()
    .describe(
      'Target that contains the contacts. Required for the streams `appointments` and `invoices`, which omit patients that the contacts target omits.',
    ),
  consents: z
    .array(name)
    .default([])
    .meta({
      description: "Consents that a patient must have given, by the names in the profile's `patients.consents`.",
      examples: [['marketing']],
    }),
  withdrawn: z
    .enum(['remove', 'keep'])
    .default('remove')
    .describe('Handling of patients who withdraw consent: `remove` the object, or `keep` the last version.'),
  inactive: z
    .enum(['keep', 'remove'])
    .default('keep')
    .describe('Handling of inactive patients: `keep` up to date, or `remove`.'),
  mapping: z
    .preprocess(
      withModestTemplates,
      mapOf(rule, property).refine((rules) => rules.size > 0, issueText(message('mapping.empty'))),
    )
    .meta({ description: 'Source of each CRM property.', examples: [{ firstname: { from: 'firstName' } }] }),
  sensitive: mapOf(text, text)
    .prefault({})
    .describe('Sensitive fields that the mapping may contain, with a reason: the decision maker and the legal basis.'),
  region: z
    .string()
    .regex(/^[A-Z]{2}$/, issueText(message('mapping.country')))
    .default('IT')
    .describe('Country of phone numbers without an international prefix.'),
  derived: z
    .strictObject({
      historyDays: wholeNumber(1, 3_660)
        .default(DEFAULT_DAYS.historyDays)
        .describe('Days in the past from which appointments are included.'),
      periodDays: wholeNumber(1, 3_660)
        .default(DEFAULT_DAYS.periodDays)
        .describe('Days in the past from which visits and no-shows are counted.'),
      lapsedAfterDays: wholeNumber(1, 3_660)
        .default(DEFAULT_DAYS.lapsedAfterDays)
        .describe('Days without a visit after which a patient without a future appointment has lapsed.'),
    })
    .prefault({})
    .describe('Calculation of derived fields.'),
  everyMinutes: wholeNumber(1, 1_440)
    .default(15)
    .describe('Minutes between two reads of patients and invoices. The daemon reads appointments on every pull.'),
});

/** Parsed CRM part of a target. */
export type CrmFile = z.output<typeof crmSchema>;
