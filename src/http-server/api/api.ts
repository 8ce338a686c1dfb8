import type { FastifyInstance, FastifyPluginAsync, FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { requireTenant } from '../../control/installation.ts';
import { openTasks, type Tasks } from '../../control/tasks.ts';
import { SECOND_MS } from '../../model/time.ts';
import type { OperatorDesk } from '../operator-desk.ts';
import { visitorOf } from '../visitors.ts';
import { speakJson } from './answers.ts';
import { API_PATH, openApiDocument } from './openapi.ts';
import { problemDocument } from './problems.ts';
import type { Given, Route } from './routes.ts';
import { begunTask } from './task-schemas.ts';

/** A caller waits so long for what may take longer, unless it asks to wait less or more (RFC 7240 section 4.3). */
const WAIT_SECONDS = 5;
const LONGEST_WAIT_SECONDS = 8;

/** Adds the API for operators: routes whose questions and answers are checked by their schemas, and the document that describes them. */
export function addApi(app: FastifyInstance, desk: OperatorDesk): void {
  const tasks = openTasks(desk.installation, desk.log);
  app.addHook('preClose', () => tasks.close());
  const routes: FastifyPluginAsync = async (api) => {
    // Loaded where there are administrators: it knows every verb.
    const { ROUTES } = await import('./routes.ts');
    speakJson(api, desk.log);
    const description = JSON.stringify(openApiDocument(ROUTES));
    api.get('/openapi.json', { config: { level: 'viewer' } }, async (_request, reply) =>
      reply.type('application/json').send(description),
    );
    for (const route of ROUTES) addRoute(api, route, desk, tasks);
  };
  app.register(routes, { prefix: API_PATH });
}

function addRoute(api: FastifyInstance, route: Route, desk: OperatorDesk, tasks: Tasks): void {
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
      const given = givenOf(request, desk, tasks);
      const { tenant } = ofTenant.partial().parse(given.params);
      if (tenant !== undefined && !isOfAny) requireTenant(desk.installation, tenant);
      const answer = task === null ? route.handle(given) : answerTask({ ...route, task }, given, request, reply);
      const { revision } = isRevised ? revised.parse(await answer) : { revision: null };
      if (revision !== null) reply.header('etag', `"${revision}"`);
      return answer;
    },
  });
}

function givenOf(request: FastifyRequest, desk: OperatorDesk, tasks: Tasks): Given {
  const { params, query, body, signal, headers } = request;
  const visitor = visitorOf(request);
  return {
    ...{ params, query, body, visitor, desk, tasks },
    acting: desk.acting(visitor, why.safeParse(body).data?.reason ?? null),
    progress: () => {},
    signals: { stop: signal, abort: signal },
    ifMatch: /^"([^"]+)"$/.exec(headers['if-match'] ?? '')?.[1] ?? null,
  };
}

const revised = z.object({ revision: z.string().nullable() });
const why = z.object({ reason: z.string().nullable() });

/** Begins long work, and waits some seconds for its end. */
async function answerTask(
  { task, reply: answered, handle }: Route & { task: NonNullable<Route['task']> },
  given: Given,
  { headers }: FastifyRequest,
  reply: FastifyReply,
): Promise<unknown> {
  const { tenant } = ofTenant.parse(given.params);
  const begun = await given.tasks.begin(tenant, task, async (progress, signals) =>
    asObject.parse(await answered.parseAsync(await handle({ ...given, progress, signals }))),
  );
  const result = await within(waitSeconds(String(headers.prefer)) * SECOND_MS, begun.result);
  if (result !== null) return result;
  const address = `${API_PATH}/tenants/${encodeURIComponent(tenant)}/tasks/${begun.id}`;
  return reply.code(202).header('location', address).send({ task: begun.id, address });
}

/** Of the routes of tenants. */
const ofTenant = z.object({ tenant: z.string() });
const asObject = z.looseObject({});

/** RFC 7240: `respond-async`, or `wait=<seconds>`. */
function waitSeconds(prefer: string): number {
  if (/\brespond-async\b/i.test(prefer)) return 0;
  const [, seconds] = /\bwait=(\d{1,4})\b/i.exec(prefer) ?? [];
  return seconds === undefined ? WAIT_SECONDS : Math.min(Number(seconds), LONGEST_WAIT_SECONDS);
}

/** Null when it takes longer; it goes on then, and its task tells what it throws. */
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
