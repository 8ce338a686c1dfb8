import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type AccessLevel, mayDo, maySee, type Visitor } from '../visitors.ts';

/** How visitors are told apart. */
export interface Access {
  /** Null for nobody in particular. */
  visitorOf(request: FastifyRequest): Promise<Visitor | null>;
}

/** Lets nobody in below a route's level; whoever may not see a tenant is told that there is none. */
export function addAccess(app: FastifyInstance, access: Access): void {
  app.decorateRequest('visitor', null);
  app.addHook('preValidation', async (request, reply) => {
    const { level } = request.routeOptions.config;
    if (level === undefined) return;
    const visitor = await access.visitorOf(request);
    if (visitor === null) return reply.code(401).send({ error: 'not-logged-in' });
    if (!maySeeTenantOf(request, visitor)) return reply.code(404).send({ error: 'no-such-tenant' });
    if (!mayDo(visitor, level satisfies AccessLevel)) return reply.code(403).send({ error: 'not-allowed' });
    request.visitor = visitor;
  });
}

function maySeeTenantOf({ params }: FastifyRequest, visitor: Visitor): boolean {
  if (typeof params !== 'object' || params === null || !('tenant' in params)) return true;
  return typeof params.tenant === 'string' && maySee(visitor, params.tenant);
}
