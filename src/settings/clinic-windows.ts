import { z } from 'zod';
import { parameter } from './clinic-paging.ts';

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
};
