import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A request as a script sees it. */
export interface ScriptedRequest {
  method: string;
  /** Path on the wire, still encoded. */
  path: string;
  query: URLSearchParams;
  url: string;
  headers: IncomingMessage['headers'];
}

/** What a script answers: JSON, or a raw body; `cut` ends the connection in the middle of it, and `afterMs` is the latency. */
export interface ScriptedAnswer {
  status?: number;
  headers?: Record<string, string>;
  json?: unknown;
  body?: string | Buffer;
  cut?: boolean;
  afterMs?: number;
}

/** Answers one request; null leaves it without an answer. */
export type Script = (request: ScriptedRequest) => ScriptedAnswer | null;

/** A server on loopback that answers by a script and records requests. */
export interface ScriptedServer extends AsyncDisposable {
  url: string;
  requests: ScriptedRequest[];
}

/** Starts a scripted server on a free port. */
export async function startScriptedServer(script: Script): Promise<ScriptedServer> {
  const requests: ScriptedRequest[] = [];
  const server = createServer((incoming, response) => {
    const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
    const path = (incoming.url ?? '/').split('?')[0] ?? '/';
    const { method = 'GET', headers } = incoming;
    const request = { method, path, query: url.searchParams, url: incoming.url ?? '/', headers };
    requests.push(request);
    const answer = script(request);
    if (answer?.afterMs !== undefined) setTimeout(write, answer.afterMs, response, answer);
    else if (answer !== null) write(response, answer);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    requests,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function write(response: ServerResponse, answer: ScriptedAnswer): void {
  const body = answer.body ?? (answer.json === undefined ? '' : JSON.stringify(answer.json));
  const headers = { ...(answer.json === undefined ? {} : { 'content-type': 'application/json' }), ...answer.headers };
  if (answer.cut === true) {
    const whole = Buffer.from(body);
    response.writeHead(answer.status ?? 200, { ...headers, 'content-length': String(whole.length) });
    response.write(whole.subarray(0, whole.length / 2), () => response.destroy());
    return;
  }
  response.writeHead(answer.status ?? 200, headers).end(body);
}
