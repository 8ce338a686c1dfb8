import { setTimeout as sleep } from 'node:timers/promises';
import pRetry from 'p-retry';
import type { HttpRequest, HttpResponse, HttpStream } from '../../http/client.ts';
import { MirrorError } from '../../model/errors.ts';
import type { ClinicContext } from './context.ts';
import { errorFromAnswer } from './errors.ts';
import type { JsonObject } from './rows.ts';

/** One call of the clinic API. */
export interface ClinicCall {
  /** Constant name such as `clinic.appointments.list`, for messages, metrics and logs. */
  label: string;
  /** Whole address; built by `addresses.ts`, never with the token in it. */
  url: string;
  /** GET when absent. */
  method?: 'GET' | 'POST' | 'PUT' | 'DELETE';
  /** Sent as JSON. */
  body?: JsonObject;
  /** In place of `body`: makes what is sent, again for every request. */
  upload?: () => Upload;
  /** Asks for nothing where the answer is still the one of this ETag: then it is a 304, which `accepts` must take. */
  ifNoneMatch?: string;
  /** What is asked for; JSON when absent. */
  accept?: string;
  /** Longest time until the whole answer is read; the profile's `timeoutMs` when absent. */
  timeoutMs?: number;
  signal: AbortSignal;
  /** Told of every request that is sent. */
  onRequest?: () => void;
  /** Answers beside 2xx that the caller understands; their body has been read. */
  accepts?: (answer: HttpResponse) => boolean;
}

/** A body that is never whole in memory. */
export interface Upload {
  contentType: string;
  /** Null when it is not known before the end. */
  lengthBytes: number | null;
  stream: AsyncIterable<Uint8Array>;
}

/** Codes of waits that are somebody else's: the operator stops, or the shared budget said how long. */
const NOT_HERE = new Set(['aborted', 'budget-exhausted', 'budget-paused']);

/**
 * Sends a call with the login's token. A 401 is answered with one renewal and one replay. 429, 5xx and failures of the network
 * are tried again in place as long as the wait is short; a longer one is thrown for the job to come back. A POST that may have been
 * carried out is never sent again here: its caller looks the record up first.
 * @throws MirrorError as `errors.ts` says, and those of the HTTP client and the login
 */
export function send(context: ClinicContext, call: ClinicCall): Promise<HttpResponse> {
  return deliver(context, call, { ask: (request) => context.http.send(request), whole: async (answer) => answer });
}

/** The same for an answer that is read as it comes. @throws as {@link send}; the body may throw what the HTTP client says */
export function openAnswer(context: ClinicContext, call: ClinicCall): Promise<HttpStream> {
  return deliver(context, call, { ask: (request) => context.http.open(request), whole: (answer) => answer.whole() });
}

/** How requests go out, and how an answer is read whole to learn what is wrong. */
interface Transport<Answer> {
  ask(request: HttpRequest): Promise<Answer>;
  whole(answer: Answer): Promise<HttpResponse>;
}

async function deliver<Answer extends Pick<HttpResponse, 'status'>>(
  context: ClinicContext,
  call: ClinicCall,
  transport: Transport<Answer>,
): Promise<Answer> {
  const { limits } = context.profile;
  const authorized = authorizedSender(context, call, transport);
  try {
    return await pRetry(authorized, {
      retries: limits.tries - 1,
      minTimeout: limits.firstWaitMs,
      maxTimeout: limits.longestWaitMs,
      randomize: true,
      signal: call.signal,
      shouldRetry: async ({ error, retryDelay }) => {
        if (!isRepeatable(call, error)) return false;
        if (context.budget !== null && isRefusedForHaste(error)) return true;
        const isShort = isWorthWaiting(error, limits.longestWaitMs);
        if (isShort)
          await sleep(Math.max(0, (error.retryAfterMs ?? 0) - retryDelay), undefined, { signal: call.signal });
        return isShort;
      },
    });
  } catch (error) {
    if (call.signal.aborted && !(error instanceof MirrorError)) throw stopped(call.label);
    throw labelled(error, call.label);
  }
}

/** A refusal for haste was surely not carried out; PUT and DELETE come to the same when they are. */
function isRepeatable({ method }: ClinicCall, error: Error): boolean {
  return method !== 'POST' || isRefusedForHaste(error);
}

/** The budget was told so, and knows how long to wait before the next try. */
function isRefusedForHaste(error: Error): boolean {
  return error instanceof MirrorError && error.status === 429;
}

/** Whether the same request may go out again after a wait that can be sat through. */
function isWorthWaiting(error: Error, longestWaitMs: number): error is MirrorError {
  if (!(error instanceof MirrorError) || error.actor !== 'remote' || NOT_HERE.has(error.code)) return false;
  return error.retry !== 'never' && (error.retryAfterMs ?? 0) <= longestWaitMs;
}

function authorizedSender<Answer extends Pick<HttpResponse, 'status'>>(
  context: ClinicContext,
  call: ClinicCall,
  { ask, whole }: Transport<Answer>,
): () => Promise<Answer> {
  const { authorization } = context;
  const request = (header: string) => {
    call.onRequest?.();
    return ask(requestOf(context, call, header));
  };
  let isRenewed = false;
  return async () => {
    let answer = await request(await authorization.header(call.signal));
    if (answer.status === 401 && !isRenewed) {
      isRenewed = true;
      await whole(answer);
      context.log.info({ label: call.label }, 'the access token was refused, renewing it once');
      answer = await request(await authorization.renew(call.signal));
    }
    if (answer.status >= 200 && answer.status < 300) return answer;
    const told = await whole(answer);
    if (call.accepts?.(told) === true) return answer;
    throw errorFromAnswer(told, call.label, context.profile, call.method === 'POST');
  };
}

function requestOf(context: ClinicContext, call: ClinicCall, authorization: string): HttpRequest {
  const { budget, profile } = context;
  const { limits } = profile;
  return {
    label: call.label,
    method: call.method ?? 'GET',
    url: call.url,
    signal: call.signal,
    timeoutMs: call.timeoutMs ?? limits.timeoutMs,
    maxResponseBytes: limits.maxAnswerBytes,
    ...(budget === null ? {} : { budget }),
    ...contentOf(call, { accept: call.accept ?? 'application/json', authorization, ...freshly(call) }),
  };
}

/** Whoever caches between here and the clinic has to ask it. (`no-cache` would say so too, and have many servers send all again.) */
function freshly({ method = 'GET', ifNoneMatch }: ClinicCall): Record<string, string> {
  if (method !== 'GET') return {};
  return { 'cache-control': 'max-age=0', ...(ifNoneMatch !== undefined && { 'if-none-match': ifNoneMatch }) };
}

function contentOf({ body, upload }: ClinicCall, headers: Record<string, string>) {
  if (upload !== undefined) {
    const { contentType, lengthBytes, stream } = upload();
    const length = lengthBytes === null ? {} : { 'content-length': String(lengthBytes) };
    return { headers: { ...headers, 'content-type': contentType, ...length }, upload: stream };
  }
  if (body === undefined) return { headers };
  return { headers: { ...headers, 'content-type': 'application/json' }, body: JSON.stringify(body) };
}

function stopped(label: string): MirrorError {
  return new MirrorError(`${label}: the call was stopped`, { actor: 'remote', code: 'aborted', retry: 'later' });
}

/** The HTTP client does not know what a call is for; its errors get the label in front. */
function labelled(error: unknown, label: string): unknown {
  if (!(error instanceof MirrorError) || error.message.startsWith(label)) return error;
  const { actor, code, retry, retryAfterMs, ambiguous, status, remedy, cause } = error;
  return new MirrorError(`${label}: ${error.message}`, {
    actor,
    code,
    retry,
    ambiguous,
    cause,
    ...(retryAfterMs === undefined ? {} : { retryAfterMs }),
    ...(status === undefined ? {} : { status }),
    ...(remedy === undefined ? {} : { remedy }),
  });
}
