import { z } from 'zod';
import { field, fieldPaths, paths } from './clinic-fields.ts';
import { pagingSchema, parameter, path } from './clinic-paging.ts';
import { listProfile, payment, RESOURCES, type ResourceName, statusChange, tenantInfo } from './clinic-resources.ts';
import { name } from './common-schemas.ts';

const tenantReference = { id: field.id('id', 'tenantId'), name: field.text('name') };

/** The statuses of the model; the clinic room's compiler run proves that they agree. */
const STATUSES = [
  'booked',
  'confirmed',
  'arrived',
  'in_progress',
  'completed',
  'cancelled',
  'no_show',
  'unknown',
] as const;

function list<Name extends ResourceName>(name: Name) {
  return z.strictObject(listProfile<(typeof RESOURCES)[Name]>(RESOURCES[name])).prefault({});
}

const patients = z.strictObject({
  ...listProfile(RESOURCES.patients),
  consents: z
    .record(name, paths)
    .default({ privacy: ['consents.privacy.granted'], marketing: ['consents.marketing.granted'] })
    .describe('Names of our own for what patients agree to, and where their rows say yes or no to it.'),
});

const flag = z.strictObject({
  path,
  when: z
    .union([z.boolean(), z.string(), z.number()])
    .describe('The value that raises the flag; "present" = any value but null, false and an empty text.'),
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

const appointments = z.strictObject({
  ...listProfile(RESOURCES.appointments),
  filters: z
    .strictObject({
      from: parameter.nullable().default('from').describe('Name of the parameter for the begin of a window.'),
      to: parameter.nullable().default('to').describe('Name of the parameter for the end of a window.'),
      agenda: parameter.nullable().default('agendaId').describe('Name of the parameter for agendas.'),
    })
    .prefault({})
    .refine((filters) => (filters.from === null) === (filters.to === null), 'from and to go together')
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
      format: z
        .enum(['date', 'utc', 'offset', 'local', 'local-space', 'epoch-seconds', 'epoch-ms'])
        .default('offset')
        .describe(
          'date 2026-03-29, utc …T07:00:00Z, offset …T09:00:00+02:00, local …T09:00:00, local-space … 09:00:00.',
        ),
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
  statuses: z
    .record(z.string(), z.enum(STATUSES))
    .default(STATUS_WORDS)
    .describe('The clinic’s word → ours. Case, spaces, hyphens and underscores do not matter; others are unknown.'),
  statusWords: z
    .partialRecord(z.enum(STATUSES), z.string().min(1))
    .default({})
    .describe('Our status → the word that is written; else the first word of statuses that means it.'),
  statusChange: fieldPaths(statusChange).describe('Where the body of a status operation holds what.'),
  payment: fieldPaths(payment).describe('Where the body of a payment operation holds what.'),
  statusMissing: z.enum(STATUSES).default('unknown').describe('For a row that tells no status.'),
  flags: z.array(flag).default([]).describe('Fields beside the status that override it, in this order.'),
  durationUnit: z.enum(['minutes', 'seconds']).default('minutes').describe('Unit of the field duration.'),
  allDayEnd: z.enum(['exclusive', 'inclusive']).default('exclusive').describe('Whether the end date is a day of it.'),
  longestDays: z.int().min(1).default(366).describe('A longer appointment is set aside as absurd.'),
});

const pattern = z.string().refine(isRegExp, 'must be a regular expression');

const errors = z.strictObject({
  codePaths: paths.default(['error', 'code']).describe('Where an error body holds its machine word.'),
  textPaths: paths.default(['message']).describe('Where it holds its text; read for the 403 patterns, never shown.'),
  missingClaim: z
    .array(pattern)
    .default(['^missing_claim$'])
    .describe('403: code or text says the token lacks a scope.'),
  insufficientPermissions: z
    .array(pattern)
    .default(['^insufficient_permissions$'])
    .describe('403: code or text says the user lacks a permission.'),
  htmlMeansAbsent: z
    .boolean()
    .default(false)
    .describe('A 404 with an HTML page counts as "no such record"; otherwise it is taken for a proxy’s answer.'),
});

const limits = z.strictObject({
  timeoutMs: z.int().min(100).default(30_000).describe('Longest time for one answer.'),
  maxAnswerBytes: z
    .int()
    .min(1024)
    .default(64 * 1024 * 1024)
    .describe('Longest answer that is read.'),
  maxPages: z.int().min(1).default(10_000).describe('Most pages of one list.'),
  rereads: z
    .int()
    .min(0)
    .max(5)
    .default(1)
    .describe('Times that a list is begun again when it moved while being read.'),
  tries: z.int().min(1).max(10).default(3).describe('Requests for one page at 429, 5xx and timeouts.'),
  firstWaitMs: z.int().min(1).default(300).describe('Wait before the second try; doubled, with jitter.'),
  longestWaitMs: z.int().min(0).max(60_000).default(5_000).describe('A longer wait is the job’s, not sat through.'),
});

const writes = z.strictObject({
  times: z
    .enum(['utc', 'offset', 'local', 'local-space'])
    .default('offset')
    .describe('Form of times in what is written; dates are always 2026-03-29.'),
  decimals: z.enum(['number', 'text']).default('number').describe('Form of money and quantities in what is written.'),
  updates: z
    .enum(['replace', 'merge'])
    .default('replace')
    .describe(
      'What PUT means. replace: the whole record is sent, as it was read and changed; merge: only what changes.',
    ),
});

/**
 * How one clinic system answers where its specification is silent: paging, filters, field names, statuses, times and error
 * bodies. Every key has a default; the defaults together are the documented profile (`config/profiles/documented.yaml`).
 */
export const clinicProfileSchema = z.strictObject({
  pathPrefix: z
    .string()
    .regex(/^(\/[\w.-]+)*$/)
    .default('/v2')
    .describe('Goes between the base URL and every path.'),
  scopePrefix: z.string().default('svc.').describe('Goes before patients, agenda, treatments, … in scope names.'),
  zone: z
    .string()
    .refine(isZone, 'must be an IANA zone, such as Europe/Rome')
    .default('Europe/Rome')
    .describe('Of times without an offset, of whole days and of dates in filters.'),
  localTimes: z
    .strictObject({
      gap: z
        .enum(['later', 'earlier', 'set-aside'])
        .default('later')
        .describe('02:30 on the night that skips it: 03:30, 01:30, or the row is set aside.'),
      overlap: z
        .enum(['earlier', 'later', 'set-aside'])
        .default('earlier')
        .describe('02:30 on the night that has it twice: the first, the second, or the row is set aside.'),
    })
    .prefault({})
    .describe('Times without an offset that a clock change skips (gap) or repeats (overlap).'),
  paging: pagingSchema.prefault({ style: 'offset-limit' }),
  listPath: path.nullable().default(null).describe('Where a list holds its rows; null = a bare array or a usual name.'),
  recordPath: path.nullable().default(null).describe('Where a single record is; null = the answer itself.'),
  tenants: z
    .strictObject({
      path: path.default('tenants').describe('Where the UserInfo answer lists the clinics of the user.'),
      fields: fieldPaths(tenantReference),
    })
    .prefault({}),
  tenantInfo: z.strictObject({ fields: fieldPaths(tenantInfo) }).prefault({}),
  locations: list('locations'),
  agendas: list('agendas'),
  treatments: list('treatments'),
  patients: patients.prefault({}),
  appointments: appointments.prefault({}),
  availabilities: list('availabilities'),
  priceLists: list('priceLists'),
  episodes: list('episodes'),
  medicalReports: list('medicalReports'),
  invoices: list('invoices'),
  sections: list('sections'),
  issuers: list('issuers'),
  writes: writes.prefault({}),
  errors: errors.prefault({}),
  limits: limits.prefault({}),
});

/** A clinic profile with every default filled in. */
export type ClinicProfile = z.infer<typeof clinicProfileSchema>;
function isZone(zone: string): boolean {
  try {
    new Intl.DateTimeFormat('en', { timeZone: zone });
    return true;
  } catch {
    return false;
  }
}

function isRegExp(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}
