import { z } from 'zod';
import type { Acting } from '../../control/recording.ts';
import type { Tasks } from '../../control/tasks.ts';
import { OPERATIONS } from '../../features/operations.ts';
import type { StopSignals } from '../../jobs/push.ts';
import { render, withRemedy } from '../../messages/message.ts';
import type { AccessLevel } from '../../model/acts.ts';
import type { Actor, MirrorError } from '../../model/errors.ts';
import type { Progress } from '../../model/tasks.ts';
import { SECOND_MS } from '../../model/time.ts';
import type { AnyOperation, HttpBinding, OperationContext } from '../../operations/operation.ts';
import { configurationFault } from '../../operations/schemas.ts';
import type { ConfigurationError } from '../../settings/faults.ts';
import { type OperatorServices, servicesOf, type Visitor } from '../operators.ts';

/** What a route works on. */
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

function contextOf({ services, visitor, acting, progress, signals }: RouteCall): OperationContext {
  return { services: servicesOf(services), rights: visitor, acting, progress, signals };
}

/** Content type of {@link ProblemDocument}: RFC 9457 section 3. */
export const PROBLEM_TYPE = 'application/problem+json';

/** What every route answers when it can't do what it was asked: RFC 9457, with the code and the remedy of every other surface. */
export const problemDocument = z.object({
  type: z.string().describe('`urn:clinic-mirror:error:<code>`'),
  title: z.string().describe('The code in words'),
  status: z.int().describe('The HTTP status'),
  detail: z.string().describe('What is the matter: constant words, ids and codes'),
  code: z.string().describe('Stable; docs/errors.md lists all'),
  remedy: z.string().nullable().describe('What to do; null where nothing is to be done'),
  about: z.string().nullable().describe('What it is about: names of fields and rules, ids; null where it names none'),
  faults: z.array(configurationFault).optional().describe('Of a configuration: all that is wrong with it'),
});
/** Such a document. */
export type ProblemDocument = z.output<typeof problemDocument>;

/** Statuses by who must act (RFC 9110 section 15), where the code says no more. */
const STATUS_OF_ACTOR: Readonly<Record<Actor, number>> = {
  settings: 409,
  authorization: 409,
  conflict: 409,
  guard: 409,
  remote: 503,
  contract: 502,
};
/** Codes for what is wrong with the question itself, or is no error of the other side. */
const STATUS_OF_CODE: Readonly<Record<string, number>> = {
  ...{ 'cursor-unusable': 400, 'reason-unusable': 400, 'reason-missing': 400, 'name-missing': 400 },
  'request-invalid': 400,
  'request-too-large': 413,
  'not-allowed': 403,
  'revision-changed': 412,
  'revision-missing': 428,
  'too-many-tasks': 429,
  'not-in-time': 503,
  'tenant-unchecked': 503,
  unexpected: 500,
};
/** What is not there is not found, whatever it is. */
const NOT_FOUND = /^no-such-|^not-found$/;

/** What the document says of an error beside what every error has. */
type ProblemText = Pick<ProblemDocument, 'code' | 'detail'> & Partial<Pick<ProblemDocument, 'remedy' | 'about'>>;

/** A problem of a status of its own. */
export function problemOf(status: number, { code, detail, remedy = null, about = null }: ProblemText): ProblemDocument {
  return {
    type: `urn:clinic-mirror:error:${code}`,
    title: code.replaceAll('-', ' '),
    ...{ status, detail, code, remedy, about },
  };
}

/** The same for a tenant that there is not and for one that the visitor may not see: nobody learns which ids there are. */
export const NO_SUCH_TENANT: ProblemDocument = problemOf(404, {
  code: 'no-such-tenant',
  detail: 'there is no such tenant among those that you may see',
  remedy: 'GET /api/v1/tenants lists them',
});

/** What is told of an error. */
interface ReportedError extends Pick<MirrorError, 'actor' | 'code' | 'message'> {
  remedy?: string | null | undefined;
  about?: string | null | undefined;
}

/** An error as the API tells it. */
export function problemOfError({ actor, code, message, remedy = null, about = null }: ReportedError): ProblemDocument {
  if (code === NO_SUCH_TENANT.code) return NO_SUCH_TENANT;
  const status = NOT_FOUND.test(code) ? 404 : (STATUS_OF_CODE[code] ?? STATUS_OF_ACTOR[actor]);
  return problemOf(status, { code, detail: message, remedy, about });
}

/** A configuration that can't be used, as the API tells it. */
export function problemOfFaults({ code, faults }: ConfigurationError): ProblemDocument {
  const [detail, remedy] = withRemedy('api.faults', { count: faults.length }).map((text) => render(text)) as [
    string,
    string,
  ];
  const problem = problemOf(422, { code, detail, remedy });
  return { ...problem, faults: faults.map((fault) => ({ ...fault })) };
}

/** Seconds for the header Retry-After (RFC 9110 section 10.2.3); null where waiting doesn't help, or nobody knows how long. */
export function retryAfterSeconds({ retryAfterMs }: Pick<MirrorError, 'retryAfterMs'>): number | null {
  return retryAfterMs === undefined ? null : Math.max(1, Math.ceil(retryAfterMs / SECOND_MS));
}
