import { once } from 'node:events';
import { type AddressInfo, createServer as createPlain } from 'node:net';
import { createServer } from 'node:tls';
import { expect, onTestFinished, test } from 'vitest';
import { createCertificate } from '../../../sandbox/kit/certificate.ts';
import { lookAtCertificate } from '../../../src/core/http/certificate.ts';
import { pinnedLookup } from '../../../src/core/http/pinned.ts';
import { OPERATORS_REACH } from '../../../src/settings/outbound-schema.ts';

const YEAR_MS = 365 * 86_400_000;
const lookup = pinnedLookup({ host: '127.0.0.1', isPlain: false }, OPERATORS_REACH);
const NEVER = new AbortController().signal;

test('the validity of a certificate is known, also of an untrusted one', async () => {
  const { certificate, privateKey } = createCertificate('localhost');
  const server = createServer({ cert: certificate, key: privateKey }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  const seen = await lookAtCertificate('127.0.0.1', (server.address() as AddressInfo).port, lookup, NEVER);
  const lifeMs = (seen?.endsAt ?? 0) - (seen?.beganAt ?? 0);
  expect(lifeMs).toBeGreaterThanOrEqual(YEAR_MS);
  expect(seen?.endsAt ?? 0).toBeGreaterThan(Date.now() + YEAR_MS - 60_000);
});

test('a host without a certificate causes no wait', async () => {
  const server = createPlain((socket) => socket.end()).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await once(server, 'listening');
  expect(await lookAtCertificate('127.0.0.1', (server.address() as AddressInfo).port, lookup, NEVER)).toBeNull();
  expect(
    await lookAtCertificate('127.0.0.1', (server.address() as AddressInfo).port, lookup, AbortSignal.abort()),
  ).toBeNull();
});
