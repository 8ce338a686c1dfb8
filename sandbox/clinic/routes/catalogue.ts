import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { Tenant } from '../data/records.ts';
import { notFound } from '../rules/errors.ts';
import type { ApiContext } from './context.ts';
import { guard, type Needs, pathParameter, tenantIdOf } from './guard.ts';
import { answerList, sliceOf } from './lists.ts';

const BASE = '/v2/tenants/:tenantId';

/** Sections 4.3, 4.6, 4.11 and 4.12 of the specification: what the front desk cannot change. */
export function catalogueRoutes(app: FastifyInstance, context: ApiContext): void {
  function find(request: FastifyRequest): Tenant {
    const tenant = context.data.tenants.get(tenantIdOf(request) ?? '');
    if (tenant === undefined) throw notFound('tenant');
    return tenant;
  }

  function readOnly(name: string, needs: Needs, rowsOf: (tenant: Tenant) => readonly { id: string }[]): void {
    const preHandler = guard(context, needs);
    app.get(`${BASE}/${name}`, { preHandler }, async (request) =>
      answerList(context, request, sliceOf(rowsOf(find(request))), (rows) => rows),
    );
    app.get(`${BASE}/${name}/:id`, { preHandler }, async (request) => {
      const id = pathParameter(request, 'id');
      const row = rowsOf(find(request)).find((one) => one.id === id);
      if (row === undefined) throw notFound('resource');
      return row;
    });
  }

  app.get(`${BASE}/info`, { preHandler: guard(context) }, async (request) => find(request).info);
  readOnly('locations', {}, (tenant) => tenant.locations);
  readOnly('agendas', { scope: 'agenda', permission: 'agenda.read' }, (tenant) => tenant.agendas);
  readOnly('treatments', { scope: 'treatments', permission: 'treatments.read' }, (tenant) => tenant.treatments);
}
