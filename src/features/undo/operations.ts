import { z } from 'zod';
import { id, pageOfItems, paging, tenant } from '../../core/model/schemas.ts';
import { requireTenant } from '../../operator/control/installation.ts';
import { runReport } from '../../operator/control/status-schemas.ts';
import { operation } from '../../operator/operations/operation.ts';
import { changingRuns, undo } from './schemas.ts';

/** Largest number of stored reports per tenant. */
const STORED_REPORTS = 50;
/** Makes report names in descending order of time, so that the newest name is first. */
const LATEST = 1e15;

const ofRun = { run: id, tenant: tenant.optional().describe('Required if two tenants have a run with this id') };

/** Operations on completed cycles and their changes. */
export const RUN_OPERATIONS = {
  listRuns: operation({
    summary: 'list reports of the last fifty cycles, newest first',
    level: 'viewer',
    input: z.strictObject({ tenant, ...paging }),
    output: pageOfItems(runReport),
    http: { method: 'GET', path: '/tenants/{tenant}/runs' },
    commands: [],
    async run({ tenant, ...page }, { services: { installation } }) {
      const { pageOf } = await import('../../operator/control/paging.ts');
      const reports = await requireTenant(installation, tenant).runs.list(STORED_REPORTS);
      return pageOf(reports, page, ({ startedAt, id }) => `${LATEST - startedAt} ${id}`);
    },
  }),
  listChangingRuns: operation({
    summary: 'list undoable runs, newest first, at most a hundred: runs that changed or deleted objects',
    level: 'viewer',
    input: z.strictObject({ tenant: tenant.optional() }),
    output: changingRuns,
    http: { method: 'GET', path: '/tenants/{tenant}/changing-runs' },
    commands: [
      { words: 'runs [tenant]', about: 'list runs that changed or deleted objects, newest first', isList: true },
    ],
    async run({ tenant }, { services }) {
      const { listRuns } = await import('./undo.ts');
      return { runs: await listRuns(services.installation, tenant) };
    },
    assistants: [{ name: 'runs', about: 'Runs that changed or deleted objects, newest first', output: changingRuns }],
  }),
  undoRun: operation({
    summary: 'restore the deleted and changed objects of a run, with current clinic data',
    level: 'operator',
    input: z.strictObject({ ...ofRun, dryRun: z.boolean().describe('Only show the result') }),
    output: undo,
    http: { method: 'POST', path: '/tenants/{tenant}/runs/{run}/undo', task: 'undo' },
    commands: [{ words: 'undo <run>' }],
    async audit({ run, tenant, dryRun }, { services }) {
      const { tenantOfRun } = await import('./undo.ts');
      return dryRun
        ? null
        : { verb: 'undo', tenant: (await tenantOfRun(services.installation, run, tenant)).id, what: { run } };
    },
    async run({ tenant, run, dryRun }, { services, progress, signals }) {
      const { undoRun } = await import('./undo.ts');
      return undoRun(services.installation, run, { tenant, dryRun }, { progress, signals });
    },
    auditResult: ({ records }) => ({
      records: records.length,
      restored: records.filter(({ result }) => result === 'restored').length,
    }),
    endsWithOne: {
      when: 'an object is not restored yet, or could not be read',
      holds: ({ dryRun, records }) =>
        !dryRun && records.some(({ result }) => result === 'waiting' || result === 'unread'),
    },
  }),
  releaseRun: operation({
    summary: 'apply the target rules again to objects restored by undo',
    level: 'operator',
    input: z.strictObject(ofRun),
    output: z.object({ tenant: z.string(), released: z.number() }),
    http: { method: 'POST', path: '/tenants/{tenant}/runs/{run}/release' },
    commands: [
      {
        words: 'undo <run>',
        by: { flags: '--release', about: 'apply the target rules again to objects restored by undo' },
      },
    ],
    async audit({ run, tenant }, { services }) {
      const { tenantOfRun } = await import('./undo.ts');
      return { verb: 'release', tenant: (await tenantOfRun(services.installation, run, tenant)).id, what: { run } };
    },
    async run({ tenant, run }, { services }) {
      const { releaseRun } = await import('./undo.ts');
      return releaseRun(services.installation, run, { tenant });
    },
    auditResult: ({ released }) => ({ released }),
  }),
};
