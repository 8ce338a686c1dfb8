import type { LookupAddress } from 'node:dns';
import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, afterEach, beforeAll, describe, expect, test } from 'vitest';
import { createCertificate } from '../../../sandbox/kit/certificate.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { pinnedLookup, type Resolve } from '../../../src/core/http/pinned.ts';
import { transmit } from '../../../src/core/http/transport.ts';
import type { MirrorError } from '../../../src/core/model/errors.ts';
import { paced } from '../../support/pace.ts';

const NAME = 'receiver.example';
const LOOPBACK: LookupAddress = { address: '127.0.0.1', family: 4 };
const PUBLIC: LookupAddress = { address: '93.184.215.14', family: 4 };
const NEVER = new AbortController().signal;
const { certificate, privateKey } = createCertificate(NAME);
const trusted = getCACertificates('default');
const servers: Server[] = [];

beforeAll(() => setDefaultCACertificates([...trusted, certificate]));
afterAll(() => setDefaultCACertificates(trusted));
afterEach(async () => {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
});

/** A receiver with a certificate for {@link NAME}; its requests by host and body. */
async function receiver(answer: 'given' | 'cut' = 'given') {
  const seen: string[] = [];
  const server = createServer({ cert: certificate, key: privateKey }, async (incoming, outgoing) => {
    let body = '';
    for await (const chunk of incoming) body += chunk;
    seen.push(`${incoming.method} ${incoming.headers.host} ${body}`);
    if (answer === 'cut') outgoing.destroy();
    else outgoing.writeHead(202, { 'retry-after': '7' }).end('taken');
  });
  servers.push(server);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  return { seen, port, url: `https://${NAME}:${port}/hook` };
}

/** A name server that gives these answers one after another. */
function answers(...given: LookupAddress[][]) {
  let asked = 0;
  const resolve: Resolve = async () => given[Math.min(asked++, given.length - 1)] ?? [];
  return { resolve, asked: () => asked };
}

const publicRequest = (url: string, signal = NEVER) => ({
  label: 'reminder.webhook',
  method: 'POST',
  url,
  body: '{}',
  signal,
  publicOnly: true,
});

function wireRequest(url: string, allow: (address: string) => boolean, resolve: Resolve) {
  const refuses = (address: string) => (allow(address) ? null : 'private');
  const reach = { purpose: null, name: 'test', isDirect: true, refuses };
  const lookup = pinnedLookup({ host: new URL(url).hostname, isPlain: false }, reach, resolve);
  const limits = { signal: NEVER, timeoutMs: paced(5_000), maxResponseBytes: 1_000 };
  return { method: 'POST', url, headers: { 'x-a': '1' }, body: 'è una prova', lookup, ...limits };
}

function clientWith(resolve: Resolve) {
  return createHttpClient({ userAgent: 'clinic-mirror-test', clock: Date.now, resolve, timeoutMs: 500 });
}

function failure(answer: Promise<unknown>): Promise<MirrorError> {
  return answer.then(
    () => Promise.reject(new Error('it was sent')),
    (error: MirrorError) => error,
  );
}

test('a request is sent to the checked IP address, with its own host name', async () => {
  const { url, seen, port } = await receiver();
  const { resolve, asked } = answers([LOOPBACK]);
  const checked: string[] = [];
  const allow = (address: string) => checked.push(address) > 0;
  const { status, headers, body } = await transmit(wireRequest(url, allow, resolve));
  expect([status, headers.get('retry-after'), String(await Array.fromAsync(body))]).toEqual([202, '7', 'taken']);
  expect(seen).toEqual([`POST ${NAME}:${port} è una prova`]);
  expect([checked, asked()]).toEqual([['127.0.0.1'], 1]);
});

describe('a public request', () => {
  test.each([
    ['a name for loopback', [LOOPBACK]],
    ['a name for the metadata of a cloud', [{ address: '169.254.169.254', family: 4 }]],
    ['a name for a public and a private address', [PUBLIC, { address: '10.0.0.1', family: 4 }]],
    ['a name for a mapped address', [{ address: '::ffff:127.0.0.1', family: 6 }]],
  ])('is not sent to %s', async (_, addresses) => {
    const { url, seen } = await receiver();
    const error = await failure(clientWith(answers(addresses).resolve).send(publicRequest(url)));
    expect(error).toMatchObject({ actor: 'settings', code: 'address-not-allowed', ambiguous: false });
    expect(seen).toEqual([]);
  });

  test.each([
    'https://127.0.0.1',
    'https://[::1]',
    'https://[::ffff:7f00:1]',
    'https://2130706433',
    'https://0x7f.1',
    'https://169.254.169.254',
  ])('is not sent to %s, and no name is resolved', async (url) => {
    const { resolve, asked } = answers([PUBLIC]);
    const error = await failure(clientWith(resolve).send(publicRequest(url)));
    expect(error).toMatchObject({ code: 'address-not-allowed' });
    expect(asked()).toBe(0);
  });

  test.each([
    ['http://example.com', 'address-not-allowed'],
    ['example.com', 'connection-failed'],
  ])('is not sent to %s', async (url, code) => {
    expect(await failure(clientWith(answers([PUBLIC]).resolve).send(publicRequest(url)))).toMatchObject({ code });
  });

  test('to a name without addresses was surely not sent', async () => {
    const error = await failure(clientWith(answers([]).resolve).send(publicRequest('https://empty.example')));
    expect(error).toMatchObject({ code: 'connection-failed', ambiguous: false });
  });

  test('is not led elsewhere by a name that changes between check and connection', async () => {
    const { url, seen } = await receiver();
    const { resolve, asked } = answers([PUBLIC], [LOOPBACK]);
    await failure(clientWith(resolve).send(publicRequest(url)));
    expect([asked(), seen]).toEqual([1, []]);
  });

  test('to an unknown name was surely not sent', async () => {
    const unknown = Object.assign(new Error('getaddrinfo ENOTFOUND'), { code: 'ENOTFOUND', syscall: 'getaddrinfo' });
    const error = await failure(
      clientWith(() => Promise.reject(unknown)).send(publicRequest('https://nowhere.example')),
    );
    expect(error).toMatchObject({ code: 'connection-failed', ambiguous: false });
  });

  test('waits for no name server longer than for an answer', async () => {
    const silent: Resolve = () => new Promise(() => {});
    const error = await failure(clientWith(silent).send(publicRequest('https://slow.example')));
    expect(error).toMatchObject({ code: 'timeout', ambiguous: false });
  });
});

test('a certificate that is not trusted shows that nothing was sent', async () => {
  const { port, seen } = await receiver();
  const { resolve } = answers([LOOPBACK]);
  const error = await failure(transmit(wireRequest(`https://other.example:${port}`, () => true, resolve)));
  expect(error).toMatchObject({ code: 'connection-failed', ambiguous: false });
  expect(error.cause).toMatchObject({ code: 'ERR_TLS_CERT_ALTNAME_INVALID' });
  expect(seen).toEqual([]);
});

test('what breaks off after the certificate was trusted may have been carried out', async () => {
  const { url, seen } = await receiver('cut');
  const error = await failure(transmit(wireRequest(url, () => true, answers([LOOPBACK]).resolve)));
  expect(error).toMatchObject({ code: 'connection-failed', ambiguous: true });
  expect(seen).toHaveLength(1);
});
