import { z } from 'zod';
import type { AccessLevel } from '../../../core/model/acts.ts';
import type { Actor, MirrorError } from '../../../core/model/errors.ts';
import { configurationFault } from '../../../core/model/schemas.ts';
import type { Progress } from '../../../core/model/tasks.ts';
import { SECOND_MS } from '../../../core/model/time.ts';
import type { StopSignals } from '../../../engine/push.ts';
import { OPERATIONS } from '../../../features/operations.ts';
import { render, withRemedy } from '../../../messages/message.ts';
import type { ConfigurationError } from '../../../settings/faults.ts';
import type { Acting } from '../../control/recording.ts';
import type { Tasks } from '../../control/tasks.ts';
import type { AnyOperation, HttpBinding, OperationContext } from '../../operations/operation.ts';
import { type OperatorServices, servicesOf, type Visitor } from '../operators.ts';

/** Input of a route. */
export interface RouteCall {
  params: unknown;
  query: unknown;
  body: unknown;
  visitor: Visitor;
  services: OperatorServices;
  tasks: Tasks;
  /** The visitor, with the `reason` of the body. */
  acting: Acting;
  progress: Progress;
  signals: StopSignals;
  /** Revision that the change expects (RFC 9110 section 13.1.1); null if absent. */
  ifMatch: string | null;
}

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

/** Default body limit in bytes. */
const BODY_LIMIT_BYTES = 65_536;

/** Reason for the audit log; checked by `operator/control/recording.ts`. */
const withReason = z.strictObject({
  reason: z.string().nullable().default(null).describe('Why, for the audit log; best the number of a ticket'),
});

/** API routes, one for each operation with an HTTP binding. */
export const ROUTES = routesOf(OPERATIONS as Record<string, AnyOperation>);

/** Derives routes from a table of operations. */
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

/** Path parameters are always present, even if optional in the operation. */
function required(type: unknown): z.ZodType {
  return type instanceof z.ZodOptional ? (type.unwrap() as z.ZodType) : (type as z.ZodType);
}

function contextOf({ services, visitor, acting, progress, signals }: RouteCall): OperationContext {
  return { services: servicesOf(services), rights: visitor, acting, progress, signals };
}

/** Content type of {@link ProblemDocument}: RFC 9457 section 3. */
export const PROBLEM_TYPE = 'application/problem+json';

/** Error answer of every route: RFC 9457, with the same code and remedy as on other surfaces. */
export const problemDocument = z.object({
  type: z.string().describe('`urn:clinic-mirror:error:<code>`'),
  title: z.string().describe('The code in words'),
  status: z.int().describe('The HTTP status'),
  detail: z.string().describe('The problem, in constant words, ids and codes'),
  code: z.string().describe('Stable; docs/errors.md lists all'),
  remedy: z.string().nullable().describe('What to do; null where nothing is to be done'),
  about: z.string().nullable().describe('What it is about: names of fields and rules, ids; null where it names none'),
  faults: z.array(configurationFault).optional().describe('Of a configuration: all that is wrong with it'),
});
export type ProblemDocument = z.output<typeof problemDocument>;

/** Statuses by who must act (RFC 9110 section 15), unless the code has a specific status. */
const STATUS_OF_ACTOR: Readonly<Record<Actor, number>> = {
  settings: 409,
  authorization: 409,
  conflict: 409,
  guard: 409,
  remote: 503,
  contract: 502,
};
/** Statuses of codes for invalid requests, or for errors outside the vendor. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  ...{ 'cursor-unusable': 400, 'reason-unusable': 400, 'reason-missing': 400, 'name-missing': 400 },
  'request-invalid': 400,
  'request-too-large': 413,
  'not-allowed': 403,
  'sign-in-again': 401,
  'revision-changed': 412,
  'revision-missing': 428,
  'too-many-tasks': 429,
  'not-in-time': 503,
  'tenant-unchecked': 503,
  unexpected: 500,
};
/** Codes for missing objects of any kind. */
const NOT_FOUND = /^no-such-|^not-found$/;

/** Variable parts of a problem document. */
type ProblemText = Pick<ProblemDocument, 'code' | 'detail'> & Partial<Pick<ProblemDocument, 'remedy' | 'about'>>;

/** Returns a problem with an explicit status. */
export function problemOf(status: number, { code, detail, remedy = null, about = null }: ProblemText): ProblemDocument {
  return {
    type: `urn:clinic-mirror:error:${code}`,
    title: code.replaceAll('-', ' '),
    ...{ status, detail, code, remedy, about },
  };
}

/** Identical for a missing tenant and a tenant without access, so that no visitor can discover tenant ids. */
export const NO_SUCH_TENANT: ProblemDocument = problemOf(404, {
  code: 'no-such-tenant',
  detail: 'tenant not found, or you have no access to this tenant',
  remedy: 'GET /api/v1/tenants lists them',
});

/** Error facts for the API. */
interface ReportedError extends Pick<MirrorError, 'actor' | 'code' | 'message'> {
  remedy?: string | null | undefined;
  about?: string | null | undefined;
}

/** Converts an error to a problem document. */
export function problemOfError({ actor, code, message, remedy = null, about = null }: ReportedError): ProblemDocument {
  if (code === NO_SUCH_TENANT.code) return NO_SUCH_TENANT;
  const status = NOT_FOUND.test(code) ? 404 : (STATUS_OF_CODE[code] ?? STATUS_OF_ACTOR[actor]);
  return problemOf(status, { code, detail: message, remedy, about });
}

/** Converts configuration faults to a problem document. */
export function problemOfFaults({ code, faults }: ConfigurationError): ProblemDocument {
  const [detail, remedy] = withRemedy('api.faults', { count: faults.length }).map((text) => render(text)) as [
    string,
    string,
  ];
  const problem = problemOf(422, { code, detail, remedy });
  return { ...problem, faults: faults.map((fault) => ({ ...fault })) };
}

/** Returns seconds for the header Retry-After (RFC 9110 section 10.2.3); null if waiting is useless or the duration is unknown. */
export function retryAfterSeconds({ retryAfterMs }: Pick<MirrorError, 'retryAfterMs'>): number | null {
  return retryAfterMs === undefined ? null : Math.max(1, Math.ceil(retryAfterMs / SECOND_MS));
}
