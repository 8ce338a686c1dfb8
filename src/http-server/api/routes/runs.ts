import { z } from 'zod';
import { releaseRun, undoRun } from '../../../control/acts.ts';
import { requireTenant } from '../../../control/installation.ts';
import { pageOf } from '../../../control/paging.ts';
import { listRuns } from '../../../control/undo.ts';
import { paged, pageOfItems, type Route, route, withReason } from '../route.ts';
import { instant } from '../schemas/common.ts';
import { runReport } from '../schemas/status.ts';

/** Reports that are kept of a tenant. */
const KEPT_REPORTS = 50;
/** Names reports the newest first: what comes first in a list has the smaller name. */
const LATEST = 1e15;

const undone = z.object({
  tenant: z.string(),
  run: z.string(),
  dryRun: z.boolean(),
  pinnedUntil: instant.nullable(),
  records: z.array(
    z.object({
      target: z.string(),
      record: z.string(),
      effect: z.enum(['updated', 'deleted']),
      result: z.string().describe('`restored`, `waiting`, or why it is not put back'),
    }),
  ),
});

/** Cycles that were run, and taking back what one did. */
export const RUN_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/tenants/{tenant}/runs',
    name: 'listRuns',
    summary: 'Reports of the last fifty cycles, newest first',
    level: 'viewer',
    query: paged,
    reply: pageOfItems(runReport),
    async handle({ desk: { installation }, params, query }) {
      const reports = await requireTenant(installation, params.tenant).runs.list(KEPT_REPORTS);
      return pageOf(reports, query, ({ startedAt, id }) => `${LATEST - startedAt} ${id}`);
    },
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/changing-runs',
    name: 'listChangingRuns',
    summary: 'Runs that changed or deleted something, newest first, at most a hundred: these can be undone',
    level: 'viewer',
    reply: z.object({
      runs: z.array(
        z.object({ tenant: z.string(), run: z.string(), at: instant, updated: z.number(), deleted: z.number() }),
      ),
    }),
    handle: async ({ desk, params }) => ({ runs: await listRuns(desk.installation, params.tenant) }),
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/runs/{run}/undo',
    name: 'undoRun',
    summary:
      'Put back what a run deleted, and bring what it changed to what the clinic says now; or only tell what would come of it',
    level: 'operator',
    body: withReason.extend({ dryRun: z.boolean().describe('Only tell what would come of it') }),
    reply: undone,
    task: 'undo',
    handle: ({ acting, desk, params, body, progress, signals }) =>
      undoRun(acting, desk.installation, params.run, { tenant: params.tenant, dryRun: body.dryRun }, progress, signals),
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/runs/{run}/release',
    name: 'releaseRun',
    summary: "Let the targets' rules decide again about what an undo put back",
    level: 'operator',
    reply: z.object({ tenant: z.string(), released: z.number() }),
    handle: ({ acting, desk, params }) => releaseRun(acting, desk.installation, params.run, { tenant: params.tenant }),
  }),
];
