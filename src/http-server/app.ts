import type { AddressInfo, Socket } from 'node:net';
import helmet from '@fastify/helmet';
import { type FastifyInstance, type FastifyReply, type FastifyRequest, fastify } from 'fastify';
import type { Logger, OpenSpan, Spans } from '../log/logger.ts';
import { message, type Text } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { SECOND_MS } from '../model/time.ts';
import { addCaller, type IsTrusted, networkOf, peerOf, plainAddress, trustedBy } from './caller.ts';
import { LOGIN_CALLBACK_PATH, LOGIN_PAGE_STYLE_SOURCE } from './login-page.ts';
import { LOGIN_TIMEOUT_MS } from './logins.ts';

/** How long, and how many, callers hold a port. */
export interface ConnectionLimits extends ConnectionShares {
  /** From the opening of a connection, or the first byte of a request, to the end of its headers. */
  headersTimeoutMs: number;
  /** To the end of its body. */
  requestTimeoutMs: number;
  /** How often those that are late are looked for: each may last so much longer. */
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

/** What browsers may do with the pages of a port. */
interface PagePolicy {
  /** Directives of a Content-Security-Policy. */
  directives: Readonly<Record<string, readonly string[]>>;
  referrer: 'no-referrer' | 'same-origin';
}

/** Pages that load nothing, and may send no form unless they say so themselves. */
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
 * Pages with scripts and styles of this port alone, none of them inline. Their addresses are told to this port alone; told to nobody, browsers
 * would not say of a form either where it comes from (Origin is `null` then: https://fetch.spec.whatwg.org/#append-a-request-origin-header).
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

/** What both ports have in common. */
export interface AppOptions {
  log: Logger;
  /** Told of each request for a page or of the API, by its route; the `traceparent` of who is let in counts. Default: nobody is told. */
  spans?: Spans;
  /** Default: pages that load nothing. */
  policy?: PagePolicy;
  /** Networks of reverse proxies whose `X-Forwarded-For` counts, as the settings have them now. Default: none. */
  trustedProxies?: () => readonly string[];
  /** Default: 5 s for headers, 10 s for requests, looked after every second; 1,000 connections, 100 of them of one peer, and 50 for peers that hold none. */
  limits?: ConnectionLimits;
}

/** An application that answers nothing yet but 404: bounded, with the headers of each answer, and a log without addresses. */
export async function openApp(options: AppOptions): Promise<FastifyInstance> {
  const { log, limits = CONNECTION_LIMITS, policy = BARE_POLICY } = options;
  const { headersTimeoutMs, requestTimeoutMs, checkEveryMs } = limits;
  const app = fastify({
    logger: false,
    exposeHeadRoutes: false,
    // A client that sends its request slowly, or nothing, holds a socket no longer than this; by itself Node looks every half minute.
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
 * Probes, metrics and what is open to anybody are not traced, nor is who was not let in, which is decided by `onRequest`: else a stranger's
 * `traceparent` would decide what is sampled (https://www.w3.org/TR/trace-context/#privacy-considerations).
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
    // The route's pattern instead of the address: that may hold a code.
    const route = request.routeOptions.url ?? 'none';
    const level = route === LOGIN_CALLBACK_PATH ? 'info' : 'debug';
    const durationMs = Math.round(reply.elapsedTime);
    log[level]({ method: request.method, route, status: reply.statusCode, durationMs }, 'answered a request');
  });
  app.setNotFoundHandler((_request, reply) => notFound(reply));
  app.setErrorHandler((error, _request, reply) => {
    const status = statusOf(error);
    // A request that can't be read is for nothing that is open here.
    if (status < 500) return notFound(reply);
    log.error({ error }, 'a request failed');
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

/** How many connections a port takes, and how they are shared. */
interface ConnectionShares {
  /** Further connections are closed at once: a client that opens thousands leaves memory and file handles to the daemon's own work. */
  mostConnections: number;
  /** Of one peer, unless it is a trusted proxy; and requests in work of one client behind such a proxy. */
  mostOfPeer: number;
  /** Above `mostConnections`, for peers that hold none: probes and scrapes get an answer while others fill the port. */
  reserved: number;
}

/** Seconds after which a client that holds its whole share asks again. */
const RETRY_AFTER_SECONDS = 1;

/** Limits what one peer, and one client behind a trusted proxy, can hold of a port. */
function shareConnections(app: FastifyInstance, shares: ConnectionShares, isTrusted: IsTrusted): void {
  const { mostConnections, mostOfPeer, reserved } = shares;
  const connections = createCounts();
  // What a request is for is not known before it was read, so connections are refused by peer, before Node's own listener. Node's `maxConnections` is not
  // used: it counts refused connections until the system has closed them, so whoever is refused without end would take the places of others.
  app.server.prependListener('connection', (socket: Socket) => {
    const address = plainAddress(socket.remoteAddress ?? '');
    const peer = networkOf(address);
    const held = connections.of(peer);
    const isFull = connections.all() >= mostConnections + (held > 0 ? 0 : reserved);
    if (isFull || (held >= mostOfPeer && !isTrusted(address))) return void socket.destroy();
    connections.add(peer);
    socket.once('close', () => connections.remove(peer));
  });
  const requests = createCounts();
  // The share of a direct peer is that of its connections.
  app.addHook('onRequest', async (request, reply) => {
    if (!isTrusted(peerOf(request.raw))) return;
    const { caller } = request;
    if (requests.of(caller) >= mostOfPeer) {
      return reply.code(503).header('retry-after', RETRY_AFTER_SECONDS).send({ error: 'too-many-requests' });
    }
    requests.add(caller);
    reply.raw.once('close', () => requests.remove(caller));
  });
}

function createCounts() {
  const counts = new Map<string, number>();
  let all = 0;
  const of = (name: string) => counts.get(name) ?? 0;
  return {
    of,
    all: () => all,
    add(name: string): void {
      all += 1;
      counts.set(name, of(name) + 1);
    },
    remove(name: string): void {
      all -= 1;
      if (of(name) > 1) counts.set(name, of(name) - 1);
      else counts.delete(name);
    },
  };
}

/** An open port. */
export interface ListeningServer {
  /** The port that was taken. */
  port: number;
  /** Takes no new requests, lets those under way end, and cuts them off after the deadline. */
  close(deadlineMs: number): Promise<void>;
}

/**
 * Opens a port.
 * @param section of the settings that names the address
 * @param address.port 0 takes a free one
 * @throws MirrorError `settings` when the address can't be had; the operator must act
 */
export async function listen(
  built: Promise<FastifyInstance>,
  section: 'http' | 'operator',
  address: { host: string; port: number },
): Promise<ListeningServer> {
  const app = await built;
  try {
    // A copy: the server writes into what it is given, and settings are frozen.
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

/** What the system says when an address can't be had. @see errno(3) */
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
