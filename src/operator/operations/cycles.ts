import { z } from 'zod';
import { maySee } from '../../core/model/acts.ts';
import { fieldChange, type PlanView, type StoredPlan, skippedTarget } from '../../core/model/plan-view.ts';
import { countsByCode, id, instant, pageOfItems, paging, tenant } from '../../core/model/schemas.ts';
import { requireTenant, settingsLocation } from '../control/installation.ts';
import { auditReply, retried, syncReply } from '../control/status-schemas.ts';
import { operation } from './operation.ts';

const planLine = z.object({
  target: z.string(),
  record: z.string(),
  operation: z.enum(['create', 'update', 'delete']),
  reason: z.string(),
  fields: z.array(z.string()),
  fieldChanges: z.array(fieldChange).describe('Changed fields; for a created or deleted record, every field'),
  startAt: instant.nullable(),
  agenda: z
    .string()
    .nullable()
    .describe("Name or id of the agenda; null if the clinic's list lacks the record, and for patients and invoices"),
  decision: z
    .enum(['write', 'on-hold', 'refused'])
    .describe('`write`: would be written; `on-hold`: waits for approval; `refused`: rejected by an administrator'),
});

const plan = z.object({
  id: z.string().describe('Digest of the lines and of the data behind them'),
  tenant: z.string(),
  asOf: instant,
  storedAt: instant,
  expiresAt: instant,
  snapshot: z.object({
    completeness: z.string(),
    reason: z.string().nullable(),
    records: z.number(),
    unusable: z.number(),
  }),
  unconfirmed: z.number(),
  targets: z.array(
    z.object({
      target: z.string(),
      links: z.number(),
      unchanged: z.number(),
      failing: z.number(),
      waiting: z.number(),
      released: z.number(),
      existing: z
        .union([z.object({ contacts: z.number(), alike: z.number() }), z.object({ unread: z.string() })])
        .nullable(),
      lines: z.number().describe('Number of lines with any decision'),
      operations: countsByCode.describe('Number of lines to write, by operation'),
      excluded: countsByCode.describe('Number of records that rules exclude, by rule'),
    }),
  ),
  skippedTargets: z.array(skippedTarget),
});

const UNFINISHED = {
  when: 'the cycle ended early, a target is not in sync, a scope was refused, or the clinic does not know an id of the configuration',
};

/** Operations that plan and run cycles, or audit targets. */
export const CYCLE_OPERATIONS = {
  planTenant: operation({
    summary: 'show the planned changes of a cycle and the reasons; writes nothing',
    level: 'operator',
    input: z.strictObject({
      tenant,
      save: z.boolean().default(false).describe('Save the plan for one hour, for apply'),
    }),
    output: z.custom<PlanView | StoredPlan>(),
    // Programs get a plan without its lines, and the lines in pages.
    http: null,
    commands: [{ words: 'plan <tenant>', isList: true }],
    async run({ tenant, save }, { services: { installation }, progress, signals }) {
      const [{ storePlan }, { planTenant }] = await Promise.all([
        import('../control/plan.ts'),
        import('../control/plan.ts'),
      ]);
      return save
        ? storePlan(installation, tenant, progress, signals.stop)
        : planTenant(installation, tenant, progress, signals.stop);
    },
    document: async () => (await import('../documents/plan.ts')).planDocument,
  }),
  makePlan: operation({
    summary: 'read the clinic, plan a cycle and save the plan for one hour; does not change the clinic or a target',
    level: 'operator',
    input: z.strictObject({ tenant }),
    output: plan,
    http: { method: 'POST', path: '/tenants/{tenant}/plans', task: 'plan' },
    commands: [],
    async run({ tenant }, { services: { installation }, progress, signals }) {
      const { storePlan, planSummary } = await import('../control/plan.ts');
      return planSummary(await storePlan(installation, tenant, progress, signals.stop));
    },
  }),
  readPlan: operation({
    summary: 'show a saved plan without its lines',
    level: 'viewer',
    input: z.strictObject({ tenant, plan: id }),
    output: plan,
    http: { method: 'GET', path: '/tenants/{tenant}/plans/{plan}' },
    commands: [],
    async run({ tenant, plan }, { services: { installation } }) {
      const { readStoredPlan, planSummary } = await import('../control/plan.ts');
      return planSummary(await readStoredPlan(installation, tenant, plan));
    },
  }),
  listPlanLines: operation({
    summary: 'list the lines of a plan: target, change and reason',
    level: 'viewer',
    input: z.strictObject({ tenant, plan: id, target: z.string().optional().describe('Only this target'), ...paging }),
    output: pageOfItems(planLine),
    http: { method: 'GET', path: '/tenants/{tenant}/plans/{plan}/lines' },
    commands: [],
    async run({ tenant, plan, target, ...page }, { services: { installation } }) {
      const [{ readStoredPlan }, { noSuchTarget }, { pageOf }] = await Promise.all([
        import('../control/plan.ts'),
        import('../control/health.ts'),
        import('../control/paging.ts'),
      ]);
      const isFound = target === undefined || requireTenant(installation, tenant).targets.has(target);
      if (!isFound) throw noSuchTarget(target);
      const { targets } = await readStoredPlan(installation, tenant, plan);
      const lines = targets
        .filter((each) => target === undefined || each.target === target)
        .flatMap((each) => each.lines.map((line) => ({ target: each.target, ...line })));
      return pageOf(lines, page, (line) => `${line.target}/${line.record}`);
    },
  }),
  applyPlan: operation({
    summary: 'run a cycle only if its changes equal a saved plan',
    level: 'operator',
    input: z.strictObject({ tenant, plan: id }),
    output: syncReply,
    http: { method: 'POST', path: '/tenants/{tenant}/plans/{plan}/apply', task: 'apply' },
    commands: [{ words: 'apply <tenant> <plan>' }],
    audit: ({ tenant, plan }, { services: { installation } }) => ({
      verb: 'apply',
      tenant: requireTenant(installation, tenant).id,
      // A value that is not a plan id can be any text, so the audit log must not contain the value.
      what: { plan: /^[0-9a-f]{24}$/.test(plan) ? plan : null },
    }),
    async run({ tenant, plan }, { services: { installation }, progress, signals }) {
      const [{ applyPlan }, { isWhole }] = await Promise.all([
        import('../control/plan.ts'),
        import('../control/sync.ts'),
      ]);
      const result = await applyPlan(installation, tenant, plan, { progress, signals });
      return { ...result, isWhole: isWhole(result), settings: settingsLocation(installation, tenant) };
    },
    auditResult: ({ run, targets }) => ({ targets: targets.length, error: run.error?.code ?? null }),
    endsWithOne: { ...UNFINISHED, holds: ({ isWhole }) => !isWhole },
  }),
  syncTenant: operation({
    summary: 'run one cycle now and wait for its end',
    level: 'operator',
    input: z.strictObject({ tenant }),
    output: syncReply,
    http: { method: 'POST', path: '/tenants/{tenant}/sync', task: 'sync' },
    commands: [{ words: 'sync <tenant>' }],
    audit: ({ tenant }, { services: { installation } }) => ({
      verb: 'sync',
      tenant: requireTenant(installation, tenant).id,
    }),
    async run({ tenant }, { services: { installation }, progress, signals }) {
      const { isWhole, syncTenant } = await import('../control/sync.ts');
      const result = await syncTenant(installation, tenant, { progress, signals });
      return { ...result, isWhole: isWhole(result), settings: settingsLocation(installation, tenant) };
    },
    auditResult: ({ run, targets }) => ({ targets: targets.length, error: run.error?.code ?? null }),
    endsWithOne: { ...UNFINISHED, holds: ({ isWhole }) => !isWhole },
  }),
  retryServer: operation({
    summary: 'retry an unreachable server now, in the running daemon',
    level: 'operator',
    input: z.strictObject({ server: id }),
    output: retried,
    http: { method: 'POST', path: '/servers/{server}/retry' },
    commands: [{ words: 'retry <server>' }],
    async audit({ server }, { services: { installation } }) {
      const isFound = (await installation.outages.list()).some(({ host }) => host === server);
      return { verb: 'retry', tenant: null, what: { host: isFound ? server : null } };
    },
    async run({ server }, { services, rights }) {
      const { retryHost } = await import('../control/incidents.ts');
      return retryHost(services.installation, server, (tenant) => maySee(rights, tenant));
    },
    auditResult: ({ tenants, targets }) => ({ tenants: tenants.length, targets }),
  }),
  auditTenant: operation({
    summary: 'read the targets and show manual changes',
    level: 'operator',
    input: z.strictObject({ tenant }),
    output: auditReply,
    http: { method: 'POST', path: '/tenants/{tenant}/audit', task: 'audit' },
    commands: [{ words: 'audit <tenant>' }],
    audit: ({ tenant }, { services: { installation } }) => ({
      verb: 'audit',
      tenant: requireTenant(installation, tenant).id,
    }),
    async run({ tenant }, { services, progress, signals }) {
      const { auditNow, isLookedAt } = await import('../control/audit.ts');
      const view = await auditNow(services.installation, tenant, progress, signals.stop);
      return { ...view, isLookedAt: isLookedAt(view) };
    },
    auditResult: ({ targets }) => ({ targets: targets.length }),
    endsWithOne: { when: 'a target could not be read', holds: ({ isLookedAt }) => !isLookedAt },
  }),
};
