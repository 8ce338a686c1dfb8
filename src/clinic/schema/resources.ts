import { z } from 'zod';
import { choiceWords, fieldPaths, isNested, type ScalarKind, type Shape } from './fields.ts';
import { pagingSchema, parameter, path } from './paging.ts';
import {
  agenda,
  appointment,
  availability,
  episode,
  invoice,
  issuer,
  location,
  medicalReport,
  patient,
  priceList,
  section,
  treatment,
} from './shapes.ts';

/** The lists of the clinic API by their names in a profile. */
export const RESOURCES = {
  locations: location,
  agendas: agenda,
  treatments: treatment,
  patients: patient,
  appointments: appointment,
  availabilities: availability,
  priceLists: priceList,
  episodes: episode,
  medicalReports: medicalReport,
  invoices: invoice,
  sections: section,
  issuers: issuer,
} as const satisfies Record<string, Shape>;

/** Name of a list. */
export type ResourceName = keyof typeof RESOURCES;

/** Paths of the lists below a tenant's (specification section 2.1). */
export const RESOURCE_PATHS: Readonly<Record<ResourceName, readonly string[]>> = {
  locations: ['locations'],
  agendas: ['agendas'],
  treatments: ['treatments'],
  patients: ['patients'],
  appointments: ['appointments'],
  availabilities: ['availabilities'],
  priceLists: ['pricelists'],
  episodes: ['episodes'],
  medicalReports: ['medicalreports'],
  invoices: ['invoices'],
  sections: ['accounting', 'sections'],
  issuers: ['accounting', 'issuers'],
};

const ownPath = path.or(z.literal('.')).nullable().default(null);

/** Where a single record is in the answers of one resource. */
export const ownRecordPath = ownPath.describe(
  'Only where a single record is at another place than the profile says; . = it is the answer itself.',
);

/** A value as JSON has it. */
const scalar = z.union([z.boolean(), z.string(), z.number()]);

/** A field and the values of it that raise a flag. */
export const raisedBy = z.strictObject({
  path,
  when: z
    .union([scalar, z.array(scalar).min(1)])
    .describe(
      'The value that raises the flag, or a list of such values; true is also 1 or yes, false is also 0 or no; present, not in a list = any value but null, an empty text, and no (false or 0).',
    ),
});

/** The same as a profile holds it. */
export type RaisedBy = z.infer<typeof raisedBy>;

/** What a profile says of one list beside its fields. */
const listRules = {
  deletedFlags: z
    .array(raisedBy)
    .max(10)
    .default([
      { path: 'deleted', when: true },
      { path: 'isDeleted', when: true },
    ])
    .describe(
      'Fields that say that the record was deleted: such a row needs an id and nothing else. Read for appointments, patients and invoices.',
    ),
  query: z
    .record(parameter, z.string())
    .default({})
    .describe('Parameters sent with every list call, such as one that includes cancelled rows.'),
  tenantId: z
    .array(path)
    .max(10)
    .default(['tenantId'])
    .describe(
      'Where a row names its tenant, if it does: one that names another is set aside. [] = not told, or not to be compared.',
    ),
  paging: pagingSchema.nullable().default(null).describe('Only where this list pages otherwise than the profile says.'),
  listPath: ownPath.describe(
    'Only where this list holds its rows at another place than the profile says; . = it is the answer itself.',
  ),
  recordPath: ownRecordPath,
  repeats: z
    .enum(['doubted', 'in-total', 'beside-total'])
    .default('doubted')
    .describe(
      'Rows that come twice in one list. doubted: it moved while it was read; in-total: they are as they should be, and a total counts each; beside-total: the same, and a total counts each record once.',
    ),
};

/** Kinds of values that may be made of digits alone, and of which a system may want them as numbers. */
const MAYBE_NUMBERS: ReadonlySet<ScalarKind> = new Set(['id', 'word', 'choice', 'flag']);

/** Names of the fields that may be written as numbers, those of nested rows with their path. */
function maybeNumbers(described: Shape, prefix = ''): string[] {
  return Object.entries(described).flatMap(([name, one]) => {
    if (isNested(one)) return maybeNumbers(one.shape, `${prefix}${name}.`);
    return MAYBE_NUMBERS.has(one.kind) ? [`${prefix}${name}`] : [];
  });
}

/**
 * What every list has in a profile: its fields, words, fixed parameters, and paging of its own.
 * @param bodies of operations beside it, whose fields `numbers` may name too
 */
export function listProfile<Described extends Shape>(described: Described, ...bodies: Shape[]) {
  const names = new Set([described, ...bodies].flatMap((shape) => maybeNumbers(shape)));
  const numbers = z
    .array(z.string().refine((name) => names.has(name), 'must be an id, a word, a choice or a flag of this list'))
    .default([])
    .describe('Fields of which the clinic takes numbers: ids and words made of digits, and 1 or 0 for yes or no.');
  return { fields: fieldPaths(described), words: choiceWords(described), numbers, ...listRules };
}
