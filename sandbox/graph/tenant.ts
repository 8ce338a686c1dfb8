import type { FastifyRequest } from 'fastify';
import { z } from 'zod';
import { originOf } from '../kit/oauth/routes.ts';
import type { Place } from '../kit/oauth/vendor.ts';
import { OAuthError } from '../kit/oauth/words.ts';
import { ENTRA_WORDS } from './oauth-words.ts';

/** Stand for any tenant; the issuer of their tokens is still the account's own. */
const ANY_TENANT: readonly string[] = ['common', 'organizations'];

const inPath = z.object({ tenant: z.string() });

/**
 * Returns the URLs under the host and tenant of the client's request.
 * @throws OAuthError if the tenant is not the sandbox's
 */
export function placeOf(request: FastifyRequest, tenantId: string): Place {
  const { tenant } = inPath.parse(request.params);
  if (tenant !== tenantId && !ANY_TENANT.includes(tenant)) throw new OAuthError(ENTRA_WORDS.tenantUnknown);
  const origin = originOf(request);
  return { origin, issuer: `${origin}/${tenantId}/v2.0`, base: `${origin}/${tenant}` };
}

/** Returns true if the path contains a placeholder for any tenant. */
export function isAnyTenant(request: FastifyRequest): boolean {
  return ANY_TENANT.includes(inPath.parse(request.params).tenant);
}
