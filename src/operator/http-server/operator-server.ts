import { createHash, timingSafeEqual } from 'node:crypto';
import { setTimeout as pause } from 'node:timers/promises';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Problem } from '../../core/model/problems.ts';
import { SECOND_MS } from '../../core/model/time.ts';
import { message, render } from '../../messages/message.ts';
import { accessBy, addAccess, bearerIn } from './access/access.ts';
import { isOfThisMachine } from './access/own-address.ts';
import { addSessionsPage } from './access/sessions.ts';
import { addSignIn } from './access/sign-in.ts';
import { addApi } from './api/api.ts';
import { type AppOptions, openApp, PAGES_POLICY } from './app.ts';
import type { OperatorServices } from './operators.ts';
import { addPages } from './pages/pages.ts';
import type { NotReady, OperatorVerbs } from './verbs.ts';

/** Options of {@link createOperatorServer}. */
export interface OperatorServerOptions extends AppOptions {
  /** Token for details beyond the status; null: no token is required, and the port listens on loopback only. */
  token: string | null;
  /** Enables pages and API with access control; null or absent: neither exists. */
  administrators?: Administrators | null;
  /** Milliseconds of a monotonic clock. */
  clock?: () => number;
}

/** Dependencies of pages and API. */
export interface Administrators {
  services: OperatorServices;
  /** Public URL of the port, without a trailing slash. */
  publicUrl(): string;
}

/** A probe with a longer wait counts as failed. */
const PROBE_TIMEOUT_MS = 3 * SECOND_MS;
const PROBLEMS_TIMEOUT_MS = SECOND_MS;
/** Maximum age of metrics: one rendering serves all callers, because all tenants take seconds of the single thread. */
const METRICS_CACHE_MS = 5 * SECOND_MS;

/**
 * Builds the operators' port: health, readiness and metrics, plus pages and API with administrators; otherwise 404. If a token is
 * configured, callers without it receive only the status of health and readiness, and no metrics. {@link listen} opens the port.
 */
export async function createOperatorServer(
  verbs: OperatorVerbs,
  { token, administrators = null, clock = () => performance.now(), ...options }: OperatorServerOptions,
): Promise<FastifyInstance> {
  const app = await openApp({ ...options, ...(administrators === null ? {} : { policy: PAGES_POLICY }) });
  const mayKnow = token === null ? isOfThisMachine : bearerOf(token);
  const metrics = cachedFor(METRICS_CACHE_MS, clock, async () => Buffer.from(await verbs.metrics()));
  app.get('/healthz', { schema: { response: { 200: HEALTH_SCHEMA } } }, async () => ({ alive: true }));
  app.get(
    '/readyz',
    {
      schema: { response: { 200: READINESS_SCHEMA, 503: READINESS_SCHEMA } },
      handlerTimeout: PROBE_TIMEOUT_MS,
      errorHandler: (error, request, reply) => {
        options.log.warn({ error }, 'readiness was not determined');
        const missing = [{ what: 'readiness', why: render(message('not-in-time')) }];
        return answerReadiness(reply, missing, mayKnow(request) ? [] : null);
      },
    },
    async (request, reply) => {
      const missing = await verbs.readiness(request.signal);
      return answerReadiness(reply, missing, mayKnow(request) ? await soon(verbs.problems()) : null);
    },
  );
  app.get('/metrics', async (request, reply) => {
    // RFC 6750 section 3.
    if (!mayKnow(request)) return reply.code(401).header('www-authenticate', 'Bearer').send({ error: 'not-allowed' });
    return reply.type('text/plain; version=0.0.4; charset=utf-8').send(await metrics());
  });
  if (administrators !== null) await addAdministrators(app, administrators);
  return app;
}

async function addAdministrators(app: FastifyInstance, { services, publicUrl }: Administrators): Promise<void> {
  const { access } = services;
  addAccess(app, accessBy(access, publicUrl));
  await addSignIn(app, access, { publicUrl, log: services.log });
  addApi(app, services);
  addPages(app, services, (pages) => addSessionsPage(pages, services, publicUrl));
}

/** @param problems null for callers who may see only the status */
function answerReadiness(
  reply: FastifyReply,
  missing: readonly NotReady[],
  problems: readonly Problem[] | null,
): FastifyReply {
  const ready = missing.length === 0;
  return reply.code(ready ? 200 : 503).send(problems === null ? { ready } : { ready, missing, problems });
}

/** Readiness must not wait for problems, which are omitted if late or failed. */
async function soon(problems: Promise<readonly Problem[]>): Promise<readonly Problem[]> {
  const offered = pause(PROBLEMS_TIMEOUT_MS, [], { ref: false });
  return Promise.race([problems.catch(() => []), offered]);
}

/** Compares in constant time: digests have equal lengths. */
function bearerOf(token: string): (request: FastifyRequest) => boolean {
  const digest = (text: string) => createHash('sha256').update(text).digest();
  const expected = digest(token);
  return (request) => {
    const offered = bearerIn(request);
    return offered !== null && timingSafeEqual(digest(offered), expected);
  };
}

/** Caches a result for `cacheMs`; concurrent callers share one computation. Failures are not cached. */
function cachedFor<Value>(cacheMs: number, clock: () => number, compute: () => Promise<Value>): () => Promise<Value> {
  let cached: { value: Value; untilMs: number } | null = null;
  let computing: Promise<Value> | null = null;
  async function computeNow(): Promise<Value> {
    try {
      const value = await compute();
      cached = { value, untilMs: clock() + cacheMs };
      return value;
    } finally {
      computing = null;
    }
  }
  return async () => {
    if (cached !== null && clock() < cached.untilMs) return cached.value;
    computing ??= computeNow();
    return computing;
  };
}

const READINESS_SCHEMA = {
  type: 'object',
  required: ['ready'],
  properties: {
    ready: { type: 'boolean' },
    missing: {
      type: 'array',
      items: {
        type: 'object',
        required: ['what', 'why'],
        properties: { what: { type: 'string' }, why: { type: 'string' }, code: { type: 'string' } },
      },
    },
    problems: {
      type: 'array',
      items: {
        type: 'object',
        required: ['tenant', 'subject', 'code', 'health', 'sentence', 'next', 'breaksAt', 'nextTryAt'],
        properties: {
          tenant: { type: ['string', 'null'] },
          ...Object.fromEntries(['subject', 'code', 'health', 'sentence'].map((name) => [name, { type: 'string' }])),
          next: { type: ['string', 'null'] },
          breaksAt: { type: ['number', 'null'] },
          nextTryAt: { type: ['number', 'null'] },
          syncHealth: {
            type: ['object', 'null'],
            properties: { sync: { type: 'string' }, health: { type: 'string' } },
          },
        },
      },
    },
  },
};

const HEALTH_SCHEMA = { type: 'object', required: ['alive'], properties: { alive: { type: 'boolean' } } };
