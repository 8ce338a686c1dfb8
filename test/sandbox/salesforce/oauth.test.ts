import { createPrivateKey, sign } from 'node:crypto';
import * as oidc from 'openid-client';
import { describe, expect, it } from 'vitest';
import type { Application, PersonsAnswer, SalesforceSandbox } from '../../../sandbox/salesforce/index.ts';
import { startBench } from './support.ts';

const REDIRECT = 'http://localhost:9/callback';
const USER = 'admin@clinic.example';
const DEAD = { status: 400, body: { error: 'invalid_grant', error_description: 'expired access/refresh token' } };

interface TokenAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tokens and errors
  body: any;
}

async function getToken({ tokenUrl }: SalesforceSandbox, form: Record<string, string>): Promise<TokenAnswer> {
  const body = new URLSearchParams({ client_id: 'sandbox-client', client_secret: 'sandbox-secret', ...form });
  const response = await fetch(tokenUrl, { method: 'POST', body });
  return { status: response.status, body: await response.json() };
}

interface Login {
  parameters?: Record<string, string>;
  answer?: Partial<PersonsAnswer>;
  verifier?: string;
}

/** Signs in completely as a client does. */
async function logIn(sandbox: SalesforceSandbox, { parameters = {}, answer = {}, verifier }: Login = {}) {
  const server = {
    issuer: sandbox.url,
    authorization_endpoint: sandbox.authorizeUrl,
    token_endpoint: sandbox.tokenUrl,
  };
  const configuration = new oidc.Configuration(server, 'sandbox-client', 'sandbox-secret');
  oidc.allowInsecureRequests(configuration);
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
  const url = oidc.buildAuthorizationUrl(configuration, {
    redirect_uri: REDIRECT,
    scope: 'api refresh_token',
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state: 'the-state',
    ...parameters,
  });
  const final = await sandbox.authorizeInBrowser(url.href, { account: USER, ...answer });
  return oidc.authorizationCodeGrant(configuration, new URL(final), {
    pkceCodeVerifier: verifier ?? pkceCodeVerifier,
    expectedState: 'the-state',
  });
}

function refresh(sandbox: SalesforceSandbox, token: string | undefined): Promise<TokenAnswer> {
  return getToken(sandbox, { grant_type: 'refresh_token', refresh_token: token ?? '' });
}

function withApplication(application: Partial<Application>) {
  return startBench({ applications: [{ clientSecret: 'sandbox-secret', ...application }] });
}

describe('a login', () => {
  it('works with openid-client up to an API call, and returns the instance but no expiry', async () => {
    const { sandbox, as } = await startBench();
    const tokens = await logIn(sandbox);
    expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'api refresh_token', instance_url: sandbox.url });
    expect(tokens.id).toMatch(/\/id\/00D\w{15}\/005\w{15}$/);
    expect(tokens).not.toHaveProperty('expires_in');
    expect((await as(tokens.access_token)('GET', '/limits')).status).toBe(200);
    const who = await as(tokens.access_token)('GET', '/services/oauth2/userinfo');
    expect(who.body).toMatchObject({ preferred_username: USER });
    expect(sandbox.records('User')).toEqual(expect.arrayContaining([expect.objectContaining({ Username: USER })]));
  });

  it('fails if the user denies, or with a wrong verifier, PKCE method, scope or URL', async () => {
    const { sandbox } = await startBench();
    await expect(logIn(sandbox, { answer: { deny: true } })).rejects.toMatchObject({ error: 'access_denied' });
    const verifier = oidc.randomPKCECodeVerifier();
    await expect(logIn(sandbox, { verifier })).rejects.toMatchObject({ error: 'invalid_grant' });
    await expect(logIn(sandbox, { parameters: { scope: 'all' } })).rejects.toMatchObject({ error: 'invalid_scope' });
    const open = (query: string) => sandbox.authorizeInBrowser(`${sandbox.authorizeUrl}?${query}`, { account: USER });
    const query = 'client_id=sandbox-client&response_type=code&redirect_uri=';
    expect(await open(query + encodeURIComponent(REDIRECT))).toContain('error=invalid_request');
    await expect(open(`${query}https://app.example/cb`)).rejects.toThrow('redirect_uri_mismatch');
    await expect(open('client_id=unknown')).rejects.toThrow('invalid_client_id');
  });

  it('gives no refresh token without its scope, and no API without the scope api', async () => {
    const { sandbox, as } = await startBench();
    expect((await logIn(sandbox, { parameters: { scope: 'api' } })).refresh_token).toBeUndefined();
    const narrow = await logIn(sandbox, { parameters: { scope: 'id refresh_token' } });
    expect(await as(narrow.access_token)('GET', '/limits')).toMatchObject({ status: 401, code: 'INVALID_SESSION_ID' });
  });

  it('redeems a code once, with the right secret', async () => {
    const { sandbox } = await withApplication({ requirePkce: false, redirectUris: ['https://app.example/cb'] });
    const query = 'client_id=sandbox-client&response_type=code&redirect_uri=https://app.example/cb';
    const codeOf = async (): Promise<string> => {
      const final = await sandbox.authorizeInBrowser(`${sandbox.authorizeUrl}?${query}`, { account: USER });
      return new URL(final).searchParams.get('code') ?? '';
    };
    const form = { grant_type: 'authorization_code', code: await codeOf(), redirect_uri: 'https://app.example/cb' };
    expect((await getToken(sandbox, form)).status).toBe(200);
    expect((await getToken(sandbox, form)).body).toMatchObject({ error_description: 'expired authorization code' });
    const wrong = { ...form, code: await codeOf(), client_secret: 'wrong' };
    expect(await getToken(sandbox, wrong)).toMatchObject({ status: 400, body: { error: 'invalid_client' } });
    expect((await getToken(sandbox, { grant_type: 'password' })).body.error).toBe('unsupported_grant_type');
  });
});

describe('a refresh', () => {
  it('keeps the refresh token, or replaces it where tokens rotate: the old one is dead at once', async () => {
    const { sandbox } = await startBench();
    const kept = await logIn(sandbox);
    const first = await refresh(sandbox, kept.refresh_token);
    expect(first).toMatchObject({ status: 200, body: { instance_url: sandbox.url } });
    expect(first.body).not.toHaveProperty('refresh_token');
    expect((await refresh(sandbox, kept.refresh_token)).status).toBe(200);

    const { sandbox: rotating } = await withApplication({ rotateRefreshTokens: true });
    const { refresh_token: old } = await logIn(rotating);
    const next = await refresh(rotating, old);
    expect(next.body.refresh_token).not.toBe(old);
    expect(await refresh(rotating, old)).toMatchObject(DEAD);
    expect((await refresh(rotating, next.body.refresh_token)).status).toBe(200);
    expect(rotating.counts).toMatchObject({ tokenRequests: 4, refreshes: 3 });
  });

  it('is over after the idle time, unless the token is used, and after the fixed time in any case', async () => {
    const day = 86_400_000;
    let now = Date.UTC(2027, 0, 1);
    const { sandbox } = await startBench({
      now: () => now,
      applications: [
        { clientSecret: 'sandbox-secret', refreshTokenIdleMs: 30 * day, refreshTokenLifetimeMs: 80 * day },
      ],
    });
    const { refresh_token: token } = await logIn(sandbox);
    const idle = (await logIn(sandbox)).refresh_token;
    for (const days of [29, 29]) {
      now += days * day;
      expect((await refresh(sandbox, token)).status).toBe(200);
    }
    expect(await refresh(sandbox, idle)).toMatchObject(DEAD);
    now += 22 * day;
    expect(await refresh(sandbox, token)).toMatchObject(DEAD);
    expect(sandbox.liveGrants(USER)).toBe(0);
  });

  it('of the oldest grant fails after a sixth sign-in, and its session is closed', async () => {
    const { sandbox, as } = await startBench();
    const first = await logIn(sandbox);
    const others = [];
    for (let count = 0; count < 4; count++) {
      others.push(await logIn(sandbox));
    }
    expect((await refresh(sandbox, first.refresh_token)).status).toBe(200);
    await logIn(sandbox, { answer: { account: 'other@clinic.example' } });
    expect(sandbox.liveGrants(USER)).toBe(5);
    await logIn(sandbox);
    expect(sandbox.liveGrants(USER)).toBe(5);
    expect(await refresh(sandbox, first.refresh_token)).toMatchObject(DEAD);
    expect((await as(first.access_token)('GET', '/limits')).status).toBe(401);
    expect((await refresh(sandbox, others[0]!.refresh_token)).status).toBe(200);
  });

  it('is refused for a blocked user, until the user is allowed again', async () => {
    const { sandbox } = await startBench();
    const { refresh_token: token } = await logIn(sandbox);
    for (const description of ['inactive user', 'ip restricted']) {
      sandbox.refuseUser(USER, description);
      expect((await refresh(sandbox, token)).body).toEqual({ error: 'invalid_grant', error_description: description });
    }
    await expect(logIn(sandbox)).rejects.toMatchObject({ error: 'invalid_grant' });
    sandbox.refuseUser(USER, undefined);
    expect((await refresh(sandbox, token)).status).toBe(200);
  });

  it('returns the new instance after a move', async () => {
    const { sandbox, as } = await startBench();
    const { refresh_token: token } = await logIn(sandbox);
    const url = await sandbox.moveInstance();
    const { body } = await refresh(sandbox, token);
    expect(body.instance_url).toBe(url);
    expect((await as(body.access_token)('GET', `${url}/services/data/v68.0/limits`)).status).toBe(200);
  });
});

describe('a session', () => {
  it('ends a while after its last use', async () => {
    let now = Date.UTC(2027, 0, 1);
    const { call, sandbox } = await startBench({ now: () => now, sessionTimeoutMs: 1000 });
    for (const [waited, status] of [
      [900, 200],
      [900, 200],
      [1000, 401],
    ] as const) {
      now += waited;
      expect((await call('GET', '/limits')).status).toBe(status);
    }
    expect((await call('GET', '/limits')).code).toBe('INVALID_SESSION_ID');
    expect(sandbox.counts.apiCalls).toBe(2);
  });

  it('ends when all sessions are ended, and with its grant', async () => {
    const { sandbox, as } = await startBench();
    const { access_token: token, refresh_token: lasting } = await logIn(sandbox);
    sandbox.endSessions();
    expect((await as(token)('GET', '/limits')).status).toBe(401);
    const { body } = await refresh(sandbox, lasting);
    sandbox.revokeUser(USER);
    expect((await as(body.access_token)('GET', '/limits')).status).toBe(401);
    expect(await refresh(sandbox, lasting)).toMatchObject(DEAD);
  });

  it('and its grant can be revoked by the client', async () => {
    const { sandbox, as } = await startBench();
    const { access_token: token, refresh_token: lasting } = await logIn(sandbox);
    const revoke = (value: string | undefined) =>
      fetch(sandbox.revokeUrl, { method: 'POST', body: new URLSearchParams({ token: value ?? '' }) });
    expect((await revoke(lasting)).status).toBe(200);
    expect((await as(token)('GET', '/limits')).status).toBe(401);
    expect(await refresh(sandbox, lasting)).toMatchObject(DEAD);
    expect((await revoke(lasting)).status).toBe(400);
  });
});

describe('flows without a user', () => {
  const GRANT = 'urn:ietf:params:oauth:grant-type:jwt-bearer';

  async function benchWithCertificate() {
    const bench = await withApplication({ approvedUsers: [USER] });
    const pair = bench.sandbox.createCertificate();
    bench.sandbox.application.certificates.push(pair.certificate);
    const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
    const claims = {
      iss: 'sandbox-client',
      sub: USER,
      aud: bench.sandbox.loginUrl,
      exp: Math.floor(Date.now() / 1000) + 120,
    };
    const assert = (changes: object = {}, header: object = { alg: 'RS256' }): Promise<TokenAnswer> => {
      const signed = `${encode(header)}.${encode({ ...claims, ...changes })}`;
      const signature = sign('RSA-SHA256', Buffer.from(signed), createPrivateKey(pair.privateKey)).toString(
        'base64url',
      );
      return getToken(bench.sandbox, { grant_type: GRANT, assertion: `${signed}.${signature}` });
    };
    return { ...bench, assert, now: claims.exp - 120 };
  }

  it('take a signed assertion for an approved user, without a refresh token', async () => {
    const { assert, as } = await benchWithCertificate();
    const { status, body } = await assert();
    expect(status).toBe(200);
    expect(body).not.toHaveProperty('refresh_token');
    expect((await as(body.access_token)('GET', '/limits')).status).toBe(200);
    expect((await assert({ aud: 'https://login.salesforce.com' })).status).toBe(200);
  });

  it('refuse an assertion that is wrong in any part', async () => {
    const { sandbox, assert, now } = await benchWithCertificate();
    const why = async (changes: object, header?: object) => (await assert(changes, header)).body.error_description;
    expect(await why({ aud: 'https://elsewhere.example' })).toBe('audience is invalid');
    expect(await why({ exp: now - 1 })).toBe('expired authorization code');
    expect(await why({ exp: now + 3600 })).toBe('expired authorization code');
    expect(await why({ sub: 'other@clinic.example' })).toBe("user hasn't approved this consumer");
    expect(await why({ iss: 'unknown' })).toBe('client identifier invalid');
    expect(await why({}, { alg: 'HS256' })).toBe('invalid assertion');
    sandbox.refuseUser(USER, 'inactive user');
    expect(await why({})).toBe('inactive user');
    sandbox.application.certificates = [sandbox.createCertificate().certificate];
    expect(await why({})).toBe('invalid assertion');
    const bad = await getToken(sandbox, { grant_type: GRANT, assertion: 'a.b' });
    expect(bad.body.error_description).toBe('invalid assertion');
  });

  it('give client credentials the user that the administrator chose', async () => {
    const { sandbox, as } = await withApplication({ runAs: USER });
    const { body } = await getToken(sandbox, { grant_type: 'client_credentials' });
    expect(body).not.toHaveProperty('refresh_token');
    expect((await as(body.access_token)('GET', '/services/oauth2/userinfo')).body.preferred_username).toBe(USER);
    const off = await startBench();
    expect((await getToken(off.sandbox, { grant_type: 'client_credentials' })).body.error).toBe('invalid_grant');
  });
});
