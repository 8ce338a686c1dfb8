import { randomBytes } from 'node:crypto';
import { type IncomingHttpHeaders, STATUS_CODES } from 'node:http';
import { setTimeout as delay } from 'node:timers/promises';
import type { ApiAnswer } from '../kit/answer.ts';
import type { Fault, FaultPlan } from '../kit/faults.ts';
import { shuffled } from '../kit/random.ts';
import { API_BASE, type CalendarApi } from './api.ts';
import type { ApiCall } from './call.ts';
import { ApiError, bodyOfStatus } from './errors.ts';
import { formatBatch, type InnerRequest, type InnerResponse, parseBatch } from './multipart.ts';

/** Faults that may hit one part; `missing-part` runs the call and leaves its answer out. */
const INNER_FAULTS: ReadonlySet<string> = new Set(['status', 'latency', 'lost-answer', 'conflict', 'missing-part']);

/** Dependencies of a batch run. `maxSize` is read for each batch, because the setting may change. */
export interface BatchOptions {
  api: CalendarApi;
  faults: FaultPlan;
  random: () => number;
  maxSize: () => number;
}

/**
 * Returns the calls of a batch request. Outer headers apply to each part, except Content-* and the part's own headers.
 * @throws ApiError 400 if the body is malformed or holds more calls than `maxSize`
 */
export function innerCalls(
  headers: IncomingHttpHeaders,
  body: string,
  maxSize: number,
): { call: ApiCall; contentId: string | undefined }[] {
  const requests = parseBatch(headers['content-type'] ?? '', body);
  if (requests.length > maxSize) {
    throw new ApiError(400, 'badRequest', `The batch request contains more than ${maxSize} calls.`);
  }
  const outer = Object.fromEntries(Object.entries(headers).filter(([name]) => !name.startsWith('content-')));
  return requests.map((request: InnerRequest) => ({
    contentId: request.contentId,
    call: {
      method: request.method,
      url: request.url,
      headers: { ...outer, ...request.headers },
      body: request.body,
    },
  }));
}

/** Runs the calls and writes the multipart answer, both in random order. */
export async function answerBatch(
  calls: { call: ApiCall; contentId: string | undefined }[],
  { api, faults, random }: BatchOptions,
): Promise<{ contentType: string; body: string }> {
  const responses: InnerResponse[] = [];
  for (const { call, contentId } of shuffled(calls, random)) {
    const answer = await answerPart(call, api, faults);
    if (answer) {
      responses.push(toInnerResponse(answer, contentId));
    }
  }
  const boundary = `batch_${randomBytes(16).toString('base64url')}`;
  const body = formatBatch(boundary, shuffled(responses, random), (status) => STATUS_CODES[status] ?? 'Unknown');
  return { contentType: `multipart/mixed; boundary=${boundary}`, body };
}

async function answerPart(call: ApiCall, api: CalendarApi, plan: FaultPlan): Promise<ApiAnswer | undefined> {
  if (!call.url.startsWith(`${API_BASE}/`)) {
    return { status: 404, body: bodyOfStatus(404) };
  }
  const request = { method: call.method, path: call.url, client: api.accountOf(call) };
  for (const fault of plan.next(request, INNER_FAULTS)) {
    if (fault.kind === 'latency') {
      await delay(Number(fault.ms));
    } else {
      return playInner(fault, () => api.answer(call));
    }
  }
  return api.answer(call);
}

function playInner(fault: Fault, run: () => ApiAnswer): ApiAnswer | undefined {
  switch (fault.kind) {
    case 'status':
      return { status: Number(fault.status), body: fault.body ?? bodyOfStatus(Number(fault.status)) };
    case 'conflict':
      return { status: 409, body: bodyOfStatus(409) };
    case 'lost-answer':
      run();
      return { status: 503, body: bodyOfStatus(503) };
    default:
      run();
      return undefined;
  }
}

function toInnerResponse(answer: ApiAnswer, contentId: string | undefined): InnerResponse {
  const hasBody = answer.body !== undefined;
  const body = hasBody ? JSON.stringify(answer.body) : '';
  const type: Record<string, string> = hasBody ? { 'Content-Type': 'application/json; charset=UTF-8' } : {};
  return {
    contentId,
    status: answer.status,
    headers: { ...type, ...(answer.headers ?? {}), 'Content-Length': String(Buffer.byteLength(body)) },
    body,
  };
}
