import { z } from 'zod';
import { APPOINTMENT_STATUSES as STATUSES } from '../../core/model/records.ts';
import { listPath, path, paths, wholePath } from '../../described-api/path-schemas.ts';
import { issueText, message } from '../../messages/message.ts';
import { choiceWords, fieldPaths, fullName, isNested, type ScalarKind, type Shape } from './fields.ts';
import { pagingSchema, parameter, valuedParameter } from './paging.ts';
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

/** Schema of the path of a single record in a resource's answers. */
export const ownRecordPath = wholePath
  .nullable()
  .default(null)
  .describe('Path of a single record, if different from the general `recordPath`. `.`: the response itself.');

/** A JSON scalar. */
const scalar = z.union([z.boolean(), z.string(), z.number()]);

/** Schema of a field and the values that set a flag. */
export const raisedBy = z.strictObject({
  path,
  when: z
    .union([scalar, z.array(scalar).min(1)])
    .describe(
      'Value or list of values that sets the flag. `true` includes 1 and yes; `false` includes 0 and no. `present` (outside a list) means any value except null, an empty string, false, 0 and no.',
    ),
});

/** A profile's rule for a flag. */
export type RaisedBy = z.infer<typeof raisedBy>;

/** Keys of a list in a profile, in addition to the fields. */
const listRules = {
  urlPath: z
    .string()
    .regex(/^(?:\/(?:[\w.$-]+|\{tenantId\}))+$/, issueText(message('profile.url-path', { placeholder: '{tenantId}' })))
    .nullable()
    .default(null)
    .describe(
      'Path of the list in the URL, after `pathPrefix`; the path of a record is this path and the id. `{tenantId}` is the id of the tenant. `null`: the path of the documented API, such as `/tenants/{tenantId}/appointments`.',
    ),
  deletedFlags: z
    .array(raisedBy)
    .max(10)
    .default([
      { path: 'deleted', when: true },
      { path: 'isDeleted', when: true },
    ])
    .describe(
      "Fields that mark a deleted record. Such a record needs only an id. Read for appointments, patients and invoices. clinic-mirror removes deleted records from targets in the same cycle, within the guard's limits.",
    ),
  query: z
    .record(parameter, z.string())
    .default({})
    .describe('Parameters of every list request, for example to include cancelled appointments.'),
  tenantId: z
    .array(path)
    .max(10)
    .default(['tenantId'])
    .describe(
      'Path of the tenant id in a record. clinic-mirror skips records of another tenant and treats the list as `partial`. `[]`: no tenant id, or no comparison.',
    ),
  paging: pagingSchema
    .nullable()
    .default(null)
    .describe('Paging of this list, if different from the general `paging`.'),
  listPath: listPath
    .nullable()
    .default(null)
    .describe('Path of the list, if different from the general `listPath`. `.`: the response itself.'),
  recordPath: ownRecordPath,
  repeats: z
    .enum(['unexpected', 'counted-each', 'counted-once'])
    .default('unexpected')
    .describe(
      'Meaning of a record that occurs twice in one list. `unexpected`: the list changed during the read, and the list is `partial`. `counted-each`: allowed, and the total includes each occurrence. `counted-once`: allowed, and the total includes each record once.',
    ),
};

/** Kinds of values that can consist of digits only. Some systems require them as numbers. */
const MAYBE_NUMBERS: ReadonlySet<ScalarKind> = new Set(['id', 'word', 'choice', 'flag']);

/** Returns the names of fields that may be written as numbers; nested fields include their path. */
function maybeNumbers(described: Shape, prefix = ''): string[] {
  return Object.entries(described).flatMap(([name, one]) => {
    if (isNested(one)) return maybeNumbers(one.shape, `${prefix}${name}.`);
    return MAYBE_NUMBERS.has(one.kind) ? [`${prefix}${name}`] : [];
  });
}

/**
 * Builds the schema of a list in a profile: fields, words, fixed parameters and paging.
 * @param bodies request bodies of other operations, whose fields `numbers` may also name
 */
export function listProfile<Described extends Shape>(described: Described, ...bodies: Shape[]) {
  const names = new Set([described, ...bodies].flatMap((shape) => maybeNumbers(shape)));
  const numbers = z
    .array(z.string().refine((name) => names.has(name), issueText(message('profile.number'))))
    .default([])
    .describe('Fields that the clinic expects as numbers: ids and values made of digits, and 1 or 0 for yes or no.');
  return { fields: fieldPaths(described), words: choiceWords(described), numbers, ...listRules };
}

const flag = raisedBy.extend({
  status: z.enum(STATUSES).describe('Status for the set flag.'),
  over: z
    .array(z.enum(STATUSES))
    .nullable()
    .default(null)
    .describe('Statuses that the flag may override. `null`: any status.'),
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

/** Returns whether a template, with an id inserted, is an https URL without credentials and with the same host for every id. */
function isPageTemplate(template: string): boolean {
  const [one, other] = ['a', 'b'].map((id) => URL.parse(template.replaceAll('{id}', id)));
  if (one == null || other == null || one.href === other.href || one.host !== other.host) return false;
  return one.protocol === 'https:' && one.username === '' && !/[{}]/.test(template.replaceAll('{id}', ''));
}

/** Formats of times that clinics accept. */
const timeFormat = z.enum(['date', 'utc', 'offset', 'local', 'local-space', 'epoch-seconds', 'epoch-ms']);
const TIME_FORMATS =
  'Format of times: date 2026-03-29, utc …T07:00:00Z, offset …T09:00:00+02:00, local …T09:00:00, local-space … 09:00:00.';

/** Settings for reads that reuse earlier results. */
const rereading = z
  .strictObject({
    notModified: z
      .boolean()
      .default(true)
      .describe(
        "Sends If-None-Match for pages with an ETag. Set `false` if the clinic's ETag does not change with the data.",
      ),
    changedSince: z
      .strictObject({
        parameter: valuedParameter
          .nullable()
          .default(null)
          .describe(
            'Query parameter that returns only records changed since a time, such as `since` or `_lastUpdated=ge`. `null`: not supported or not used.',
          ),
        format: timeFormat.default('offset').describe(TIME_FORMATS),
        overlapSeconds: z
          .int()
          .min(1)
          .max(86_400)
          .default(600)
          .describe(
            'Seconds by which an incremental read overlaps the latest known change, for late writes and clock differences.',
          ),
      })
      .prefault({})
      .describe('Incremental reads without window and agendas, so moved appointments are included.'),
    wholeEveryMinutes: z
      .int()
      .min(1)
      .max(1_440)
      .default(30)
      .describe(
        'Maximum minutes between two full reads. A deletion, or a wrong ETag, can stay undetected for this period.',
      ),
  })
  .prefault({})
  .describe(
    'Methods to transfer only changed appointments. The daemon reads in full after a process start, a manual sync, plan or audit, a changed connection or configuration, and a failed or partial read.',
  );

/** Settings for the filters by window and agendas. */
export const windowFilters = {
  filters: z
    .strictObject({
      from: valuedParameter.nullable().default('from').describe('Query parameter for the start of a window.'),
      to: valuedParameter.nullable().default('to').describe('Query parameter for the end of a window.'),
      agenda: valuedParameter.nullable().default('agendaId').describe('Query parameter for agendas.'),
    })
    .prefault({})
    .refine((filters) => (filters.from === null) === (filters.to === null), issueText(message('profile.filters')))
    .describe(
      'Query parameter, optionally with text before its value: `date=ge` sends `date=ge2026-03-29`, and `actor=Doctor/` sends `actor=Doctor/7`. `null`: the server does not have this filter, so clinic-mirror reads the full list and filters locally.',
    ),
  agendaFilter: z
    .strictObject({
      style: z
        .enum(['repeated', 'comma'])
        .default('repeated')
        .describe('Format of several agendas: `agendaId=1&agendaId=2` or `agendaId=1,2`.'),
      maxPerCall: z
        .int()
        .min(1)
        .max(500)
        .default(20)
        .describe('Maximum number of agendas per request. clinic-mirror sends several requests for more agendas.'),
    })
    .prefault({}),
  window: z
    .strictObject({
      format: timeFormat.default('offset').describe(TIME_FORMATS),
      toIncluded: z.boolean().default(false).describe('With format `date`: the response includes the last day.'),
      maxDays: z
        .int()
        .min(1)
        .nullable()
        .default(30)
        .describe(
          'Maximum length of a window, in days. `null`: no limit. If the value is too large, the clinic answers 400 or omits days.',
        ),
      leadHours: z
        .int()
        .min(0)
        .max(24 * 31)
        .default(0)
        .describe(
          'Hours by which the window starts earlier, for servers that filter by start time and not by overlap.',
        ),
    })
    .prefault({}),
};

/** Keys of appointments in a profile. */
export const appointments = z
  .strictObject({
    ...listProfile(RESOURCES.appointments, statusChange, payment),
    ...windowFilters,
    patientFullName: fullName,
    each: z
      .array(z.enum(['agendaId', 'patientId']))
      .default([])
      .describe(
        'Fields whose list applies as a whole: an appointment belongs to each agenda, and each patient has a visit. Otherwise only the first.',
      ),
    rereading,
    statuses: z
      .record(z.string(), z.enum(STATUSES))
      .default(STATUS_WORDS)
      .describe(
        "Translation of the clinic's values to clinic-mirror's values. An exact match wins; otherwise case, spaces, hyphens and underscores are ignored. Other values are unknown.",
      ),
    statusWords: z
      .partialRecord(z.enum(STATUSES), z.string().min(1))
      .default({})
      .describe(
        "Value to write for each of clinic-mirror's statuses. Default: the first value in `statuses` with that meaning.",
      ),
    emptyStartMeansUnscheduled: z
      .boolean()
      .default(true)
      .describe(
        "Treats a record whose start is null, empty or a zero date (`0000-00-00`, `0001-01-01T00:00:00`) as not scheduled, for example on a waiting list. clinic-mirror removes it from targets, within the guard's limits. `false`: such a record is skipped, and its event stays.",
      ),
    unscheduledFlags: z
      .array(raisedBy)
      .max(10)
      .default([])
      .describe(
        'Fields that mark a record that may have no time, for example on a waiting list. Such a record without the field of the start is treated like one with an empty start.',
      ),
    statusChange: fieldPaths(statusChange).describe('Paths in the request body of a status operation.'),
    payment: fieldPaths(payment).describe('Paths in the request body of a payment operation.'),
    statusMissing: z.enum(STATUSES).default('unknown').describe('Status of a record without a status.'),
    flags: z.array(flag).default([]).describe('Flags that override the status, in this order.'),
    pageUrl: z
      .string()
      .refine(isPageTemplate, issueText(message('profile.page-url', { placeholder: '{id}' })))
      .nullable()
      .default(null)
      .describe("URL of an appointment's page for users, with `{id}` for the appointment's id. `null`: no page."),
    teleVisitUrl: paths
      .default([])
      .describe("Path of a video visit's URL. A URL that is not https or contains the patient's name is ignored."),
    durationUnit: z
      .enum(['minutes', 'seconds'])
      .default('minutes')
      .describe('Unit of the field `duration`. Values such as `PT30M` and `0:30` contain the unit.'),
    allDayEnd: z
      .enum(['exclusive', 'inclusive'])
      .default('exclusive')
      .describe('Whether the end date of a whole-day appointment is included.'),
    longestDays: z
      .int()
      .min(1)
      .default(366)
      .describe('Maximum length of an appointment, in days. Longer appointments are skipped.'),
  })
  .refine(({ rereading: { changedSince }, fields }) => changedSince.parameter === null || fields.updatedAt.length > 0, {
    path: ['rereading', 'changedSince', 'parameter'],
    message: issueText(message('profile.updated-at')),
  });
