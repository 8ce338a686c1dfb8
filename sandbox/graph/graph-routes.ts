import { setTimeout as delay } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { type ApiAnswer, sendAnswer } from '../kit/answer.ts';
import type { Counts } from '../kit/counts.ts';
import { originOf } from '../kit/oauth/routes.ts';
import { API_BASE, type GraphApi } from './api.ts';
import { BATCH_PATH, type BatchParts, readBatch, runBatch } from './batch.ts';
import type { ApiCall } from './call.ts';
import { GraphError, resourceNotFound } from './errors.ts';
import type { Route } from './routes.ts';
import type { Throttling } from './throttling.ts';

/** Adds the API and the batch endpoint. Each method has a separate route, and so a separate count. */
export function addGraphRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  counts: Counts,
  batch: BatchParts,
): void {
  for (const { method, at, path } of routes) {
    for (const prefix of at === 'mailbox' ? ['/me', '/users/:user'] : ['']) {
      app.route({
        method,
        url: `${API_BASE}${prefix}${path}`,
        handler: async (request, reply) => sendAnswer(reply, await batch.api.answer(callOf(request))),
      });
    }
  }
  app.post(BATCH_PATH, async (request, reply) => sendAnswer(reply, await answerBatch(callOf(request), counts, batch)));
  app.setNotFoundHandler((_request, reply) => sendAnswer(reply, { status: 404, body: resourceNotFound().toBody() }));
}

/**
 * Limits the concurrent requests at each mailbox and refuses a request over the limit. In a batch, each part is limited separately. Must be
 * added before the kit, so that the running time includes injected latency.
 */
export function limitConcurrency(
  app: FastifyInstance,
  api: GraphApi,
  throttling: Throttling,
  latencyMs: () => number,
): void {
  app.addHook('preHandler', async (request, reply) => {
    const mailbox = api.mailboxOf(callOf(request));
    if (!mailbox) {
      return;
    }
    const { leave, refusal } = throttling.enter(mailbox);
    let isInside = true;
    const leaveOnce = (): void => {
      if (isInside) {
        isInside = false;
        leave();
      }
    };
    reply.raw.once('finish', leaveOnce);
    reply.raw.once('close', leaveOnce);
    if (refusal) {
      return sendAnswer(reply, { status: refusal.status, headers: refusal.headers, body: refusal.toBody() });
    }
    if (latencyMs() > 0) {
      await delay(latencyMs());
    }
  });
}

async function answerBatch(call: ApiCall, counts: Counts, batch: BatchParts): Promise<ApiAnswer> {
  try {
    batch.oauth.requireCaller(call.headers.authorization);
    const requests = readBatch(call.body, batch.settings.maxBatchSize);
    counts.add('innerCalls', requests.length);
    return { status: 200, body: { responses: await runBatch(requests, call, batch) } };
  } catch (error) {
    if (error instanceof GraphError) {
      return { status: error.status, headers: error.headers, body: error.toBody() };
    }
    throw error;
  }
}

function callOf(request: FastifyRequest): ApiCall {
  const body = typeof request.body === 'string' ? request.body : '';
  const { method, url, headers } = request;
  return { method, url, headers, body, origin: originOf(request) };
}
