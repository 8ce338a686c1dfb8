import { createServer, request as forwardTo, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

/** A request as it came from the connector, whole. `url` is path and query. */
export interface ProxiedRequest {
  method: string;
  url: string;
  headers: Record<string, string>;
  body: string;
}

/** An answer as the server gave it, or as a fault makes it. */
export interface ProxiedAnswer {
  status: number;
  headers: Record<string, string>;
  body: string | Buffer;
}

/** Which requests a rule is for; everything that is set must match. */
export interface ProxyMatch {
  method?: RegExp;
  /** Against path and query. */
  url?: RegExp;
  body?: RegExp;
}

/** What happens to a matching request. */
export type ProxyFault =
  /** The socket is destroyed before the server saw the request. */
  | { kind: 'cut' }
  /** The server carries the request out, then the socket is destroyed. */
  | { kind: 'lost-answer' }
  /** The server carries the request out, then half of its answer arrives. */
  | { kind: 'cut-body' }
  /** The server carries the request out, its answer never arrives; the socket stays open. */
  | { kind: 'stall' }
  /** The request waits on its way until this is fulfilled; then the server carries it out. */
  | { kind: 'hold'; until: Promise<void> }
  /** The answer is late. */
  | { kind: 'latency'; ms: number }
  /** 200 with the page of a captive portal; the server saw nothing. */
  | { kind: 'html' }
  /** This answer; the server saw nothing. */
  | { kind: 'answer'; answer: ProxiedAnswer }
  /** The request, the answer or both are changed on their way. */
  | {
      kind: 'rewrite';
      request?: (request: ProxiedRequest) => ProxiedRequest;
      answer?: (answer: ProxiedAnswer, request: ProxiedRequest) => ProxiedAnswer | Promise<ProxiedAnswer>;
    };

/** A fault for the requests that match; spent after `times` (default: once), having let `after` matches pass. */
export interface ProxyRule extends ProxyMatch {
  times?: number;
  after?: number;
  fault: ProxyFault;
}

/** Callbacks for a program that chooses faults and observes answers, in addition to the rules. */
export interface FaultProxyHooks {
  /** Asked of every request before the rules are; null leaves it to them. @param from port that the client sends from */
  choose?(request: ProxiedRequest, from: number): ProxyFault | null | Promise<ProxyFault | null>;
  /** Told what the server answered, before the client is and even if the client never is. */
  answered?(request: ProxiedRequest, answer: ProxiedAnswer, from: number): void | Promise<void>;
}

/** Stands between a connector and its server: passes on, records everything, and does harm on demand. */
export interface FaultProxy {
  /** Base URL for the connector, instead of the server's URL. */
  readonly url: string;
  /** All requests since the start or the last `forget`, in order of arrival. */
  readonly requests: readonly ProxiedRequest[];
  /** Most concurrent requests since the last `forget`. */
  readonly maxInFlight: number;
  /** Adds a rule; the first rule that matches wins. */
  add(rule: ProxyRule): void;
  /** Drops all rules. */
  clear(): void;
  /** Empties the record. */
  forget(): void;
  close(): Promise<void>;
}

interface LiveRule extends ProxyRule {
  seen: number;
  used: number;
}

const PORTAL_PAGE =
  '<!DOCTYPE html><html><head><title>Sign in to the network</title></head><body>Welcome</body></html>';
/** Headers of one hop (RFC 9110 section 7.6.1), and the coding, so that bodies stay readable on their way. */
const HOP_HEADERS = new Set(['connection', 'keep-alive', 'transfer-encoding', 'content-length', 'accept-encoding']);

/** Starts a proxy on a free loopback port in front of the server at `target` (`http://host:port`). */
export async function startFaultProxy(target: string, hooks: FaultProxyHooks = {}): Promise<FaultProxy> {
  const state = { rules: [] as LiveRule[], requests: [] as ProxiedRequest[], inFlight: 0, maxInFlight: 0 };
  const sockets = new Set<Socket>();
  const server = createServer((incoming, response) => {
    state.inFlight += 1;
    state.maxInFlight = Math.max(state.maxInFlight, state.inFlight);
    response.on('close', () => {
      state.inFlight -= 1;
    });
    void handle(incoming, response).catch(() => response.destroy());
  });
  async function handle(incoming: IncomingMessage, response: ServerResponse): Promise<void> {
    const request = await readRequest(incoming);
    state.requests.push(request);
    const from = incoming.socket.remotePort ?? 0;
    const fault = (await hooks.choose?.(request, from)) ?? takeFault(state.rules, request);
    const ask = async (sent: ProxiedRequest) => {
      const answer = await forward(target, sent);
      await hooks.answered?.(sent, answer, from);
      return answer;
    };
    await serve(ask, request, fault, response);
  }
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    get requests() {
      return state.requests;
    },
    get maxInFlight() {
      return state.maxInFlight;
    },
    add: (rule) => void state.rules.push({ ...rule, seen: 0, used: 0 }),
    clear: () => void state.rules.splice(0),
    forget() {
      state.requests = [];
      state.maxInFlight = state.inFlight;
    },
    async close() {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      for (const socket of sockets) socket.destroy();
      await closed;
    },
  };
}

function takeFault(rules: LiveRule[], request: ProxiedRequest): ProxyFault | null {
  for (const rule of rules) {
    if (!matches(rule, request)) continue;
    rule.seen += 1;
    if (rule.seen <= (rule.after ?? 0) || rule.used >= (rule.times ?? 1)) continue;
    rule.used += 1;
    return rule.fault;
  }
  return null;
}

/** Whether the request is one that the match is for. */
export function matches(match: ProxyMatch, request: ProxiedRequest): boolean {
  if (match.method && !match.method.test(request.method)) return false;
  if (match.url && !match.url.test(request.url)) return false;
  return !match.body || match.body.test(request.body);
}

async function serve(
  ask: (request: ProxiedRequest) => Promise<ProxiedAnswer>,
  request: ProxiedRequest,
  fault: ProxyFault | null,
  response: ServerResponse,
): Promise<void> {
  if (fault?.kind === 'cut') return void response.destroy();
  if (fault?.kind === 'html') {
    return write(response, { status: 200, headers: { 'content-type': 'text/html' }, body: PORTAL_PAGE });
  }
  if (fault?.kind === 'answer') return write(response, fault.answer);
  if (fault?.kind === 'hold') await fault.until;
  if (fault?.kind === 'latency') await new Promise((resolve) => setTimeout(resolve, fault.ms));
  const rewrite = fault?.kind === 'rewrite' ? fault : null;
  const sent = rewrite?.request?.(request) ?? request;
  const answer = await ask(sent);
  if (fault?.kind === 'stall') return;
  if (fault?.kind === 'lost-answer') return void response.destroy();
  if (fault?.kind === 'cut-body') return cutBody(response, answer);
  write(response, (await rewrite?.answer?.(answer, sent)) ?? answer);
}

function write(response: ServerResponse, answer: ProxiedAnswer): void {
  const body = Buffer.from(answer.body);
  const length = answer.status === 204 || answer.status === 304 ? {} : { 'content-length': String(body.length) };
  response.writeHead(answer.status, { ...answer.headers, ...length });
  response.end(body);
}

function cutBody(response: ServerResponse, answer: ProxiedAnswer): void {
  const body = Buffer.from(answer.body);
  response.writeHead(answer.status === 204 ? 200 : answer.status, {
    ...answer.headers,
    'content-length': String(body.length + 2),
  });
  response.write(body.subarray(0, Math.floor(body.length / 2)), () => response.destroy());
  if (body.length < 2) response.destroy();
}

async function readRequest(incoming: IncomingMessage): Promise<ProxiedRequest> {
  const body = await readAll(incoming);
  return {
    method: incoming.method ?? 'GET',
    url: incoming.url ?? '/',
    headers: plainHeaders(incoming),
    body: body.toString('utf8'),
  };
}

function forward(target: string, request: ProxiedRequest): Promise<ProxiedAnswer> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(request.headers)) if (!HOP_HEADERS.has(name)) headers[name] = value;
  const body = Buffer.from(request.body, 'utf8');
  if (body.length > 0) headers['content-length'] = String(body.length);
  return new Promise((resolve, reject) => {
    const outgoing = forwardTo(new URL(request.url, target), { method: request.method, headers }, (answer) => {
      readAll(answer).then((read) => {
        const kept = Object.entries(plainHeaders(answer)).filter(([name]) => !HOP_HEADERS.has(name));
        resolve({ status: answer.statusCode ?? 502, headers: Object.fromEntries(kept), body: read });
      }, reject);
    });
    outgoing.on('error', reject);
    outgoing.end(body);
  });
}

async function readAll(stream: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  for await (const chunk of stream) chunks.push(Buffer.from(chunk));
  return Buffer.concat(chunks);
}

function plainHeaders(message: IncomingMessage): Record<string, string> {
  const headers: Record<string, string> = {};
  for (const [name, value] of Object.entries(message.headers)) {
    if (value !== undefined) headers[name] = Array.isArray(value) ? value.join(', ') : value;
  }
  return headers;
}
