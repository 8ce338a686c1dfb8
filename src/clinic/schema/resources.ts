import { z } from 'zod';
import { issueText, message } from '../../messages/message.ts';
import { APPOINTMENT_STATUSES as STATUSES } from '../../model/records.ts';
import { choiceWords, fieldPaths, fullName, isNested, paths, type ScalarKind, type Shape } from './fields.ts';
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
  payment,
  priceList,
  section,
  statusChange,
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
const raisedBy = z.strictObject({
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
    .array(z.string().refine((name) => names.has(name), issueText(message('profile.number'))))
    .default([])
    .describe('Fields of which the clinic takes numbers: ids and words made of digits, and 1 or 0 for yes or no.');
  return { fields: fieldPaths(described), words: choiceWords(described), numbers, ...listRules };
}

const flag = raisedBy.extend({
  status: z.enum(STATUSES).describe('The status that the raised flag means.'),
  over: z.array(z.enum(STATUSES)).nullable().default(null).describe('Overrides only these statuses; null = any.'),
});

const STATUS_WORDS: Record<string, (typeof STATUSES)[number]> = {
  Booked: 'booked',
  Confirmed: 'confirmed',
  CheckedIn: 'arrived',
  InProgress: 'in_progress',
  Completed: 'completed',
  Cancelled: 'cancelled',
  Canceled: 'cancelled',
  NoShow: 'no_show',
};

/** Whether a text is an https address once an id stands in it, without a login and with the same host for every id. */
function isPageTemplate(template: string): boolean {
  const [one, other] = ['a', 'b'].map((id) => URL.parse(template.replaceAll('{id}', id)));
  if (one == null || other == null || one.href === other.href || one.host !== other.host) return false;
  return one.protocol === 'https:' && one.username === '' && !/[{}]/.test(template.replaceAll('{id}', ''));
}

/** Forms in which clinics take times. */
const timeFormat = z.enum(['date', 'utc', 'offset', 'local', 'local-space', 'epoch-seconds', 'epoch-ms']);
const TIME_FORMATS =
  'date 2026-03-29, utc …T07:00:00Z, offset …T09:00:00+02:00, local …T09:00:00, local-space … 09:00:00.';

/** How what was read before spares reading it again. */
const rereading = z
  .strictObject({
    notModified: z
      .boolean()
      .default(true)
      .describe('Pages that came with an ETag are asked for with If-None-Match. false: never.'),
    changedSince: z
      .strictObject({
        parameter: parameter
          .nullable()
          .default(null)
          .describe(
            'Name of the parameter that lists only what changed since a time; null = there is none, or it is not to be used.',
          ),
        format: timeFormat.default('offset').describe(TIME_FORMATS),
        overlapSeconds: z
          .int()
          .min(1)
          .max(86_400)
          .default(600)
          .describe(
            'Asks for so much more than what changed since the newest change seen: what the clinic wrote late, or by another clock.',
          ),
      })
      .prefault({})
      .describe('It is sent without the window and the agendas, so that what moved out of them is told too.'),
    wholeEveryMinutes: z
      .int()
      .min(1)
      .max(1_440)
      .default(30)
      .describe(
        'Longest time between two readings of all without either: for as long a deletion, or a wrong ETag, may go unseen.',
      ),
  })
  .prefault({});

/** How a list is asked for a window of time and for some agendas. */
export const windowFilters = {
  filters: z
    .strictObject({
      from: parameter.nullable().default('from').describe('Name of the parameter for the begin of a window.'),
      to: parameter.nullable().default('to').describe('Name of the parameter for the end of a window.'),
      agenda: parameter.nullable().default('agendaId').describe('Name of the parameter for agendas.'),
    })
    .prefault({})
    .refine((filters) => (filters.from === null) === (filters.to === null), issueText(message('profile.filters')))
    .describe('null = the server can not: the whole list is read and filtered here.'),
  agendaFilter: z
    .strictObject({
      style: z
        .enum(['repeated', 'comma'])
        .default('repeated')
        .describe('How several agendas are asked for: agendaId=1&agendaId=2, or agendaId=1,2.'),
      maxPerCall: z
        .int()
        .min(1)
        .max(500)
        .default(20)
        .describe('More agendas than this are asked for in several calls.'),
    })
    .prefault({}),
  window: z
    .strictObject({
      format: timeFormat.default('offset').describe(TIME_FORMATS),
      toIncluded: z.boolean().default(false).describe('With format date: the last day belongs to the answer.'),
      maxDays: z.int().min(1).nullable().default(30).describe('Longest window of one call; null = any.'),
      leadHours: z
        .int()
        .min(0)
        .max(24 * 31)
        .default(0)
        .describe('Asks this much earlier, for a server that filters by start and not by overlap.'),
    })
    .prefault({}),
};

/** What a profile says of appointments. */
export const appointments = z
  .strictObject({
    ...listProfile(RESOURCES.appointments, statusChange, payment),
    ...windowFilters,
    patientFullName: fullName,
    rereading,
    statuses: z
      .record(z.string(), z.enum(STATUSES))
      .default(STATUS_WORDS)
      .describe(
        'The clinic’s word or number → ours. Case, spaces, hyphens and underscores do not matter where no word is exactly so; others are unknown.',
      ),
    statusWords: z
      .partialRecord(z.enum(STATUSES), z.string().min(1))
      .default({})
      .describe('Our status → the word that is written; else the first word of statuses that means it.'),
    statusChange: fieldPaths(statusChange).describe('Where the body of a status operation holds what.'),
    payment: fieldPaths(payment).describe('Where the body of a payment operation holds what.'),
    statusMissing: z.enum(STATUSES).default('unknown').describe('For a row that tells no status.'),
    flags: z.array(flag).default([]).describe('Fields beside the status that override it, in this order.'),
    pageUrl: z
      .string()
      .refine(isPageTemplate, issueText(message('profile.page-url', { placeholder: '{id}' })))
      .nullable()
      .default(null)
      .describe('Address of an appointment in the clinic system, for people: {id} stands for its id; null = none.'),
    teleVisitUrl: paths
      .default([])
      .describe(
        'Where a row holds the https address of a video visit; what is no such address, or names the patient, is left out.',
      ),
    durationUnit: z
      .enum(['minutes', 'seconds'])
      .default('minutes')
      .describe('Unit of the field duration; PT30M and 0:30 name their own.'),
    allDayEnd: z.enum(['exclusive', 'inclusive']).default('exclusive').describe('Whether the end date is a day of it.'),
    longestDays: z.int().min(1).default(366).describe('A longer appointment is set aside as absurd.'),
  })
  .refine(({ rereading: { changedSince }, fields }) => changedSince.parameter === null || fields.updatedAt.length > 0, {
    path: ['rereading', 'changedSince', 'parameter'],
    message: issueText(message('profile.updated-at')),
  });
