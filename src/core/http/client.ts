import { message } from '../../messages/message.ts';
import { OPERATORS_REACH, PUBLIC_REACH, type Reach } from '../../settings/outbound-schema.ts';
import { type OpenSpan, type SpanStart, type Spans, spanned } from '../log/logger.ts';
import { MirrorError } from '../model/errors.ts';
import { isModestJson, MOST_VALUES } from '../model/json.ts';
import { atOnce } from '../model/pieces.ts';
import { SECOND_MS } from '../model/time.ts';
import type { AnswerHeaders } from './headers.ts';
import { type Resolve, wayTo } from './pinned.ts';
import { ReceivedBytes } from './received-bytes.ts';
import { retryAfterMs } from './retry.ts';
import { answerTooLarge, stopped, transmit } from './transport.ts';

/** Interval for recording that timers fire. */
const BEAT_MS = 100;
/** Time without a beat after which other timers may be overdue. */
const STANDSTILL_MS = 3 * BEAT_MS;

let beatAt = performance.now();
setInterval(() => {
  beatAt = performance.now();
}, BEAT_MS).unref();

/**
 * Fires overdue timers before a request is sent, if the process was stopped, starved or busy. Node handles pending input before timers, so
 * a request could otherwise be sent although a deadline that protects the request has passed.
 */
async function overdueTimers(): Promise<void> {
  if (performance.now() - beatAt < STANDSTILL_MS) return;
  await new Promise((resolve) => setTimeout(resolve, 0));
}

export interface HttpRequest {
  /** Constant name of the call for metrics and logs, such as `google.events.batch`; never a URL. */
  label: string;
  method: string;
  url: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** Replaces `body`: streamed, in chunks unless the headers contain the length. */
  upload?: AsyncIterable<Uint8Array>;
  signal: AbortSignal;
  /** Limit until the whole answer is read; default: the limit of the HTTP client. */
  timeoutMs?: number;
  /**
   * Largest size of the answer; a longer answer is refused and its connection closed. Default 1 MiB. Callers that fetch a list set a larger
   * limit.
   */
  maxResponseBytes?: number;
  /** Budget for the request, which is also notified of a 429. */
  budget?: Budget;
  /** Units that the vendor charges for the request, such as the calls in a batch. Default 1. */
  units?: number;
  /** Restricts the request to https and public internet hosts, instead of the reach of the HTTP client. */
  publicOnly?: boolean;
}

/** Fully read answer. Redirects are answers too: the HTTP client does not follow redirects. */
export interface HttpResponse {
  status: number;
  headers: AnswerHeaders;
  body: Buffer;
  /** The body as received, for callers that do not need `body`, which is joined on first access. */
  parts?: ReceivedBytes;
  /** Wait that the answer requests, by `retry-after.ts`; null if the answer names no usable wait. */
  retryAfterMs: number | null;
}

/** Answer with an unread body. The caller must read or cancel the body; otherwise the connection stays in use. */
export interface HttpStream extends Omit<HttpResponse, 'body'> {
  /** Body as a stream. @throws MirrorError `remote` if the stream breaks off, `contract` if the body is too large */
  body: AsyncIterable<Uint8Array>;
  /** Reads the whole answer, for an answer that proves to be short. Use instead of `body`, not after `body`. */
  whole(): Promise<HttpResponse>;
}

/** Receives label, status (0 without an answer) and duration of every request. */
export type HttpObserver = (label: string, status: number, durationMs: number) => void;

/** Receives the host of every request, and whether the host answered, failed for every caller, or named a wait to this account. */
export type HostObserver = (host: string, state: 'answered' | 'failed' | 'named-wait') => void;

/** Only access to the network. */
export interface HttpClient {
  /**
   * Sends one request and reads the whole answer, with any status.
   * @throws MirrorError `remote` without a complete answer; `ambiguous` if the vendor may have executed the request. `settings`, code
   * `address-not-allowed`, for a destination outside the reach of this client
   */
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Sends one request and leaves the body unread, under the limits of `send`. @throws as {@link HttpClient.send} */
  open(request: HttpRequest): Promise<HttpStream>;
  /**
   * Wraps the HTTP client as `fetch`, for libraries with a built-in client; `label` names their calls.
   * @param receive receives the answer; the library receives no body, which it would copy
   */
  asFetch(
    label: string,
    budget?: Budget,
    maxResponseBytes?: number,
    receive?: (answer: HttpResponse) => void,
  ): typeof fetch;
}

/**
 * Returns an HTTP client for one target, whose requests draw from a shared budget. A 429 does not pause the tenant's other targets: vendors
 * limit one user, mailbox or calendar, and only the refused target waits.
 */
export function withBudget(httpClient: HttpClient, budget: Budget): HttpClient {
  const drawn: Budget = { ...budget, refused: async () => {} };
  return {
    send: (request) => httpClient.send({ budget: drawn, ...request }),
    open: (request) => httpClient.open({ budget: drawn, ...request }),
    asFetch: (label, own, maxResponseBytes, receive) =>
      httpClient.asFetch(label, own ?? drawn, maxResponseBytes, receive),
  };
}

export interface HttpClientOptions {
  userAgent: string;
  /** Default limit for one request in milliseconds. */
  timeoutMs?: number;
  observe?: HttpObserver;
  observeHost?: HostObserver;
  /** Records a span per request with host, call and status only. Default: no spans. */
  spans?: Spans;
  /** Whether requests carry the trace context. */
  sendsTrace?: boolean;
  clock: () => number;
  /**
   * Allowed destinations, checked on connecting. Default: destinations in the operator's settings, never link-local and metadata hosts.
   */
  reach?: Reach;
  /** Resolves names; default: the system's resolver. */
  resolve?: Resolve;
}

/** 2^20 bytes, the unit of answer sizes. */
export const MEBIBYTE = 2 ** 20;
const DEFAULT_TIMEOUT_MS = 30 * SECOND_MS;
const DEFAULT_MAX_RESPONSE_BYTES = MEBIBYTE;

/** Creates the HTTP client. */
export function createHttpClient(options: HttpClientOptions): HttpClient {
  async function observed<Answer extends Pick<HttpResponse, 'status' | 'retryAfterMs'>>(
    request: HttpRequest,
    work: (sent: HttpRequest) => Promise<Answer>,
  ): Promise<Answer> {
    await takeFrom(request);
    await overdueTimers();
    const { spans, sendsTrace = false } = options;
    if (spans === undefined) return timed(request, () => work(request));
    return spanned(spans, request.label, startOf(request), async (span) => {
      const answer = await timed(request, () => work(sendsTrace ? withTrace(request, span) : request));
      span.addFacts({ 'http.response.status_code': answer.status });
      return answer;
    });
  }
  async function timed<Answer extends Pick<HttpResponse, 'status' | 'retryAfterMs'>>(
    request: HttpRequest,
    work: () => Promise<Answer>,
  ): Promise<Answer> {
    const startedAt = options.clock();
    let status = 0;
    try {
      const response = await work();
      status = response.status;
      reportHost(request, response);
      await reportToBudget(request, response);
      return response;
    } catch (error) {
      if (status === 0 && isOfHost(error)) reportHost(request, { status, retryAfterMs: null });
      throw error;
    } finally {
      options.observe?.(request.label, status, options.clock() - startedAt);
    }
  }
  function reportHost({ url }: HttpRequest, answer: Pick<HttpResponse, 'status' | 'retryAfterMs'>): void {
    options.observeHost?.(URL.parse(url)?.host ?? '', hostState(answer));
  }
  const send: HttpClient['send'] = (request) =>
    observed(request, async (sent) => (await openOnce(sent, options)).whole());
  return {
    send,
    open: (request) => observed(request, (sent) => openOnce(sent, options)),
    asFetch: (label, budget, maxResponseBytes, receive) =>
      fetchThrough(
        send,
        {
          label,
          ...(budget === undefined ? {} : { budget }),
          ...(maxResponseBytes === undefined ? {} : { maxResponseBytes }),
        },
        receive,
      ),
  };
}

/** https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client-span, without path and query: both may name a patient. */
function startOf({ method, url }: HttpRequest): SpanStart {
  const address = URL.parse(url);
  const facts = { 'http.request.method': method, 'server.address': address?.hostname, 'server.port': portOf(address) };
  return { kind: 'client', facts };
}

function portOf(address: URL | null): number | undefined {
  if (address === null) return undefined;
  return address.port === '' ? (address.protocol === 'https:' ? 443 : 80) : Number(address.port);
}

function withTrace(request: HttpRequest, { traceparent }: OpenSpan): HttpRequest {
  return traceparent === null ? request : { ...request, headers: { ...request.headers, traceparent } };
}

async function takeFrom({ budget, signal, units }: HttpRequest): Promise<void> {
  try {
    await budget?.take(signal, units ?? 1);
  } catch (error) {
    throw signal.aborted ? stopped(false) : error;
  }
}

/** A failure to update the budget, for example without Redis, must not discard a received answer. */
async function reportToBudget(
  { budget }: HttpRequest,
  { status, retryAfterMs }: Pick<HttpResponse, 'status' | 'retryAfterMs'>,
) {
  const update = status === 429 ? budget?.refused(retryAfterMs) : budget?.accepted();
  await update?.catch(() => {});
}

/** A missing answer, or an answer that no request causes, is the host's failure unless the answer names a wait. */
function hostState({ status, retryAfterMs }: Pick<HttpResponse, 'status' | 'retryAfterMs'>) {
  if (status === 429) return 'named-wait';
  if (status !== 0 && status !== 408 && status < 500) return 'answered';
  return retryAfterMs === null ? 'failed' : 'named-wait';
}

function isOfHost(error: unknown): boolean {
  return error instanceof MirrorError && (error.code === 'connection-failed' || error.code === 'timeout');
}

async function openOnce(request: HttpRequest, options: HttpClientOptions): Promise<HttpStream> {
  const { method, url, body: content, upload, signal } = request;
  const reach = request.publicOnly === true ? PUBLIC_REACH : (options.reach ?? OPERATORS_REACH);
  const way = await wayTo(url, reach, options.resolve);
  const { status, headers, body, whole } = await transmit({
    ...{ method, url, signal },
    headers: { 'user-agent': options.userAgent, ...request.headers },
    ...(content === undefined ? {} : { body: content }),
    ...(upload === undefined ? {} : { upload }),
    ...way,
    timeoutMs: request.timeoutMs ?? options.timeoutMs ?? DEFAULT_TIMEOUT_MS,
    maxResponseBytes: request.maxResponseBytes ?? DEFAULT_MAX_RESPONSE_BYTES,
  });
  const head = { status, headers, retryAfterMs: retryAfterMs({ status, headers }, options.clock()) };
  return {
    ...{ ...head, body },
    async whole() {
      return joinedLater(head, new ReceivedBytes(await whole()));
    },
  };
}

function joinedLater(head: Omit<HttpResponse, 'body'>, parts: ReceivedBytes): HttpResponse {
  return {
    ...head,
    parts,
    get body() {
      return atOnce(parts.joined());
    },
  };
}

function fetchThrough(
  send: HttpClient['send'],
  options: Pick<HttpRequest, 'label' | 'budget' | 'maxResponseBytes'>,
  receive?: (answer: HttpResponse) => void,
): typeof fetch {
  return async (input, init) => {
    const request = new Request(input, init);
    const body = request.body === null ? undefined : new Uint8Array(await request.arrayBuffer());
    const answer = await send({
      ...options,
      method: request.method,
      url: request.url,
      headers: Object.fromEntries(request.headers),
      signal: request.signal,
      ...(body === undefined ? {} : { body }),
    });
    receive?.(answer);
    // A library may parse the body itself.
    if (receive === undefined && !isModestJson(answer.body)) {
      throw answerTooLarge(
        message('about', {
          cause: message('too-many-values', { values: MOST_VALUES }),
          names: new URL(request.url).host,
        }),
      );
    }
    const bodyless =
      receive !== undefined || answer.status === 204 || answer.status === 304 || request.method === 'HEAD';
    return new Response(bodyless ? null : (answer.body as Uint8Array<ArrayBuffer>), {
      status: answer.status,
      headers: withoutCoding(answer.headers),
    });
  };
}

/** The body is already decoded; headers about its coding would mislead a second reader. */
function withoutCoding(headers: AnswerHeaders): Headers {
  const copy = new Headers([...headers.keys()].map((name) => [name, headers.get(name) ?? '']));
  copy.delete('content-encoding');
  copy.delete('content-length');
  return copy;
}

/** Share of a vendor's limit for one client id, mailbox or project. */
export interface Budget {
  /**
   * Waits for the units of a request.
   * @param units units that the vendor charges; default 1
   * @throws MirrorError `remote` with `retryAfterMs` if the wait is too long: code `budget-exhausted`, or `budget-paused` for a wait that
   * the vendor requested. The signal's reason on abort
   */
  take(signal: AbortSignal, units?: number): Promise<void>;
  /** Announces requests of a unit each that follow soon. */
  expect?(requests: number): void;
  /** Records that the vendor refused a request because of its rate; null if the vendor named no wait. */
  refused(durationMs: number | null): Promise<void>;
  /** Records any other answer of the vendor. */
  accepted(): Promise<void>;
}
