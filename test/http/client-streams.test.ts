import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { createHttpClient } from '../../src/http/client.ts';
import { paced } from '../support/pace.ts';

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

test('an answer that breaks off or is too large says so where it is read', async () => {
  const broken = await httpClient.open({ label: 'x', method: 'GET', url: `${url}/broken`, signal });
  await expect(broken.whole()).rejects.toMatchObject({ actor: 'remote', code: 'connection-failed' });
  const large = await httpClient.open({ label: 'x', method: 'GET', url, signal, maxResponseBytes: 10_000 });
  await expect(large.whole()).rejects.toMatchObject({ actor: 'contract', code: 'answer-too-large' });
});
