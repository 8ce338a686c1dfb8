import type { HttpDoor, HttpResponse } from '../../http/door.ts';
import { isHtml } from '../../http/json.ts';
import { retryAfterMs } from '../../http/retry-after.ts';
import type { Clock } from '../../model/time.ts';
import type { Authorizer } from '../connector.ts';
import type { SendCalls } from '../flow.ts';
import type { WireAnswer, WireCall } from '../wire.ts';
import { bodyOrChallenge, htmlAnswer, toMirrorError, unexpectedAnswer } from './errors.ts';
import { API_VERSION, BATCH_SIZE, PREFER } from './limits.ts';
import type { MailboxLock } from './mailbox-lock.ts';
import { batchAnswerSchema, batchPartSchema } from './schemas.ts';

/** What batches are sent with. */
export interface BatchTransportOptions {
  http: HttpDoor;
  authorizer: Authorizer;
  clock: Clock;
  rootUrl: string;
  lock: MailboxLock;
}

/**
 * Calls `send` with the login's header; after a 401 once more with a renewed one.
 * @throws MirrorError `authorization` when the renewed login is refused too
 */
export async function withLogin(
  authorizer: Authorizer,
  signal: AbortSignal,
  send: (authorization: string) => Promise<WireAnswer>,
): Promise<WireAnswer> {
  const first = await send(await authorizer.header(signal));
  if (first.status !== 401) return first;
  const second = await send(await authorizer.renew(signal));
  if (second.status === 401) throw toMirrorError(second);
  return second;
}

/**
 * Sends calls in JSON batches, one after the other. A batch that the server finds too large is halved, and later ones are no
 * larger than what it took. Parts that were refused for their login are sent once more with a renewed one.
 * @returns answers in the calls' order, null for a part that the answer lacks
 */
export function createBatchTransport(options: BatchTransportOptions): (signal: AbortSignal) => SendCalls {
  let limit = BATCH_SIZE;
  async function sendAll(calls: readonly WireCall[], send: SendBatch): Promise<(WireAnswer | null)[]> {
    const answers: (WireAnswer | null)[] = [];
    while (answers.length < calls.length) {
      const slice = calls.slice(answers.length, answers.length + limit);
      const batch = await send(slice);
      if (!('refused' in batch)) answers.push(...batch.answers);
      else if (slice.length === 1) answers.push(batch.refused);
      else limit = Math.ceil(slice.length / 2);
    }
    return answers;
  }
  return (signal) => async (calls) => {
    const login = { authorization: await options.authorizer.header(signal), renewed: false };
    return sendAll(calls, (slice) => sendWithLogin(options, slice, login, signal));
  };
}

type SendBatch = (calls: readonly WireCall[]) => Promise<BatchAnswer>;
/** `refused`: the batch as a whole was refused, and nothing of it was carried out. */
type BatchAnswer = { answers: (WireAnswer | null)[] } | { refused: WireAnswer };

async function sendWithLogin(
  options: BatchTransportOptions,
  calls: readonly WireCall[],
  login: { authorization: string; renewed: boolean },
  signal: AbortSignal,
): Promise<BatchAnswer> {
  const batch = await sendBatch(options, calls, login.authorization, signal);
  const answers = 'refused' in batch ? calls.map(() => batch.refused) : batch.answers;
  const refused = calls.filter((_, index) => answers[index]?.status === 401);
  if (refused.length === 0) return batch;
  if (login.renewed) return allRefused(answers);
  login.authorization = await options.authorizer.renew(signal);
  login.renewed = true;
  const again = await sendBatch(options, refused, login.authorization, signal);
  if ('refused' in again) return again.refused.status === 401 ? allRefused(answers) : again;
  const renewed = again.answers[Symbol.iterator]();
  return allRefused(answers.map((answer) => (answer?.status === 401 ? (renewed.next().value ?? null) : answer)));
}

/** When the login was refused for every call there is nothing to say of any. */
function allRefused(answers: (WireAnswer | null)[]): BatchAnswer {
  const [first] = answers;
  if (first && answers.every((answer) => answer?.status === 401)) throw toMirrorError(first);
  return { answers };
}

async function sendBatch(
  { http, clock, rootUrl, lock }: BatchTransportOptions,
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
    signal,
  };
  const answer = await lock.run(() => http.send(request), signal);
  if (answer.status === 200) return { answers: readParts(answer, calls.length, clock()) };
  const { status, headers } = answer;
  const body = bodyOrChallenge(status, headers, parseJson(answer));
  const whole = { status, body, retryAfterMs: answer.retryAfterMs };
  if (status === 400 || status === 401 || status === 413) return { refused: whole };
  throw toMirrorError(whole);
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
function readParts(answer: HttpResponse, count: number, nowMs: number): (WireAnswer | null)[] {
  const batch = batchAnswerSchema.safeParse(parseJson(answer));
  if (!batch.success) throw isHtml(answer) ? htmlAnswer() : unexpectedAnswer(true);
  const parts = new Map<string, WireAnswer>();
  for (const response of batch.data.responses) {
    const part = batchPartSchema.safeParse(response);
    if (!part.success) continue;
    const { id, status, body } = part.data;
    const headers = toHeaders(part.data.headers ?? {});
    parts.set(id, { status, body: bodyOrChallenge(status, headers, body), retryAfterMs: retryAfterMs(headers, nowMs) });
  }
  return withLargestWait(Array.from({ length: count }, (_, index) => parts.get(String(index)) ?? null));
}

/** Parts that were throttled are tried again after the largest of their waits (learn.microsoft.com/graph/throttling). */
function withLargestWait(answers: (WireAnswer | null)[]): (WireAnswer | null)[] {
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

function parseJson({ body }: HttpResponse): unknown {
  try {
    return JSON.parse(body.toString('utf8'));
  } catch {
    return undefined;
  }
}
