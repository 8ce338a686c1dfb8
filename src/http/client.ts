import { type OpenSpan, type SpanStart, type Spans, spanned } from '../log/logger.ts';
import { MirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
import { OPERATORS_REACH, PUBLIC_REACH, type Reach } from '../settings/outbound-schema.ts';
import { checkJson } from './json-check.ts';
import { type Resolve, wayTo } from './pinned.ts';
import { retryAfterMs } from './retry.ts';
import { stopped, transmit } from './transport.ts';

/** How often it is noted that timers ring. */
const BEAT_MS = 100;
/** Without a beat for this long, other timers may be overdue too. */
const STANDSTILL_MS = 3 * BEAT_MS;

let beatAt = performance.now();
setInterval(() => {
  beatAt = performance.now();
}, BEAT_MS).unref();

/**
 * Lets timers that came due while the process stood still (stopped, starved, busy) ring before anything goes out. What had come in
 * meanwhile is handled before them, so a request could leave although the deadline of what protects it has long passed.
 */
async function overdueTimers(): Promise<void> {
  if (performance.now() - beatAt < STANDSTILL_MS) return;
  await new Promise((resolve) => setTimeout(resolve, 0));
}

/** One request through the HTTP client. */
export interface HttpRequest {
  /** Constant name of the call for metrics and logs, such as `google.events.batch`; never an address. */
  label: string;
  method: string;
  url: string;
  headers?: Record<string, string>;
  body?: string | Uint8Array;
  /** In place of `body`: sent as it is read, in chunks unless the headers give its length. */
  upload?: AsyncIterable<Uint8Array>;
  signal: AbortSignal;
  /** Until the whole answer has been read; the HTTP client's default when absent. */
  timeoutMs?: number;
  /** A longer answer is refused, and its connection ended; 1 MiB when absent. Whoever asks for a list says how long it may be. */
  maxResponseBytes?: number;
  /** Taken from before the request is sent; told whether the answer is 429. */
  budget?: Budget;
  /** What the remote side charges for the request, such as the calls in a batch. Default 1. */
  units?: number;
  /** Only over https to addresses of the public internet, in place of what the HTTP client reaches. */
  publicOnly?: boolean;
}

/** An answer, read whole. Redirects are answers too: the HTTP client follows none. */
export interface HttpResponse {
  status: number;
  headers: Headers;
  body: Buffer;
  /** The same bytes as they came, for whoever does not need them in one piece, which is made when it is asked for first. */
  parts?: readonly Uint8Array[];
  /** What the answer asks us to wait, by `retry-after.ts`; null when it names no usable wait. */
  retryAfterMs: number | null;
}

/** An answer whose body has not been read yet. It must be read or given up, else its connection stays taken. */
export interface HttpStream extends Omit<HttpResponse, 'body'> {
  /** The body as it comes. @throws MirrorError `remote` when it breaks off, `contract` when it is larger than allowed */
  body: AsyncIterable<Uint8Array>;
  /** The whole answer, for one that turns out to be short. Instead of `body`, not after it. */
  whole(): Promise<HttpResponse>;
}

/** Told of every request: label, status (0 when none came) and how long it took. */
export type HttpObserver = (label: string, status: number, durationMs: number) => void;

/** Told of every request: its host, and whether that answered, failed whoever asks it, or named a wait to this account. */
export type HostObserver = (host: string, state: 'answered' | 'failed' | 'named-wait') => void;

/** The one way to the network. */
export interface HttpClient {
  /**
   * Sends one request and reads the whole answer, whatever its status.
   * @throws MirrorError `remote` when no whole answer came; `ambiguous` when the request may have been carried out.
   * `settings`, code `address-not-allowed`, when it would lead where this client does not reach
   */
  send(request: HttpRequest): Promise<HttpResponse>;
  /** Sends one request and leaves the body of the answer to be read, under the same limits. @throws as {@link HttpClient.send} */
  open(request: HttpRequest): Promise<HttpStream>;
  /** The same HTTP client in the shape of `fetch`, for libraries that bring their own client; `label` names their calls. */
  asFetch(label: string, budget?: Budget, maxResponseBytes?: number): typeof fetch;
}

/**
 * The same HTTP client for one target, whose requests draw from a budget that others share. A 429 doesn't pause the tenant's other targets:
 * vendors say it of one user, mailbox or calendar, and the target that was told it rests.
 */
export function withBudget(httpClient: HttpClient, budget: Budget): HttpClient {
  const drawn: Budget = { ...budget, refused: async () => {} };
  return {
    send: (request) => httpClient.send({ budget: drawn, ...request }),
    open: (request) => httpClient.open({ budget: drawn, ...request }),
    asFetch: (label, own, maxResponseBytes) => httpClient.asFetch(label, own ?? drawn, maxResponseBytes),
  };
}

/** Settings of a HTTP client. */
export interface HttpClientOptions {
  userAgent: string;
  /** Default time for one request in milliseconds. */
  timeoutMs?: number;
  observe?: HttpObserver;
  /** Told what each host did with a request. */
  observeHost?: HostObserver;
  /** Told of every request: host, call and status, nothing else of its address. Default: nobody is told. */
  spans?: Spans;
  /** The other side is told the trace that a request belongs to. */
  sendsTrace?: boolean;
  clock: () => number;
  /** Where its requests may lead, checked when a connection is made. Default: what the operator's settings name, never link-local and metadata addresses. */
  reach?: Reach;
  /** How names are resolved; as the system does when absent. */
  resolve?: Resolve;
}

/** 2^20 bytes, in which sizes of answers are told. */
export const MEBIBYTE = 2 ** 20;
const DEFAULT_TIMEOUT_MS = 30 * SECOND_MS;
const DEFAULT_MAX_RESPONSE_BYTES = MEBIBYTE;

/** Opens the HTTP client to the network. */
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
    asFetch: (label, budget, maxResponseBytes) =>
      fetchThrough(send, {
        label,
        ...(budget === undefined ? {} : { budget }),
        ...(maxResponseBytes === undefined ? {} : { maxResponseBytes }),
      }),
  };
}

/** https://opentelemetry.io/docs/specs/semconv/http/http-spans/#http-client-span, less the path and query: they may name a patient. */
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

/** What the budget can't be told, as while Redis is away, must not cost an answer that came. */
async function reportToBudget(
  { budget }: HttpRequest,
  { status, retryAfterMs }: Pick<HttpResponse, 'status' | 'retryAfterMs'>,
) {
  const update = status === 429 ? budget?.refused(retryAfterMs) : budget?.accepted();
  await update?.catch(() => {});
}

/** No answer, or one that no request is to blame for, is the host's failure unless it names a wait. */
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
  const { status, headers, body } = await transmit({
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
      const pieces = await Array.fromAsync(body);
      await checkJson(pieces, new URL(url).host);
      return joinedLater(head, pieces);
    },
  };
}

function joinedLater(head: Omit<HttpResponse, 'body'>, parts: readonly Uint8Array[]): HttpResponse {
  let joined: Buffer | null = null;
  return {
    ...head,
    parts,
    get body() {
      joined ??= Buffer.concat(parts);
      return joined;
    },
  };
}

function fetchThrough(
  send: HttpClient['send'],
  options: Pick<HttpRequest, 'label' | 'budget' | 'maxResponseBytes'>,
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
    const bodyless = answer.status === 204 || answer.status === 304 || request.method === 'HEAD';
    return new Response(bodyless ? null : (answer.body as Uint8Array<ArrayBuffer>), {
      status: answer.status,
      headers: withoutCoding(answer.headers),
    });
  };
}

/** The body is decoded already; the headers that spoke of its coding would mislead a second reader. */
function withoutCoding(headers: Headers): Headers {
  const copy = new Headers(headers);
  copy.delete('content-encoding');
  copy.delete('content-length');
  return copy;
}

/** A share of what a remote side allows us: one client id, one mailbox, one project. */
export interface Budget {
  /**
   * Waits for a request's worth.
   * @param units what the remote side charges for it; one when absent
   * @throws MirrorError `remote` with `retryAfterMs` when the wait would be too long to sit through: code `budget-exhausted`, or
   *   `budget-paused` when the other side asked for it. The signal's reason when it is aborted
   */
  take(signal: AbortSignal, units?: number): Promise<void>;
  /** The other side refused a request for haste and said to wait this long; null when it named no wait. */
  refused(durationMs: number | null): Promise<void>;
  /** The other side answered something else. */
  accepted(): Promise<void>;
}
