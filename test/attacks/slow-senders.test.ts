import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import type { ConnectionLimits } from '../../src/http-server/app.ts';
import { listen } from '../../src/http-server/listen.ts';
import { createOperatorServer } from '../../src/http-server/operator-server.ts';
import { createPublicServer } from '../../src/http-server/public-server.ts';
import type { OperatorVerbs, PublicVerbs } from '../../src/http-server/verbs.ts';
import { silentLogger } from '../../src/log/logger.ts';

/*
 * Anybody can open connections and send their requests slowly, or never to an end. Each holds memory and a file handle of the one process
 * that serves all tenants, so it is not the sender who decides for how long.
 */

const LIMITS: ConnectionLimits = { headersTimeoutMs: 100, requestTimeoutMs: 200, checkEveryMs: 20, mostConnections: 5 };

type Port = 'http' | 'operator';

/** A port alone: no request of these comes so far that a verb would be asked. */
function build(which: Port, limits?: ConnectionLimits): Promise<FastifyInstance> {
  const options = { log: silentLogger, ...(limits === undefined ? {} : { limits }) };
  if (which === 'operator') return createOperatorServer({} as OperatorVerbs, { ...options, token: null });
  return createPublicServer({} as PublicVerbs, { ...options, publicUrl: () => 'https://mirror.test' });
}

async function open(which: Port, limits: ConnectionLimits): Promise<number> {
  const server = await listen(build(which, limits), which, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close(0));
  return server.port;
}

function send(port: number, text: string): Socket {
  const socket = connect(port, '127.0.0.1');
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.resume();
  if (text !== '') socket.write(text);
  return socket;
}

/** Ends with the connection, also where the server resets it: `once` would reject for an error. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => void socket.once('close', () => resolve()));
}

/** By itself Node looks for late senders every half minute: whoever waits so long has not been looked after. */
const AT_MOST = { timeout: 20_000 };

describe.each(['http', 'operator'] as const)('a connection to the port of %s is closed', (which) => {
  test.each([
    ['nothing', ''],
    ['a part of its headers', 'GET /healthz HTTP/1.1\r\nHost: mirror.test\r\nX-Slow: '],
    ['a part of its body', 'POST /r/token HTTP/1.1\r\nHost: mirror.test\r\nContent-Length: 100\r\n\r\nhalf'],
  ])('that sends %s', AT_MOST, async (_, text) => {
    const socket = send(await open(which, LIMITS), text);
    await closed(socket);
    expect(socket.destroyed).toBe(true);
  });

  test('that goes on sending a little', AT_MOST, async () => {
    const socket = send(await open(which, LIMITS), 'GET /healthz HTTP/1.1\r\nHost: mirror.test\r\n');
    const trickle = setInterval(() => socket.write('X-Slow: 1\r\n'), 20);
    onTestFinished(() => clearInterval(trickle));
    await closed(socket);
    expect(socket.destroyed).toBe(true);
  });

  test('that is one too many, while those that are open go on', AT_MOST, async () => {
    const port = await open(which, { ...LIMITS, headersTimeoutMs: 60_000, requestTimeoutMs: 60_000 });
    const held = Array.from({ length: LIMITS.mostConnections }, () => send(port, ''));
    await Promise.all(held.map((socket) => once(socket, 'connect')));
    await closed(send(port, ''));
    held[0]?.write('GET /healthz HTTP/1.1\r\nHost: mirror.test\r\n\r\n');
    const [answer] = await once(held[0] as Socket, 'data');
    expect(String(answer)).toMatch(which === 'operator' ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 404 /);
  });
});

test('without limits of a test’s own, headers have five seconds, requests ten, and a thousand may be open', async () => {
  const app = await build('http');
  onTestFinished(() => app.close());
  const { headersTimeout, requestTimeout, maxConnections } = app.server;
  expect({ headersTimeout, requestTimeout, maxConnections }).toEqual({
    headersTimeout: 5_000,
    requestTimeout: 10_000,
    maxConnections: 1_000,
  });
});
