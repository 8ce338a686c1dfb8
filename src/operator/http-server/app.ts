import type { AddressInfo, Socket } from 'node:net';
import helmet from '@fastify/helmet';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Logger, OpenSpan, Spans } from '../../core/log/logger.ts';
import { clientShares } from '../../core/model/client-shares.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { SECOND_MS } from '../../core/model/time.ts';
import { message, type Text } from '../../messages/message.ts';
import { addCaller, type IsTrusted, networkOf, peerOf, plainAddress, trustedBy } from './caller.ts';
import { LOGIN_CALLBACK_PATH, LOGIN_PAGE_STYLE_SOURCE } from './login-page.ts';
import { LOGIN_TIMEOUT_MS } from './logins.ts';

/** Limits on time and number of connections. */
export interface ConnectionLimits extends ConnectionShares {
  /** From the opening of a connection, or the first byte of a request, to the end of the headers. */
  headersTimeoutMs: number;
  /** To the end of the body. */
  requestTimeoutMs: number;
  /** Interval of the checks for late requests, which adds to each limit. */
  checkEveryMs: number;
}

const CONNECTION_LIMITS: ConnectionLimits = {
  headersTimeoutMs: 5 * SECOND_MS,
  requestTimeoutMs: 10 * SECOND_MS,
  checkEveryMs: SECOND_MS,
  mostConnections: 1_000,
  mostOfPeer: 100,
  reserved: 50,
};

const NO_PROXIES: readonly string[] = [];

/** Browser restrictions for the pages of a port. */
interface PagePolicy {
  /** Directives of a Content-Security-Policy. */
  directives: Readonly<Record<string, readonly string[]>>;
  referrer: 'no-referrer' | 'same-origin';
}

/** Pages that load nothing. Forms require an explicit permission. */
const BARE_POLICY: PagePolicy = {
  directives: {
    defaultSrc: ["'none'"],
    styleSrc: [LOGIN_PAGE_STYLE_SOURCE],
    baseUri: ["'none'"],
    formAction: ["'none'"],
    frameAncestors: ["'none'"],
  },
  referrer: 'no-referrer',
};

/**
 * Pages with scripts and styles of this port only, none inline. The referrer is sent to this port only. Without any referrer, browsers send
 * `null` as Origin of forms: https://fetch.spec.whatwg.org/#append-a-request-origin-header.
 */
export const PAGES_POLICY: PagePolicy = {
  directives: {
    defaultSrc: ["'none'"],
    scriptSrc: ["'self'"],
    styleSrc: ["'self'"],
    imgSrc: ["'self'", 'data:'],
    connectSrc: ["'self'"],
    fontSrc: ["'self'"],
    formAction: ["'self'"],
    baseUri: ["'none'"],
    frameAncestors: ["'none'"],
  },
  referrer: 'same-origin',
};

/** Options shared by both ports. */
export interface AppOptions {
  log: Logger;
  /** Receives a span per page or API request, by route. The `traceparent` of accepted callers is used. Default: no spans. */
  spans?: Spans;
  /** Default: pages that load nothing. */
  policy?: PagePolicy;
  /** Networks of reverse proxies whose `X-Forwarded-For` is trusted, by the current settings. Default: none. */
  trustedProxies?: () => readonly string[];
  /**
   * Default: 5 s for headers and 10 s for requests, checked every second; 1,000 connections, at most 100 per peer, and 50 reserved for
   * peers without a connection.
   */
  limits?: ConnectionLimits;
}

/** Creates an application that answers 404 to everything, with limits, security headers and a log without URLs. */
export async function openApp(options: AppOptions): Promise<FastifyInstance> {
  const { log, limits = CONNECTION_LIMITS, policy = BARE_POLICY } = options;
  const { headersTimeoutMs, requestTimeoutMs, checkEveryMs } = limits;
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    // Limits slow or silent clients; Node's default check interval is half a minute.
    http: { headersTimeout: headersTimeoutMs, connectionsCheckingInterval: checkEveryMs },
    requestTimeout: requestTimeoutMs,
    connectionTimeout: LOGIN_TIMEOUT_MS + 10 * SECOND_MS,
    keepAliveTimeout: 5 * SECOND_MS,
    handlerTimeout: 10 * SECOND_MS,
    forceCloseConnections: 'idle',
    bodyLimit: 1_024,
    frameworkErrors: (_error, _request, reply) => void notFound(reply),
  });
  const isTrusted = trustedBy(options.trustedProxies ?? (() => NO_PROXIES));
  await app.register(helmet, {
    xFrameOptions: { action: 'deny' },
    contentSecurityPolicy: {
      useDefaults: false,
      directives: { ...policy.directives },
    },
    referrerPolicy: { policy: policy.referrer },
  });
  if (options.spans !== undefined) traceRequests(app, options.spans);
  addCaller(app, isTrusted, log);
  shareConnections(app, limits, isTrusted);
  addHooks(app, log);
  return app;
}

/**
 * Excludes probes, metrics, public routes and refused callers, which `onRequest` decides. Otherwise a stranger's `traceparent` could decide
 * the sampling (https://www.w3.org/TR/trace-context/#privacy-considerations).
 */
function traceRequests(app: FastifyInstance, spans: Spans): void {
  const underWay = new WeakMap<FastifyRequest, OpenSpan>();
  app.addHook('preParsing', (request, _reply, _payload, done) => {
    const { config, url: route = 'none' } = request.routeOptions;
    if (config.level === undefined) return done();
    const { traceparent } = request.headers;
    const parent = typeof traceparent === 'string' ? traceparent : null;
    const facts = { 'http.request.method': request.method, 'http.route': route };
    const span = spans.begin(`${request.method} ${route}`, { kind: 'server', parent, facts });
    underWay.set(request, span);
    span.within(done);
  });
  app.addHook('onResponse', async (request, reply) => {
    const span = underWay.get(request);
    span?.addFacts({ 'http.response.status_code': reply.statusCode });
    span?.end();
  });
}

function addHooks(app: FastifyInstance, log: Logger): void {
  app.addHook('onRequest', async (_request, reply) => {
    reply.header('cache-control', 'no-store');
  });
  app.addHook('onResponse', async (request, reply) => {
    // Logs the route's pattern, because the URL can contain a code.
    const route = request.routeOptions.url ?? 'none';
    const level = route === LOGIN_CALLBACK_PATH ? 'info' : 'debug';
    const durationMs = Math.round(reply.elapsedTime);
    log[level]({ method: request.method, route, status: reply.statusCode, durationMs }, 'answered a request');
  });
  app.setNotFoundHandler((_request, reply) => notFound(reply));
  app.setErrorHandler((error, _request, reply) => {
    const status = statusOf(error);
    // A malformed request matches no route.
    if (status < 500) return notFound(reply);
    log.error({ error }, 'request failed');
    return reply.code(status).send({ error: 'failed' });
  });
}

function statusOf(error: unknown): number {
  const status: unknown = error instanceof Error && 'statusCode' in error ? error.statusCode : 500;
  return typeof status === 'number' ? status : 500;
}

function notFound(reply: FastifyReply): FastifyReply {
  return reply.code(404).send({ error: 'not-found' });
}

/** Number of connections, and their distribution among peers. */
interface ConnectionShares {
  /** Further connections are closed at once, so that memory and file handles remain for the daemon's work. */
  mostConnections: number;
  /**
   * Limit per peer other than trusted proxies, and limit of active requests per client behind a trusted proxy. Larger blocks of IPv6
   * addresses have larger limits, see {@link clientShares}.
   */
  mostOfPeer: number;
  /** Extra connections above `mostConnections` for peers whose /48 or address has none, so that probes and scrapes succeed on a full port. */
  reserved: number;
}

/** Value of Retry-After in seconds for a client at its limit. */
const RETRY_AFTER_SECONDS = 1;

/** Limits the use of a port by one peer, or by one client behind a trusted proxy. */
function shareConnections(app: FastifyInstance, shares: ConnectionShares, isTrusted: IsTrusted): void {
  const { mostConnections, mostOfPeer, reserved } = shares;
  const connections = createCounts(mostOfPeer);
  // The purpose of a request is unknown before it is read, so connections are refused by peer, before Node's own listener. Node's
  // `maxConnections` counts refused connections until the system has closed them, so a persistent refused client would block others.
  app.server.prependListener('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    const peer = networkOf(address);
    const isFull = connections.all() >= mostConnections + (connections.isKnown(peer) ? 0 : reserved);
    if (isFull || (connections.isAtLimit(peer) && !isTrusted(address))) return void socket.destroy();
    connections.add(peer);
    socket.once('close', () => connections.remove(peer));
  });
  const requests = createCounts(mostOfPeer);
  // A direct peer is already limited by its connections.
  app.addHook('onRequest', async (request, reply) => {
    if (!isTrusted(peerOf(request.raw))) return;
    const { caller } = request;
    if (requests.isAtLimit(caller)) {
      return reply.code(503).header('retry-after', RETRY_AFTER_SECONDS).send({ error: 'too-many-requests' });
    }
    requests.add(caller);
    reply.raw.once('close', () => requests.remove(caller));
  });
}

/** Counts what clients hold now. @param mostOfClient see {@link clientShares} */
function createCounts(mostOfClient: number) {
  const counts = new Map<string, number>();
  let all = 0;
  const of = (name: string) => counts.get(name) ?? 0;
  const change = (client: string, by: 1 | -1) => {
    all += by;
    for (const { name } of clientShares(client, mostOfClient)) {
      if (of(name) + by > 0) counts.set(name, of(name) + by);
      else counts.delete(name);
    }
  };
  return {
    all: () => all,
    isAtLimit: (client: string) => clientShares(client, mostOfClient).some(({ name, most }) => of(name) >= most),
    isKnown: (client: string) => clientShares(client, mostOfClient).some(({ name }) => of(name) > 0),
    add: (client: string) => change(client, 1),
    remove: (client: string) => change(client, -1),
  };
}

/** An open port. */
export interface ListeningServer {
  /** Actual port number. */
  port: number;
  /** Stops new requests, waits for active requests, and aborts the rest at the deadline. */
  close(deadlineMs: number): Promise<void>;
}

/**
 * Opens a port.
 * @param section the settings section that contains the host and port
 * @param address.port 0 selects a free port
 * @throws MirrorError `settings` if the port cannot be opened; the operator must act
 */
export async function listen(
  built: Promise<FastifyInstance>,
  section: 'http' | 'operator',
  address: { host: string; port: number },
): Promise<ListeningServer> {
  const app = await built;
  try {
    // A copy, because the server modifies its options and settings are frozen.
    await app.listen({ host: address.host, port: address.port });
  } catch (error) {
    const { host, port } = address;
    throw new MirrorError(message('http-port-unavailable', { section, host, port, cause: whyNot(error) }), {
      actor: 'settings',
      code: 'http-port-unavailable',
      retry: 'never',
      remedy: message('http-port-unavailable.remedy', { section }),
      cause: error,
    });
  }
  const { port } = app.server.address() as AddressInfo;
  return { port, close: (deadlineMs) => closeWithin(app, deadlineMs) };
}

/** System error codes of a failed listen. @see errno(3) */
const REASONS: Readonly<Record<string, Text>> = {
  EADDRINUSE: message('port.taken'),
  EACCES: message('port.forbidden'),
  EADDRNOTAVAIL: message('port.elsewhere'),
};

function whyNot(error: unknown): Text {
  const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return REASONS[code] ?? `(${code})`;
}

async function closeWithin(app: FastifyInstance, deadlineMs: number): Promise<void> {
  const cutOff = setTimeout(() => app.server.closeAllConnections(), deadlineMs);
  try {
    await app.close();
  } finally {
    clearTimeout(cutOff);
  }
}
