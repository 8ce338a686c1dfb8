import { once } from 'node:events';
import { createServer, type IncomingMessage, type RequestListener, type Server } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect, createServer as createTcpServer, type Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterAll, afterEach, beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { createCertificate } from '../../../sandbox/kit/certificate.ts';
import {
  type Budget,
  createHttpClient,
  type HttpRequest,
  type HttpResponse,
  withBudget,
} from '../../../src/core/http/client.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { openBudgetShare } from '../../../src/state/budget.ts';
import { paced } from '../../support/pace.ts';
import { useRedis } from '../../support/redis.ts';
import { waitFor } from '../../support/wait-for.ts';

const servers: Server[] = [];

const NEVER = new AbortController().signal;

/** A label has at most 63 characters (RFC 1035 section 2.3.4), so that no resolver is queried. */
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
  test('is read completely, whatever its status, and the request names the product', async () => {
    const url = await serve((incoming, outgoing) => {
      outgoing.writeHead(503, { 'retry-after': '7' }).end(`for ${incoming.headers['user-agent']}`);
    });
    const { httpClient, observed } = openClient();
    const answer = await httpClient.send(request(url));
    expect(answer).toMatchObject({ status: 503, retryAfterMs: 7_000 });
    expect(answer.body.toString()).toBe('for clinic-mirror-test');
    expect(observed).toEqual([['clinic.agendas.list', 503]]);
  });

  test('with a redirect is returned unchanged: a token never follows a redirect', async () => {
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

  test('ends when it is aborted', async () => {
    const stop = new AbortController();
    const url = await serve(() => stop.abort());
    const { httpClient } = openClient();
    expect(await failure(httpClient.send(request(url, { signal: stop.signal })))).toMatchObject({ code: 'aborted' });
  });

  test('names the host in its message and nothing else of the URL, which contains ids', async () => {
    const { httpClient } = openClient();
    const error = await failure(httpClient.send(request('http://127.0.0.1:1/patients/4711?name=Rossi')));
    expect(error.message).toBe('the server refuses the connection: 127.0.0.1:1');
    expect(error.remedy).toBeUndefined();
  });

  test('gives the next step if waiting would not help: an unknown host name, an untrusted certificate', async () => {
    const { httpClient } = openClient();
    const unknown = await failure(httpClient.send(request(`http://${TOO_LONG_A_NAME}.example/`)));
    expect(unknown.message).toContain('the DNS does not know the server');
    expect(unknown).toMatchObject({
      code: 'connection-failed',
      remedy: expect.stringContaining('correct the host name'),
    });
    const { certificate: cert, privateKey: key } = createCertificate('localhost');
    const server = createHttpsServer({ cert, key }).listen(0, '127.0.0.1');
    onTestFinished(() => void server.close());
    await once(server, 'listening');
    const { port } = server.address() as AddressInfo;
    const untrusted = await failure(httpClient.send(request(`https://localhost:${port}/`)));
    expect(untrusted.message).toContain('the certificate of the server is not accepted');
    expect(untrusted).toMatchObject({
      code: 'connection-failed',
      remedy: expect.stringContaining('NODE_EXTRA_CA_CERTS'),
    });
  });

  test('names a server that speaks http where the URL says https', async () => {
    const url = (await serve((_, outgoing) => outgoing.end())).replace('http:', 'https:');
    const error = await failure(openClient().httpClient.send(request(url)));
    expect(error.message).toContain('the server does not answer in TLS at this port');
    expect(error).toMatchObject({ code: 'connection-failed', remedy: expect.stringContaining('scheme and port') });
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

  test('that is used up prevents the request', async () => {
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
  ] as const)('after a %s with a delay of %s seconds is notified: %j', async (status, seconds, expected) => {
    const headers = seconds === null ? {} : { 'retry-after': seconds };
    const url = await serve((_, outgoing) => outgoing.writeHead(status, headers).end());
    const { httpClient } = openClient();
    const { budget, seen } = countingBudget();
    await httpClient.send(request(url, { budget }));
    expect(seen).toEqual(expected);
  });
});

test('nothing is sent after a deadline, not even by a process that was suspended meanwhile', async () => {
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

/** Prepares two answers that arrive together. The process is suspended at the first, its timers included, and continues with the second. */
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
  test('sends method, headers and body, and decompresses the body', async () => {
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

  test('keeps the answer for the caller, and gives the library its head only', async () => {
    const text = `[${'0,'.repeat(700_000)}0]`;
    const url = await serve((_, outgoing) => outgoing.writeHead(200, { 'x-a': 'b' }).end(text));
    const kept: HttpResponse[] = [];
    const answer = await openClient().httpClient.asFetch('x', undefined, 2_000_000, (one) => kept.push(one))(url);
    expect([answer.status, answer.headers.get('x-a'), answer.body]).toEqual([200, 'b', null]);
    expect(kept.map(({ body }) => body.toString())).toEqual([text]);
  });
});

describe('a stream', () => {
  let server: Server;

  let url: string;

  const httpClient = createHttpClient({ userAgent: 'test', clock: Date.now, timeoutMs: paced(5_000) });

  const signal = new AbortController().signal;

  /** Echoes what it is sent at `/echo`, breaks off at `/broken`, and gives a megabyte anywhere else. */
  beforeAll(async () => {
    server = createServer((request, response) => {
      if (request.url === '/echo') {
        const { 'content-length': length = 'none' } = request.headers;
        response.writeHead(200, { 'x-length': length });
        request.pipe(response);
      } else if (request.url === '/broken') {
        response.writeHead(200, { 'content-length': '2000' });
        response.write(Buffer.alloc(1000), () => response.destroy());
      } else response.end(Buffer.alloc(1_000_000));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(() => {
    server.close();
    server.closeAllConnections();
  });

  async function* pieces(count: number): AsyncGenerator<Uint8Array> {
    for (let piece = 0; piece < count; piece += 1) yield new Uint8Array(1000);
  }

  test.each([
    [{}, 'none'],
    [{ 'content-length': '5000' }, '5000'],
  ])('a stream is sent with the headers %j and its answer read whole', async (headers, length) => {
    const answer = await httpClient.send({
      label: 'x',
      method: 'POST',
      url: `${url}/echo`,
      headers,
      upload: pieces(5),
      signal,
    });
    expect(answer.body).toHaveLength(5000);
    expect(answer.headers.get('x-length')).toBe(length);
  });

  test('a stream that fails on its way fails the request', async () => {
    const { promise: arrived, resolve } = Promise.withResolvers<void>();
    server.once('request', () => resolve());
    async function* failing() {
      yield new Uint8Array(10);
      await arrived;
      throw new Error('the disk is gone');
    }
    const request = { label: 'x', method: 'POST', url: `${url}/echo`, upload: failing(), signal };
    await expect(httpClient.send(request)).rejects.toMatchObject({ code: 'connection-failed', ambiguous: true });
  });

  test('an answer is read piece by piece, and may be given up', async () => {
    const answer = await httpClient.open({ label: 'x', method: 'GET', url, signal });
    expect(answer.status).toBe(200);
    let size = 0;
    for await (const chunk of answer.body) size += chunk.length;
    expect(size).toBe(1_000_000);
    const other = await httpClient.open({ label: 'x', method: 'GET', url, signal });
    for await (const chunk of other.body) {
      expect(chunk.length).toBeGreaterThan(0);
      break;
    }
  });

  test('an answer that breaks off or is too large fails at the reader', async () => {
    const broken = await httpClient.open({ label: 'x', method: 'GET', url: `${url}/broken`, signal });
    await expect(broken.whole()).rejects.toMatchObject({ actor: 'remote', code: 'connection-failed' });
    const large = await httpClient.open({ label: 'x', method: 'GET', url, signal, maxResponseBytes: 10_000 });
    await expect(large.whole()).rejects.toMatchObject({ actor: 'contract', code: 'answer-too-large' });
  });
});

describe('a budget that tenants share', () => {
  const redis = useRedis();

  const signal = AbortSignal.timeout(paced(60_000));

  const server = createServer((_, response) => response.writeHead(429, { 'retry-after': '3600' }).end());

  const httpClient = createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now });

  let url: string;

  beforeAll(async () => {
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });

  afterAll(() => server.close());

  function share(tenant: string) {
    return openBudgetShare(redis.connect(), {
      budget: 'google-1',
      participant: tenant,
      limits: { requestsPerMinute: 6_000, burst: 100 },
      priority: 'background',
    });
  }

  const request = () => ({ label: 'google.events.list', method: 'GET', url, signal });

  test('a target that must wait does not delay the targets of other tenants', async () => {
    await withBudget(httpClient, share('studio-rossi')).send(request());
    await withBudget(httpClient, share('studio-rossi')).asFetch('google.calendars.get')(url);
    expect(await withBudget(httpClient, share('studio-bianchi')).send(request())).toMatchObject({ status: 429 });
  });

  test('a clinic that delays one tenant is still queried by the others; after three, all wait', async () => {
    for (const tenant of ['studio-rossi', 'studio-bianchi', 'studio-verdi']) {
      const budget = share(tenant);
      expect(await httpClient.send({ ...request(), budget })).toMatchObject({ status: 429 });
      await expect(httpClient.send({ ...request(), budget })).rejects.toMatchObject({ code: 'budget-paused' });
    }
    await expect(httpClient.send({ ...request(), budget: share('studio-neri') })).rejects.toMatchObject({
      code: 'budget-paused',
      remedy: expect.stringContaining('15 min'),
    });
  });

  test('an answer is not lost when the budget cannot be notified', async () => {
    const budget = share('studio-rossi');
    const told = { ...budget, refused: () => Promise.reject(new Error('Redis is away')) };
    expect(await httpClient.send({ ...request(), budget: told })).toMatchObject({ status: 429 });
  });

  test('a wait for the budget that is stopped is a request that was stopped, and surely was not sent', async () => {
    const stop = new AbortController();
    const waiting = {
      ...share('a'),
      take: () => new Promise<void>((_, reject) => stop.signal.addEventListener('abort', reject)),
    };
    const sent = httpClient.send({ ...request(), method: 'POST', signal: stop.signal, budget: waiting });
    stop.abort();
    await expect(sent).rejects.toMatchObject({ code: 'aborted', ambiguous: false });
  });
});
