import { z } from 'zod';
import { operation } from '../../operations/operation.ts';
import { instant, tenant } from '../../operations/schemas.ts';

const span = z.object({ startAt: instant, endAt: instant });
const overlapping = span.extend({ record: z.string() });

/** Operations that report overlapping appointments. */
export const OVERLAP_OPERATIONS = {
  reportOverlaps: operation({
    summary: 'report appointments of one agenda that overlap; reads the clinic',
    level: 'viewer',
    input: z.strictObject({
      tenant,
      days: z.coerce.number().int().min(1).max(31).default(7).describe('Days from now, at most 31'),
    }),
    output: z.object({
      tenant: z.string(),
      fromAt: instant,
      toAt: instant,
      isComplete: z
        .boolean()
        .describe('False: the list of the clinic was incomplete, and more appointments may overlap'),
      overlaps: z.array(
        z.object({
          agenda: z.string(),
          name: z.string().nullable().describe('Name of the agenda, if the clinic lists it'),
          first: overlapping.describe('The appointment that begins first'),
          second: overlapping,
          minutes: z.number().describe('Minutes that both share, rounded up'),
        }),
      ),
    }),
    http: { method: 'GET', path: '/tenants/{tenant}/overlaps' },
    commands: [{ words: 'overlaps <tenant>', isList: true, isOfOneTenant: true }],
    async run({ tenant, days }, { services: { installation }, signals }) {
      const { reportOverlaps } = await import('./overlaps.ts');
      return reportOverlaps(installation, tenant, days, signals.stop);
    },
    document: async () => (await import('./overlaps.ts')).overlapsDocument,
    page: { path: '/overlaps', names: { en: 'Overlaps', it: 'Sovrapposizioni' } },
    assistants: [
      {
        name: 'overlaps',
        about: 'Appointments of one agenda that overlap, without record ids; reads the clinic',
        output: z.object({
          tenant: z.string(),
          isComplete: z.boolean(),
          overlaps: z.array(z.object({ agenda: z.string(), first: span, second: span, minutes: z.number() })),
        }),
      },
    ],
  }),
};
