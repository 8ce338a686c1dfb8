import type { IncomingMessage } from 'node:http';

/** The client that sent each request, for faults, limits and counters. */
export interface RequestClients {
  note(request: IncomingMessage, clientId: string | undefined): void;
  get(request: IncomingMessage): string | undefined;
}

export function createRequestClients(): RequestClients {
  const clients = new WeakMap<IncomingMessage, string>();
  return {
    note: (request, clientId) => void (clientId !== undefined && clients.set(request, clientId)),
    get: (request) => clients.get(request),
  };
}

/** The client id that a request to the authorization server names: in its form, HTTP Basic header or query. */
export function clientOfTokenRequest(request: IncomingMessage, body: string): string | undefined {
  return (
    new URLSearchParams(body).get('client_id') ??
    basicUser(request.headers.authorization) ??
    new URL(request.url ?? '/', 'http://sandbox').searchParams.get('client_id') ??
    undefined
  );
}

/** RFC 6749 section 2.3.1: the user name is the form-encoded client id. */
function basicUser(authorization: string | undefined): string | undefined {
  const match = /^basic ([a-z0-9+/=]+)$/i.exec(authorization ?? '');
  const [user] = Buffer.from(match?.[1] ?? '', 'base64')
    .toString()
    .split(':');
  if (match === null || user === undefined) return undefined;
  try {
    return decodeURIComponent(user.replaceAll('+', ' '));
  } catch {
    return undefined;
  }
}
