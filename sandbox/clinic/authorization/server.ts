import { createServer, IncomingMessage, type ServerResponse } from 'node:http';
import { buffer } from 'node:stream/consumers';
import type { SandboxKit } from '../../kit/kit.ts';
import { listenNode, type RunningServer } from '../../kit/listen.ts';
import { RATE_LIMIT_BODY, type RateLimiter } from '../rate-limit.ts';
import type { Accounts } from './accounts.ts';
import { clientOfTokenRequest, type RequestClients } from './client-of-request.ts';
import type { Clients } from './clients.ts';
import { createDevicePolling } from './device-polling.ts';
import type { Provider } from './engine.ts';
import { createGrantLimit } from './grant-limit.ts';
import { answerInteraction } from './interactions.ts';
import { createProvider, type TokenPolicy } from './provider.ts';
import type { TokenStore } from './token-store.ts';

const DEVICE_CODE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export interface AuthorizationOptions extends TokenPolicy {
  port: number;
  /** Grants with tokens that one client and user may hold; a further grant revokes the oldest. */
  grantsPerClientAndUser: number;
  /** What each slow_down adds to the interval; RFC 8628 section 3.5 says 5. */
  slowDownSeconds: number;
}

export interface AuthorizationParts {
  kit: SandboxKit;
  accounts: Accounts;
  clients: Clients;
  tokens: TokenStore;
  limiter: RateLimiter;
  requestClients: RequestClients;
  scopes: readonly string[];
  userinfoEndpoint: string;
}

/** Starts the authorization server on loopback; its URL is the issuer. */
export async function startAuthorizationServer(
  parts: AuthorizationParts,
  options: AuthorizationOptions,
): Promise<RunningServer> {
  let listener = (_request: IncomingMessage, response: ServerResponse): void => void response.writeHead(503).end();
  const server = createServer((request, response) => listener(request, response));
  const running = await listenNode(server, options.port);
  const { accounts, clients, tokens, scopes, userinfoEndpoint } = parts;
  const provider = createProvider({
    issuer: running.url,
    userinfoEndpoint,
    scopes,
    accounts,
    clients,
    tokens,
    policy: options,
  });
  const limit = createGrantLimit(options.grantsPerClientAndUser, (grantId) => tokens.revokeGrant(grantId));
  provider.on('grant.success', ({ oidc }) => {
    const token = oidc.entities.AccessToken;
    if (token !== undefined) limit.note(token.clientId, token.accountId, token.grantId);
  });
  listener = listenerOf(parts, provider, options);
  return running;
}

/**
 * Reads the body before the provider does, because the rate limit and the polling rules depend on the body. The provider then receives a
 * copy of the request with an unread body.
 */
function listenerOf(
  parts: AuthorizationParts,
  provider: Provider,
  options: AuthorizationOptions,
): (request: IncomingMessage, response: ServerResponse) => void {
  const bodies = new WeakMap<IncomingMessage, string>();
  const polling = createDevicePolling(options.deviceIntervalSeconds, options.slowDownSeconds);
  const engine = provider.callback();

  const faulty = parts.kit.wrap((request, response) => {
    const form = new URLSearchParams(bodies.get(request) ?? '');
    answer(request, response, form).catch(() => response.destroy());
  }, routeOf);

  async function answer(request: IncomingMessage, response: ServerResponse, form: URLSearchParams): Promise<void> {
    const path = pathOf(request);
    if (path.startsWith('/interaction/')) {
      return answerInteraction(provider, parts.accounts, { request, response, form });
    }
    if (request.method === 'POST' && path === '/connect/token') {
      const client = parts.requestClients.get(request);
      if (client !== undefined) parts.kit.counts.add(`requests client:${client}`);
      const waitSeconds = parts.limiter.take({ method: 'POST', path: request.url ?? '', client });
      if (waitSeconds !== undefined) {
        return sendJson(response, 429, RATE_LIMIT_BODY, { 'retry-after': String(waitSeconds) });
      }
      if (polledTooFast(parts.tokens, polling.isTooFast, form, client)) {
        return sendJson(response, 400, { error: 'slow_down', error_description: 'Wait longer between polls' });
      }
    }
    if (path === '/connect/authorize') askForConsent(request);
    await engine(request, response);
  }

  return (request, response) => {
    buffer(request)
      .then((body) => {
        const copy = copyOf(request);
        bodies.set(copy, body.toString());
        parts.requestClients.note(copy, clientOfTokenRequest(copy, body.toString()));
        faulty(copy, response);
        if (body.length > 0) copy.push(body);
        copy.push(null);
      })
      .catch(() => response.destroy());
  };
}

function copyOf(request: IncomingMessage): IncomingMessage {
  const copy = new IncomingMessage(request.socket);
  copy.method = request.method ?? 'GET';
  copy.url = request.url ?? '/';
  copy.httpVersion = request.httpVersion;
  copy.httpVersionMajor = request.httpVersionMajor;
  copy.httpVersionMinor = request.httpVersionMinor;
  copy.rawHeaders = request.rawHeaders;
  copy.headers = request.headers;
  copy.complete = true;
  return copy;
}

/** slow_down is a variant of authorization_pending: a decided code is answered at any pace (RFC 8628 section 3.5). */
function polledTooFast(
  tokens: TokenStore,
  isTooFast: (deviceCode: string) => boolean,
  form: URLSearchParams,
  client: string | undefined,
): boolean {
  const deviceCode = form.get('device_code');
  if (form.get('grant_type') !== DEVICE_CODE_GRANT || deviceCode === null) return false;
  const code = tokens.payload('DeviceCode', deviceCode);
  const pending = code !== undefined && code.accountId === undefined && code.error === undefined;
  return pending && code.clientId === client && isTooFast(deviceCode);
}

/** Requires consent at every sign-in, even if the client does not request consent (specification, section 5.1). */
function askForConsent(request: IncomingMessage): void {
  const url = new URL(request.url ?? '/', 'http://sandbox');
  if (url.searchParams.has('prompt')) return;
  url.searchParams.set('prompt', 'consent');
  request.url = `${url.pathname}${url.search}`;
}

function routeOf(request: IncomingMessage): string {
  return pathOf(request)
    .replace(/^\/interaction\/[^/]+/, '/interaction/:uid')
    .replace(/^\/(device|connect\/authorize)\/[^/]+$/, '/$1/:uid');
}

function pathOf(request: IncomingMessage): string {
  return new URL(request.url ?? '/', 'http://sandbox').pathname;
}

function sendJson(response: ServerResponse, status: number, body: unknown, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store', ...headers });
  response.end(JSON.stringify(body));
}
