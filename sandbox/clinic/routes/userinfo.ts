import type { FastifyInstance } from 'fastify';
import type { Account } from '../authorization/accounts.ts';
import type { ApiContext } from './context.ts';
import { guard, userOf } from './guard.ts';

/** Section 4.1: a user unknown to the clinic system gets 200 with tenants absent, null or empty. */
export function userinfoRoute(app: FastifyInstance, context: ApiContext): void {
  app.get('/v2/userinfo', { preHandler: guard(context) }, async (request) => {
    const user = userOf(request);
    const { sub, email, givenName, familyName } = user;
    return { sub, name: `${givenName} ${familyName}`, email, givenName, familyName, ...tenantsOf(context, user) };
  });
}

function tenantsOf({ data, dialect }: ApiContext, user: Account): object {
  const tenants = user.memberships.map(({ tenantId, role, permissions }) => ({
    id: tenantId,
    name: data.tenants.get(tenantId)?.name,
    role,
    permissions,
  }));
  if (tenants.length > 0) return { tenants };
  switch (dialect.withoutTenants ?? user.withoutTenants) {
    case 'absent':
      return {};
    case 'null':
      return { tenants: null };
    case 'empty':
      return { tenants: [] };
  }
}
