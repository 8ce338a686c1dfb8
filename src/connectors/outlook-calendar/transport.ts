import type { HttpClient, HttpResponse } from '../../http/client.ts';
import { isHtml } from '../../http/json.ts';
import { retryAfterMs, serverNow } from '../../http/retry-after.ts';
import { parseJson } from '../../model/json.ts';
import type { Clock } from '../../model/time.ts';
import type { Authorizer } from '../connector.ts';
import type { SendCalls } from '../flow.ts';
import { type BatchAnswer, createBatchSender, isRefusedWhole } from '../flow.ts';
import type { Mutex } from '../shared-state.ts';
import type { WireCall, WireResponse } from '../wire.ts';
import { bodyOrChallenge, errors } from './errors.ts';
import { API_VERSION, BATCH_SIZE, CROWDED_FOR_MS, LARGEST_ANSWER_BYTES, PREFER } from './limits.ts';
import { batchAnswerSchema, batchPartSchema } from './schemas.ts';

/** What batches are sent with. */
export interface BatchTransportOptions {
  http: HttpClient;
  authorizer: Authorizer;
  clock: Clock;
  rootUrl: string;
  turns: Mutex;
}

/** The connector's batches; see {@link createBatchSender}. */
export function createBatchTransport(options: BatchTransportOptions): (signal: AbortSignal) => SendCalls {
  return createBatchSender({
    authorizer: options.authorizer,
    batchSize: BATCH_SIZE,
    sendBatch: (calls, authorization, signal) => sendBatch(options, calls, authorization, signal),
    loginRefused: errors.of,
    // Practitioners see 429 from the fifth, the tenth or the sixteenth part of a batch at one mailbox
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
    return {
      answers: readParts(answer, calls.length, serverNow(answer.headers) ?? clock()).map((part) =>
        part === null ? null : { ...part, sentAt },
      ),
    };
  }
  const { status, headers } = answer;
  const body = bodyOrChallenge(status, headers, parseJson(answer.body));
  const whole = { status, body, retryAfterMs: answer.retryAfterMs };
  if (isRefusedWhole(whole.status)) return { refused: whole };
  throw errors.of(whole);
}

/** An answer, and when its request went out: by Microsoft's clock, told by the answer's Date, else by ours. */
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

/** The parts by the index of their call: their order says nothing, and what is absent or unreadable is null. */
function readParts(answer: HttpResponse, count: number, nowMs: number): (WireResponse | null)[] {
  const batch = batchAnswerSchema.safeParse(parseJson(answer.body));
  if (!batch.success) throw errors.make(isHtml(answer) ? 'html-answer' : 'unexpected-answer', { ambiguous: true });
  const parts = new Map<string, WireResponse>();
  for (const response of batch.data.responses) {
    const part = batchPartSchema.safeParse(response);
    if (!part.success) continue;
    const { id, status, body } = part.data;
    const headers = toHeaders(part.data.headers ?? {});
    parts.set(id, {
      status,
      body: bodyOrChallenge(status, headers, body),
      retryAfterMs: retryAfterMs({ status, headers }, nowMs),
    });
  }
  return withLargestWait(Array.from({ length: count }, (_, index) => parts.get(String(index)) ?? null));
}

/** Parts that were throttled are tried again after the largest of their waits (learn.microsoft.com/graph/throttling). */
function withLargestWait(answers: (WireResponse | null)[]): (WireResponse | null)[] {
  const waits = answers.flatMap((answer) => (answer?.status === 429 ? (answer.retryAfterMs ?? []) : []));
  if (waits.length === 0) return answers;
  const largest = Math.max(...waits);
  return answers.map((answer) => (answer?.status === 429 ? { ...answer, retryAfterMs: largest } : answer));
}

function toHeaders(values: Readonly<Record<string, unknown>>): Headers {
  const headers = new Headers();
  for (const [name, value] of Object.entries(values)) {
    if (/^[\w-]+$/.test(name) && (typeof value === 'string' || typeof value === 'number')) {
      headers.set(name, String(value).replace(/[^\x20-\x7E]/g, ''));
    }
  }
  return headers;
}
