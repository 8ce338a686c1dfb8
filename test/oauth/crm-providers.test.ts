import { expect, onTestFinished, test } from 'vitest';
import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { PendingLogin } from '../../src/oauth/credential.ts';
import { type OAuthProviderSettings, oauthProvider } from '../../src/oauth/crm-providers.ts';
import { beginLogin, completeLogin, disconnect, type LoginTarget } from '../../src/oauth/login.ts';
import { createAuthorizationServer } from '../../src/oauth/server.ts';
import { createLoginStore } from '../../src/operator/control/login-stores.ts';
import { useRedis } from '../support/redis.ts';
import { NEVER, openWorker, RING } from './connection.ts';
import { startTokenServer, tokensNamed } from './token-server.ts';

const redis = useRedis();
const SETTINGS = {
  authorizationEndpoint: 'https://crm.example/oauth/authorize?organisation=7',
  tokenEndpoint: 'https://crm.example/oauth/token/',
  revocationEndpoint: null,
  deviceEndpoint: null,
  userinfoEndpoint: null,
  issuer: null,
  clientId: 'app-1',
  clientSecret: 'secret-1',
  loginParameters: { audience: 'crm', prompt: 'consent' },
};
const CALLBACK = 'http://127.0.0.1:9/callback';

async function openScripted(changes: Partial<OAuthProviderSettings> = {}, scopes = ['crm.write']) {
  const server = await startTokenServer();
  server.onToken = () => ({ body: { ...tokensNamed(1), expires_in: 600 } });
  const provider = oauthProvider({
    ...SETTINGS,
    authorizationEndpoint: `${server.url}/authorize`,
    tokenEndpoint: `${server.url}/token`,
    ...changes,
  });
  const worker = openWorker({ redis: redis.connect(), issuer: server.url, provider, scopes });
  const target: LoginTarget = { context: worker.place, server: worker.server, scopes, clock: Date.now };
  const logins = createLoginStore<PendingLogin>(redis.connect(), RING);
  const login = async (more: Record<string, string> = {}) => {
    const url = await beginLogin(target, logins, CALLBACK);
    const back = new URL(CALLBACK);
    for (const [name, value] of Object.entries({ code: 'c-1', state: url.searchParams.get('state') ?? '', ...more })) {
      back.searchParams.set(name, value);
    }
    return { url, result: await completeLogin({ callback: back }, logins, () => target, NEVER) };
  };
  onTestFinished(() => worker.refresher.whenIdle());
  return { server, worker, login };
}

test('a sign-in uses the configured endpoint, with its parameters and those of the protocol', async () => {
  const provider = oauthProvider(SETTINGS);
  const server = createAuthorizationServer({
    provider,
    http: createHttpClient({ userAgent: 'test', clock: Date.now }),
    clock: Date.now,
  });
  const url = await server.authorizationUrl({ state: 's', scope: 'crm.write' });
  expect(`${url.origin}${url.pathname}`).toBe('https://crm.example/oauth/authorize');
  expect(Object.fromEntries(url.searchParams)).toEqual({
    organisation: '7',
    audience: 'crm',
    prompt: 'consent',
    client_id: 'app-1',
    response_type: 'code',
    state: 's',
    scope: 'crm.write',
  });
  expect(provider.endpoints?.token).toBe('https://crm.example/oauth/token/');
});

test('an operator connects by code and PKCE, and the connection is refreshed', async () => {
  const { server, worker, login } = await openScripted();
  const { url, result } = await login();
  expect(result).toMatchObject({ grantedScopes: ['crm.write'], missingScopes: [] });
  expect(url.searchParams.get('code_challenge_method')).toBe('S256');
  expect(Object.fromEntries(server.posted[0]?.form ?? [])).toMatchObject({
    grant_type: 'authorization_code',
    code: 'c-1',
    client_id: 'app-1',
    client_secret: 'secret-1',
    code_verifier: expect.stringMatching(/^[\w-]{43}$/),
  });
  server.onToken = () => ({ body: { ...tokensNamed(2), expires_in: 600 } });
  expect(await worker.authorizer.renew(NEVER)).toBe('Bearer access-2');
});

test('a provider without scopes gets none in the request', async () => {
  const { login } = await openScripted({}, []);
  const { url } = await login();
  expect(url.searchParams.has('scope')).toBe(false);
});

test('an answer that carries the name of another server is refused; the configured name is taken', async () => {
  const { login } = await openScripted();
  await expect(login({ iss: 'https://evil.example' })).rejects.toMatchObject({ code: 'login-answer-rejected' });
  const named = await openScripted({ issuer: 'https://crm.example/realms/clinic' });
  await expect(named.login({ iss: 'https://crm.example/realms/clinic' })).resolves.toMatchObject({
    result: { missingScopes: [] },
  });
});

test('the account is requested if the settings name an endpoint for it', async () => {
  expect((await (await openScripted()).login()).result).toMatchObject({ account: null, isUnconfirmed: false });
  const userinfo = await startTokenServer();
  const claims = { sub: 'u-1', email: 'doctor@clinic.example', email_verified: true };
  userinfo.onUserinfo = () => ({ body: claims });
  const { login } = await openScripted({ userinfoEndpoint: `${userinfo.url}/userinfo` });
  const account = { subject: 'u-1', address: 'doctor@clinic.example', domain: null };
  expect((await login()).result).toMatchObject({ account });
  userinfo.onUserinfo = () => ({ body: { ...claims, email_verified: undefined } });
  expect((await login()).result).toMatchObject({ account: { ...account, address: null } });
  userinfo.onUserinfo = () => ({ status: 403, body: 'no' });
  expect((await login()).result).toMatchObject({ account: null, isUnconfirmed: true });
});

test('a connection is revoked if the settings name an endpoint for it, and only deleted otherwise', async () => {
  const { worker, login } = await openScripted();
  await login();
  expect(await disconnect(worker.place, worker.server, silentLogger, NEVER)).toBe('not-supported');
  const server = await startTokenServer();
  const other = await openScripted({ revocationEndpoint: `${server.url}/revoke` });
  await other.login();
  expect(await disconnect(other.worker.place, other.worker.server, silentLogger, NEVER)).toBe('revoked');
  expect(server.forms('/revoke').map((form) => form.get('token'))).toEqual(['refresh-1']);
});

test.each([
  'authorizationEndpoint',
  'tokenEndpoint',
  'revocationEndpoint',
  'deviceEndpoint',
  'userinfoEndpoint',
] as const)('no secret goes over plain http: %s', (endpoint) => {
  expect(() => oauthProvider({ ...SETTINGS, [endpoint]: 'http://crm.example/x' })).toThrow(
    expect.objectContaining({ actor: 'settings', code: 'insecure-address' }),
  );
});
