import { verify, X509Certificate } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { createCertificate } from '../../sandbox/kit/certificate.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import { oauthProvider } from '../../src/oauth/crm-providers.ts';
import { clinicProvider, type Provider } from '../../src/oauth/providers.ts';
import { createAuthorizationServer } from '../../src/oauth/server.ts';
import { paced } from '../support/pace.ts';
import { NEVER } from './connection.ts';
import { startTokenServer, tokensNamed } from './token-server.ts';

async function open(take: () => Promise<void> = async () => {}) {
  const scripted = await startTokenServer();
  scripted.onToken = () => ({ body: { ...tokensNamed(1), expires_in: 3_600 } });
  const time = { now: Date.now() };
  const clock = () => time.now;
  const paused: (number | null)[] = [];
  const labels: string[] = [];
  const http = createHttpClient({
    userAgent: 'test',
    clock,
    timeoutMs: paced(2_000),
    observe: (label) => labels.push(label),
  });
  const server = createAuthorizationServer({
    provider: clinicProvider({ authUrl: scripted.url, clientId: 'client-1', clientSecret: null }),
    http,
    budget: { take, refused: async (durationMs) => void paused.push(durationMs), accepted: async () => {} },
    clock,
  });
  return { scripted, server, time, paused, labels };
}

test('the token endpoint uses the budget of the client id, and reports its 429 to that budget', async () => {
  let taken = 0;
  const { scripted, server, paused } = await open(async () => void taken++);
  await server.refresh('refresh-0', NEVER);
  expect(taken).toBe(2); // the discovery document and the token
  scripted.onToken = () => ({ status: 429, body: { error: 'rate_limit_exceeded' }, headers: { 'retry-after': '30' } });
  await expect(server.refresh('refresh-1', NEVER)).rejects.toMatchObject({
    actor: 'remote',
    status: 429,
    retryAfterMs: 30_000,
    ambiguous: false,
  });
  expect(paused).toEqual([30_000]);
});

test('an exhausted budget is a separate error: nothing was sent, nothing is ambiguous', async () => {
  let isExhausted = false;
  const { scripted, server } = await open(async () => {
    if (!isExhausted) return;
    throw new MirrorError('wait', { actor: 'remote', code: 'budget-exhausted', retry: 'later', retryAfterMs: 9_000 });
  });
  await server.refresh('refresh-0', NEVER);
  isExhausted = true;
  await expect(server.refresh('refresh-1', NEVER)).rejects.toMatchObject({
    code: 'budget-exhausted',
    retryAfterMs: 9_000,
    ambiguous: false,
  });
  expect(scripted.forms('/token')).toHaveLength(1);
});

test('the metadata is read once an hour, once for all concurrent callers, and the last one is used while the server is away', async () => {
  const { scripted, server, time } = await open();
  await Promise.all(Array.from({ length: 5 }, () => server.refresh('refresh-0', NEVER)));
  expect(scripted.discoveries).toBe(1);
  time.now += HOUR_MS;
  scripted.onDiscovery = () => ({ status: 503, body: 'busy' });
  await expect(server.refresh('refresh-0', NEVER)).resolves.toMatchObject({ accessToken: 'access-1' });
  expect(scripted.discoveries).toBe(2);
  scripted.onDiscovery = null;
  scripted.metadata = { issuer: 'https://evil.example.org' };
  await expect(server.refresh('refresh-0', NEVER)).rejects.toMatchObject({ code: 'issuer-mismatch' });
});

test('a client without a secret sends its id and no secret, and calls carry constant names', async () => {
  const { scripted, server, labels } = await open();
  await server.refresh('refresh-0', NEVER);
  await server.revoke('refresh-1', NEVER);
  const [form] = scripted.forms('/token');
  expect(Object.fromEntries(form ?? [])).toEqual({
    grant_type: 'refresh_token',
    refresh_token: 'refresh-0',
    client_id: 'client-1',
  });
  expect(labels).toEqual(['oauth.clinic.discovery', 'oauth.clinic.token', 'oauth.clinic.revoke']);
});

test('a configured device endpoint goes before what the discovery document says', async () => {
  const scripted = await startTokenServer();
  scripted.metadata = { device_authorization_endpoint: 'https://elsewhere.example.org/device' };
  scripted.onDevice = () => ({
    body: { device_code: 'd', user_code: 'u', verification_uri: 'https://login.example.org', expires_in: '600' },
  });
  const client = { clientId: 'client-1', clientSecret: 'secret' };
  const server = createAuthorizationServer({
    provider: clinicProvider({ authUrl: scripted.url, deviceEndpoint: `${scripted.url}/device`, ...client }),
    http: createHttpClient({ userAgent: 'test', clock: Date.now }),
    clock: Date.now,
  });
  expect(await server.beginDevice(['svc.agenda'], NEVER)).toMatchObject({ user_code: 'u', expires_in: 600 });
});

describe('a client with a certificate', () => {
  const { certificate, privateKey } = createCertificate();
  const pem = privateKey + certificate;
  const shared = { clientId: 'client-1', clientSecret: 'unused-secret', certificate: pem };
  const providers: Readonly<Record<string, (url: string) => Provider>> = {
    'of the clinic': (url) => clinicProvider({ authUrl: url, ...shared }),
    'of a generic server': (url) =>
      oauthProvider({
        ...{ authorizationEndpoint: `${url}/authorize`, tokenEndpoint: `${url}/token`, issuer: null, ...shared },
        ...{ revocationEndpoint: `${url}/revoke`, deviceEndpoint: null, userinfoEndpoint: null, loginParameters: {} },
      }),
  };

  test.each(Object.entries(providers))(
    '%s signs a new assertion per request (private_key_jwt), and sends no secret',
    async (_, of) => {
      const scripted = await startTokenServer();
      const forms: URLSearchParams[] = [];
      scripted.onToken = (form) => {
        forms.push(form);
        return { body: { ...tokensNamed(forms.length), expires_in: 3_600 } };
      };
      const http = createHttpClient({ userAgent: 'test', clock: Date.now });
      const server = createAuthorizationServer({ provider: of(scripted.url), http, clock: Date.now });
      for (const token of ['refresh-0', 'refresh-1']) await server.refresh(token, NEVER);
      const ids = forms.map((form) => {
        expect(form.get('client_assertion_type')).toBe('urn:ietf:params:oauth:client-assertion-type:jwt-bearer');
        expect(String(form)).not.toContain('unused-secret');
        const [header = '', payload = '', signature = ''] = (form.get('client_assertion') ?? '').split('.');
        const { publicKey } = new X509Certificate(certificate);
        const signed = Buffer.from(`${header}.${payload}`);
        expect(verify('RSA-SHA256', signed, publicKey, Buffer.from(signature, 'base64url'))).toBe(true);
        const claims = JSON.parse(Buffer.from(payload, 'base64url').toString());
        expect(claims).toMatchObject({ iss: 'client-1', sub: 'client-1', aud: `${scripted.url}/token` });
        expect(claims.exp - claims.iat).toBeLessThanOrEqual(300);
        return claims.jti;
      });
      expect(new Set(ids).size).toBe(2);
    },
  );

  test('that is unreadable is refused before any request, and not repeated in the error', () => {
    const http = createHttpClient({ userAgent: 'test', clock: Date.now });
    const provider = clinicProvider({ authUrl: 'https://id.test', ...shared, certificate: privateKey });
    const opening = () => createAuthorizationServer({ provider, http, clock: Date.now });
    expect(opening).toThrow(expect.objectContaining({ code: 'client-certificate' }));
    expect(opening).not.toThrow(/PRIVATE KEY/);
  });
});
