import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, onTestFinished, test } from 'vitest';
import { createCertificate } from '../../sandbox/kit/certificate.ts';
import type { Budget } from '../../src/http/client.ts';
import { createHttpClient, type HttpRequest } from '../../src/http/client.ts';
import { MirrorError } from '../../src/model/errors.ts';
import { waitFor } from '../support/wait-for.ts';

const servers: Server[] = [];
const NEVER = new AbortController().signal;
/** A label has 63 characters at most (RFC 1035 section 2.3.4), so that nobody is asked for it. */
const TOO_LONG_A_NAME = 'a'.repeat(64);

afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

async function serve(listener: RequestListener): Promise<string> {
  const server = createServer(listener);
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

function openClient() {
  const observed: [label: string, status: number][] = [];
  const httpClient = createHttpClient({
    userAgent: 'clinic-mirror-test',
    clock: Date.now,
    observe: (label, status) => observed.push([label, status]),
  });
  return { httpClient, observed };
}

function request(url: string, changes: Partial<HttpRequest> = {}): HttpRequest {
  return { label: 'clinic.agendas.list', method: 'GET', url, signal: NEVER, ...changes };
}

async function failure(answer: Promise<unknown>): Promise<MirrorError> {
  const thrown = await answer.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(thrown instanceof MirrorError)) throw new Error('expected a MirrorError');
  return thrown;
}

function countingBudget() {
  const seen: (string | number | null)[] = [];
  const budget: Budget = {
    async take() {
      seen.push('take');
    },
    async refused(durationMs) {
      seen.push(durationMs);
    },
    async accepted() {
      seen.push('accepted');
    },
  };
  return { budget, seen };
}

async function bodyOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

describe('an answer', () => {
  test('is read whole, whatever its status, and the request says who asks', async () => {
    const url = await serve((incoming, outgoing) => {
      outgoing.writeHead(503, { 'retry-after': '7' }).end(`for ${incoming.headers['user-agent']}`);
    });
    const { httpClient, observed } = openClient();
    const answer = await httpClient.send(request(url));
    expect(answer).toMatchObject({ status: 503, retryAfterMs: 7_000 });
    expect(answer.body.toString()).toBe('for clinic-mirror-test');
    expect(observed).toEqual([['clinic.agendas.list', 503]]);
  });

  test('that sends elsewhere is given as it is: a token never follows a redirect', async () => {
    let followed = false;
    const elsewhere = await serve((_, outgoing) => {
      followed = true;
      outgoing.end();
    });
    const url = await serve((_, outgoing) => outgoing.writeHead(302, { location: elsewhere }).end());
    const { httpClient } = openClient();
    expect((await httpClient.send(request(url, { headers: { authorization: 'Bearer x' } }))).status).toBe(302);
    expect(followed).toBe(false);
  });

  test('larger than allowed is refused', async () => {
    const url = await serve((_, outgoing) => outgoing.end('x'.repeat(2_000)));
    const { httpClient } = openClient();
    const error = await failure(httpClient.send(request(url, { maxResponseBytes: 1_000 })));
    expect(error).toMatchObject({ actor: 'contract', code: 'answer-too-large' });
  });

  test('in which the connection breaks off is none', async () => {
    const url = await serve((_, outgoing) => {
      outgoing.writeHead(200, { 'content-length': '100' });
      outgoing.write('Mario Rossi', () => outgoing.destroy());
    });
    const { httpClient, observed } = openClient();
    const error = await failure(httpClient.send(request(url)));
    expect(error).toMatchObject({ actor: 'remote', code: 'connection-failed', retry: 'later' });
    expect(error.message).not.toContain('Rossi');
    expect(observed).toEqual([['clinic.agendas.list', 0]]);
  });
});

describe('a request without an answer', () => {
  test.each([
    ['GET', false],
    ['PROPFIND', false],
    ['POST', true],
    ['PUT', true],
    ['DELETE', true],
  ])('by %s may have been carried out: %s', async (method, ambiguous) => {
    const url = await serve((incoming) => incoming.socket.destroy());
    const { httpClient } = openClient();
    expect(await failure(httpClient.send(request(url, { method })))).toMatchObject({
      ambiguous,
      code: 'connection-failed',
    });
  });

  test('was surely not carried out when no connection was made', async () => {
    const url = await serve(() => {});
    await new Promise((resolve) => servers.pop()?.close(resolve));
    const { httpClient } = openClient();
    const error = await failure(httpClient.send(request(url, { method: 'POST' })));
    expect(error).toMatchObject({ code: 'connection-failed', ambiguous: false });
  });

  test('ends in time, also when the answer trickles', async () => {
    const url = await serve((_, outgoing) => {
      outgoing.writeHead(200);
      outgoing.write('{');
    });
    const { httpClient } = openClient();
    const error = await failure(httpClient.send(request(url, { timeoutMs: 300, method: 'POST' })));
    expect(error).toMatchObject({ actor: 'remote', code: 'timeout', retry: 'later', ambiguous: true });
  });

  test('ends when it is told to', async () => {
    const stop = new AbortController();
    const url = await serve(() => stop.abort());
    const { httpClient } = openClient();
    expect(await failure(httpClient.send(request(url, { signal: stop.signal })))).toMatchObject({ code: 'aborted' });
  });

  test('names the host in its message and nothing else of the address, which holds ids', async () => {
    const { httpClient } = openClient();
    const error = await failure(httpClient.send(request('http://127.0.0.1:1/patients/4711?name=Rossi')));
    expect(error.message).toBe('the connection failed: 127.0.0.1:1');
    expect(error.remedy).toBeUndefined();
  });

  test('says what to do where waiting would not help: a name that no machine has, a certificate that is not trusted', async () => {
    const { httpClient } = openClient();
    const unknown = await failure(httpClient.send(request(`http://${TOO_LONG_A_NAME}.example/`)));
    expect(unknown).toMatchObject({
      code: 'connection-failed',
      remedy: expect.stringContaining('correct the address'),
    });
    const { certificate: cert, privateKey: key } = createCertificate('localhost');
    const server = createHttpsServer({ cert, key }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const untrusted = await failure(httpClient.send(request(`https://localhost:${port}/`)));
    expect(untrusted).toMatchObject({
      code: 'connection-failed',
      remedy: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    });
  });
});

describe('a budget', () => {
  test('is taken from before each request', async () => {
    const url = await serve((_, outgoing) => outgoing.end());
    const { httpClient } = openClient();
    const { budget, seen } = countingBudget();
    await httpClient.send(request(url, { budget }));
    await httpClient.asFetch('x', budget)(url);
    expect(seen).toEqual(['take', 'accepted', 'take', 'accepted']);
  });

  test('that is used up keeps the request from being sent', async () => {
    let asked = 0;
    const url = await serve((_, outgoing) => {
      asked += 1;
      outgoing.end();
    });
    const exhausted = new MirrorError('x', { actor: 'remote', code: 'budget-exhausted', retry: 'later' });
    const budget: Budget = { take: () => Promise.reject(exhausted), refused: async () => {}, accepted: async () => {} };
    const { httpClient } = openClient();
    expect(await failure(httpClient.send(request(url, { budget })))).toBe(exhausted);
    expect(asked).toBe(0);
  });

  test.each([
    [429, '3', ['take', 3_000]],
    [429, null, ['take', null]],
    [503, '3', ['take', 'accepted']],
  ] as const)('after a %s that asks for %s seconds is told: %j', async (status, seconds, expected) => {
    const headers = seconds === null ? {} : { 'retry-after': seconds };
    const url = await serve((_, outgoing) => outgoing.writeHead(status, headers).end());
    const { httpClient } = openClient();
    const { budget, seen } = countingBudget();
    await httpClient.send(request(url, { budget }));
    expect(seen).toEqual(expected);
  });
});

test('nothing goes out once a deadline has passed, not even from a process that stood still meanwhile', async () => {
  const asked: string[] = [];
  const url = await serve((incoming, outgoing) => {
    asked.push(incoming.url ?? '');
    outgoing.end();
  });
  const { httpClient } = openClient();
  await httpClient.send(request(`${url}/before`));
  const lease = new AbortController();
  const { granted, answer } = await twoAnswersAtOnce();
  const budget: Budget = { take: () => granted, refused: async () => {}, accepted: async () => {} };
  setTimeout(() => lease.abort(), 50);
  answer();
  expect(await failure(httpClient.send(request(`${url}/late`, { signal: lease.signal, budget })))).toMatchObject({
    code: 'aborted',
  });
  await httpClient.send(request(`${url}/after`));
  expect(asked).toEqual(['/before', '/after']);
});

/** Two answers that come in together. The process stands still on the first, its timers included, and goes on with the second. */
async function twoAnswersAtOnce(): Promise<{ granted: Promise<void>; answer: () => void }> {
  const far: Socket[] = [];
  const server = createTcpServer((socket) => far.push(socket));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const near = [connect(port, '127.0.0.1'), connect(port, '127.0.0.1')];
  await waitFor(() => far.length === 2, { what: 'two connections' });
  onTestFinished(() => {
    for (const socket of [...near, ...far]) socket.destroy();
    server.close();
  });
  let isFirst = true;
  const granted = new Promise<void>((resolve) => {
    for (const socket of near) {
      socket.on('data', () => {
        if (!isFirst) return resolve();
        isFirst = false;
        Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 400);
      });
    }
  });
  return { granted, answer: () => void far.map((socket) => socket.write('+OK')) };
}

describe('the HTTP client as fetch', () => {
  test('carries method, headers and body, and decodes what was packed', async () => {
    const url = await serve(async (incoming, outgoing) => {
      const text = `${incoming.method} ${incoming.headers['x-a']} ${await bodyOf(incoming)}`;
      outgoing.writeHead(200, { 'content-encoding': 'gzip', 'content-type': 'text/plain' }).end(gzipSync(text));
    });
    const { httpClient, observed } = openClient();
    const answer = await httpClient.asFetch('oauth.token')(url, {
      method: 'POST',
      headers: { 'x-a': '1' },
      body: 'grant=x',
    });
    expect(await answer.text()).toBe('POST 1 grant=x');
    expect(answer.headers.get('content-type')).toBe('text/plain');
    expect(answer.headers.get('content-encoding')).toBeNull();
    expect(observed).toEqual([['oauth.token', 200]]);
  });

  test.each([204, 304])('gives an answer %i without a body', async (status) => {
    const url = await serve((_, outgoing) => outgoing.writeHead(status).end());
    const { httpClient } = openClient();
    const answer = await httpClient.asFetch('x')(url);
    expect([answer.status, answer.body]).toEqual([status, null]);
  });
});
