import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { onTestFinished } from 'vitest';
import { createHttpClient, type HttpRequest } from '../../src/core/http/client.ts';

/** What a refused answer is reported as. */
export const TOO_LARGE = { actor: 'contract', code: 'answer-too-large', retry: 'later' };
/** A signal that never stops a request. */
export const NEVER = new AbortController().signal;

/** A server that answers everybody the same way; `sentBytes` is what it got rid of. */
export async function openServer(
  headers: Record<string, string>,
  pour: (response: ServerResponse) => AsyncIterable<Buffer>,
) {
  const told = { sentBytes: 0, isHungUp: Promise.withResolvers<void>() };
  const server = createServer(async (_request, response) => {
    response.once('close', () => told.isHungUp.resolve());
    response.writeHead(200, headers);
    for await (const piece of pour(response)) {
      if (response.destroyed) return;
      told.sentBytes += piece.length;
      if (!response.write(piece)) await Promise.race([once(response, 'drain'), told.isHungUp.promise]);
    }
    response.end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return { told, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/` };
}

/** Sends a request to the server as the program does. */
export function ask(url: string, changes: Partial<HttpRequest> = {}) {
  const httpClient = createHttpClient({ userAgent: 'test', clock: Date.now });
  return httpClient.send({ label: 'x', method: 'GET', url, signal: NEVER, ...changes });
}

/** The same piece, `count` times. */
export async function* times(count: number, piece: Buffer): AsyncGenerator<Buffer> {
  for (let sent = 0; sent < count; sent += 1) yield piece;
}
