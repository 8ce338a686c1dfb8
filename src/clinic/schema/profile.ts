import { z } from 'zod';
import { issueText, message } from '../../messages/message.ts';
import { NAME, NAME_REMEDY } from '../../model/text.ts';
import { ZONE_REMEDY } from '../../model/time.ts';
import { field, fieldPaths, fullName, paths } from './fields.ts';
import { pagingSchema, parameter, path } from './paging.ts';
import { appointments, listProfile, ownRecordPath, RESOURCES, type ResourceName, windowFilters } from './resources.ts';
import { reimbursement, tenantInfo } from './shapes.ts';

const tenantReference = { id: field.id('id', 'tenantId'), name: field.text('name') };

function list<Name extends ResourceName>(name: Name) {
  return z.strictObject(listProfile<(typeof RESOURCES)[Name]>(RESOURCES[name])).prefault({});
}

const patients = z.strictObject({
  ...listProfile(RESOURCES.patients),
  fullName,
  consents: z
    .record(z.string().regex(NAME, issueText(NAME_REMEDY)), paths)
    .default({ privacy: ['consents.privacy.granted'], marketing: ['consents.marketing.granted'] })
    .describe('Names of our own for what patients agree to, and where their rows say yes or no to it.'),
});

const availabilities = z.strictObject({
  ...listProfile(RESOURCES.availabilities),
  ...windowFilters,
  placeFilters: z
    .strictObject({
      location: parameter.nullable().default('locationId').describe('Name of the parameter for a location.'),
      doctor: parameter.nullable().default('doctorId').describe('Name of the parameter for a doctor.'),
    })
    .prefault({})
    .describe('null = the server can not: all slots are read and filtered here.'),
});

const medicalReports = z.strictObject({
  ...listProfile(RESOURCES.medicalReports),
  upload: z
    .strictObject({
      style: z
        .enum(['multipart', 'base64'])
        .default('multipart')
        .describe('multipart: a form with the file as one part; base64: JSON with the file in one field.'),
      filePart: z.string().min(1).default('file').describe('Name of the part or field that holds the file.'),
      metadata: z
        .enum(['part', 'fields'])
        .default('part')
        .describe('In a form: one part with JSON, or one part for each field.'),
      metadataPart: z.string().min(1).default('metadata').describe('Name of that one part.'),
      maxBytes: z
        .int()
        .min(1)
        .default(25_000_000)
        .describe('Largest PDF, checked before and while it is sent. 25 MB in the smaller reading.'),
    })
    .prefault({}),
});

const pattern = z.string().refine(isRegExp, issueText(message('profile.pattern')));

const errors = z.strictObject({
  codePaths: paths.default(['error', 'code']).describe('Where an error body holds its machine word.'),
  textPaths: paths
    .default(['message'])
    .describe('Where it holds its text; read for the 403 patterns, and shown to the person who asked alone.'),
  detailPaths: paths
    .default(['details', 'errors', 'fields'])
    .describe('Where it says which fields are wrong; shown to the person who asked alone.'),
  missingClaim: z
    .array(pattern)
    .default(['^missing_claim$'])
    .describe('403: code or text says the token lacks a scope.'),
  insufficientPermissions: z
    .array(pattern)
    .default(['^insufficient_permissions$'])
    .describe('403: code or text says the user lacks a permission.'),
  tooLarge: z
    .array(z.int().min(400).max(499))
    .default([413])
    .describe('Statuses that answer a report whose PDF is too large.'),
  outOfSequence: z
    .strictObject({
      statuses: z.array(z.int().min(400).max(499)).default([409]),
      says: z.array(pattern).default([]).describe('Code or text says so; [] = such a status says it alone.'),
    })
    .prefault({})
    .describe(
      'Answers to an invoice that is not the next of its section: it is tried again after a look at the section.',
    ),
  htmlMeansAbsent: z
    .boolean()
    .default(false)
    .describe('A 404 with an HTML page counts as "no such record"; otherwise it counts as a proxy’s answer.'),
});

const limits = z.strictObject({
  timeoutMs: z.int().min(100).default(30_000).describe('Longest time for one answer.'),
  maxAnswerBytes: z
    .int()
    .min(1024)
    .default(16 * 1024 * 1024)
    .describe(
      'Longest answer that is read; one of as many bytes keeps the daemon’s other work waiting for a tenth of a second.',
    ),
  maxPages: z.int().min(1).default(10_000).describe('Most pages of one list.'),
  rereads: z
    .int()
    .min(0)
    .max(5)
    .default(1)
    .describe('Times that a list is begun again when it moved while being read.'),
  fileTimeoutMs: z.int().min(100).default(300_000).describe('Longest time for sending or getting one PDF.'),
  tries: z.int().min(1).max(10).default(3).describe('Requests for one page at 429, 5xx and timeouts.'),
  firstWaitMs: z.int().min(1).default(300).describe('Wait before the second try; doubled, with jitter.'),
  longestWaitMs: z.int().min(0).max(60_000).default(5_000).describe('A longer wait is the job’s, not sat through.'),
});

const writes = z.strictObject({
  times: z
    .enum(['utc', 'offset', 'local', 'local-space', 'epoch-seconds', 'epoch-ms'])
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
    .refine(isZone, issueText(ZONE_REMEDY))
    .default('Europe/Rome')
    .describe('Of times without an offset, of whole days and of dates in filters.'),
  epochUnit: z
    .enum(['seconds', 'ms'])
    .nullable()
    .default(null)
    .describe(
      'Unit of times that are numbers, or digits in a text: since 1970-01-01T00:00Z; 0 = not told, but for dates; 19800301 is a date all the same. null = there are none.',
    ),
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
      path: path
        .or(z.literal('.'))
        .default('tenants')
        .describe(
          'Where the UserInfo answer has the clinics of the user: a list, one of them, or ids; . = the answer itself.',
        ),
      fields: fieldPaths(tenantReference),
    })
    .prefault({}),
  tenantInfo: z.strictObject({ fields: fieldPaths(tenantInfo), recordPath: ownRecordPath }).prefault({}),
  locations: list('locations'),
  agendas: list('agendas'),
  treatments: list('treatments'),
  patients: patients.prefault({}),
  appointments: appointments.prefault({}),
  availabilities: availabilities.prefault({}),
  priceLists: list('priceLists'),
  episodes: list('episodes'),
  medicalReports: medicalReports.prefault({}),
  invoices: list('invoices'),
  sections: list('sections'),
  issuers: list('issuers'),
  reimbursement: z
    .strictObject({ fields: fieldPaths(reimbursement) })
    .prefault({})
    .describe('Where the body that adds a reimbursement holds what.'),
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

/** Makes something of a profile; names of its parts may follow. */
type Compile<Made, Names extends readonly string[]> = (profile: ClinicProfile, ...names: Names) => Made;

/** What is made of one profile, such as the mapping of its rows: once for all tenants under it, when it is first used. */
export class CompiledProfile {
  readonly #profile: ClinicProfile;
  readonly #made = new Map<Compile<unknown, never>, Map<string, unknown>>();

  constructor(profile: ClinicProfile) {
    this.#profile = profile;
  }

  /** @param compile pure, and the same function each time */
  of<Made, Names extends readonly string[]>(compile: Compile<Made, Names>, ...names: Names): Made {
    const made = this.#made.get(compile) ?? new Map<string, unknown>();
    this.#made.set(compile, made);
    const name = names.join(' ');
    if (!made.has(name)) made.set(name, compile(this.#profile, ...names));
    return made.get(name) as Made;
  }
}
