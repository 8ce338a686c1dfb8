import { z } from 'zod';
import { maySee } from '../model/acts.ts';
import { operation } from './operation.ts';
import { instant, pageOfItems, paging } from './schemas.ts';
import { actFacts, principal } from './status-schemas.ts';

const entry = z.object({
  chain: z.string(),
  sequence: z.number(),
  at: z.string().describe('RFC 3339, UTC'),
  previous: z.string().nullable().describe('MAC of the entry before; null in the first of a chain'),
  verb: z.string(),
  tenant: z.string().nullable(),
  who: principal,
  what: actFacts,
  why: z.string().nullable(),
  outcome: z.enum(['requested', 'refused', 'begun', 'done', 'failed']),
  code: z.string().nullable(),
  act: z.number().nullable().describe('Number of the entry in which the act was begun'),
});

const filter = {
  tenant: z.string().nullable().default(null).describe('Of one tenant'),
  verb: z.string().nullable().default(null).describe('What was done, such as forget'),
  record: z
    .string()
    .max(200)
    .nullable()
    .default(null)
    .describe('Of one record of that tenant, by the id that the clinic gives it'),
};

/** A filter as the user types the values. */
const typedFilter = {
  ...filter,
  sinceAt: z
    .string()
    .transform((text) => Date.parse(text))
    .refine((at) => !Number.isNaN(at), 'write 2026-11-30, or 2026-11-30T08:00:00Z')
    .nullable()
    .default(null)
    .describe('From then on: a day such as 2026-11-30 (UTC), or a time of RFC 3339'),
};

const filterOptions = { sinceAt: { flags: '--since <time>' }, record: { flags: '--record <id>' } };

/** Default number of actions that `audit-log show` prints. */
const SHOWN = 100;

/** Operations on the audit log of human actions. */
export const AUDIT_LOG_OPERATIONS = {
  listActs: operation({
    summary:
      'list acts of the audit log, newest first, each once: its end, or its beginning while it has none; what concerns no tenant is for those who may see all',
    level: 'viewer',
    input: z.strictObject({ ...filter, sinceAt: z.coerce.number().pipe(instant).nullable().default(null), ...paging }),
    output: pageOfItems(entry).extend({
      changed: z
        .number()
        .describe('Entries met for this page that are not as they were written; audit-log verify tells more'),
    }),
    http: { method: 'GET', path: '/audit-log' },
    // The command prints begin and end of each action, oldest first.
    commands: [],
    async run({ after, limit, ...filter }, { acting, rights }) {
      const { readActivity } = await import('../control/activity.ts');
      const sees = (tenant: string | null) => maySee(rights, tenant);
      const { lines, next } = await readActivity(acting.actServices, { after, limit, filter, sees });
      const items = lines.flatMap(({ entry: each }) => each ?? []);
      return { items, next, changed: lines.length - items.length };
    },
  }),
  showAuditLog: operation({
    summary: 'show what was done, oldest first',
    level: 'viewer',
    input: z.strictObject({
      ...typedFilter,
      limit: z.number().int().default(SHOWN),
    }),
    output: z.object({ entries: z.array(entry), changed: z.number() }),
    http: null,
    commands: [
      {
        words: 'audit-log show',
        isDefault: true,
        options: { ...filterOptions, limit: { about: `the newest entries; default: ${SHOWN}; 0: all` } },
      },
    ],
    async run({ limit, ...filter }, { acting }) {
      const { readAuditLog } = await import('../control/activity.ts');
      const lines = await Array.fromAsync(readAuditLog(acting.actServices, filter));
      const entries = lines.flatMap(({ entry: each }) => each ?? []);
      return { entries: entries.slice(-limit), changed: lines.length - entries.length };
    },
  }),
  exportAuditLog: operation({
    summary: 'print entries as JSON lines, each with its MAC, as they stand in the log',
    level: 'viewer',
    input: z.strictObject(typedFilter),
    output: z.object({ lines: z.array(z.string()) }),
    http: null,
    commands: [{ words: 'audit-log export', isText: true, options: filterOptions }],
    async run(filter, { acting }) {
      const { readAuditLog } = await import('../control/activity.ts');
      const lines = await Array.fromAsync(readAuditLog(acting.actServices, filter));
      return { lines: lines.map(({ line }) => line) };
    },
  }),
  verifyAuditLog: operation({
    summary: 'check that no entry was changed, moved or removed, by their MACs and by what Redis knows of the end',
    level: 'viewer',
    input: z.strictObject({
      elsewhere: z.array(z.string()).default([]).describe('Chains that are kept in the directory of another machine'),
    }),
    output: z.object({
      ok: z.boolean(),
      chains: z.array(
        z.object({
          chain: z.string(),
          first: z.number(),
          last: z.number(),
          entries: z.number(),
          mac: z.string(),
          head: z.object({ sequence: z.number(), mac: z.string(), at: instant }).nullable(),
        }),
      ),
      faults: z.array(
        z.object({
          chain: z.string(),
          from: z.number().nullable(),
          to: z.number().nullable(),
          fault: z.enum(['changed', 'misplaced', 'unlinked', 'missing', 'cut-off', 'replaced', 'absent']),
        }),
      ),
    }),
    http: null,
    commands: [{ words: 'audit-log verify', options: { elsewhere: { flags: '--elsewhere <chain...>' } } }],
    async run({ elsewhere }, { acting }) {
      const { verifyAuditLog } = await import('../control/activity.ts');
      const found = await verifyAuditLog(acting.actServices, elsewhere);
      return { ok: found.faults.length === 0, ...found };
    },
    endsWithOne: { when: 'an entry was changed, moved or removed', holds: ({ ok }) => !ok },
  }),
};
