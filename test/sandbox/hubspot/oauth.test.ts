import { createHash } from 'node:crypto';
import * as oidc from 'openid-client';
import { describe, expect, it } from 'vitest';
import type { HubSpotSandbox, PersonsAnswer } from '../../../sandbox/hubspot/index.ts';
import { CONTACTS, startBench } from './support.ts';

const REDIRECT = 'http://localhost:9/callback';
const SCOPE = 'oauth crm.objects.contacts.read crm.objects.contacts.write';
const PERSON = { account: 'owner@clinic.example' };
const CLIENT = { client_id: 'sandbox-client', client_secret: 'sandbox-secret' };

function authorizeUrl(sandbox: HubSpotSandbox, parameters: Record<string, string> = {}): string {
  const wanted = { client_id: 'sandbox-client', redirect_uri: REDIRECT, scope: SCOPE, state: 's1', ...parameters };
  return `${sandbox.authorizeUrl}?${new URLSearchParams(wanted)}`;
}

async function codeFor(sandbox: HubSpotSandbox, parameters?: Record<string, string>, answer: PersonsAnswer = PERSON) {
  return new URL(await sandbox.authorizeInBrowser(authorizeUrl(sandbox, parameters), answer)).searchParams;
}

interface Told {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tokens and errors
  body: any;
}

async function post(url: string, form: Record<string, string>): Promise<Told> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
  const text = await response.text();
  return { status: response.status, body: text === '' ? undefined : JSON.parse(text) };
}

async function redeem(
  sandbox: HubSpotSandbox,
  code: string,
  form: Record<string, string> = {},
  url = sandbox.tokenUrl,
) {
  return post(url, { ...CLIENT, grant_type: 'authorization_code', redirect_uri: REDIRECT, code, ...form });
}

async function logIn(sandbox: HubSpotSandbox): Promise<{ access_token: string; refresh_token: string }> {
  return (await redeem(sandbox, (await codeFor(sandbox)).get('code') ?? '')).body;
}

function refresh(sandbox: HubSpotSandbox, token: string, url = sandbox.tokenUrl): Promise<Told> {
  return post(url, { ...CLIENT, grant_type: 'refresh_token', refresh_token: token });
}

describe('installing an app', () => {
  it('issues working tokens, and returns the account', async () => {
    const { sandbox, as } = await startBench();
    const back = await codeFor(sandbox);
    expect(back.get('state')).toBe('s1');
    const { status, body } = await redeem(sandbox, back.get('code') ?? '');
    expect(status).toBe(200);
    expect(body).toMatchObject({ token_type: 'bearer', expires_in: 1800, hub_id: sandbox.portalId });
    expect(body.scopes).toEqual(SCOPE.split(' '));
    expect(body.access_token.length).toBeGreaterThan(255);
    expect((await as(body.access_token)('GET', CONTACTS)).status).toBe(200);
    expect((await as(body.access_token)('GET', '/crm/v3/objects/deals')).status).toBe(403);
    expect((await as(body.refresh_token)('GET', CONTACTS)).status).toBe(401);
    expect(sandbox.counts.tokenRequests).toBe(1);
  });

  it('works with openid-client, and so does a refresh', async () => {
    const { sandbox } = await startBench();
    const server = {
      issuer: sandbox.url,
      authorization_endpoint: sandbox.authorizeUrl,
      token_endpoint: sandbox.tokenUrl,
    };
    const configuration = new oidc.Configuration(server, 'sandbox-client', 'sandbox-secret', oidc.ClientSecretPost());
    oidc.allowInsecureRequests(configuration);
    const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
    const expectedState = oidc.randomState();
    const url = oidc.buildAuthorizationUrl(configuration, {
      redirect_uri: REDIRECT,
      scope: SCOPE,
      state: expectedState,
      code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
      code_challenge_method: 'S256',
    });
    const back = new URL(await sandbox.authorizeInBrowser(url.href, PERSON));
    const tokens = await oidc.authorizationCodeGrant(configuration, back, { pkceCodeVerifier, expectedState });
    expect(tokens.expires_in).toBe(1800);
    const refreshed = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
    expect(refreshed.access_token).not.toBe(tokens.access_token);
    sandbox.uninstall();
    await expect(oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });

  it('ends when the person cancels', async () => {
    const { sandbox } = await startBench();
    const back = await codeFor(sandbox, {}, { ...PERSON, deny: true });
    expect(back.get('error')).toBe('access_denied');
    expect(back.get('code')).toBeNull();
  });

  it.each([
    ['an unknown app', { client_id: 'other' }],
    ['a strange redirect', { redirect_uri: 'https://elsewhere.example/cb' }],
    ['an unknown scope', { scope: 'contacts' }],
    ['no scope', { scope: '' }],
    ['sensitive data that the account does not hold', { scope: 'crm.objects.contacts.sensitive.read' }],
    ['a plain code challenge', { code_challenge: 'x', code_challenge_method: 'plain' }],
  ])('shows an error page for %s', async (_what, parameters) => {
    const { sandbox } = await startBench();
    await expect(codeFor(sandbox, parameters)).rejects.toThrow('answered 400');
  });

  it('restricts an app to its own scopes, and grants optional ones if possible', async () => {
    const scopes = ['crm.objects.contacts.read', 'crm.objects.contacts.sensitive.read'];
    const { sandbox } = await startBench({ applications: [{ scopes }] });
    await expect(codeFor(sandbox, { scope: 'crm.objects.deals.read' })).rejects.toThrow('answered 400');
    const wish = { scope: scopes[0]!, optional_scope: scopes[1]! };
    const plain = await redeem(sandbox, (await codeFor(sandbox, wish)).get('code') ?? '');
    expect(plain.body.scopes).toEqual([scopes[0]]);
    sandbox.configure({ sensitiveData: true });
    const wide = await redeem(sandbox, (await codeFor(sandbox, wish)).get('code') ?? '');
    expect(wide.body.scopes).toEqual(scopes);
  });
});

describe('a code', () => {
  it('is valid once, for a minute, for its app, redirect URI and verifier', async () => {
    let now = Date.now();
    const { sandbox } = await startBench({ now: () => now, applications: [{}, { clientId: 'second' }] });
    const verifier = 'v'.repeat(64);
    const challenge = createHash('sha256').update(verifier).digest('base64url');
    const pkce = { code_challenge: challenge, code_challenge_method: 'S256' };
    const fresh = async () => (await codeFor(sandbox, pkce)).get('code') ?? '';
    const good = { code_verifier: verifier };
    const code = await fresh();
    expect((await redeem(sandbox, code, good)).status).toBe(200);
    const bad = { status: 400, body: { status: 'BAD_AUTH_CODE', error: 'invalid_grant' } };
    expect(await redeem(sandbox, code, good)).toMatchObject(bad);
    expect(await redeem(sandbox, await fresh(), { code_verifier: 'other' })).toMatchObject(bad);
    expect(await redeem(sandbox, await fresh(), { ...good, client_id: 'second' })).toMatchObject(bad);
    const elsewhere = { ...good, redirect_uri: 'http://localhost:9/other' };
    expect((await redeem(sandbox, await fresh(), elsewhere)).body.status).toBe('BAD_REDIRECT_URI');
    const late = await fresh();
    now += 60_000;
    expect(await redeem(sandbox, late, good)).toMatchObject(bad);
  });
});

describe('the token endpoints', () => {
  it('are the old one and the new ones, which accept no parameters in the URL', async () => {
    const { sandbox } = await startBench();
    const { refresh_token } = await logIn(sandbox);
    for (const path of ['/oauth/v1/token', '/oauth/v3/token', '/oauth/2026-03/token', '/oauth/2026-09/token']) {
      const told = await refresh(sandbox, refresh_token, `${sandbox.url}${path}`);
      expect(told).toMatchObject({ status: 200, body: { access_token: expect.any(String), refresh_token } });
    }
    const query = new URLSearchParams({ ...CLIENT, grant_type: 'refresh_token', refresh_token });
    expect((await post(`${sandbox.url}/oauth/v1/token?${query}`, {})).status).toBe(200);
    expect((await post(`${sandbox.tokenUrl}?${query}`, {})).status).toBe(400);
  });

  it('refuse other apps and unknown tokens', async () => {
    const { sandbox } = await startBench({ applications: [{}, { clientId: 'second' }] });
    const { refresh_token } = await logIn(sandbox);
    const ask = (form: Record<string, string>) =>
      post(sandbox.tokenUrl, { ...CLIENT, grant_type: 'refresh_token', refresh_token, ...form });
    expect((await ask({ client_id: 'other' })).body).toMatchObject({
      status: 'BAD_CLIENT_ID',
      error: 'invalid_client',
    });
    expect((await ask({ client_secret: 'other' })).body.error).toBe('invalid_client');
    expect((await ask({ refresh_token: 'other' })).body).toMatchObject({
      status: 'BAD_REFRESH_TOKEN',
      error: 'invalid_grant',
    });
    expect((await ask({ client_id: 'second' })).body.status).toBe('BAD_REFRESH_TOKEN');
    expect((await ask({ grant_type: 'password' })).body.error).toBe('unsupported_grant_type');
  });

  it('tell errors in the vendor’s own words, the new ones in those of the standard too', async () => {
    const { sandbox } = await startBench();
    const { body: old } = await refresh(sandbox, 'unknown', `${sandbox.url}/oauth/v1/token`);
    expect(Object.keys(old)).toEqual(['status', 'message', 'correlationId']);
    expect((await refresh(sandbox, 'unknown')).body.error).toBe('invalid_grant');
    sandbox.configure({ oauthErrors: 'vendor' });
    expect((await refresh(sandbox, 'unknown')).body).toMatchObject({ status: 'BAD_REFRESH_TOKEN' });
    expect((await refresh(sandbox, 'unknown')).body.error).toBeUndefined();
  });

  it('may fail for a while by fault', async () => {
    const { sandbox } = await startBench();
    const { refresh_token } = await logIn(sandbox);
    sandbox.faults.add({ match: { path: '/token' }, times: 1, fault: { kind: 'status', status: 503 } });
    expect((await refresh(sandbox, refresh_token)).body.error).toBe('temporarily_unavailable');
    expect((await refresh(sandbox, refresh_token)).status).toBe(200);
  });
});

describe('a refresh token', () => {
  it('lives until the app is uninstalled', async () => {
    let now = Date.now();
    const { sandbox, as } = await startBench({ now: () => now });
    const { refresh_token, access_token } = await logIn(sandbox);
    now += 300 * 86_400_000;
    const fresh = (await refresh(sandbox, refresh_token)).body.access_token;
    expect((await as(fresh)('GET', CONTACTS)).status).toBe(200);
    expect((await as(access_token)('GET', CONTACTS)).body.category).toBe('EXPIRED_AUTHENTICATION');
    sandbox.uninstall();
    expect((await refresh(sandbox, refresh_token)).body.status).toBe('BAD_REFRESH_TOKEN');
    expect((await as(fresh)('GET', CONTACTS)).body.category).toBe('INVALID_AUTHENTICATION');
  });

  it('may be another one after each refresh', async () => {
    const { sandbox } = await startBench({ rotateRefreshTokens: true });
    const { refresh_token } = await logIn(sandbox);
    const next = (await refresh(sandbox, refresh_token)).body.refresh_token;
    expect(next).not.toBe(refresh_token);
    expect((await refresh(sandbox, refresh_token)).status).toBe(400);
    expect((await refresh(sandbox, next)).status).toBe(200);
  });
});

describe('a token can be inspected and revoked', () => {
  it('by the new endpoints', async () => {
    const { sandbox } = await startBench({ applications: [{}, { clientId: 'second' }] });
    const { refresh_token, access_token } = await logIn(sandbox);
    const look = (token: string, form = {}) => post(`${sandbox.tokenUrl}/introspect`, { ...CLIENT, token, ...form });
    expect((await look(access_token)).body).toMatchObject({
      active: true,
      token_use: 'access_token',
      hub_id: sandbox.portalId,
      expires_in: expect.any(Number),
      user: PERSON.account,
    });
    expect((await look(refresh_token)).body).toMatchObject({ active: true, token_use: 'refresh_token' });
    expect((await look('other')).body).toEqual({ active: false });
    expect((await look(access_token, { client_id: 'second' })).body).toEqual({ active: false });
    expect((await look(access_token, { client_secret: 'x' })).status).toBe(400);
    const revoke = (form: object) => post(`${sandbox.tokenUrl}/revoke`, { ...CLIENT, token: refresh_token, ...form });
    expect((await revoke({ client_id: 'second' })).status).toBe(200);
    expect((await refresh(sandbox, refresh_token)).status).toBe(200);
    expect((await revoke({})).status).toBe(200);
    expect((await refresh(sandbox, refresh_token)).status).toBe(400);
    expect((await look(access_token)).body.active).toBe(true);
  });

  it('by the old ones', async () => {
    const { sandbox } = await startBench();
    const { refresh_token, access_token } = await logIn(sandbox);
    const at = (path: string, method = 'GET') => fetch(`${sandbox.url}/oauth/v1/${path}`, { method });
    expect(await (await at(`access-tokens/${access_token}`)).json()).toMatchObject({ hub_id: sandbox.portalId });
    expect(await (await at(`refresh-tokens/${refresh_token}`)).json()).toMatchObject({ client_id: 'sandbox-client' });
    expect((await at(`access-tokens/${refresh_token}`)).status).toBe(404);
    expect((await at(`refresh-tokens/${refresh_token}`, 'DELETE')).status).toBe(204);
    expect((await refresh(sandbox, refresh_token)).status).toBe(400);
  });
});
