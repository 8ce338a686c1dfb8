import { z } from 'zod';
import { readActivity } from '../../../control/activity.ts';
import { instant, pageOfItems } from '../../../operations/schemas.ts';
import { actFacts, principal } from '../../../operations/status-schemas.ts';
import { maySee } from '../../visitors.ts';
import { paged, type Route, route } from '../route.ts';

const entry = z.object({
  chain: z.string(),
  sequence: z.number(),
  at: z.string().describe('RFC 3339, UTC'),
  verb: z.string(),
  tenant: z.string().nullable(),
  who: principal,
  what: actFacts,
  why: z.string().nullable(),
  outcome: z.enum(['requested', 'refused', 'begun', 'done', 'failed']),
  code: z.string().nullable(),
  act: z.number().nullable().describe('Number of the entry in which the act was begun'),
});

/** What persons did. */
export const AUDIT_LOG_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/audit-log',
    name: 'listActs',
    summary:
      'Acts of the audit log, newest first, each once: its end, or its beginning while it has none; what concerns no tenant is for those who may see all',
    level: 'viewer',
    query: paged.extend({
      tenant: z.string().nullable().default(null),
      verb: z.string().nullable().default(null),
      sinceAt: z.coerce.number().pipe(instant).nullable().default(null),
      record: z.string().max(200).nullable().default(null).describe('Of one record of the tenant, by its id'),
    }),
    reply: pageOfItems(entry).extend({
      changed: z
        .number()
        .describe('Entries met for this page that are not as they were written; audit-log verify tells more'),
    }),
    async handle({ acting, visitor, query: { after, limit, ...filter } }) {
      const sees = (tenant: string | null) => maySee(visitor, tenant);
      const { lines, next } = await readActivity(acting.desk, { after, limit, filter, sees });
      const items = lines.flatMap(({ entry: each }) => each ?? []);
      return { items, next, changed: lines.length - items.length };
    },
  }),
];
