import { z } from 'zod';
import type { AnyOperation, OperationContext } from '../../operations/operation.ts';
import { OPERATIONS } from '../../operations/operations.ts';
import { servicesOf } from '../operator-desk.ts';
import { BODY_LIMIT_BYTES, type Given, type Route, withReason } from './route.ts';

/** A route of the API for each operation that it offers. */
export const OPERATION_ROUTES = routesOf(OPERATIONS as Record<string, AnyOperation>);

/** Routes of a table of operations. */
export function routesOf(operations: Record<string, AnyOperation>): readonly Route[] {
  return Object.entries(operations).flatMap(([name, operation]) => {
    const { http, input } = operation;
    if (http === null) return [];
    if (http.ofTenant === undefined) return [routeOf(name, operation, http)];
    const { tenant: _, ...others } = input.shape;
    const ofAll = { ...operation, input: z.strictObject(others) };
    return [
      routeOf(name, ofAll, http),
      routeOf(http.ofTenant, operation, { ...http, path: `/tenants/{tenant}${http.path}` }),
    ];
  });
}

function routeOf(name: string, operation: AnyOperation, http: NonNullable<AnyOperation['http']>): Route {
  const { summary, level, input, output, run } = operation;
  const { method, path, bodyLimit = BODY_LIMIT_BYTES, isRevised = false, isOfAny = false, task = null } = http;
  const inPath = Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, field = '']) => [field, true as const]));
  const fromHeaders: Record<string, true> = 'ifMatch' in input.shape ? { ifMatch: true } : {};
  const shape = Object.entries(input.shape).filter(([field]) => !(field in inPath || field in fromHeaders));
  const rest = z.strictObject(Object.fromEntries(shape) as z.ZodRawShape);
  const isRead = method === 'GET';
  return {
    ...{ name, method, path, level, bodyLimit, isRevised, isOfAny, task },
    summary: `${summary.charAt(0).toUpperCase()}${summary.slice(1)}`,
    params: z.strictObject(
      Object.fromEntries(Object.keys(inPath).map((field) => [field, required(input.shape[field])])),
    ),
    query: isRead ? rest : z.strictObject({}),
    body: isRead ? null : rest.extend(withReason.shape),
    reply: output,
    handle(given) {
      const { reason: _, ...body } = (given.body ?? {}) as Record<string, unknown>;
      const asked = { ...(given.params as object), ...(given.query as object), ...body };
      return run('ifMatch' in fromHeaders ? { ...asked, ifMatch: given.ifMatch } : asked, contextOf(given));
    },
  };
}

/** A field of the path is there, although the operation by itself can do without it. */
function required(type: unknown): z.ZodType {
  return type instanceof z.ZodOptional ? (type.unwrap() as z.ZodType) : (type as z.ZodType);
}

function contextOf({ desk, visitor, acting, progress, signals }: Given<unknown, unknown, unknown>): OperationContext {
  return { services: servicesOf(desk), rights: visitor, acting, progress, signals };
}
