import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { onTestFinished } from 'vitest';

/** What a scripted server answers; `cut` ends the connection without an answer, `silent` never answers. */
export type Answer =
  | { status?: number; body: unknown; headers?: Record<string, string>; contentType?: string }
  | 'cut'
  | 'silent';

/** An authorization server whose answers the test defines. */
export interface TokenServer {
  url: string;
  /** Forms that were posted, by path. */
  posted: { path: string; form: URLSearchParams }[];
  /** Answers `/token`. */
  onToken: (form: URLSearchParams) => Answer | Promise<Answer>;
  onDevice: (form: URLSearchParams) => Answer;
  onRevoke: (form: URLSearchParams) => Answer;
  /** Answers `/keys` and `/userinfo`. */
  onKeys: () => Answer;
  onUserinfo: () => Answer;
  /** Members that go before the usual ones of the discovery document; or another answer to the request for it. */
  metadata: Record<string, unknown>;
  onDiscovery: (() => Answer) | null;
  /** The server's Date header, if it differs from the time of this host. */
  dateHeader: (() => string) | null;
  discoveries: number;
  forms(path: string): URLSearchParams[];
}

export async function startTokenServer(): Promise<TokenServer> {
  const http = createServer((request, response) => {
    handle(server, request, response).catch(() => response.destroy());
  });
  http.listen(0, '127.0.0.1');
  await once(http, 'listening');
  onTestFinished(() => {
    http.close();
    http.closeAllConnections();
  });
  const address = http.address();
  const port = typeof address === 'object' ? address?.port : 0;
  const server: TokenServer = {
    url: `http://127.0.0.1:${port}`,
    posted: [],
    onToken: () => ({ status: 500, body: 'not scripted' }),
    onDevice: () => ({ status: 500, body: 'not scripted' }),
    onRevoke: () => ({ body: {} }),
    onKeys: () => ({ status: 500, body: 'not scripted' }),
    onUserinfo: () => ({ status: 500, body: 'not scripted' }),
    metadata: {},
    onDiscovery: null,
    dateHeader: null,
    discoveries: 0,
    forms: (path) => server.posted.filter((each) => each.path === path).map((each) => each.form),
  };
  return server;
}

async function handle(server: TokenServer, request: IncomingMessage, response: ServerResponse): Promise<void> {
  const path = new URL(request.url ?? '/', server.url).pathname;
  if (path === '/.well-known/openid-configuration') {
    server.discoveries += 1;
    return send(server, response, server.onDiscovery?.() ?? { body: discoveryDocument(server) });
  }
  if (path === '/keys') return send(server, response, server.onKeys());
  if (path === '/userinfo') return send(server, response, server.onUserinfo());
  const form = new URLSearchParams(await text(request));
  server.posted.push({ path, form });
  if (path === '/token') return send(server, response, await server.onToken(form));
  if (path === '/device') return send(server, response, server.onDevice(form));
  if (path === '/revoke') return send(server, response, server.onRevoke(form));
  send(server, response, { status: 404, body: 'nothing here' });
}

function discoveryDocument({ url, metadata }: TokenServer) {
  return {
    issuer: url,
    authorization_endpoint: `${url}/authorize`,
    token_endpoint: `${url}/token`,
    device_authorization_endpoint: `${url}/device`,
    revocation_endpoint: `${url}/revoke`,
    ...metadata,
  };
}

function send(server: TokenServer, response: ServerResponse, answer: Answer): void {
  if (answer === 'silent') return;
  if (answer === 'cut') return void response.destroy();
  const isText = typeof answer.body === 'string';
  response.writeHead(answer.status ?? 200, {
    'content-type': answer.contentType ?? (isText ? 'text/html' : 'application/json'),
    ...(server.dateHeader === null ? {} : { date: server.dateHeader() }),
    ...answer.headers,
  });
  response.end(typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body));
}

/** An OAuth error answer. */
export function oauthError(error: string, status = 400, more: Record<string, unknown> = {}): Answer {
  return { status, body: { error, error_description: 'description-canary', ...more } };
}

/**
 * Refresh tokens that are replaced at each use; one that is used twice revokes the whole family (RFC 9700 section 4.14.2).
 * `refresh-0` is the first.
 */
export function rotatingTokens(accessLifeSeconds = 3_600) {
  let current = 0;
  const seen = { refreshes: 0, revocations: 0 };
  function onToken(form: URLSearchParams): Answer {
    if (seen.revocations > 0) return oauthError('invalid_grant');
    if (form.get('refresh_token') !== `refresh-${current}`) {
      seen.revocations += 1;
      return oauthError('invalid_grant');
    }
    seen.refreshes += 1;
    current += 1;
    return { body: { ...tokensNamed(current), expires_in: accessLifeSeconds } };
  }
  return { seen, onToken };
}

/** The members of a token answer: `access-<n>` and `refresh-<n>`. */
export function tokensNamed(n: number): Record<string, unknown> {
  return { access_token: `access-${n}`, token_type: 'Bearer', refresh_token: `refresh-${n}` };
}
