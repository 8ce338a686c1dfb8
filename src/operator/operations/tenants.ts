import { z } from 'zod';
import { maySee } from '../../core/model/acts.ts';
import { problemsWithin } from '../../core/model/problems.ts';
import {
  failure,
  id,
  instant,
  optionalTarget,
  pageOfItems,
  paging,
  problem,
  syncState,
  tenant,
} from '../../core/model/schemas.ts';
import { TASK_KINDS } from '../../core/model/tasks.ts';
import { historyDays, historyView, targetChanges } from '../control/history-schemas.ts';
import { requireTenant } from '../control/installation.ts';
import { stopsInstallation } from '../control/installation-problems.ts';
import { connectionStatus, statusReply, targetStatus, tenantLine, tenantStatus } from '../control/status-schemas.ts';
import { operation, type Services } from './operation.ts';

const ofTenant = z.strictObject({ tenant });

/** A slow operation that an API caller started. */
const task = z.object({
  id: z.string(),
  kind: z.enum(TASK_KINDS),
  beganAt: instant,
  state: z
    .enum(['running', 'done', 'failed', 'lost'])
    .describe('`lost`: the process stopped without a result; starting again is safe'),
  step: z.string().nullable().describe('Current or last step'),
  result: z.unknown().describe('Response of the route; null until the job is done'),
  error: failure.nullable(),
});

/** Operations that show the state of tenants. */
export const TENANT_OPERATIONS = {
  readStatus: operation({
    summary: 'show required actions, and the state of tenants and targets',
    level: 'viewer',
    input: z.strictObject({
      tenant: tenant.optional(),
      problems: z.boolean().default(false).describe('Only problems; exit code 1 if action is required'),
    }),
    output: statusReply,
    // Programs get tenants and problems in pages.
    http: null,
    commands: [
      {
        words: 'status [tenant]',
        ...{ isList: true, isOfOneTenant: true, reportsRefused: true },
        jsonFields: ({ problems }) => (problems ? ['at', 'problems'] : null),
      },
    ],
    async run({ tenant }, { services: { installation, statuses } }) {
      return tenant === undefined
        ? (await statuses.read(installation)).status
        : statuses.ofTenant(installation, tenant);
    },
    endsWithOne: {
      when: 'the installation does not work, or action is required (with --problems)',
      holds: ({ problems }, { problems: isAskedOnly }) =>
        problems.some((each) => stopsInstallation(each) || (isAskedOnly && each.health === 'action-required')),
    },
    assistants: [
      {
        name: 'status',
        about: 'Sync and health per tenant and target, and pending work',
        fixed: { problems: false },
        output: z.object({
          at: instant,
          tenants: z.array(
            tenantStatus.pick({ tenant: true, paused: true }).extend({
              ...syncState,
              lastCycleAt: instant.nullable(),
              targets: z.array(
                targetStatus
                  .pick({ target: true, connector: true, reason: true })
                  .extend({ ...syncState, code: z.string().nullable() }),
              ),
              problems: z.number(),
            }),
          ),
        }),
        of: ({ at, tenants, problems }) => ({
          at,
          tenants: tenants.map((clinic) => ({
            ...clinic,
            lastCycleAt: clinic.lastRun?.finishedAt ?? null,
            targets: clinic.targets.map((target) => ({ ...target, code: target.failure?.code ?? null })),
            problems: problemsWithin(problems, (each) => each === clinic.tenant).length,
          })),
        }),
      },
      {
        name: 'problems',
        about: 'Current and expected problems, the responsible person, and the next action',
        fixed: { problems: true },
        output: statusReply.pick({ at: true, problems: true }),
      },
    ],
  }),
  listTenants: operation({
    summary: 'list tenants by id, with sync, health and problems',
    level: 'viewer',
    input: z.strictObject(paging),
    output: pageOfItems(tenantLine),
    http: { method: 'GET', path: '/tenants' },
    commands: [],
    async run(page, { services: { installation }, rights }) {
      const { listTenants } = await import('../control/tenant-list.ts');
      return listTenants(installation, (tenant) => maySee(rights, tenant), page);
    },
  }),
  listProblems: operation({
    summary: 'list problems: first of the installation, then per tenant; `limit` is a number of tenants',
    level: 'viewer',
    input: z.strictObject({ tenant: tenant.optional(), ...paging }),
    output: z.object({ problems: z.array(problem), next: z.string().nullable() }),
    http: { method: 'GET', path: '/problems', ofTenant: 'listProblemsOfTenant' },
    commands: [],
    async run({ tenant, ...page }, { services, rights }) {
      if (tenant !== undefined) return { problems: (await tenantOf(services, tenant)).problems, next: null };
      const { listProblems } = await import('../control/tenant-list.ts');
      const { status } = await services.statuses.read(services.installation);
      const isWanted = (id: string) => maySee(rights, id);
      return listProblems(services.installation, status, { ...page, isWanted, withAll: rights.tenants === null });
    },
  }),
  readTenant: operation({
    summary: 'show the state of a tenant',
    level: 'viewer',
    input: ofTenant,
    output: tenantStatus,
    http: { method: 'GET', path: '/tenants/{tenant}' },
    commands: [],
    run: ({ tenant }, { services }) => tenantOf(services, tenant),
  }),
  listConnections: operation({
    summary: 'list the connections of a tenant with their state',
    level: 'viewer',
    input: ofTenant,
    output: z.object({ connections: z.array(connectionStatus) }),
    http: { method: 'GET', path: '/tenants/{tenant}/connections' },
    commands: [],
    async run({ tenant }, { services: { installation } }) {
      return { connections: await installation.connections(requireTenant(installation, tenant)) };
    },
  }),
  listTargets: operation({
    summary: 'list the targets of a tenant with their state',
    level: 'viewer',
    input: ofTenant,
    output: z.object({ targets: z.array(targetStatus) }),
    http: { method: 'GET', path: '/tenants/{tenant}/targets' },
    commands: [],
    run: ({ tenant }, { services }) => tenantOf(services, tenant),
  }),
  readHistory: operation({
    summary: 'show how fresh each target was, its changes per day, and outages',
    level: 'viewer',
    input: z.strictObject({
      tenant,
      target: optionalTarget,
      days: historyDays.default('1').describe('Number of days until now'),
    }),
    output: historyView,
    http: { method: 'GET', path: '/tenants/{tenant}/history' },
    commands: [{ words: 'history <tenant>', isOfOneTenant: true }],
    async run({ tenant, target, days }, { services: { installation, statuses } }) {
      const { viewHistory } = await import('../control/history.ts');
      const open = requireTenant(installation, tenant);
      const { at, tenants } = await statuses.ofTenant(installation, tenant);
      const targets = tenants[0]?.targets ?? [];
      return viewHistory(open, { at, targets, outages: await installation.outages.list() }, { days, target });
    },
  }),
  readTargetChanges: operation({
    summary: 'list the changes of a target on one day, with the time before and after; uses saved state only',
    level: 'viewer',
    input: z.strictObject({
      tenant,
      target: id,
      day: z.iso.date().nullable().default(null).describe("Day in the clinic's time zone; default: yesterday"),
    }),
    output: targetChanges,
    http: { method: 'GET', path: '/tenants/{tenant}/targets/{target}/changes' },
    commands: [
      {
        words: 'changes <tenant> <target>',
        isOfOneTenant: true,
        options: {
          day: { flags: '--day <date>', about: "day in the clinic's time zone, YYYY-MM-DD; default: yesterday" },
        },
      },
    ],
    async run({ tenant, target, day }, { services: { installation } }) {
      const { viewTargetChanges } = await import('../control/target-changes.ts');
      return viewTargetChanges(requireTenant(installation, tenant), target, day);
    },
    document: async () => (await import('../documents/changes.ts')).changesDocument,
  }),
  readTask: operation({
    summary: 'show the state of a long job',
    level: 'operator',
    input: z.strictObject({ tenant, task: id }),
    output: task,
    http: { method: 'GET', path: '/tenants/{tenant}/tasks/{task}' },
    commands: [],
    async run({ tenant, task }, { services: { installation } }) {
      const { readTask } = await import('../control/tasks.ts');
      return readTask(installation, tenant, task);
    },
  }),
};

/** Returns the state of one tenant with its problems. */
async function tenantOf({ installation, statuses }: Services, id: string) {
  const { tenants, problems } = await statuses.ofTenant(installation, id);
  const [found] = tenants;
  if (found === undefined) throw new Error('The status of one tenant has no tenant');
  return { ...found, problems: problemsWithin(problems, (each) => each === id) };
}
