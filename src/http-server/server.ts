import helmet from '@fastify/helmet';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import { NOTIFICATIONS_PATH } from '../jobs/open-subscription.ts';
import type { Logger } from '../log/logger.ts';
import { SECOND_MS } from '../model/time.ts';
import { addAnswers } from './answers.ts';
import { LOGIN_CALLBACK_PATH, LOGIN_PAGE_STYLE_SOURCE } from './login-page.ts';
import { addLogins, LOGIN_TIMEOUT_MS } from './logins.ts';
import { addReminderCallbacks } from './reminder-callbacks.ts';
import type { AdminVerbs, NotReady } from './verbs.ts';

/** What {@link createAdminServer} needs beside the verbs. */
export interface AdminServerOptions {
  /** How browsers reach the port today, without a slash at the end. The Host header is not trusted for it. */
  publicUrl(): string;
  log: Logger;
  /** Answers health, readiness and metrics alone: the rest is another process's. */
  probesOnly?: boolean;
  /** Default {@link CONNECTION_LIMITS}. */
  limits?: ConnectionLimits;
}

/** How long, and how many, callers hold the port. */
export interface ConnectionLimits {
  /** From the opening of a connection, or the first byte of a request, to the end of its headers. */
  headersTimeoutMs: number;
  /** To the end of its body. */
  requestTimeoutMs: number;
  /** How often those that are late are looked for: each may last so much longer. */
  checkEveryMs: number;
  /** Further ones are closed at once: a caller who opens thousands leaves memory and file handles to the daemon's own work. */
  mostConnections: number;
}

const CONNECTION_LIMITS: ConnectionLimits = {
  headersTimeoutMs: 5 * SECOND_MS,
  requestTimeoutMs: 10 * SECOND_MS,
  checkEveryMs: SECOND_MS,
  mostConnections: 1_000,
};

/** A probe that waits longer for an answer would count it as none. */
const PROBE_TIMEOUT_MS = 3 * SECOND_MS;
/** Vendors post again what is not answered within three seconds (Graph, concepts/change-notifications-delivery-webhooks). */
const NOTIFICATION_TIMEOUT_MS = 2.5 * SECOND_MS;
/** A notification holds a few hundred bytes; Graph may put many into one request. */
const NOTIFICATION_BODY_BYTES = 256 * 1_024;

/**
 * Builds the HTTP port: health, readiness, metrics, the pages of logins, the receivers of notifications and reports, and the
 * pages of reminders, or of these the first three alone; all else is 404.
 * {@link listen} opens it.
 */
export async function createAdminServer(verbs: AdminVerbs, options: AdminServerOptions): Promise<FastifyInstance> {
  const { headersTimeoutMs, requestTimeoutMs, checkEveryMs, mostConnections } = options.limits ?? CONNECTION_LIMITS;
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    // A client that sends its request slowly, or nothing, holds a socket no longer than this; by itself Node looks every half minute.
    http: { headersTimeout: headersTimeoutMs, connectionsCheckingInterval: checkEveryMs },
    requestTimeout: requestTimeoutMs,
    connectionTimeout: LOGIN_TIMEOUT_MS + 10 * SECOND_MS,
    keepAliveTimeout: 5 * SECOND_MS,
    handlerTimeout: 10 * SECOND_MS,
    forceCloseConnections: 'idle',
    bodyLimit: 1_024,
    frameworkErrors: (_error, _request, reply) => void notFound(reply),
  });
  app.server.maxConnections = mostConnections;
  await app.register(helmet, {
    xFrameOptions: { action: 'deny' },
    contentSecurityPolicy: {
      useDefaults: false,
      directives: {
        defaultSrc: ["'none'"],
        styleSrc: [LOGIN_PAGE_STYLE_SOURCE],
        baseUri: ["'none'"],
        formAction: ["'none'"],
        frameAncestors: ["'none'"],
      },
    },
  });
  addHooks(app, options.log);
  addProbes(app, verbs, options.log);
  if (options.probesOnly === true) return app;
  await app.register(async (scope) => addLogins(scope, verbs, options));
  await app.register(async (scope) => addNotifications(scope, verbs));
  await app.register(async (scope) => addReminderCallbacks(scope, verbs));
  await app.register(async (scope) => addAnswers(scope, verbs, options.log));
  return app;
}

function addHooks(app: FastifyInstance, log: Logger): void {
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  app.addHook('onResponse', async (request, reply) => {
    // The route's pattern instead of the address: that may hold a code.
    const route = request.routeOptions.url ?? 'none';
    const level = route === LOGIN_CALLBACK_PATH ? 'info' : 'debug';
    const durationMs = Math.round(reply.elapsedTime);
    log[level]({ method: request.method, route, status: reply.statusCode, durationMs }, 'answered a request');
  });
  app.setNotFoundHandler((_request, reply) => notFound(reply));
  app.setErrorHandler((error, _request, reply) => {
    const status = statusOf(error);
    // A request that can't be read is for nothing that is open here.
    if (status < 500) return notFound(reply);
    log.error({ error }, 'a request failed');
    return reply.code(status).send({ error: 'failed' });
  });
}

function statusOf(error: unknown): number {
  const status: unknown = error instanceof Error && 'statusCode' in error ? error.statusCode : 500;
  return typeof status === 'number' ? status : 500;
}

function notFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ error: 'not-found' });
}

const READINESS_SCHEMA = {
  type: 'object',
  required: ['ready', 'missing'],
  properties: {
    ready: { type: 'boolean' },
    missing: {
      type: 'array',
      items: {
        type: 'object',
        required: ['what', 'why'],
        properties: { what: { type: 'string' }, why: { type: 'string' } },
      },
    },
  },
};

const HEALTH_SCHEMA = { type: 'object', required: ['alive'], properties: { alive: { type: 'boolean' } } };

function addProbes(app: FastifyInstance, verbs: AdminVerbs, log: Logger): void {
  app.get('/healthz', { schema: { response: { 200: HEALTH_SCHEMA } } }, async () => ({ alive: true }));
  app.get(
    '/readyz',
    {
      schema: { response: { 200: READINESS_SCHEMA, 503: READINESS_SCHEMA } },
      handlerTimeout: PROBE_TIMEOUT_MS,
      errorHandler: (error, _request, reply) => {
        log.warn({ error }, 'readiness could not be told');
        return answerReadiness(reply, [{ what: 'readiness', why: 'it could not be told in time' }]);
      },
    },
    async (request, reply) => answerReadiness(reply, await verbs.readiness(request.signal)),
  );
  app.get('/metrics', async (_request, reply) => {
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await verbs.metrics());
  });
}

function answerReadiness(reply: FastifyReply, missing: readonly NotReady[]): FastifyReply {
  const ready = missing.length === 0;
  return reply.code(ready ? 200 : 503).send({ ready, missing });
}

/** Everything is acknowledged, so that a stranger learns nothing; what failed here is posted again by the vendor. */
function addNotifications(scope: FastifyInstance, verbs: AdminVerbs): void {
  scope.removeAllContentTypeParsers();
  // The body as text, whatever it says it is: the connector reads it.
  scope.addContentTypeParser(
    '*',
    { parseAs: 'string', bodyLimit: NOTIFICATION_BODY_BYTES },
    async (_request: FastifyRequest, body: string | Buffer) => body.toString(),
  );
  scope.post<{ Params: { connector: string; subscriptionId: string } }>(
    `${NOTIFICATIONS_PATH}/:connector/:subscriptionId`,
    { bodyLimit: NOTIFICATION_BODY_BYTES, handlerTimeout: NOTIFICATION_TIMEOUT_MS },
    async (request, reply) => {
      const { connector, subscriptionId } = request.params;
      const query = new URL(request.url, 'http://localhost').searchParams;
      const headers = Object.fromEntries(
        Object.entries(request.headers).map(([name, value]) => [name, Array.isArray(value) ? value.join(', ') : value]),
      );
      const body = typeof request.body === 'string' ? request.body : '';
      const answer = await verbs.takeNotification({ connector, subscriptionId, query, headers, body });
      if (answer === null) return reply.code(202).send();
      return reply.code(200).type('text/plain; charset=utf-8').send(answer);
    },
  );
}
