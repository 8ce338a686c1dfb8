import type { FastifyInstance, FastifyRequest } from 'fastify';
import { sendAnswer } from '../kit/answer.ts';
import type { Counts } from '../kit/counts.ts';
import { API_BASE } from './api.ts';
import { answerBatch, type BatchOptions, innerCalls } from './batch.ts';
import type { ApiCall } from './call.ts';
import { ApiError, notFound } from './errors.ts';
import type { Route } from './routes.ts';

/** Path of the batch endpoint. */
export const BATCH_PATH = '/batch/calendar/v3';

/** Adds the calendar API and the batch endpoint. Each method has a separate route, and so a separate count. */
export function addCalendarRoutes(
  app: FastifyInstance,
  routes: readonly Route[],
  counts: Counts,
  batch: BatchOptions,
): void {
  const { api } = batch;
  for (const route of routes) {
    app.route({
      method: route.method,
      url: `${API_BASE}${route.path}`,
      handler: (request, reply) => sendAnswer(reply, api.answer(callOf(request))),
    });
  }
  app.post(BATCH_PATH, async (request, reply) => {
    const call = callOf(request);
    try {
      const calls = innerCalls(call.headers, call.body, batch.maxSize());
      counts.add('innerCalls', calls.length);
      const { contentType, body } = await answerBatch(calls, batch);
      return reply.header('content-type', contentType).send(body);
    } catch (error) {
      if (error instanceof ApiError) {
        return sendAnswer(reply, { status: error.status, body: error.toBody() });
      }
      throw error;
    }
  });
  app.setNotFoundHandler((_request, reply) => sendAnswer(reply, { status: 404, body: notFound().toBody() }));
}

/**
 * Records the number of concurrent HTTP requests for each calendar, as `calendar:<id>`. A batch is one request for each calendar in the
 * batch. Must be added before the kit, so that the running time includes injected latency.
 */
export function watchConcurrency(app: FastifyInstance, counts: Counts, batch: BatchOptions): void {
  app.addHook('preHandler', async (request, reply) => {
    const leave = calendarsOf(request, batch).map((id) => counts.enter(`calendar:${id}`));
    reply.raw.once('close', () => {
      for (const end of leave) {
        end();
      }
    });
  });
}

function calendarsOf(request: FastifyRequest, { api, maxSize }: BatchOptions): string[] {
  const call = callOf(request);
  const calls = call.url.startsWith(BATCH_PATH) ? partsOf(call, maxSize()) : [call];
  const ids = calls.map((each) => api.calendarOf(each)).filter((id) => id !== undefined);
  return [...new Set(ids)];
}

/** A batch that can't be read touches no calendar; the handler refuses it. */
function partsOf(call: ApiCall, maxSize: number): ApiCall[] {
  try {
    return innerCalls(call.headers, call.body, maxSize).map((part) => part.call);
  } catch {
    return [];
  }
}

function callOf(request: FastifyRequest): ApiCall {
  const body = typeof request.body === 'string' ? request.body : '';
  return { method: request.method, url: request.url, headers: request.headers, body };
}
