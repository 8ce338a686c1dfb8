import { z } from 'zod';
import type { Acting } from '../../control/recording.ts';
import type { Tasks } from '../../control/tasks.ts';
import { OPERATIONS } from '../../features/operations.ts';
import type { StopSignals } from '../../jobs/push.ts';
import type { Progress } from '../../model/tasks.ts';
import type { AnyOperation, HttpBinding, OperationContext } from '../../operations/operation.ts';
import { type OperatorServices, servicesOf } from '../operator-desk.ts';
import type { AccessLevel, Visitor } from '../visitors.ts';

/** What a route works on. */
export interface RouteCall {
  params: unknown;
  query: unknown;
  body: unknown;
  visitor: Visitor;
  desk: OperatorServices;
  tasks: Tasks;
  /** The visitor, with the `reason` of the body. */
  acting: Acting;
  progress: Progress;
  signals: StopSignals;
  /** The revision that a change is for (RFC 9110 section 13.1.1); null if none is named. */
  ifMatch: string | null;
}

/** A route of the API. */
export interface Route extends Required<Omit<HttpBinding, 'ofTenant' | 'fixed' | 'task'>> {
  name: string;
  summary: string;
  level: AccessLevel;
  params: z.ZodObject;
  query: z.ZodObject;
  /** Null for a GET. */
  body: z.ZodObject | null;
  reply: z.ZodType;
  task: NonNullable<HttpBinding['task']> | null;
  handle(call: RouteCall): Promise<unknown>;
}

/** Largest body in bytes of an operation that names none. */
const BODY_LIMIT_BYTES = 65_536;

/** Why somebody does it, for the audit log; recorded and checked by `control/recording.ts`. */
const withReason = z.strictObject({
  reason: z.string().nullable().default(null).describe('Why, for the audit log; best the number of a ticket'),
});

/** A route of the API for each operation that it offers. */
export const ROUTES = routesOf(OPERATIONS as Record<string, AnyOperation>);

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
  const { method, path, fixed = {}, bodyLimit = BODY_LIMIT_BYTES } = http;
  const { isRevised = false, isOfAny = false, task = null } = http;
  const inPath = Object.fromEntries([...path.matchAll(/\{(\w+)\}/g)].map(([, field = '']) => [field, true as const]));
  const fromHeaders: Record<string, true> = 'ifMatch' in input.shape ? { ifMatch: true } : {};
  const shape = Object.entries(input.shape).filter(
    ([field]) => !(field in inPath || field in fromHeaders || field in fixed),
  );
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
    handle(call) {
      const { reason: _, ...body } = (call.body ?? {}) as Record<string, unknown>;
      const asked = { ...(call.params as object), ...(call.query as object), ...body, ...fixed };
      return run('ifMatch' in fromHeaders ? { ...asked, ifMatch: call.ifMatch } : asked, contextOf(call));
    },
  };
}

/** A field of the path is there, although the operation by itself can do without it. */
function required(type: unknown): z.ZodType {
  return type instanceof z.ZodOptional ? (type.unwrap() as z.ZodType) : (type as z.ZodType);
}

function contextOf({ desk, visitor, acting, progress, signals }: RouteCall): OperationContext {
  return { services: servicesOf(desk), rights: visitor, acting, progress, signals };
}
