import { z } from 'zod';
import { parameter } from './paging.ts';

/** Forms in which clinics take times. */
const timeFormat = z.enum(['date', 'utc', 'offset', 'local', 'local-space', 'epoch-seconds', 'epoch-ms']);
const TIME_FORMATS =
  'date 2026-03-29, utc …T07:00:00Z, offset …T09:00:00+02:00, local …T09:00:00, local-space … 09:00:00.';

/** How what was read before spares reading it again. */
export const rereading = z
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
