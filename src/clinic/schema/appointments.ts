import { z } from 'zod';
import { APPOINTMENT_STATUSES as STATUSES } from '../../model/records.ts';
import { fieldPaths, paths } from './fields.ts';
import { fullName } from './full-names.ts';
import { payment, statusChange } from './registry.ts';
import { listProfile, RESOURCES, raisedBy } from './resources.ts';
import { rereading, windowFilters } from './windows.ts';

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
      .refine(
        isPageTemplate,
        'write an https address with {id} in its path, query or fragment, and nothing else in braces',
      )
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
    message: 'needs fields.updatedAt: without it nobody knows since when to ask',
  });
