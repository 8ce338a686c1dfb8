import type { ClientRequest, Agent as HttpAgent, AgentOptions as HttpAgentOptions, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as overHttps } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { type Duplex, pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { type Message, message, type Text } from '../../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../model/time.ts';
import { type AnswerHeaders, answerHeaders } from './headers.ts';

// An import would also load the code for `fetch` and WebSocket, which node:http exports: 14 MB that are not needed until an answer arrives.
const http = process.getBuiltinModule('node:http');

export interface TransportRequest {
  method: string;
  /** `http:` or `https:`. */
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  /** Replaces `body`: sent as fast as the server reads. */
  upload?: AsyncIterable<Uint8Array>;
  signal: AbortSignal;
  /** Limit until the whole answer is read. */
  timeoutMs: number;
  /** Limit for the body in bytes, compressed and decompressed. */
  maxResponseBytes: number;
  /** Resolves the host. Without `pool`, the request then has a dedicated connection and no proxy. */
  lookup?: LookupFunction;
  /** The connection is kept only for requests of the same pool. */
  pool?: string;
}

interface TransportAnswer {
  status: number;
  headers: AnswerHeaders;
  /** Decompressed stream. The caller must read or cancel the stream, or call `whole`. @throws as {@link transmit} */
  body: AsyncIterable<Uint8Array>;
  /** Reads the whole decompressed body. @throws as {@link transmit} */
  whole(): Promise<Uint8Array[]>;
}

/** Methods without changes. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'PROPFIND', 'REPORT']);
const CONNECT_TIMEOUT_MS = 10 * SECOND_MS;
/**
 * Idle time of a kept connection: shorter than the 5 s of common servers (Node, Apache), because a request during the server's close gets
 * no answer. A server's own limit (`Keep-Alive: timeout`) applies instead, up to a minute.
 */
const POOL_OPTIONS = { keepAlive: true, timeout: 4 * SECOND_MS, maxFreeSockets: 64 };
const LONGEST_IDLE_MS = MINUTE_MS;
// Node's default agents know the operator's proxy settings (NODE_USE_ENV_PROXY).
const { proxyEnv } = (http.globalAgent as HttpAgent & { options: HttpAgentOptions }).options;
/** Whether requests may go through a proxy. */
export const hasProxies = proxyEnv !== undefined;
const PROTOCOLS = {
  'http:': {
    send: http.request,
    opened: 'connect',
    kept: withServerTimeout(inPools(new http.Agent({ ...POOL_OPTIONS, proxyEnv }))),
    alone: new http.Agent({ proxyEnv }),
  },
  'https:': {
    send: overHttps,
    opened: 'secureConnect',
    kept: withServerTimeout(inPools(new HttpsAgent({ ...POOL_OPTIONS, proxyEnv }))),
    alone: new HttpsAgent({ proxyEnv }),
  },
} as const;

/**
 * Sends one request and follows no redirect. A safe request that is lost with a kept connection, for example because the server closes the
 * connection simultaneously, is sent again on a new connection.
 * @throws MirrorError `remote`: `timeout`, `aborted` or `connection-failed`; `ambiguous` if the server may have executed the request.
 * `contract`, `answer-too-large`. A MirrorError of `lookup` or `upload`
 */
export function transmit(request: TransportRequest): Promise<TransportAnswer> {
  return new Exchange(request).answer();
}

/** Request in progress, with the conditions that end the request early. */
class Exchange {
  readonly #request: TransportRequest;
  readonly #timer: NodeJS.Timeout;
  #outgoing: ClientRequest | null = null;
  #incoming: IncomingMessage | null = null;
  /** Whether parts of the request may have reached the server. */
  #wasSent = false;
  #isOverdue = false;
  /** Errors name only the host of a URL: paths and queries may contain secrets. */
  #host = 'an invalid URL';

  constructor(request: TransportRequest) {
    this.#request = request;
    this.#timer = setTimeout(() => {
      this.#isOverdue = true;
      this.#stop();
    }, request.timeoutMs).unref();
    request.signal.addEventListener('abort', this.#stop);
  }

  async answer(): Promise<TransportAnswer> {
    try {
      this.#request.signal.throwIfAborted();
      const incoming = await this.#send('kept').catch((error: unknown) => {
        if (this.#isStale(error)) return this.#send('alone');
        throw error;
      });
      const headers = answerHeaders(pairsOf(incoming.rawHeaders));
      const coding = headers.get('content-encoding');
      return {
        status: incoming.statusCode ?? 0,
        headers,
        body: this.#body(incoming, coding),
        // Reading a stream by events takes half the time of a loop over it.
        whole: () => (coding === null ? this.#chunks(incoming) : Array.fromAsync(this.#body(incoming, coding))),
      };
    } catch (error) {
      this.#stop();
      throw this.#failure(error);
    }
  }

  async *#body(incoming: IncomingMessage, coding: string | null): AsyncGenerator<Uint8Array> {
    const { maxResponseBytes } = this.#request;
    try {
      yield* unpacked(incoming, coding, (stream) => atMost(maxResponseBytes, stream));
    } catch (error) {
      throw this.#failure(error);
    } finally {
      this.#end();
    }
  }

  async #chunks(incoming: IncomingMessage): Promise<Uint8Array[]> {
    try {
      return await chunksOf(incoming, this.#request.maxResponseBytes);
    } catch (error) {
      throw this.#failure(error);
    } finally {
      this.#end();
    }
  }

  #end(): void {
    this.#release();
    // An answer, such as a refusal, may arrive before the request is fully sent.
    if (this.#outgoing?.writableFinished === false) this.#outgoing.destroy();
  }

  #send(agents: 'kept' | 'alone'): Promise<IncomingMessage> {
    const { method, url, headers, body, upload, lookup, pool } = this.#request;
    const { protocol, host, hostname, port, pathname, search } = new URL(url);
    this.#host = host;
    return new Promise((resolve, reject) => {
      const { send, opened, ...agentsOf } = PROTOCOLS[protocol as keyof typeof PROTOCOLS] ?? unknownProtocol();
      const ownWay = pool === undefined ? { agent: false, lookup } : { agent: agentsOf[agents], lookup, pool };
      const length = body === undefined ? {} : { 'content-length': Buffer.byteLength(body) };
      const outgoing = send({
        ...{ method, port, path: pathname + search },
        host: hostname.replace(/^\[|\]$/g, ''),
        headers: { accept: '*/*', 'accept-encoding': ACCEPTED_CODINGS, ...length, ...headers },
        ...(lookup === undefined ? { agent: agentsOf[agents] } : ownWay),
      });
      this.#outgoing = outgoing;
      this.#recordOpening(outgoing, opened);
      outgoing.once('response', (incoming) => {
        this.#incoming = incoming;
        agentsOf.kept.recordKeepAlive(incoming);
        resolve(incoming);
      });
      // Errors after the start of an answer appear when the body is read.
      outgoing.on('error', reject);
      outgoing.once('close', () => {
        if (this.#incoming === null) reject(new Error('the connection was closed'));
      });
      if (upload === undefined) outgoing.end(body);
      else pour(upload, outgoing);
    });
  }

  /** No data is sent before the connection is established and, with TLS, before the server is verified. */
  #recordOpening(outgoing: ClientRequest, opened: 'connect' | 'secureConnect'): void {
    this.#wasSent = false;
    outgoing.once('socket', (socket) => {
      this.#wasSent = !socket.connecting;
      if (this.#wasSent) return;
      const opening = setTimeout(
        () => outgoing.destroy(Object.assign(new Error('no connection in time'), { code: 'ETIMEDOUT' })),
        CONNECT_TIMEOUT_MS,
      ).unref();
      socket.once('close', () => clearTimeout(opening));
      socket.once(opened, () => {
        clearTimeout(opening);
        this.#wasSent = true;
      });
    });
  }

  /** Decides whether the request may have met a kept connection that was closing, and can be repeated without harm. */
  #isStale(error: unknown): boolean {
    const { method, upload, signal } = this.#request;
    if (!SAFE.has(method) || upload !== undefined || signal.aborted || this.#isOverdue) return false;
    const code = error instanceof Error && 'code' in error ? error.code : null;
    return this.#outgoing?.reusedSocket === true && (code === 'ECONNRESET' || code === 'EPIPE');
  }

  readonly #stop = (): void => {
    this.#release();
    // After the start of an answer, the answer must be destroyed: destroying the request would present a truncated body as complete.
    (this.#incoming ?? this.#outgoing)?.destroy(new Error('it took too long, or was stopped'));
  };

  #release(): void {
    clearTimeout(this.#timer);
    this.#request.signal.removeEventListener('abort', this.#stop);
  }

  #failure(error: unknown): MirrorError {
    if (error instanceof MirrorError) return error;
    const ambiguous = this.#wasSent && !SAFE.has(this.#request.method);
    if (this.#request.signal.aborted) return stopped(ambiguous);
    const code = this.#isOverdue ? 'timeout' : 'connection-failed';
    const { cause, remedy } = this.#isOverdue ? { cause: message('timeout') } : reasonOf(error);
    return new MirrorError(message('about', { cause, names: this.#host }), {
      actor: 'remote',
      code,
      retry: 'later',
      ambiguous,
      remedy,
      cause: error,
    });
  }
}

/** Codes of certificates (Node's `tls` and OpenSSL's `X509_V_ERR_…`). */
const CERTIFICATE_CODES = /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;
/** Codes of Node's `dns` and `net` for connections that waiting or an operator may repair. */
const REASONS: Readonly<Record<string, Message>> = {
  CERT_HAS_EXPIRED: message('connection.certificate-expired'),
  ECONNREFUSED: message('connection.refused'),
  EHOSTUNREACH: message('connection.no-route'),
  ENETUNREACH: message('connection.no-route'),
  ENOTFOUND: message('connection.name-unknown'),
  ETIMEDOUT: message('connection.slow'),
};

/** OpenSSL's words for an answer that is not TLS, such as that of an http server. */
const NOT_TLS = /wrong.version.number|packet.length.too.long|WRONG_VERSION_NUMBER|PACKET_LENGTH_TOO_LONG/;

/** Returns why no connection was made, with the remedy if only an operator can repair the cause. */
function reasonOf(error: unknown): { cause: Message; remedy?: Message } {
  // Several addresses of one host fail together.
  const first: unknown = error instanceof AggregateError ? error.errors[0] : error;
  const code = first instanceof Error && 'code' in first ? String(first.code) : '';
  if (first instanceof Error && NOT_TLS.test(`${code} ${first.message}`)) {
    return { cause: message('connection.without-tls'), remedy: message('connection.without-tls.remedy') };
  }
  const cause = REASONS[code] ?? message('connection-failed');
  if (code === 'ENOTFOUND') return { cause, remedy: message('name-unknown.remedy') };
  if (!CERTIFICATE_CODES.test(code)) return { cause };
  const remedy = message('certificate-refused.remedy', { code });
  return { cause: REASONS[code] ?? message('connection.certificate-refused'), remedy };
}

/** Returns the error of a request that its caller aborted. @param ambiguous whether the server may have executed the request */
export function stopped(ambiguous: boolean): MirrorError {
  return new MirrorError(message('request-stopped'), { actor: 'remote', code: 'aborted', retry: 'later', ambiguous });
}

/** Returns the chunks of a body without a coding. */
function chunksOf(incoming: IncomingMessage, mostBytes: number): Promise<Uint8Array[]> {
  return new Promise((resolve, reject) => {
    const cut = () => reject(incoming.errored ?? new Error('the connection was closed'));
    // Its events have passed if the request was stopped before.
    if (incoming.destroyed) return cut();
    const chunks: Uint8Array[] = [];
    let size = 0;
    incoming.on('data', (chunk: Uint8Array) => {
      size += chunk.length;
      if (size > mostBytes) incoming.destroy(answerTooLarge());
      else chunks.push(chunk);
    });
    incoming.once('end', () => resolve(chunks));
    incoming.once('error', reject);
    incoming.once('close', cut);
  });
}

async function* atMost(bytes: number, stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > bytes) throw answerTooLarge();
    yield chunk;
  }
}

/** Returns the error of an answer that exceeds the caller's limit for bytes or content. */
export function answerTooLarge(text: Text = message('answer-too-large')): MirrorError {
  return new MirrorError(text, {
    actor: 'contract',
    code: 'answer-too-large',
    retry: 'later',
  });
}

/** Agent that keeps a connection as long as the server allows. */
type ReusingAgent<Agent> = Agent & { recordKeepAlive(answer: IncomingMessage): void };

/** A connection that was checked for one pool is never used by a different pool. */
function inPools<Agent extends HttpAgent>(agent: Agent): Agent {
  const { getName } = agent;
  agent.getName = (options?: Parameters<HttpAgent['getName']>[0] & { pool?: string }) =>
    `${getName.call(agent, options)}|${options?.pool}`;
  return agent;
}

/** One second less than the server's limit, because the server starts counting when it sends the answer. */
function withServerTimeout<Agent extends HttpAgent>(agent: Agent): ReusingAgent<Agent> {
  const timeoutsMs = new WeakMap<Duplex, number>();
  const { keepSocketAlive } = agent;
  agent.keepSocketAlive = (socket) => {
    const isReusable = keepSocketAlive.call(agent, socket);
    const timeoutMs = timeoutsMs.get(socket);
    if (timeoutMs !== undefined) (socket as Socket).setTimeout(timeoutMs);
    return isReusable;
  };
  return Object.assign(agent, {
    recordKeepAlive({ socket, headers }: IncomingMessage) {
      const seconds = /\btimeout=(\d+)/i.exec(String(headers['keep-alive']))?.[1];
      if (seconds === undefined) return;
      timeoutsMs.set(socket, Math.min(Math.max(Number(seconds) - 1, 0) * SECOND_MS, LONGEST_IDLE_MS));
    },
  });
}

function unknownProtocol(): never {
  throw new Error('only http and https are spoken');
}

function pour(upload: AsyncIterable<Uint8Array>, outgoing: ClientRequest): void {
  const source = Readable.from(upload, { objectMode: false });
  source.on('error', (error) => outgoing.destroy(error));
  outgoing.on('close', () => source.destroy());
  source.pipe(outgoing);
}

/** @param raw names and values in turn, as Node receives them */
function* pairsOf(raw: readonly string[]): Generator<[name: string, value: string]> {
  for (let at = 0; at + 1 < raw.length; at += 2) yield [raw[at] ?? '', raw[at + 1] ?? ''];
}

/** Content codings that `unpacked` supports. */
const ACCEPTED_CODINGS = 'gzip, deflate, br';

/** @param firstByte first byte of the compressed data */
type Unpacker = (firstByte: number) => Transform;

const UNPACKERS: ReadonlyMap<string, Unpacker> = new Map<string, Unpacker>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['br', () => createBrotliDecompress()],
  // Some servers omit the zlib header (RFC 1950 section 2.2: the low four bits of its first byte are 8).
  ['deflate', (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw())],
]);

/** Servers compress once, and intermediaries at most once more; each layer takes memory before any data is read. */
const MOST_CODINGS = 3;

/**
 * Decompresses a body by its `Content-Encoding`; an unknown coding returns the body unchanged. A truncated body is an error of node:zlib;
 * no data is an empty body.
 * @param bounded ends a stream that exceeds the limit: the received stream and each decompressed layer, because a grown layer may shrink
 * again
 */
export function unpacked(
  body: AsyncIterable<Uint8Array>,
  coding: string | null,
  bounded: (stream: AsyncIterable<Uint8Array>) => AsyncIterable<Uint8Array>,
): AsyncIterable<Uint8Array> {
  const names = coding?.toLowerCase().split(',', MOST_CODINGS + 1) ?? [];
  const unpackers = names.flatMap((name) => UNPACKERS.get(name.trim()) ?? []);
  const isSupported = unpackers.length === names.length && names.length <= MOST_CODINGS;
  return (isSupported ? unpackers : []).reduceRight(
    (packed, unpacker) => bounded(unpackedOnce(packed, unpacker)),
    bounded(body),
  );
}

async function* unpackedOnce(packed: AsyncIterable<Uint8Array>, unpacker: Unpacker): AsyncGenerator<Uint8Array> {
  const source = packed[Symbol.asyncIterator]();
  const first = await source.next();
  if (first.done === true) return;
  async function* all() {
    yield first.value;
    yield* { [Symbol.asyncIterator]: () => source };
  }
  yield* pipeline(all, unpacker(first.value[0] ?? 0), () => {});
}
