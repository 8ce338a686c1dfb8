import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Account, Permission } from '../authorization/accounts.ts';
import { RATE_LIMIT_BODY } from '../rate-limit.ts';
import { ClinicError, notFound } from '../rules/errors.ts';
import { type ApiContext, bearerOf, faultable } from './context.ts';

type PreHandler = (request: FastifyRequest, reply: FastifyReply) => Promise<void>;

/** Requirements of a route in addition to a valid token. */
export interface Needs {
  /** Name without the prefix, for example `agenda`. */
  scope?: string;
  permission?: Permission;
}

const users = new WeakMap<FastifyRequest, Account>();

/** The user behind a guarded request. */
export function userOf(request: FastifyRequest): Account {
  const user = users.get(request);
  if (user === undefined) throw new Error('the route is not guarded');
  return user;
}

/**
 * Accepts a request after these checks, in this order: its token is valid (401), its client has budget left (429), the token has the scope
 * (403 missing_claim), the tenant belongs to the user, and the user has the permission (both 403 insufficient_permissions; for the tenant
 * 404 if the option is set).
 */
export function guard(context: ApiContext, needs: Needs = {}): PreHandler {
  return async (request) => {
    const { user, scopes, clientId } = authenticate(context, request);
    users.set(request, user);
    const tenantId = tenantIdOf(request);
    count(context, clientId, tenantId);
    checkBudget(context, request);
    checkScope(context, scopes, needs.scope);
    if (tenantId !== undefined) checkTenant(context, user, tenantId, needs.permission);
  };
}

/** The tenant in the path of a request, or undefined when its route names none. */
export function tenantIdOf(request: FastifyRequest): string | undefined {
  return pathParameter(request, 'tenantId');
}

/** A parameter of the route's path, decoded. */
export function pathParameter(request: FastifyRequest, name: string): string | undefined {
  const { params } = request;
  if (typeof params !== 'object' || params === null || !(name in params)) return undefined;
  const value: unknown = Reflect.get(params, name);
  return typeof value === 'string' ? value : undefined;
}

function authenticate(
  context: ApiContext,
  request: FastifyRequest,
): { user: Account; scopes: ReadonlySet<string>; clientId: string } {
  const token = context.tokens.accessToken(bearerOf(request.raw) ?? '');
  const user = token === undefined ? undefined : context.accounts.bySub(token.sub);
  if (token === undefined || user === undefined || user.disabled || !context.clients.isActive(token.clientId)) {
    throw new ClinicError(401, 'invalid_token', 'The access token is missing, wrong or expired', {
      headers: { 'www-authenticate': 'Bearer error="invalid_token"' },
    });
  }
  return { user, scopes: token.scopes, clientId: token.clientId };
}

function count({ kit }: ApiContext, clientId: string, tenantId: string | undefined): void {
  kit.counts.add(`requests client:${clientId}`);
  if (tenantId !== undefined) kit.counts.add(`requests client:${clientId} tenant:${tenantId}`);
}

function checkBudget(context: ApiContext, request: FastifyRequest): void {
  const waitSeconds = context.limiter.take(faultable(context, request));
  if (waitSeconds === undefined) return;
  throw new ClinicError(429, RATE_LIMIT_BODY.error, RATE_LIMIT_BODY.message, {
    headers: { 'retry-after': String(waitSeconds) },
  });
}

function checkScope({ scopePrefix }: ApiContext, scopes: ReadonlySet<string>, name: string | undefined): void {
  if (name === undefined || scopes.has(scopePrefix + name)) return;
  throw new ClinicError(403, 'missing_claim', `The access token lacks the scope ${scopePrefix}${name}`, {
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scopePrefix}${name}"` },
  });
}

function checkTenant({ wire }: ApiContext, user: Account, tenantId: string, permission: Permission | undefined): void {
  const refused = (message: string) => new ClinicError(403, 'insufficient_permissions', message);
  const membership = user.memberships.find((one) => one.tenantId === tenantId);
  if (membership === undefined) {
    throw wire.foreignTenant === 'absent' ? notFound('tenant') : refused('The user has no access to the tenant');
  }
  if (permission !== undefined && !membership.permissions.includes(permission)) {
    throw refused(`The user lacks the permission ${permission}`);
  }
}
