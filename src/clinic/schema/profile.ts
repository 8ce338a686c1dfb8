import { z } from 'zod';
import { NAME, NAME_REMEDY } from '../../core/model/text.ts';
import { isZone, ZONE_REMEDY } from '../../core/model/time.ts';
import { ianaOfWindows } from '../../core/model/zone-names.ts';
import { errorPaths } from '../../described-api/errors.ts';
import { listPath, path, paths, wholePath } from '../../described-api/path-schemas.ts';
import { issueText, message } from '../../messages/message.ts';
import { field, fieldPaths, fullName } from './fields.ts';
import { pagingSchema, valuedParameter } from './paging.ts';
import {
  appointments,
  listProfile,
  ownRecordPath,
  RESOURCES,
  type ResourceName,
  raisedBy,
  windowFilters,
} from './resources.ts';
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
    .describe("Names for patients' consents, and the fields that contain yes or no."),
  merged: z
    .union([path, z.literal([301, 308])])
    .nullable()
    .default(null)
    .describe(
      'How the system shows that a patient was merged into another one: the path of the id of the remaining patient, such as `mergedInto`, in a record that needs only an id otherwise, or the status of a redirect to the remaining patient, `301` or `308`. `null`: the system does not show merges.',
    ),
});

const availabilities = z.strictObject({
  ...listProfile(RESOURCES.availabilities),
  ...windowFilters,
  placeFilters: z
    .strictObject({
      location: valuedParameter.nullable().default('locationId').describe('Query parameter for a location.'),
      doctor: valuedParameter.nullable().default('doctorId').describe('Query parameter for a doctor.'),
    })
    .prefault({})
    .describe(
      'Query parameters for the location and the doctor. `null`: the server does not have these filters, so clinic-mirror reads every slot and filters locally.',
    ),
});

const medicalReports = z.strictObject({
  ...listProfile(RESOURCES.medicalReports),
  upload: z
    .strictObject({
      style: z
        .enum(['multipart', 'base64'])
        .default('multipart')
        .describe('`multipart`: a form with the file as one part. `base64`: JSON with the file in one field.'),
      filePart: z.string().min(1).default('file').describe('Name of the part or field that contains the file.'),
      metadata: z
        .enum(['part', 'fields'])
        .default('part')
        .describe('In a form: one part with JSON, or one part per field.'),
      metadataPart: z.string().min(1).default('metadata').describe('Name of the JSON part.'),
      maxBytes: z
        .int()
        .min(1)
        .default(25_000_000)
        .describe(
          'Maximum size of a PDF, checked before and during the upload. Default: the smaller interpretation of 25 MB.',
        ),
    })
    .prefault({}),
});

const pattern = z.string().refine(isRegExp, issueText(message('profile.pattern')));

const errors = z.strictObject({
  codePaths: errorPaths.codePaths.default(['error', 'code']),
  textPaths: paths
    .default(['message'])
    .describe('Paths of the error text. Used for the 403 patterns and shown only to the user who ran the command.'),
  detailPaths: errorPaths.detailPaths
    .default(['details', 'errors', 'fields'])
    .describe('Paths of the names of invalid fields. Shown only to the user who ran the command.'),
  missingClaim: z
    .array(pattern)
    .default(['^missing_claim$'])
    .describe('403: the code or text means that the token lacks a scope.'),
  insufficientPermissions: z
    .array(pattern)
    .default(['^insufficient_permissions$'])
    .describe('403: the code or text means that the user lacks a permission.'),
  tooLarge: z
    .array(z.int().min(400).max(499))
    .default([413])
    .describe('HTTP statuses for a report whose PDF is too large.'),
  outOfSequence: z
    .strictObject({
      statuses: z.array(z.int().min(400).max(499)).default([409]),
      says: z.array(pattern).default([]).describe('Code or text in the response. `[]`: the status is sufficient.'),
    })
    .prefault({})
    .describe(
      'Responses for an invoice with an unexpected number. clinic-mirror reads the section and retries. Without `says`, every response with that status matches.',
    ),
  temporaryStatuses: z
    .array(z.int().min(400).max(499))
    .default([423])
    .describe(
      'HTTP statuses of a clinic that is busy or closed for a time. clinic-mirror retries later, as after 503.',
    ),
  htmlMeansAbsent: z
    .boolean()
    .default(false)
    .describe(
      "Treats a 404 with an HTML page as a missing record. Otherwise such a 404 is treated as a proxy's error.",
    ),
});

const limits = z.strictObject({
  timeoutMs: z.int().min(100).default(30_000).describe('Maximum milliseconds for one response.'),
  maxAnswerBytes: z
    .int()
    .min(1024)
    .default(16 * 1024 * 1024)
    .describe(
      "Maximum size of a response, in bytes. A response of the default maximum blocks the daemon's other work for 0.1 s.",
    ),
  maxPages: z.int().min(1).default(10_000).describe('Maximum number of pages of one list.'),
  maxRecords: z
    .int()
    .min(1)
    .default(500_000)
    .describe(
      'Maximum number of rows of one list. A longer list counts as not read: nothing is changed or deleted, and a problem names the list.',
    ),
  requestsAtOnce: z
    .int()
    .min(1)
    .max(8)
    .default(4)
    .describe(
      'Maximum number of list calls of one read at the same time, if the paging proves the end of each call. 1 for a clinic that refuses simultaneous requests.',
    ),
  rereads: z.int().min(0).max(5).default(1).describe('Number of restarts of a list that changes during the read.'),
  fileTimeoutMs: z
    .int()
    .min(100)
    .default(300_000)
    .describe('Maximum milliseconds for the upload or download of one PDF.'),
  tries: z.int().min(1).max(10).default(3).describe('Attempts per page after 429, 5xx and timeouts.'),
  firstWaitMs: z
    .int()
    .min(1)
    .default(300)
    .describe('Milliseconds before the second attempt. The delay doubles each time, with jitter.'),
  longestWaitMs: z
    .int()
    .min(0)
    .max(60_000)
    .default(5_000)
    .describe('Longest delay, in milliseconds, within one call. For a longer delay the whole job is rescheduled.'),
});

const writes = z.strictObject({
  times: z
    .enum(['utc', 'offset', 'local', 'local-space', 'epoch-seconds', 'epoch-ms'])
    .default('offset')
    .describe('Format of times in requests. Dates are always `2026-03-29`.'),
  decimals: z.enum(['number', 'text']).default('number').describe('Format of amounts and quantities in requests.'),
  durations: z
    .enum(['number', 'iso', 'clock'])
    .default('number')
    .describe(
      'Format of a new duration in requests: a number in `durationUnit`, `PT30M`, or `00:30`. An existing duration keeps its format.',
    ),
  updates: z
    .enum(['replace', 'merge'])
    .default('replace')
    .describe(
      'Meaning of PUT. `replace`: clinic-mirror sends the complete record. `merge`: clinic-mirror sends only changes. With a wrong value `merge`, the clinic deletes all fields that are not sent.',
    ),
});

/**
 * Behaviour of a clinic system that the specification leaves open: paging, filters, field names, statuses, times and error bodies. Every
 * key has a default; the defaults form the documented profile (`config/profiles/documented.yaml`).
 */
export const clinicProfileSchema = z.strictObject({
  pathPrefix: z
    .string()
    .regex(/^(\/[\w.-]+)*$/)
    .default('/v2')
    .describe('Path between the base URL and every API path.'),
  scopePrefix: z.string().default('svc.').describe('Prefix of scope names such as `patients` and `agenda`.'),
  zone: z
    .string()
    .superRefine(refuseUnknownZone)
    .default('Europe/Rome')
    .describe(
      'Time zone of times without an offset, of whole days and of dates in filters. A wrong zone shifts every appointment.',
    ),
  epochUnit: z
    .enum(['seconds', 'ms'])
    .nullable()
    .default(null)
    .describe(
      'Unit of numeric times since 1970-01-01T00:00Z. 0 means no value, except in dates; 19800301 is a date. `null`: the system has no numeric times.',
    ),
  dateOrder: z
    .enum(['day-first', 'month-first'])
    .nullable()
    .default(null)
    .describe(
      'Order of dates such as 03/12/2026. `null`: such a date is unreadable (`ambiguous-date`) if both numbers can be a month.',
    ),
  idCase: z
    .enum(['exact', 'ignored'])
    .default('exact')
    .describe(
      'Comparison of ids. `ignored`: a record read alone may have its id in another case than requested, `a1f3` for `A1F3`.',
    ),
  unescapeTexts: z
    .boolean()
    .default(false)
    .describe('Replaces XML and HTML escapes in texts, such as `D&apos;Angelo` and `Nicol&ograve;`.'),
  localTimes: z
    .strictObject({
      gap: z
        .enum(['later', 'earlier', 'set-aside'])
        .default('later')
        .describe('02:30 in the skipped hour becomes 03:30 or 01:30, or the record is skipped.'),
      overlap: z
        .enum(['earlier', 'later', 'set-aside'])
        .default('earlier')
        .describe('02:30 in the repeated hour is the first or the second occurrence, or the record is skipped.'),
    })
    .prefault({})
    .describe('Local times that a clock change skips (`gap`) or repeats (`overlap`).'),
  paging: pagingSchema
    .prefault({ style: 'offset-limit' })
    .describe(
      'Paging of all lists. A list is `partial` if a `Link` header announces another page under a different style, or if a usual field does and the list has no total.',
    ),
  listPath: listPath
    .nullable()
    .default(null)
    .describe(
      'Path of the list in a response. `null`: a bare array or a usual name. If each element contains the record: `entry[].resource`. Elements that miss a condition are no records: `entry[resource.type=Visit].resource`.',
    ),
  emptyListFlags: z
    .array(raisedBy)
    .max(10)
    .default([])
    .describe(
      'Fields of a response that has no list because the list is empty, such as `{ path: total, when: 0 }`. Without a set flag, a response without the list is an error.',
    ),
  recordPath: wholePath
    .nullable()
    .default(null)
    .describe('Path of a single record in a response. `null`: the response itself.'),
  tenants: z
    .strictObject({
      path: wholePath
        .default('tenants')
        .describe(
          "Path of the user's clinics in the UserInfo response: a list, a single object, or ids. `.`: the response itself.",
        ),
      fields: fieldPaths(tenantReference),
      only: z
        .string()
        .min(1)
        .nullable()
        .default(null)
        .describe(
          'Id of the tenant for a system that serves one tenant and has no UserInfo; any name. clinic-mirror then does not request the UserInfo. `null`: the system has UserInfo.',
        ),
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
    .describe('Paths in the request body that adds a reimbursement.'),
  writes: writes.prefault({}),
  errors: errors.prefault({}),
  limits: limits.prefault({}),
});

/** A clinic profile with every default filled in. */
export type ClinicProfile = z.infer<typeof clinicProfileSchema>;
/** The refusal of a Windows name contains the IANA zone. */
function refuseUnknownZone(zone: string, context: z.RefinementCtx): void {
  if (isZone(zone)) return;
  const guess = ianaOfWindows(zone);
  const remedy = guess === null ? ZONE_REMEDY : message('settings.guess', { guess });
  context.addIssue({ code: 'custom', message: issueText(remedy) });
}

function isRegExp(source: string): boolean {
  try {
    new RegExp(source);
    return true;
  } catch {
    return false;
  }
}

/** Compiles a part of a profile, for example the mapper of one list. */
type Compile<Made, Names extends readonly string[]> = (profile: ClinicProfile, ...names: Names) => Made;

/**
 * Compiled parts of one profile, such as row mappers. Each part is compiled at its first use and shared by all tenants with the profile.
 */
export class CompiledProfile {
  readonly #profile: ClinicProfile;
  readonly #made = new Map<Compile<unknown, never>, Map<string, unknown>>();

  constructor(profile: ClinicProfile) {
    this.#profile = profile;
  }

  /** @param compile pure function; must be the same object in each call */
  of<Made, Names extends readonly string[]>(compile: Compile<Made, Names>, ...names: Names): Made {
    const made = this.#made.get(compile) ?? new Map<string, unknown>();
    this.#made.set(compile, made);
    const name = names.join(' ');
    if (!made.has(name)) made.set(name, compile(this.#profile, ...names));
    return made.get(name) as Made;
  }
}
