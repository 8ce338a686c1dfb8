import type { FastifyError, FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Logger } from '../../../core/log/logger.ts';
import { asMirrorError, MirrorError } from '../../../core/model/errors.ts';
import { pathSegment } from '../../../core/model/path-segment.ts';
import { SECOND_MS } from '../../../core/model/time.ts';
import { type Message, message, render, type Text } from '../../../messages/message.ts';
import { ConfigurationError } from '../../../settings/faults.ts';
import { requireTenant } from '../../control/installation.ts';
import { SIGN_IN_AGAIN } from '../../control/recording.ts';
import { openTasks, type Tasks } from '../../control/tasks.ts';
import type { OperatorServices } from '../operators.ts';
import { visitorOf } from '../operators.ts';
import { API_PATH, begunTask, openApiDocument } from './openapi.ts';
import type { Route, RouteCall } from './routes.ts';
import {
  NO_SUCH_TENANT,
  PROBLEM_TYPE,
  type ProblemDocument,
  problemDocument,
  problemOf,
  problemOfError,
  problemOfFaults,
  retryAfterSeconds,
} from './routes.ts';

/** Default wait for long work, unless the caller requests another wait (RFC 7240 section 4.3). */
const WAIT_SECONDS = 5;
const LONGEST_WAIT_SECONDS = 8;

/** Adds the operators' API. Schemas validate requests and answers, and generate the API description. */
export function addApi(app: FastifyInstance, services: OperatorServices): void {
  const tasks = openTasks(services.installation, services.log);
  app.addHook('preClose', () => tasks.close());
  const routes: FastifyPluginAsync = async (api) => {
    // Loaded only with administrators, because the module imports every verb.
    const { ROUTES } = await import('./routes.ts');
    speakJson(api, services.log);
    const description = JSON.stringify(openApiDocument(ROUTES));
    api.get('/openapi.json', { config: { level: 'viewer' } }, async (_request, reply) =>
      reply.type('application/json').send(description),
    );
    for (const route of ROUTES) addRoute(api, route, services, tasks);
  };
  app.register(routes, { prefix: API_PATH });
}

function addRoute(api: FastifyInstance, route: Route, services: OperatorServices, tasks: Tasks): void {
  const { method, path, level, params, query, body, reply: answered, bodyLimit, isRevised, isOfAny, task } = route;
  api.route({
    ...{ method, bodyLimit, url: path.replaceAll(/\{(\w+)\}/g, ':$1'), config: { level } },
    schema: {
      ...{ params, querystring: query },
      ...(body === null ? {} : { body }),
      response: {
        ...{ 200: answered, '4xx': problemDocument, '5xx': problemDocument },
        ...(task === null ? {} : { 202: begunTask }),
      },
    },
    handler: async (request, reply) => {
      const call = callOf(request, services, tasks);
      const { tenant } = ofTenant.partial().parse(call.params);
      if (tenant !== undefined && !isOfAny) requireTenant(services.installation, tenant);
      const answer = task === null ? route.handle(call) : answerTask({ ...route, task }, call, request, reply);
      const { revision } = isRevised ? revised.parse(await answer) : { revision: null };
      if (revision !== null) reply.header('etag', `"${revision}"`);
      return answer;
    },
  });
}

function callOf(request: FastifyRequest, services: OperatorServices, tasks: Tasks): RouteCall {
  const { params, query, body, signal, headers } = request;
  const visitor = visitorOf(request);
  return {
    ...{ params, query, body, visitor, services, tasks },
    acting: services.acting(visitor, why.safeParse(body).data?.reason ?? null),
    progress: () => {},
    signals: { stop: signal, abort: signal },
    ifMatch: /^"([^"]+)"$/.exec(headers['if-match'] ?? '')?.[1] ?? null,
  };
}

const revised = z.object({ revision: z.string().nullable() });
const why = z.object({ reason: z.string().nullable() });

/** Starts long work, and waits some seconds for its end. */
async function answerTask(
  { task, reply: answered, handle }: Route & { task: NonNullable<Route['task']> },
  call: RouteCall,
  { headers }: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { tenant } = ofTenant.parse(call.params);
  const begun = await call.tasks.begin(tenant, task, async (progress, signals) =>
    asObject.parse(await answered.parseAsync(await handle({ ...call, progress, signals }))),
  );
  const result = await within(waitSeconds(String(headers.prefer)) * SECOND_MS, begun.result);
  if (result !== null) return result;
  const address = `${API_PATH}/tenants/${pathSegment(tenant)}/tasks/${begun.id}`;
  return reply.code(202).header('location', address).send({ task: begun.id, address });
}

/** Parameters of tenant routes. */
const ofTenant = z.object({ tenant: z.string() });
const asObject = z.looseObject({});

/** RFC 7240: `respond-async`, or `wait=<seconds>`. */
function waitSeconds(prefer: string): number {
  if (/\brespond-async\b/i.test(prefer)) return 0;
  const [, seconds] = /\bwait=(\d{1,4})\b/i.exec(prefer) ?? [];
  return seconds === undefined ? WAIT_SECONDS : Math.min(Number(seconds), LONGEST_WAIT_SECONDS);
}

/** Returns null after the time limit. The work continues, and its task reports errors. */
async function within<Value>(timeMs: number, result: Promise<Value>): Promise<Value | null> {
  result.catch(() => {});
  if (timeMs === 0) return null;
  const late = Promise.withResolvers<null>();
  const timer = setTimeout(() => late.resolve(null), timeMs);
  try {
    return await Promise.race([result, late.promise]);
  } finally {
    clearTimeout(timer);
  }
}

/** Maximum number of validation issues in an answer. */
const NAMED_ISSUES = 5;

/** Accepts only JSON, which no cross-site form can send. Validates both directions by schema, and returns errors as problem documents. */
function speakJson(api: FastifyInstance, log: Logger): void {
  api.removeAllContentTypeParsers();
  api.addContentTypeParser('application/json', { parseAs: 'string' }, api.getDefaultJsonParser('error', 'error'));
  api.setValidatorCompiler<z.ZodType>(({ schema, httpPart = 'body' }) => (value) => {
    const { success, data, error } = schema.safeParse(value ?? {});
    return success ? { value: data } : { error: requestInvalid(httpPart, error.issues) };
  });
  api.setSerializerCompiler<z.ZodType>(
    ({ schema }) =>
      (value) =>
        JSON.stringify(schema.parse(value)),
  );
  api.setNotFoundHandler((_request, reply) => {
    sendProblem(reply, problemOf(404, { code: 'not-found', detail: render(message('api.no-route')) }));
  });
  // Access checks answer with a code before the route runs.
  api.addHook('preSerialization', async (_request, reply, answer) => {
    const refused = refusal.safeParse(answer);
    if (reply.statusCode < 400 || !refused.success) return answer;
    reply.type(PROBLEM_TYPE);
    return refusalOf(reply.statusCode, refused.data.error);
  });
  api.setErrorHandler<FastifyError>((error, _request, reply) => {
    if (error instanceof ConfigurationError) return sendProblem(reply, problemOfFaults(error));
    const mirrorError = error instanceof MirrorError ? error : (errorOfServer(error) ?? asMirrorError(error));
    if (mirrorError.code === 'unexpected') log.error({ error }, 'API request failed');
    const seconds = retryAfterSeconds(mirrorError);
    if (seconds !== null) reply.header('retry-after', seconds);
    // RFC 9470 section 3.
    if (mirrorError.code === SIGN_IN_AGAIN) {
      reply.header('www-authenticate', 'Bearer error="insufficient_user_authentication"');
    }
    sendProblem(reply, problemOfError(mirrorError));
  });
}

const refusal = z.strictObject({ error: z.string() });
const REFUSALS: Readonly<Record<number, Message>> = {
  401: message('api.unknown-caller'),
  403: message('api.not-allowed'),
  404: message('api.no-route'),
  429: message('api.too-many-requests'),
};

function refusalOf(status: number, code: string): ProblemDocument {
  if (code === NO_SUCH_TENANT.code) return NO_SUCH_TENANT;
  return problemOf(status, { code, detail: render(REFUSALS[status] ?? message('api.refused')) });
}

function sendProblem(reply: FastifyReply, problem: ProblemDocument): void {
  reply.code(problem.status).type(PROBLEM_TYPE).send(problem);
}

/** Reports invalid input by its path, without the value. */
function requestInvalid(part: string, issues: readonly z.core.$ZodIssue[]): MirrorError {
  const named = issues
    .slice(0, NAMED_ISSUES)
    .map(({ path, code }) => `${[part, ...path].join('.')} (${code.replaceAll('_', ' ')})`);
  return requestError('request-invalid', message('api.request-invalid'), named.join(', ') || part);
}

/** Converts errors of the HTTP server itself, before the route or by time-out; null for others. */
function errorOfServer({ statusCode = 500 }: FastifyError): MirrorError | null {
  if (statusCode === 413) return requestError('request-too-large', message('api.request-too-large'), null);
  if (statusCode < 500) return requestError('request-invalid', message('api.body-invalid'), 'body');
  if (statusCode !== 503) return null;
  return new MirrorError(message('not-in-time'), {
    actor: 'remote',
    code: 'not-in-time',
    retry: 'later',
    remedy: message('not-in-time.remedy'),
  });
}

function requestError(code: string, text: Text, about: string | null): MirrorError {
  return new MirrorError(text, {
    actor: 'settings',
    code,
    retry: 'never',
    about: about ?? undefined,
    remedy: message('request-invalid.remedy'),
  });
}
