import { setTimeout as delay, setImmediate as nextTurn } from 'node:timers/promises';
import { z } from 'zod';
import { type ApiAnswer, parseJson } from '../kit/answer.ts';
import type { Fault, FaultPlan } from '../kit/faults.ts';
import { shuffled } from '../kit/random.ts';
import { API_BASE, type GraphApi } from './api.ts';
import type { ApiCall } from './call.ts';
import { bodyOfStatus, GraphError } from './errors.ts';
import type { GraphOAuth } from './oauth.ts';
import type { Settings } from './options.ts';
import type { Throttling } from './throttling.ts';

/** Path of the batch endpoint. */
export const BATCH_PATH = `${API_BASE}/$batch`;

/** Faults that may hit one part; `missing-part` runs the call and leaves its answer out. */
const INNER_FAULTS: ReadonlySet<string> = new Set(['status', 'latency', 'lost-answer', 'missing-part']);
/** Outlook runs this many parts of a batch at once, for each mailbox (concepts/json-batching). */
const PARALLEL = 4;

const batchBody = z.object({
  requests: z.array(
    z.object({
      id: z.string().min(1),
      method: z.enum(['GET', 'POST', 'PATCH', 'PUT', 'DELETE']),
      url: z.string().min(1),
      headers: z.record(z.string(), z.string()).optional(),
      body: z.unknown().optional(),
      dependsOn: z.array(z.string()).default([]),
    }),
  ),
});

/** One part of a batch. */
export type BatchRequest = z.infer<typeof batchBody>['requests'][number];

/** The answer to one part. */
export interface BatchResponse {
  id: string;
  status: number;
  headers: Record<string, string>;
  body?: unknown;
}

/** Dependencies of a batch run. */
export interface BatchParts {
  api: GraphApi;
  oauth: GraphOAuth;
  faults: FaultPlan;
  throttling: Throttling;
  settings: Settings;
  random: () => number;
}

/** The parts of a batch body. Throws GraphError 400 when it is malformed, too long, or an id comes twice. */
export function readBatch(text: string, maxSize: number): BatchRequest[] {
  const parsed = batchBody.safeParse(parseJson(text));
  if (!parsed.success) {
    throw badRequest('Invalid batch payload format.');
  }
  const { requests } = parsed.data;
  if (requests.length === 0 || requests.length > maxSize) {
    throw badRequest(`Number of batch request steps must be between 1 and ${maxSize}.`);
  }
  const ids = new Set(requests.map(({ id }) => id.toLowerCase()));
  if (ids.size < requests.length) {
    throw badRequest('Two requests in the batch have the same id.');
  }
  const earlier = new Set<string>();
  for (const { id, dependsOn } of requests) {
    if (!dependsOn.every((parent) => earlier.has(parent.toLowerCase()))) {
      throw badRequest('A request depends on one that does not come before it.');
    }
    earlier.add(id.toLowerCase());
  }
  return requests;
}

/** Runs the parts, four at a time per mailbox. The answers come in random order. */
export async function runBatch(requests: BatchRequest[], outer: ApiCall, parts: BatchParts): Promise<BatchResponse[]> {
  const done = new Map<string, Promise<ApiAnswer | undefined>>();
  const places = new Map<string, Places>();
  for (const request of requests) {
    const run = async (): Promise<ApiAnswer | undefined> => {
      const parents = await Promise.all(request.dependsOn.map((parent) => done.get(parent.toLowerCase())));
      if (parents.some((parent) => !parent || parent.status >= 400)) {
        return { status: 424, body: bodyOfStatus(424) };
      }
      return runPart(request, outer, parts, places);
    };
    done.set(request.id.toLowerCase(), run());
  }
  const responses: BatchResponse[] = [];
  for (const { id } of requests) {
    const answer = await done.get(id.toLowerCase());
    if (answer) {
      responses.push(toResponse(id, answer));
    }
  }
  return shuffled(responses, parts.random);
}

async function runPart(
  request: BatchRequest,
  outer: ApiCall,
  parts: BatchParts,
  places: Map<string, Places>,
): Promise<ApiAnswer | undefined> {
  const call = toCall(request, outer);
  if (!call) {
    return { status: 400, body: bodyOfStatus(400) };
  }
  const mailbox = parts.api.mailboxOf(call);
  if (!mailbox) {
    return answerPart(call, parts);
  }
  const ofMailbox = places.get(mailbox.id) ?? new Places(PARALLEL);
  places.set(mailbox.id, ofMailbox);
  const isQueued = parts.settings.batchOverflow === 'queued';
  if (isQueued) {
    await ofMailbox.take();
  }
  const { leave, refusal } = parts.throttling.enter(mailbox);
  try {
    // Another batch at the mailbox must have a chance to overlap.
    await (parts.settings.latencyMs > 0 ? delay(parts.settings.latencyMs) : nextTurn());
    return refusal
      ? { status: refusal.status, headers: refusal.headers, body: refusal.toBody() }
      : await answerPart(call, parts);
  } finally {
    leave();
    if (isQueued) {
      ofMailbox.giveBack();
    }
  }
}

async function answerPart(call: ApiCall, { api, faults }: BatchParts): Promise<ApiAnswer | undefined> {
  const request = { method: call.method, path: call.url, client: api.clientOf(call) };
  for (const fault of faults.next(request, INNER_FAULTS)) {
    if (fault.kind === 'latency') {
      await delay(Number(fault.ms));
    } else {
      return playInner(fault, () => api.answer(call));
    }
  }
  return api.answer(call);
}

async function playInner(fault: Fault, run: () => Promise<ApiAnswer>): Promise<ApiAnswer | undefined> {
  if (fault.kind === 'status') {
    const headers = z.record(z.string(), z.string()).optional().parse(fault.headers) ?? {};
    return { status: Number(fault.status), headers, body: fault.body ?? bodyOfStatus(Number(fault.status)) };
  }
  await run();
  return fault.kind === 'lost-answer' ? { status: 504, body: bodyOfStatus(504) } : undefined;
}

/** The authorization comes from the batch; nothing else does. Undefined for an absolute URL or an undeclared body. */
function toCall(request: BatchRequest, outer: ApiCall): ApiCall | undefined {
  const headers: Record<string, string | undefined> = { authorization: outer.headers.authorization };
  for (const [name, value] of Object.entries(request.headers ?? {})) {
    headers[name.toLowerCase()] = value;
  }
  const isRelative = !/^[a-z]+:/i.test(request.url);
  if (!isRelative || (request.body !== undefined && headers['content-type'] === undefined)) {
    return undefined;
  }
  const body = request.body === undefined ? '' : JSON.stringify(request.body);
  const url = `${API_BASE}/${request.url.replace(/^\//, '')}`;
  return { method: request.method, url, headers, body, origin: outer.origin };
}

function toResponse(id: string, answer: ApiAnswer): BatchResponse {
  const type: Record<string, string> = answer.body === undefined ? {} : { 'Content-Type': 'application/json' };
  const headers: Record<string, string> = { ...type };
  for (const [name, value] of Object.entries(answer.headers ?? {})) {
    headers[name.replace(/\b[a-z]/g, (letter) => letter.toUpperCase())] = value;
  }
  return { id, status: answer.status, headers, ...(answer.body === undefined ? {} : { body: answer.body }) };
}

function badRequest(message: string): GraphError {
  return new GraphError(400, 'BadRequest', message);
}

/** So many may be inside; the others wait in line. */
class Places {
  #free: number;
  readonly #waiting: (() => void)[] = [];

  constructor(count: number) {
    this.#free = count;
  }

  async take(): Promise<void> {
    if (this.#free > 0) {
      this.#free -= 1;
      return;
    }
    await new Promise<void>((resolve) => this.#waiting.push(resolve));
  }

  giveBack(): void {
    const next = this.#waiting.shift();
    if (next) {
      next();
    } else {
      this.#free += 1;
    }
  }
}
