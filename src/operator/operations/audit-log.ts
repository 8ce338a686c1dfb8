import { z } from 'zod';
import { auditEntry, auditLogCheck, maySee } from '../../core/model/acts.ts';
import { instant, pageOfItems, paging } from '../../core/model/schemas.ts';
import { operation } from './operation.ts';

const filter = {
  tenant: z.string().nullable().default(null).describe('Only actions of this tenant'),
  verb: z.string().nullable().default(null).describe('Only actions of this kind, for example forget'),
  record: z
    .string()
    .max(200)
    .nullable()
    .default(null)
    .describe("Only actions on this record; the value is the clinic's id"),
};

/** A filter as the user types the values. */
const typedFilter = {
  ...filter,
  sinceAt: z
    .string()
    .transform((text) => Date.parse(text))
    .refine((at) => !Number.isNaN(at), 'use 2026-11-30 or 2026-11-30T08:00:00Z')
    .nullable()
    .default(null)
    .describe('Only actions from this time on: a day such as 2026-11-30 (UTC), or an RFC 3339 time'),
};

const filterOptions = { sinceAt: { flags: '--since <time>' }, record: { flags: '--record <id>' } };

/** Default number of actions that `audit-log show` prints. */
const SHOWN = 100;

/** Operations on the audit log of human actions. */
export const AUDIT_LOG_OPERATIONS = {
  listActs: operation({
    summary:
      'list actions of the audit log, newest first; each action once, by its end or, while it runs, by its beginning; actions without a tenant are visible only to users with access to every tenant',
    level: 'viewer',
    input: z.strictObject({ ...filter, sinceAt: z.coerce.number().pipe(instant).nullable().default(null), ...paging }),
    output: pageOfItems(auditEntry).extend({
      changed: z.number().describe('Changed records found for this page; audit-log verify gives details'),
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
    summary: 'list recorded actions, oldest first',
    level: 'viewer',
    input: z.strictObject({
      ...typedFilter,
      limit: z.number().int().default(SHOWN),
    }),
    output: z.object({ entries: z.array(auditEntry), changed: z.number() }),
    http: null,
    commands: [
      {
        words: 'audit-log show',
        isDefault: true,
        options: { ...filterOptions, limit: { about: `number of newest records; default: ${SHOWN}; 0: every record` } },
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
    summary: 'print the original records as JSON lines, each with its MAC',
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
    summary: 'check by MACs and Redis that no record was changed, moved or removed',
    level: 'viewer',
    input: z.strictObject({
      elsewhere: z.array(z.string()).default([]).describe('Chains in the data directory of another host'),
    }),
    output: z.object({ ok: z.boolean(), ...auditLogCheck.shape }),
    http: null,
    commands: [{ words: 'audit-log verify', options: { elsewhere: { flags: '--elsewhere <chain...>' } } }],
    async run({ elsewhere }, { acting }) {
      const { verifyAuditLog } = await import('../control/activity.ts');
      const found = await verifyAuditLog(acting.actServices, elsewhere);
      return { ok: found.faults.length === 0, ...found };
    },
    endsWithOne: { when: 'a record was changed, moved or removed', holds: ({ ok }) => !ok },
  }),
};
