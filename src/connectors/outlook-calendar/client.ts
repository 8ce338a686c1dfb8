import {
  Client,
  type Context,
  type GraphRequest,
  type Middleware,
  ResponseType,
} from '@microsoft/microsoft-graph-client';
import { isHtml } from '../../core/http/answer.ts';
import type { HttpClient, HttpResponse } from '../../core/http/client.ts';
import { type AnswerHeaders, answerHeaders } from '../../core/http/headers.ts';
import { retryAfterMs, serverNow } from '../../core/http/retry.ts';
import { asMirrorError, MirrorError } from '../../core/model/errors.ts';
import type { Clock } from '../../core/model/time.ts';
import type { Authorizer } from '../connector.ts';
import { type BatchAnswer, createBatchSender, isRefusedWhole, type SendCalls } from '../flow.ts';
import type { Mutex } from '../shared-state.ts';
import { bodyOf, jsonOf, readEach, type WireCall, type WireResponse } from '../wire.ts';
import { bodyOrChallenge, errors } from './errors.ts';
import { API_VERSION, BATCH_SIZE, CROWDED_FOR_MS, LARGEST_ANSWER_BYTES, MOST_ANSWER_VALUES, PREFER } from './limits.ts';
import { batchAnswerSchema, batchPartSchema } from './schemas.ts';

interface GraphClientOptions {
  http: HttpClient;
  rootUrl: string;
}

/** Single call outside a batch. */
export interface GraphCall extends WireCall {
  /** Page size, for requests whose query cannot contain it (learn.microsoft.com/graph/delta-query-events). */
  pageSize?: number;
}

/**
 * Sends a single call and returns the response with any status.
 * @throws MirrorError if Graph does not respond
 */
type SendCall = (label: string, call: GraphCall, authorization: string, signal: AbortSignal) => Promise<WireResponse>;

/**
 * Creates Microsoft's client on top of clinic-mirror's HTTP client, which replaces the authorization, retries and errors of Microsoft's
 * client.
 */
export function createGraphClient({ http, rootUrl }: GraphClientOptions): SendCall {
  return async (label, call, authorization, signal) => {
    const received = Promise.withResolvers<HttpResponse>();
    const send = http.asFetch(label, undefined, LARGEST_ANSWER_BYTES, received.resolve);
    const httpClient = new HttpClientMiddleware(send);
    const client = Client.initWithMiddleware({ middleware: httpClient, baseUrl: rootUrl, defaultVersion: API_VERSION });
    const headers = {
      Authorization: authorization,
      Prefer: call.pageSize === undefined ? PREFER : `${PREFER}, odata.maxpagesize=${call.pageSize}`,
      ...(call.ifMatch ? { 'If-Match': call.ifMatch } : {}),
    };
    const request = client.api(call.path).headers(headers).option('signal', signal).responseType(ResponseType.RAW);
    try {
      await SEND[call.method](request, call.body);
      return await answerOf(label, await received.promise);
    } catch (error) {
      throw (
        httpClient.failure ??
        (error instanceof MirrorError ? error : asMirrorError(new Error('the Graph client failed')))
      );
    }
  };
}

const SEND: Readonly<Record<WireCall['method'], (request: GraphRequest, body: unknown) => Promise<Response>>> = {
  GET: (request) => request.get(),
  POST: (request, body) => request.post(body),
  PUT: (request, body) => request.put(body),
  PATCH: (request, body) => request.patch(body),
  DELETE: (request) => request.delete(),
};

/** Only middleware of Microsoft's client: the HTTP client, which follows no redirects and repeats nothing. */
class HttpClientMiddleware implements Middleware {
  /** Error of the HTTP client. Microsoft's client wraps the error in a new error and loses the original. */
  failure: MirrorError | null = null;
  readonly #fetch: typeof fetch;

  constructor(throughClient: typeof fetch) {
    this.#fetch = throughClient;
  }

  async execute(context: Context): Promise<void> {
    try {
      context.response = await this.#fetch(context.request, context.options);
    } catch (error) {
      this.failure = asMirrorError(error);
      throw error;
    }
  }
}

async function answerOf(label: string, response: HttpResponse): Promise<WireResponse> {
  const { status, headers, retryAfterMs: waitMs } = response;
  const body = bodyOrChallenge(status, headers, undefined) ?? (await bodyOf(response, label, MOST_ANSWER_VALUES));
  return { status, body, retryAfterMs: waitMs };
}

interface BatchTransportOptions {
  http: HttpClient;
  authorizer: Authorizer;
  clock: Clock;
  rootUrl: string;
  turns: Mutex;
}

/** Creates the connector's batch transport; see {@link createBatchSender}. */
export function createBatchTransport(options: BatchTransportOptions): (signal: AbortSignal) => SendCalls {
  return createBatchSender({
    authorizer: options.authorizer,
    batchSize: BATCH_SIZE,
    sendBatch: (calls, authorization, signal) => sendBatch(options, calls, authorization, signal),
    loginRefused: errors.of,
    // Practitioners report 429 from the fifth, the tenth or the sixteenth part of a batch for one mailbox
    // (github.com/microsoftgraph/microsoft-graph-docs/issues/8760, 17213, 2886).
    crowding: {
      clock: options.clock,
      isCrowdedOut: (answer) => answer.status === 429,
      restMs: CROWDED_FOR_MS,
    },
  });
}

async function sendBatch(
  { http, clock, rootUrl, turns }: BatchTransportOptions,
  calls: readonly WireCall[],
  authorization: string,
  signal: AbortSignal,
): Promise<BatchAnswer> {
  const request = {
    label: 'graph.batch',
    method: 'POST',
    url: `${rootUrl}/${API_VERSION}/$batch`,
    headers: { authorization, prefer: PREFER, 'content-type': 'application/json' },
    body: JSON.stringify({ requests: calls.map(toPart) }),
    units: calls.length,
    maxResponseBytes: LARGEST_ANSWER_BYTES,
    signal,
  };
  const { answer, sentAt } = await turns.run(() => timed(() => http.send(request), clock), signal);
  if (answer.status === 200) {
    const parts = await readParts(answer, calls.length, serverNow(answer.headers) ?? clock());
    return { answers: parts.map((part) => (part === null ? null : { ...part, sentAt })) };
  }
  const { status, headers } = answer;
  const body = bodyOrChallenge(status, headers, await jsonOf(answer.body, MOST_ANSWER_VALUES));
  const whole = { status, body, retryAfterMs: answer.retryAfterMs };
  if (isRefusedWhole(whole.status)) return { refused: whole };
  throw errors.of(whole);
}

/** Returns a response and the time of the request: by Microsoft's clock if the response has a Date header, otherwise by the local clock. */
async function timed(send: () => Promise<HttpResponse>, clock: Clock) {
  const startedAt = clock();
  const answer = await send();
  const answeredAt = serverNow(answer.headers);
  const tookMs = Math.max(0, clock() - startedAt);
  return { answer, sentAt: answeredAt === null ? startedAt : answeredAt - tookMs };
}

function toPart({ method, path, ifMatch, body }: WireCall, index: number): object {
  const headers = {
    Prefer: PREFER,
    ...(ifMatch ? { 'If-Match': ifMatch } : {}),
    ...(body === undefined ? {} : { 'Content-Type': 'application/json' }),
  };
  return { id: String(index), method, url: path, headers, ...(body === undefined ? {} : { body }) };
}

/** Returns the parts of a batch response by the index of their call, since Graph may reorder parts. Absent or unreadable parts are null. */
async function readParts(answer: HttpResponse, count: number, nowMs: number): Promise<(WireResponse | null)[]> {
  const batch = batchAnswerSchema.safeParse(await jsonOf(answer.body, MOST_ANSWER_VALUES));
  if (!batch.success) throw errors.make(isHtml(answer) ? 'html-answer' : 'unexpected-answer', { ambiguous: true });
  const parts = new Map<string, WireResponse>();
  const read = await readEach(batch.data.responses, (response) => batchPartSchema.safeParse(response).data ?? null);
  for (const part of read) {
    const { id, status, body } = part;
    const headers = toHeaders(part.headers ?? {});
    parts.set(id, {
      status,
      body: bodyOrChallenge(status, headers, body),
      retryAfterMs: retryAfterMs({ status, headers }, nowMs),
    });
  }
  return withLargestWait(Array.from({ length: count }, (_, index) => parts.get(String(index)) ?? null));
}

/** Throttled parts are retried after the longest of their delays (learn.microsoft.com/graph/throttling). */
function withLargestWait(answers: (WireResponse | null)[]): (WireResponse | null)[] {
  const waits = answers.flatMap((answer) => (answer?.status === 429 ? (answer.retryAfterMs ?? []) : []));
  if (waits.length === 0) return answers;
  const largest = Math.max(...waits);
  return answers.map((answer) => (answer?.status === 429 ? { ...answer, retryAfterMs: largest } : answer));
}

function toHeaders(values: Readonly<Record<string, unknown>>): AnswerHeaders {
  const isStated = (value: unknown) => typeof value === 'string' || typeof value === 'number';
  return answerHeaders(
    Object.entries(values).flatMap(([name, value]) => (isStated(value) ? [[name, String(value)] as const] : [])),
  );
}
