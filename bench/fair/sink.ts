import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** Targets and gateways of another side, by the first part of a request's path: `<name>/<tenant>`. */
export interface Sink extends AsyncDisposable {
  url: string;
  /** When the last request of a tenant came, as `Date.now()`; how many operations came in all. */
  writes: ReadonlyMap<string, { at: number; operations: number }>;
  /** Fulfilled with the moment of the tenant's next write. */
  nextWrite(tenant: string): Promise<number>;
  /** The same of a reminder. */
  nextReminder(tenant: string): Promise<number>;
}

/** Behaviour of the target server, by name: its latency, rate limit, or silence. */
export type SinkKind = { latencyMs: number } | { retryAfterSeconds: number } | 'dead';

/** Starts servers that take operations, say when they came, and keep nothing. */
export async function startSink(kinds: Readonly<Record<string, SinkKind>>): Promise<Sink> {
  const writes = new Map<string, { at: number; operations: number }>();
  const waiting = new Map<string, (at: number) => void>();
  const reminded = new Map<string, (at: number) => void>();
  const next = (calls: typeof waiting, tenant: string) =>
    new Promise<number>((resolve) => void calls.set(tenant, resolve));
  async function answer(path: string, body: string, response: ServerResponse): Promise<void> {
    const at = Date.now();
    const [, name = '', tenant = ''] = path.split('/');
    const kind = kinds[name];
    if (kind === undefined) return void response.writeHead(404).end();
    if (kind === 'dead') return;
    if ('retryAfterSeconds' in kind)
      return void response.writeHead(429, { 'retry-after': String(kind.retryAfterSeconds) }).end();
    const { operations } = JSON.parse(body) as { operations?: number };
    if (operations === undefined) {
      reminded.get(tenant)?.(at);
      return void response.end('{}');
    }
    writes.set(tenant, { at, operations: (writes.get(tenant)?.operations ?? 0) + operations });
    waiting.get(tenant)?.(at);
    waiting.delete(tenant);
    if (kind.latencyMs > 0) await pause(kind.latencyMs);
    response.end('{}');
  }
  const server = createServer((request, response) => {
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => void answer(request.url ?? '', Buffer.concat(parts).toString(), response));
  });
  server.keepAliveTimeout = 60_000;
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    writes,
    nextWrite: (tenant) => next(waiting, tenant),
    nextReminder: (tenant) => next(reminded, tenant),
    async [Symbol.asyncDispose]() {
      const closed = new Promise((resolve) => server.close(resolve));
      server.closeAllConnections();
      await closed;
    },
  };
}
