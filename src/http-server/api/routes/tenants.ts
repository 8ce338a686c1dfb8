import { z } from 'zod';
import { requireTenant } from '../../../control/installation.ts';
import type { TenantStatus } from '../../../control/status-view.ts';
import { listProblems, listTenants } from '../../../control/tenant-list.ts';
import { type Problem, problemsWithin } from '../../../model/problems.ts';
import { pageOfItems, problem } from '../../../operations/schemas.ts';
import { connectionStatus, targetStatus, tenantLine, tenantStatus } from '../../../operations/status-schemas.ts';
import type { OperatorDesk } from '../../operator-desk.ts';
import { maySee } from '../../visitors.ts';
import { paged, type Route, route } from '../route.ts';
import { task } from '../task-schemas.ts';

/** Where tenants stand. */
export const TENANT_ROUTES: readonly Route[] = [
  route({
    method: 'GET',
    path: '/tenants',
    name: 'listTenants',
    summary: 'Tenants with both axes of their state and what is the matter, by their ids',
    level: 'viewer',
    query: paged,
    reply: pageOfItems(tenantLine),
    handle: ({ desk, visitor, query }) => listTenants(desk.installation, (tenant) => maySee(visitor, tenant), query),
  }),
  route({
    method: 'GET',
    path: '/problems',
    name: 'listProblems',
    summary: 'What is the matter, tenant by tenant: `limit` counts tenants. What concerns the installation comes first',
    level: 'viewer',
    query: paged,
    reply: z.object({ problems: z.array(problem), next: z.string().nullable() }),
    async handle({ desk: { installation, statuses }, visitor, query }) {
      const { status } = await statuses.read(installation);
      const isWanted = (tenant: string) => maySee(visitor, tenant);
      return listProblems(installation, status, { ...query, isWanted, withAll: visitor.tenants === null });
    },
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}',
    name: 'readTenant',
    summary: 'Where a tenant stands',
    level: 'viewer',
    reply: tenantStatus,
    async handle({ desk, params }) {
      const { tenant, problems } = await statusOf(desk, params.tenant);
      return { ...tenant, problems };
    },
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/problems',
    name: 'listProblemsOfTenant',
    summary: 'What is the matter with a tenant, what needs a person first',
    level: 'viewer',
    reply: z.object({ problems: z.array(problem) }),
    async handle({ desk, params }) {
      const { problems } = await statusOf(desk, params.tenant);
      return { problems };
    },
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/connections',
    name: 'listConnections',
    summary: 'The logins of a tenant and where they stand',
    level: 'viewer',
    reply: z.object({ connections: z.array(connectionStatus) }),
    async handle({ desk: { installation }, params }) {
      return { connections: await installation.connections(requireTenant(installation, params.tenant)) };
    },
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/targets',
    name: 'listTargets',
    summary: 'The targets of a tenant and where they stand',
    level: 'viewer',
    reply: z.object({ targets: z.array(targetStatus) }),
    async handle({ desk, params }) {
      const { tenant } = await statusOf(desk, params.tenant);
      return { targets: tenant.targets };
    },
  }),
  route({
    method: 'GET',
    path: '/tenants/{tenant}/tasks/{task}',
    name: 'readTask',
    summary: 'How long work stands that somebody began',
    level: 'operator',
    reply: task,
    handle: ({ tasks, params }) => tasks.read(params.tenant, params.task),
  }),
];

async function statusOf(
  { installation, statuses }: OperatorDesk,
  id: string,
): Promise<{ tenant: TenantStatus; problems: Problem[] }> {
  const { tenants, problems } = await statuses.ofTenant(installation, id);
  const [tenant] = tenants;
  if (tenant === undefined) throw new Error('the status of one tenant tells of one tenant');
  return { tenant, problems: problemsWithin(problems, (each) => each === id) };
}
