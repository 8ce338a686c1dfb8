import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { caldav } from '../../../src/connectors/caldav/index.ts';
import type { CaldavSettings } from '../../../src/connectors/caldav/schemas.ts';
import type { Connector } from '../../../src/connectors/connector.ts';
import { SharedState } from '../../../src/connectors/shared-state.ts';
import { createHttpClient, type HttpClient } from '../../../src/core/http/client.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import { paced } from '../../support/pace.ts';

/** A request as the scripted server saw it. */
export interface SeenRequest {
  method: string;
  /** Path and query as sent. */
  path: string;
  headers: Record<string, string | undefined>;
  body: string;
}

export interface ScriptedAnswer {
  status: number;
  headers?: Record<string, string>;
  body?: string;
}

/** What the server says to a request; `cut` breaks the connection. */
export type Script = (request: SeenRequest) => ScriptedAnswer | 'cut';

export interface ScriptedServer {
  url: string;
  /** The calendar of the server: `<url>/cal/`. */
  container: string;
  requests: SeenRequest[];
  /** `METHOD path` of every request so far. */
  log(): string[];
}

export const MARK = 'mark0mark0mark0m';
export const LOGIN = 'Basic bWU6c2VjcmV0';

/** Starts a scripted server on loopback, for behaviour that no available server shows. The server stops at the end of the calling test. */
export async function serve(script: Script): Promise<ScriptedServer> {
  const requests: SeenRequest[] = [];
  const server = createServer(async (incoming, response) => {
    const request = await read(incoming);
    requests.push(request);
    const answer = script(request);
    if (answer === 'cut') return void response.destroy();
    const { status, headers = {}, body = '' } = answer;
    response.writeHead(status, { 'content-type': 'application/xml; charset=utf-8', ...headers });
    response.end(body);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  onTestFinished(
    () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  );
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    container: `${url}/cal/`,
    requests,
    log: () => requests.map(({ method, path }) => `${method} ${path}`),
  };
}

async function read(incoming: IncomingMessage): Promise<SeenRequest> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(Buffer.from(chunk));
  const headers = incoming.headers as Record<string, string | undefined>;
  return {
    method: incoming.method ?? '',
    path: incoming.url ?? '',
    headers,
    body: Buffer.concat(chunks).toString('utf8'),
  };
}

/** The connector on a scripted server. */
export function openOn(
  server: Pick<ScriptedServer, 'container'>,
  settings?: CaldavSettings,
  renewed = LOGIN,
  http: Pick<HttpClient, 'send'> = createHttpClient({ userAgent: 'test', clock: Date.now, timeoutMs: paced(5_000) }),
): Connector {
  return caldav.open({
    settings: settings ?? { calendar: { url: server.container } },
    ownerTag: MARK,
    authorizer: { header: async () => LOGIN, renew: async () => renewed, quotaUser: null },
    http: http as HttpClient,
    shared: new SharedState(),
    log: silentLogger,
    clock: () => Date.UTC(2026, 10, 20),
  });
}

/** Limits a call, so that a test ends. */
export function signal(): AbortSignal {
  return AbortSignal.timeout(paced(60_000));
}

/** A 207 of responses. */
export function multistatus(...responses: string[]): ScriptedAnswer {
  const names = 'xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav"';
  return { status: 207, body: `<?xml version="1.0"?><d:multistatus ${names}>${responses.join('')}</d:multistatus>` };
}

/** A response with properties that were found. */
export function found(href: string, properties: string): string {
  const propstat = `<d:propstat><d:prop>${properties}</d:prop><d:status>HTTP/1.1 200 OK</d:status></d:propstat>`;
  return `<d:response><d:href>${href}</d:href>${propstat}</d:response>`;
}

/** A response with only a status. */
export function member(href: string, status: string, more = ''): string {
  return `<d:response><d:href>${href}</d:href><d:status>HTTP/1.1 ${status}</d:status>${more}</d:response>`;
}

/** A member of a calendar with its data. */
export function stored(href: string, etag: string, data: string): string {
  return found(href, `<d:getetag>${etag}</d:getetag><c:calendar-data><![CDATA[${data}]]></c:calendar-data>`);
}

/** A refusal with a condition, or with the words of sabre/dav. */
export function davError(status: number, content: string): ScriptedAnswer {
  const names = 'xmlns:d="DAV:" xmlns:c="urn:ietf:params:xml:ns:caldav" xmlns:s="http://sabredav.org/ns"';
  return { status, body: `<?xml version="1.0"?><d:error ${names}>${content}</d:error>` };
}
