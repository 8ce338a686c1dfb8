import helmet from '@fastify/helmet';
import { type FastifyInstance, type FastifyReply, fastify } from 'fastify';
import type { Logger } from '../log/logger.ts';
import { SECOND_MS } from '../model/time.ts';
import { LOGIN_CALLBACK_PATH, LOGIN_PAGE_STYLE_SOURCE } from './login-page.ts';
import { LOGIN_TIMEOUT_MS } from './logins.ts';

/** How long, and how many, callers hold a port. */
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

/** What both ports have in common. */
export interface AppOptions {
  log: Logger;
  /** Default: 5 s for headers, 10 s for requests, looked after every second; 1,000 connections. */
  limits?: ConnectionLimits;
}

/** An application that answers nothing yet but 404: bounded, with the headers of each answer, and a log without addresses. */
export async function openApp({ log, limits = CONNECTION_LIMITS }: AppOptions): Promise<FastifyInstance> {
  const { headersTimeoutMs, requestTimeoutMs, checkEveryMs, mostConnections } = limits;
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
  addHooks(app, log);
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
