import { execFile } from 'node:child_process';
import { channel } from 'node:diagnostics_channel';
import { once } from 'node:events';
import { type ClientRequest, createServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { brotliCompressSync, deflateRawSync, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, onTestFinished, test, vi } from 'vitest';
import { type TransportRequest, transmit } from '../../../src/core/http/transport.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { paced } from '../../support/pace.ts';
import { waitFor } from '../../support/wait-for.ts';

const NEVER = new AbortController().signal;
const NAME = 'Mario Rossi';

async function listen(server: Server): Promise<string> {
  const sockets = new Set<Socket>();
  server.on('connection', (socket: Socket) => sockets.add(socket));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/x`;
}

const serve = (listener: RequestListener) => listen(createServer(listener));

/** Answers each piece that it gets with the next of these strings, closes the connection for null, and is silent after the last. */
async function script(...answers: (string | null)[]) {
  const seen: string[] = [];
  let [connections, closed] = [0, 0];
  const server = createTcpServer((socket) => {
    connections += 1;
    socket.on('error', () => {});
    socket.on('close', () => {
      closed += 1;
    });
    socket.on('data', (data) => {
      seen.push(data.toString().split(' ')[0] ?? '');
      const answer = answers[seen.length - 1];
      if (answer === undefined) return;
      if (answer === null) socket.destroy();
      else if (answer.endsWith(CLOSED)) socket.end(answer.slice(0, -CLOSED.length));
      else socket.write(answer);
    });
  });
  return { url: await listen(server), seen, connections: () => connections, closed: () => closed };
}

const CLOSED = '<closed>';
const OK = 'HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok';

/** How a caller reads an answer. */
type Reading = 'stream' | 'whole';
type Answer = Awaited<ReturnType<typeof transmit>>;

const chunksOf = ({ body, whole }: Answer, reading: Reading) => (reading === 'whole' ? whole() : Array.fromAsync(body));

async function ask(url: string, changes: Partial<TransportRequest> = {}, reading: Reading = 'stream') {
  const limits = { signal: NEVER, timeoutMs: paced(5_000), maxResponseBytes: 1_000_000 };
  const answer = await transmit({ method: 'GET', url, headers: {}, ...limits, ...changes });
  const text = Buffer.concat(await chunksOf(answer, reading)).toString();
  return { status: answer.status, headers: answer.headers, text };
}

async function failure(answer: Promise<unknown>): Promise<MirrorError> {
  const thrown = await answer.then(
    () => null,
    (error: unknown) => error,
  );
  if (!(thrown instanceof MirrorError)) throw new Error('expected a MirrorError');
  return thrown;
}

describe('a connection', () => {
  test('is kept for the next request', async () => {
    const { url, connections } = await script(OK, OK);
    expect([(await ask(url)).text, (await ask(url, { method: 'POST' })).text]).toEqual(['ok', 'ok']);
    expect(connections()).toBe(1);
  });

  test('is not kept when the server will hardly keep it', async () => {
    const { url, connections } = await script(OK.replace('\r\n\r\n', '\r\nKeep-Alive: timeout=1\r\n\r\n'), OK);
    await ask(url);
    await ask(url);
    expect(connections()).toBe(2);
  });

  test.each([
    ['no time', '', 4_000],
    ['a short time', 'Keep-Alive: timeout=3\r\n', 2_000],
    ['a longer time', 'Keep-Alive: timeout=20, max=7\r\n', 19_000],
    ['a very long time', 'Keep-Alive: timeout=3600\r\n', 60_000],
  ])('is kept for less time than common servers keep it, if the server announces %s', async (_, header, cacheMs) => {
    const { url } = await script(OK.replace('\r\n', `\r\n${header}`));
    let socket: Socket | null = null;
    const note = (message: unknown) => {
      socket = (message as { request: ClientRequest }).request.socket;
    };
    const finished = channel('http.client.response.finish');
    finished.subscribe(note);
    onTestFinished(() => void finished.unsubscribe(note));
    await ask(url);
    await waitFor(() => socket?.timeout === cacheMs, { what: 'the time limit of the free connection' });
  });

  test('that the server closed is not used again', async () => {
    const { url, connections, closed } = await script(OK + CLOSED, OK);
    await ask(url);
    await waitFor(() => closed() === 1, { what: 'the end of the connection' });
    expect((await ask(url, { method: 'POST' })).text).toBe('ok');
    expect(connections()).toBe(2);
  });
});

describe('a request that meets a kept connection in its end', () => {
  test.each(['GET', 'PROPFIND'])('by %s is sent once more, on a new one', async (method) => {
    const { url, seen, connections } = await script(OK, null, OK);
    await ask(url);
    expect(await ask(url, { method })).toMatchObject({ status: 200, text: 'ok' });
    expect([seen, connections()]).toEqual([['GET', method, method], 2]);
  });

  test('is not sent a third time', async () => {
    const { url, seen } = await script(OK, null, null, OK);
    await ask(url);
    expect(await failure(ask(url))).toMatchObject({ code: 'connection-failed', ambiguous: false });
    expect(seen).toHaveLength(3);
  });

  test.each(['POST', 'PUT', 'DELETE'])('by %s may have been carried out, and is not sent again', async (method) => {
    const { url, seen } = await script(OK, null, OK);
    await ask(url);
    const error = await failure(ask(url, { method, body: '{}' }));
    expect(error).toMatchObject({ actor: 'remote', code: 'connection-failed', ambiguous: true });
    expect(seen).toEqual(['GET', method]);
  });

  test('is not sent again when the connection was a new one: whatever ended it was no chance', async () => {
    const { url, seen } = await script(null, OK);
    expect(await failure(ask(url))).toMatchObject({ code: 'connection-failed' });
    expect(seen).toEqual(['GET']);
  });
});

describe.each<Reading>(['stream', 'whole'])('a body, read as a %s,', (reading) => {
  const read = (url: string, changes: Partial<TransportRequest> = {}) => ask(url, changes, reading);
  const packed = (coding: string, body: Uint8Array) =>
    serve((_, outgoing) => outgoing.writeHead(200, { 'content-encoding': coding }).end(body));

  test.each([
    ['gzip', gzipSync(NAME)],
    ['x-gzip', gzipSync(NAME)],
    ['deflate', deflateSync(NAME)],
    ['deflate', deflateRawSync(NAME)],
    ['br', brotliCompressSync(NAME)],
    ['GZIP, br', brotliCompressSync(gzipSync(NAME))],
    ['identity', Buffer.from(NAME)],
    ['compress', Buffer.from(NAME)],
  ])('compressed as %s is decompressed, or returned unchanged if the coding is unknown', async (coding, body) => {
    const answer = await read(await packed(coding, body));
    expect([answer.text, answer.headers.get('content-encoding')]).toEqual([NAME, coding]);
  });

  test.each([200, 204, 304])('that is empty is returned as empty, whatever its coding (%i)', async (status) => {
    const url = await serve((_, outgoing) => outgoing.writeHead(status, { 'content-encoding': 'gzip' }).end());
    expect(await read(url)).toMatchObject({ status, text: '' });
  });

  test('without content is returned at once if the method has none', async () => {
    const url = await serve((_, outgoing) =>
      outgoing.writeHead(200, { 'content-encoding': 'gzip', 'content-length': '99' }).end(),
    );
    expect(await read(url, { method: 'HEAD' })).toMatchObject({ status: 200, text: '' });
  });

  test('is no larger than allowed once it is unpacked', async () => {
    const url = await packed('gzip', gzipSync(Buffer.alloc(50_000_000)));
    expect(await failure(read(url))).toMatchObject({ actor: 'contract', code: 'answer-too-large' });
  });

  test('is no larger than allowed without a coding, and ends its connection', async () => {
    let isClosed = false;
    const url = await serve((incoming, outgoing) => {
      incoming.socket.on('close', () => {
        isClosed = true;
      });
      outgoing.end(Buffer.alloc(5_000_000));
    });
    expect(await failure(read(url))).toMatchObject({ actor: 'contract', code: 'answer-too-large' });
    await waitFor(() => isClosed, { what: 'the end of the connection' });
  });

  test('that never ends is ended by the time limit', async () => {
    const url = await serve((_, outgoing) => outgoing.writeHead(200, { 'content-length': 99 }).write(NAME));
    expect(await failure(read(url, { timeoutMs: 100 }))).toMatchObject({ actor: 'remote', code: 'timeout' });
  });

  const cut = (text: string) => `HTTP/1.1 200 OK\r\n${text}${CLOSED}`;
  test.each([
    ['of a told length', cut(`content-length: 100\r\n\r\n${NAME}`)],
    ['in chunks', cut(`transfer-encoding: chunked\r\n\r\nb\r\n${NAME}\r\n`)],
    ['in the middle of a chunk', cut(`transfer-encoding: chunked\r\n\r\nff\r\n${NAME}`)],
    ['before its first byte', cut('content-length: 100\r\n\r\n')],
    ['in its head', cut('content-length: ')],
  ])('%s that breaks off is an error, never a short answer', async (_, answer) => {
    const { url } = await script(answer);
    const error = await failure(read(url));
    expect(error).toMatchObject({ actor: 'remote', code: 'connection-failed' });
    expect(error.message).not.toContain(NAME);
    expect(error.message).toBe(`the connection failed: ${new URL(url).host}`);
  });

  test('that is compressed and breaks off is an error, also if only its end shows its length', async () => {
    const url = await serve((_, outgoing) => {
      outgoing.useChunkedEncodingByDefault = false;
      outgoing.writeHead(200, { 'content-encoding': 'gzip', connection: 'close' });
      outgoing.end(gzipSync(NAME.repeat(100)).subarray(0, -10));
    });
    expect(await failure(read(url))).toMatchObject({ code: 'connection-failed' });
  });

  test.each(['at once', 'later'])(
    'that lies here unread when the request is stopped, and is read %s, is not empty',
    async (when) => {
      const { url, closed } = await script(OK);
      const stop = new AbortController();
      const limits = { timeoutMs: paced(5_000), maxResponseBytes: 10 };
      const answer = await transmit({ method: 'GET', url, headers: {}, signal: stop.signal, ...limits });
      stop.abort();
      if (when === 'later') await waitFor(() => closed() === 1, { what: 'the end of the connection' });
      expect(await failure(chunksOf(answer, reading))).toMatchObject({ code: 'aborted' });
    },
  );
});

describe('a request that is stopped', () => {
  test.each([
    ['GET', false],
    ['POST', true],
  ])(
    'while it waits for an answer leaves no connection behind; by %s it may have been carried out: %s',
    async (method, ambiguous) => {
      const stop = new AbortController();
      let isClosed = false;
      const url = await serve((incoming) => {
        incoming.socket.on('close', () => {
          isClosed = true;
        });
        stop.abort();
      });
      const error = await failure(ask(url, { method, signal: stop.signal }));
      expect(error).toMatchObject({ actor: 'remote', code: 'aborted', ambiguous });
      await waitFor(() => isClosed, { what: 'the end of the connection' });
    },
  );

  test('before it was sent is not sent', async () => {
    const { url, connections } = await script(OK);
    const error = await failure(ask(url, { method: 'POST', signal: AbortSignal.abort() }));
    expect(error).toMatchObject({ code: 'aborted', ambiguous: false });
    expect(connections()).toBe(0);
  });

  test('by its time limit while it looks for the host was surely not sent', async () => {
    const request = { method: 'POST', lookup: () => {}, timeoutMs: 100 };
    const error = await failure(ask('http://nowhere.example', request));
    expect(error).toMatchObject({ code: 'timeout', ambiguous: false });
  });

  test('by its time limit before the host has proved its identity was surely not sent', async () => {
    const { url } = await script();
    const request = { method: 'POST', timeoutMs: 100 };
    const error = await failure(ask(url.replace('http:', 'https:'), request));
    expect(error).toMatchObject({ code: 'timeout', ambiguous: false });
  });

  test('since there was no connection for ten seconds was surely not sent', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    const { promise: asked, resolve: lookup } = Promise.withResolvers();
    const request = { method: 'POST', lookup, timeoutMs: paced(30_000) };
    const error = failure(ask('http://nowhere.example', request));
    await asked;
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await error).toMatchObject({ code: 'connection-failed', ambiguous: false });
  });
});

test('what a server says ahead of its answer is not the answer', async () => {
  const { url } = await script(`HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n${OK}`);
  expect(await ask(url)).toMatchObject({ status: 200, text: 'ok' });
});

test.each(['POST', 'PUT', 'DELETE', 'REPORT', 'GET'])('a body goes out whole with its length by %s', async (method) => {
  const url = await serve(async (incoming, outgoing) => {
    const body = Buffer.concat(await Array.fromAsync(incoming)).toString();
    outgoing.end(`${incoming.method} ${incoming.headers['content-length']} ${body}`);
  });
  expect(await ask(url, { method, body: 'è' })).toMatchObject({ text: `${method} 2 è` });
});

test('an upload that is refused before its end is not read any further', async () => {
  let isEnded = false;
  async function* endless() {
    try {
      for (;;) yield new Uint8Array(100_000);
    } finally {
      isEnded = true;
    }
  }
  const { url } = await script(OK.replace('200 OK', '413 Content Too Large'));
  expect(await ask(url, { method: 'POST', upload: endless() })).toMatchObject({ status: 413, text: 'ok' });
  await waitFor(() => isEnded, { what: 'the end of the upload' });
});

test.each(['ftp://127.0.0.1/x', 'data:text/plain,x', 'not a URL'])('%s is no valid URL', async (url) => {
  expect(await failure(ask(url))).toMatchObject({ code: 'connection-failed', ambiguous: false });
});

test('the proxy in the settings of Node is used', async () => {
  const seen: (string | undefined)[] = [];
  const proxy = await serve((incoming, outgoing) => {
    seen.push(incoming.url);
    outgoing.end('by proxy');
  });
  const transport = fileURLToPath(new URL('../../../src/core/http/transport.ts', import.meta.url));
  const program = `
    const { transmit } = await import(${JSON.stringify(transport)});
    const limits = { signal: new AbortController().signal, timeoutMs: 5000, maxResponseBytes: 1000 };
    const { body } = await transmit({ method: 'GET', url: 'http://clinic.example/x', headers: {}, ...limits });
    process.stdout.write(Buffer.concat(await Array.fromAsync(body)));`;
  const env = { ...process.env, NODE_USE_ENV_PROXY: '1', HTTP_PROXY: new URL(proxy).origin, NO_PROXY: '' };
  const args = ['--input-type=module', '--eval', program];
  const { stdout } = await promisify(execFile)(process.execPath, args, { env });
  expect([stdout, seen]).toEqual(['by proxy', ['http://clinic.example/x']]);
});
