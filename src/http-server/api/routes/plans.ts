import { z } from 'zod';
import { applyPlan, auditNow, syncTenant } from '../../../control/acts.ts';
import { noSuchTarget } from '../../../control/health.ts';
import { retryHost } from '../../../control/incident-acts.ts';
import { requireTenant } from '../../../control/installation.ts';
import { keepPlan, keptPlan, planSummary } from '../../../control/kept-plans.ts';
import { pageOf } from '../../../control/paging.ts';
import { maySee } from '../../visitors.ts';
import { paged, pageOfItems, type Route, route } from '../route.ts';
import { countsByCode, instant } from '../schemas/common.ts';
import { auditReply, syncReply } from '../schemas/status.ts';

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
  verdict: z.enum(['go', 'held', 'refused']).describe('`go`: would be written; `held` for a person; `refused` by one'),
});

const plan = z.object({
  id: z.string().describe('A digest of its lines and of what they were made of'),
  tenant: z.string(),
  asOf: instant,
  keptAt: instant,
  expiresAt: instant,
  snapshot: z.object({
    completeness: z.string(),
    reason: z.string().nullable(),
    records: z.number(),
    setAside: z.number(),
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
  left: z.array(z.object({ target: z.string(), code: z.string() })),
});

/** Plans, and cycles on demand. */
export const PLAN_ROUTES: readonly Route[] = [
  route({
    method: 'POST',
    path: '/tenants/{tenant}/plans',
    name: 'makePlan',
    summary: 'Read the clinic, plan a cycle and keep the plan for an hour; writes nothing elsewhere',
    level: 'operator',
    reply: plan,
    task: 'plan',
    handle: async ({ desk, params, progress, signals }) =>
      planSummary(await keepPlan(desk.installation, params.tenant, progress, signals.stop)),
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/plans/{plan}',
    name: 'readPlan',
    summary: 'A plan that is kept, without its lines',
    level: 'viewer',
    reply: plan,
    handle: async ({ desk, params }) => planSummary(await keptPlan(desk.installation, params.tenant, params.plan)),
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/plans/{plan}/lines',
    name: 'listPlanLines',
    summary: 'The lines of a plan: what would be written to which target, and why',
    level: 'viewer',
    query: paged.extend({ target: z.string().optional().describe('Of one target') }),
    reply: pageOfItems(planLine),
    async handle({ desk, params, query: { target, ...question } }) {
      const isKnown = target === undefined || requireTenant(desk.installation, params.tenant).targets.has(target);
      if (!isKnown) throw noSuchTarget(target);
      const { targets } = await keptPlan(desk.installation, params.tenant, params.plan);
      const lines = targets
        .filter((each) => target === undefined || each.target === target)
        .flatMap((each) => each.lines.map((line) => ({ target: each.target, ...line })));
      return pageOf(lines, question, (line) => `${line.target}/${line.record}`);
    },
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/plans/{plan}/apply',
    name: 'applyPlan',
    summary:
      'Run one cycle, if it does exactly what the plan says; else 409 with the code plan-drifted, and nothing is done',
    level: 'operator',
    reply: syncReply,
    task: 'apply',
    handle: ({ acting, desk, params, progress, signals }) =>
      applyPlan(acting, desk.installation, params.tenant, params.plan, progress, signals),
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/sync',
    name: 'syncTenant',
    summary: 'Run one cycle now, to its end',
    level: 'operator',
    reply: syncReply,
    task: 'sync',
    handle: ({ acting, desk, params, progress, signals }) =>
      syncTenant(acting, desk.installation, params.tenant, progress, signals),
  }),
  route({
    method: 'POST',
    path: '/servers/{server}/retry',
    name: 'retryServer',
    summary: 'Have all that waits for a server that is away try it now, of the tenants that the caller may see',
    level: 'operator',
    reply: z.object({ host: z.string(), clinics: z.array(z.string()), targets: z.number() }),
    handle: ({ acting, desk, params, visitor }) =>
      retryHost(acting, desk.installation, params.server, (tenant) => maySee(visitor, tenant)),
  }),
  route({
    method: 'POST',
    path: '/tenants/{tenant}/audit',
    name: 'auditTenant',
    summary: 'Read back what the targets hold, and tell what was changed there by hand',
    level: 'operator',
    reply: auditReply,
    task: 'audit',
    handle: ({ acting, desk, params, progress, signals }) =>
      auditNow(acting, desk.installation, params.tenant, progress, signals.stop),
  }),
];
