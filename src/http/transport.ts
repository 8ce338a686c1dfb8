import type { ClientRequest, Agent as HttpAgent, AgentOptions as HttpAgentOptions, IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as overHttps } from 'node:https';
import type { LookupFunction, Socket } from 'node:net';
import { type Duplex, pipeline, Readable, type Transform } from 'node:stream';
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw } from 'node:zlib';
import { type Message, message, type Text } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { MINUTE_MS, SECOND_MS } from '../model/time.ts';

// An import of it would load what serves `fetch` and WebSocket too, since it exports them: 14 MB that nothing here uses until an answer comes.
const http = process.getBuiltinModule('node:http');

/** One request as it goes over the wire. */
export interface TransportRequest {
  method: string;
  /** `http:` or `https:`. */
  url: string;
  headers: Readonly<Record<string, string>>;
  body?: string | Uint8Array;
  /** In place of `body`: sent as fast as the other side reads. */
  upload?: AsyncIterable<Uint8Array>;
  signal: AbortSignal;
  /** Until the whole answer has been read. */
  timeoutMs: number;
  /** Bytes of the answer's body, packed and unpacked. */
  maxResponseBytes: number;
  /** Says where the host is. Without `pool` the request has a connection of its own then, and goes through no proxy. */
  lookup?: LookupFunction;
  /** Its connection is kept for requests of the same pool alone. */
  pool?: string;
}

/** An answer whose body has yet to be read. */
interface TransportAnswer {
  status: number;
  headers: Headers;
  /** Unpacked, as it comes. It must be read or given up. @throws as {@link transmit} */
  body: AsyncIterable<Uint8Array>;
}

/** Methods by which nothing is changed. */
const SAFE = new Set(['GET', 'HEAD', 'OPTIONS', 'PROPFIND', 'REPORT']);
/** A connection that took longer is none. */
const CONNECT_TIMEOUT_MS = 10 * SECOND_MS;
/**
 * A connection is kept for the next request for as long: less than the 5 s of common servers (Node, Apache), since what is sent while the
 * other side closes it gets no answer. Where the server tells its own time (`Keep-Alive: timeout`), that counts, up to a minute.
 */
const POOL_OPTIONS = { keepAlive: true, timeout: 4 * SECOND_MS, maxFreeSockets: 64 };
const LONGEST_IDLE_MS = MINUTE_MS;
// As the operator tells Node (NODE_USE_ENV_PROXY): the agents that it makes by itself know.
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
 * Sends one request and follows no redirect. A safe one that is lost with a kept connection, as when the server closes it in the same
 * moment, is sent once more on a new one.
 * @throws MirrorError `remote`: `timeout`, `aborted` or `connection-failed`; `ambiguous` when it may have been carried out. `contract`,
 * `answer-too-large`. What `lookup` or `upload` failed with, where that is a MirrorError
 */
export function transmit(request: TransportRequest): Promise<TransportAnswer> {
  return new Exchange(request).answer();
}

/** A request under way, with what may end it early. */
class Exchange {
  readonly #request: TransportRequest;
  readonly #timer: NodeJS.Timeout;
  #outgoing: ClientRequest | null = null;
  #incoming: IncomingMessage | null = null;
  /** Some of it may have reached the other side. */
  #wasSent = false;
  #isOverdue = false;
  /** Of an address nothing else is told: paths and queries may hold what is secret. */
  #host = 'an unusable address';

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
      const headers = headersOf(incoming);
      const body = this.#body(incoming, headers.get('content-encoding'));
      return { status: incoming.statusCode ?? 0, headers, body };
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
      this.#release();
      // An answer may come before all was sent, such as a refusal.
      if (this.#outgoing?.writableFinished === false) this.#outgoing.destroy();
    }
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
      // What goes wrong once there is an answer shows where its body is read.
      outgoing.on('error', reject);
      outgoing.once('close', () => {
        if (this.#incoming === null) reject(new Error('the connection was closed'));
      });
      if (upload === undefined) outgoing.end(body);
      else pour(upload, outgoing);
    });
  }

  /** Nothing leaves before a connection stands, and with TLS before its other end was proved. */
  #recordOpening(outgoing: ClientRequest, opened: 'connect' | 'secureConnect'): void {
    this.#wasSent = false;
    outgoing.once('socket', (socket) => {
      this.#wasSent = !socket.connecting;
      if (this.#wasSent) return;
      const opening = setTimeout(
        () => outgoing.destroy(new Error('no connection in time')),
        CONNECT_TIMEOUT_MS,
      ).unref();
      socket.once('close', () => clearTimeout(opening));
      socket.once(opened, () => {
        clearTimeout(opening);
        this.#wasSent = true;
      });
    });
  }

  /** Whether it may have met a kept connection in the moment of its end, and can be sent again without harm. */
  #isStale(error: unknown): boolean {
    const { method, upload, signal } = this.#request;
    if (!SAFE.has(method) || upload !== undefined || signal.aborted || this.#isOverdue) return false;
    const code = error instanceof Error && 'code' in error ? error.code : null;
    return this.#outgoing?.reusedSocket === true && (code === 'ECONNRESET' || code === 'EPIPE');
  }

  readonly #stop = (): void => {
    this.#release();
    // Once there is an answer it is this that must be destroyed: destroying the request would pass it off as read to its end.
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
    return new MirrorError(message('about', { cause: message(code), names: this.#host }), {
      actor: 'remote',
      code,
      retry: 'later',
      ambiguous,
      remedy: this.#isOverdue ? undefined : remedyOf(error),
      cause: error,
    });
  }
}

/** Codes of a name that nobody knows (Node's `dns`), and of certificates (Node's `tls` and OpenSSL's `X509_V_ERR_…`). */
const UNKNOWN_NAME = 'ENOTFOUND';
const CERTIFICATE_CODES = /^(CERT_|ERR_TLS_CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_)/;

/** What a person can do about a connection that no waiting brings; undefined where waiting may. */
function remedyOf(error: unknown): Message | undefined {
  const code = error instanceof Error && 'code' in error ? String(error.code) : '';
  if (code === UNKNOWN_NAME) return message('name-unknown.remedy');
  if (!CERTIFICATE_CODES.test(code)) return undefined;
  return message('certificate-refused.remedy', { code });
}

/** The error of a request that its caller gave up. @param ambiguous whether it may have been carried out */
export function stopped(ambiguous: boolean): MirrorError {
  return new MirrorError(message('request-stopped'), { actor: 'remote', code: 'aborted', retry: 'later', ambiguous });
}

async function* atMost(bytes: number, stream: AsyncIterable<Uint8Array>): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const chunk of stream) {
    size += chunk.length;
    if (size > bytes) throw answerTooLarge();
    yield chunk;
  }
}

/** The error of an answer that is larger than its caller allows, in bytes or by what it holds. */
export function answerTooLarge(text: Text = message('answer-too-large')): MirrorError {
  return new MirrorError(text, {
    actor: 'contract',
    code: 'answer-too-large',
    retry: 'later',
  });
}

/** An agent that keeps a connection as long as its server says. */
type ReusingAgent<Agent> = Agent & { recordKeepAlive(answer: IncomingMessage): void };

/** A connection that was checked for one pool is given to no request of another. */
function inPools<Agent extends HttpAgent>(agent: Agent): Agent {
  const { getName } = agent;
  agent.getName = (options?: Parameters<HttpAgent['getName']>[0] & { pool?: string }) =>
    `${getName.call(agent, options)}|${options?.pool}`;
  return agent;
}

/** A second less than it was told, since the server counts from when it sent its answer. */
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

function headersOf({ rawHeaders }: IncomingMessage): Headers {
  const headers = new Headers();
  for (let at = 0; at + 1 < rawHeaders.length; at += 2) headers.append(rawHeaders[at] ?? '', rawHeaders[at + 1] ?? '');
  return headers;
}

/** What is accepted of an answer, as `unpacked` understands it. */
const ACCEPTED_CODINGS = 'gzip, deflate, br';

/** @param firstByte of what was packed */
type Unpacker = (firstByte: number) => Transform;

const UNPACKERS: ReadonlyMap<string, Unpacker> = new Map<string, Unpacker>([
  ['gzip', () => createGunzip()],
  ['x-gzip', () => createGunzip()],
  ['br', () => createBrotliDecompress()],
  // Some servers leave out the frame that says what it is (RFC 1950 section 2.2: its first byte ends in 8).
  ['deflate', (firstByte) => ((firstByte & 0x0f) === 8 ? createInflate() : createInflateRaw())],
]);

/** Nobody packs more often than once, or once more on the way; each time takes memory before anything is read. */
const MOST_CODINGS = 3;

/**
 * A body as it was before a server packed it, by its `Content-Encoding`; as it came when that names what we don't know. What is cut short
 * is an error of node:zlib, nothing at all is an empty body.
 * @param bounded ends a stream that becomes too long: what came, and each that was unpacked of it, since one that grows may shrink again
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
