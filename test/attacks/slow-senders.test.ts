import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { ConnectionLimits } from '../../src/operator/http-server/app.ts';
import { listen } from '../../src/operator/http-server/app.ts';
import { createOperatorServer } from '../../src/operator/http-server/operator-server.ts';
import { createPublicServer } from '../../src/operator/http-server/public-server.ts';
import type { OperatorVerbs, PublicVerbs } from '../../src/operator/http-server/verbs.ts';
import { paced } from '../support/pace.ts';

/*
 * Attack: connections that send requests slowly, or never to the end. Each connection holds memory and a file handle of the one process
 * that serves all tenants, so the process, not the sender, limits the duration.
 */

const LIMITS: ConnectionLimits = {
  ...{ headersTimeoutMs: 100, requestTimeoutMs: 200, checkEveryMs: 20 },
  ...{ mostConnections: 5, mostOfPeer: 5, reserved: 2 },
};

type Port = 'http' | 'operator';

/** A port without verbs: no request of these tests is complete. */
function build(
  which: Port,
  limits?: ConnectionLimits,
  trustedProxies: readonly string[] = [],
): Promise<FastifyInstance> {
  const options = {
    log: silentLogger,
    trustedProxies: () => trustedProxies,
    ...(limits === undefined ? {} : { limits }),
  };
  if (which === 'operator') return createOperatorServer({} as OperatorVerbs, { ...options, token: null });
  return createPublicServer({} as PublicVerbs, { ...options, publicUrl: () => 'https://mirror.test' });
}

async function open(which: Port, limits: ConnectionLimits): Promise<number> {
  const server = await listen(build(which, limits), which, { host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close(0));
  return server.port;
}

function send(port: number, text: string, localAddress = '127.0.0.1'): Socket {
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  onTestFinished(() => void socket.destroy());
  socket.on('error', () => {});
  socket.resume();
  if (text !== '') socket.write(text);
  return socket;
}

/** Resolves when the connection ends, even if the server resets it: `once` would reject for an error. */
function closed(socket: Socket): Promise<void> {
  return new Promise((resolve) => void socket.once('close', () => resolve()));
}

/** Node's default check for late senders runs every 30 seconds: a connection that stays open longer than this limit was not checked. */
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

  test('that keeps sending slowly', AT_MOST, async () => {
    const socket = send(await open(which, LIMITS), 'GET /healthz HTTP/1.1\r\nHost: mirror.test\r\n');
    const trickle = setInterval(() => socket.write('X-Slow: 1\r\n'), 20);
    onTestFinished(() => clearInterval(trickle));
    await closed(socket);
    expect(socket.destroyed).toBe(true);
  });

  test('that exceeds the limit, while open connections stay', AT_MOST, async () => {
    const port = await open(which, { ...LIMITS, headersTimeoutMs: 60_000, requestTimeoutMs: 60_000 });
    const held = Array.from({ length: LIMITS.mostConnections }, () => send(port, ''));
    await Promise.all(held.map((socket) => once(socket, 'connect')));
    await closed(send(port, ''));
    held[0]?.write('GET /healthz HTTP/1.1\r\nHost: mirror.test\r\n\r\n');
    const [answer] = await once(held[0] as Socket, 'data');
    expect(String(answer)).toMatch(which === 'operator' ? /^HTTP\/1\.1 200 / : /^HTTP\/1\.1 404 /);
  });
});

test('the default timeouts are five seconds for headers and ten for requests', async () => {
  const app = await build('http');
  onTestFinished(() => app.close());
  const { headersTimeout, requestTimeout } = app.server;
  expect({ headersTimeout, requestTimeout }).toEqual({ headersTimeout: 5_000, requestTimeout: 10_000 });
});

test('one peer holds at most 100 connections, all peers 1,000, and peers without one 50 more', {
  timeout: 60_000,
}, async () => {
  const app = await build('http');
  // No connection ends while the test counts.
  Object.assign(app.server, { headersTimeout: 0, requestTimeout: 0 });
  const server = await listen(Promise.resolve(app), 'http', { host: '127.0.0.1', port: 0 });
  onTestFinished(() => server.close(0));
  let refused = 0;
  const openFrom = (count: number, peerOf: (at: number) => string) => {
    for (let at = 0; at < count; at += 1) {
      const socket = send(server.port, '', peerOf(at));
      socket.once('close', () => {
        refused += 1;
      });
    }
  };
  const stands = async () => {
    const open = await new Promise<number>((done) => void app.server.getConnections((_, count) => done(count)));
    return { open, refused };
  };
  openFrom(110, () => '127.0.2.1');
  await expect.poll(stands, { timeout: 20_000 }).toEqual({ open: 100, refused: 10 });
  openFrom(900, (at) => `127.0.2.${2 + (at % 9)}`);
  await expect.poll(stands, { timeout: 20_000 }).toEqual({ open: 1_000, refused: 10 });
  openFrom(60, (at) => `127.0.3.${1 + at}`);
  await expect.poll(stands, { timeout: 20_000 }).toEqual({ open: 1_050, refused: 20 });
});

describe.each(['http', 'operator'] as const)(
  '1,100 slow connections of one peer to the port of %s, opened again when they end,',
  (which) => {
    test('do not prevent answers to other peers', { timeout: paced(60_000) }, async () => {
      const app = await build(which);
      // This process is the attacker too: on a busy host, writing an honest request takes longer than the 5 s limit of headers.
      Object.assign(app.server, { headersTimeout: paced(20_000), requestTimeout: paced(20_000) });
      const server = await listen(Promise.resolve(app), which, { host: '127.0.0.1', port: 0 });
      onTestFinished(() => server.close(0));
      let isOver = false;
      onTestFinished(() => {
        isOver = true;
      });
      let opened = 0;
      const AGAIN_MS = 50;
      const hold = () => {
        opened += 1;
        const socket = send(server.port, 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nX-Slow: ', '127.0.0.2');
        socket.once('close', () => isOver || setTimeout(hold, AGAIN_MS).unref());
      };
      for (let at = 0; at < 1_100; at += 1) hold();
      await expect.poll(() => opened, { timeout: paced(30_000) }).toBeGreaterThan(2_500);
      const answers = Array.from({ length: 62 }, () => answerTo(server.port, PROBE, '127.0.0.1'));
      const given = await Promise.all(answers);
      expect(given.filter((line) => line.startsWith('HTTP/1.1 ')).length).toBe(62);
    });
  },
);

const IDLE = { ...LIMITS, headersTimeoutMs: 60_000, requestTimeoutMs: 60_000 };
const PROBE = 'GET /healthz HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n';

async function answerTo(port: number, text: string, from: string): Promise<string> {
  const socket = send(port, text, from);
  const parts: string[] = [];
  socket.on('data', (chunk) => void parts.push(String(chunk)));
  await closed(socket);
  return parts.join('').slice(0, 12);
}

test('a port full of connections from many peers answers the probe of another peer', AT_MOST, async () => {
  const port = await open('operator', IDLE);
  const held = Array.from({ length: 5 }, (_, at) => send(port, '', `127.0.1.${at + 1}`));
  await Promise.all(held.map((socket) => once(socket, 'connect')));
  expect(await answerTo(port, PROBE, '127.0.1.1')).toBe('');
  expect(await answerTo(port, PROBE, '127.0.0.9')).toBe('HTTP/1.1 200');
});

describe('a trusted proxy', () => {
  const limits = { ...IDLE, mostConnections: 20, mostOfPeer: 2 };
  async function openBehind(): Promise<number> {
    const server = await listen(build('http', limits, ['127.0.0.1']), 'http', { host: '127.0.0.1', port: 0 });
    onTestFinished(() => server.close(0));
    return server.port;
  }
  const post = (client: string) =>
    `POST /r/token HTTP/1.1\r\nHost: mirror.test\r\nX-Forwarded-For: ${client}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 100\r\nExpect: 100-continue\r\n\r\n`;
  const get = (client: string) =>
    `GET /nothing HTTP/1.1\r\nHost: mirror.test\r\nX-Forwarded-For: ${client}\r\nConnection: close\r\n\r\n`;

  test(
    'holds more connections than another peer, and each client behind it has the request limit of one',
    AT_MOST,
    async () => {
      const port = await openBehind();
      const slow = Array.from({ length: 2 }, () => send(port, post('8.8.8.8')));
      // The server says that it waits for the body.
      await Promise.all(slow.map((socket) => once(socket, 'data')));
      expect(await answerTo(port, get('8.8.8.8'), '127.0.0.1')).toBe('HTTP/1.1 503');
      expect(await answerTo(port, get('8.8.4.4'), '127.0.0.1')).toBe('HTTP/1.1 404');
      slow[0]?.destroy();
      await expect.poll(() => answerTo(port, get('8.8.8.8'), '127.0.0.1')).toBe('HTTP/1.1 404');
    },
  );
});
