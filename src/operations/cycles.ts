import { z } from 'zod';
import { requireTenant, settingsLocation } from '../control/installation.ts';
import { maySee } from '../model/acts.ts';
import type { PlanView, StoredPlan } from '../model/plan-view.ts';
import { operation } from './operation.ts';
import { countsByCode, id, instant, pageOfItems, paging, tenant } from './schemas.ts';
import { auditReply, syncReply } from './status-schemas.ts';

const fieldValue = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.enum(['none', 'withheld', 'unread']) }),
    z.object({ kind: z.literal('time'), startAt: instant, endAt: instant }),
    z.object({ kind: z.literal('days'), startDate: z.string(), endDate: z.string() }),
    z.object({ kind: z.literal('text'), text: z.string() }),
  ])
  .describe(
    '`withheld`: it may tell of a patient; `unread`: the target was not asked, or what stands there can not be read',
  );

const planLine = z.object({
  target: z.string(),
  record: z.string(),
  operation: z.enum(['create', 'update', 'delete']),
  reason: z.string(),
  fields: z.array(z.string()),
  fieldChanges: z
    .array(z.object({ field: z.string(), before: fieldValue, after: fieldValue }))
    .describe('What would change; of what comes or goes all that it has'),
  startAt: instant.nullable(),
  decision: z.enum(['go', 'held', 'refused']).describe('`go`: would be written; `held` for a person; `refused` by one'),
});

const plan = z.object({
  id: z.string().describe('A digest of its lines and of what they were made of'),
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
      lines: z.number().describe('How many lines there are, whatever their verdict'),
      operations: countsByCode.describe('Lines that would be written, by operation'),
      excluded: countsByCode.describe('Records that rules leave out, by rule'),
    }),
  ),
  skippedTargets: z.array(z.object({ target: z.string(), code: z.string() })),
});

const UNFINISHED = {
  when: 'the cycle ended early, a target is not in-sync, a scope was refused, or an id of the files is unknown',
};

/** Operations that plan and run cycles, or audit targets. */
export const CYCLE_OPERATIONS = {
  planTenant: operation({
    summary: 'show what a cycle would write and why; writes nothing',
    level: 'operator',
    input: z.strictObject({
      tenant,
      save: z.boolean().default(false).describe('Keep it for an hour, so that exactly it can be applied'),
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
    summary: 'read the clinic, plan a cycle and keep the plan for an hour; writes nothing elsewhere',
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
    summary: 'read a plan that is kept, without its lines',
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
    summary: 'list the lines of a plan: what would be written to which target, and why',
    level: 'viewer',
    input: z.strictObject({ tenant, plan: id, target: z.string().optional().describe('Of one target'), ...paging }),
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
    summary: 'run one cycle now, if it does exactly what a kept plan says; else nothing is done',
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
    summary: 'run one cycle now, to its end',
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
    summary: 'have all that waits for a server that is away try it now, in the running daemon',
    level: 'operator',
    input: z.strictObject({ server: id }),
    output: z.object({ host: z.string(), clinics: z.array(z.string()), targets: z.number() }),
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
    auditResult: ({ clinics, targets }) => ({ clinics: clinics.length, targets }),
  }),
  auditTenant: operation({
    summary: 'read back what the targets hold, and show what was changed there by hand',
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
    endsWithOne: { when: 'a target could not be looked at', holds: ({ isLookedAt }) => !isLookedAt },
  }),
};
