import * as oidc from 'openid-client';
import { describe, expect, it } from 'vitest';
import type { GoogleSandbox, PersonsAnswer } from '../../../sandbox/google/index.ts';
import { requestServiceAccountToken, serviceAccountToken } from './service-account-token.ts';
import { DOCTOR, startBench } from './support.ts';

const REDIRECT = 'http://127.0.0.1:9/callback';
const EVENTS_SCOPE = 'https://www.googleapis.com/auth/calendar.events';
const LIST_SCOPE = 'https://www.googleapis.com/auth/calendar.calendarlist.readonly';

function discover(sandbox: GoogleSandbox, secret = 'sandbox-secret'): Promise<oidc.Configuration> {
  return oidc.discovery(new URL(sandbox.issuer), 'sandbox-client', secret, undefined, {
    execute: [oidc.allowInsecureRequests],
  });
}

interface Login {
  parameters?: Record<string, string>;
  answer?: Partial<PersonsAnswer>;
  verifier?: string;
}

/** Signs in completely as a client does; resolves to the token answer. */
async function logIn(sandbox: GoogleSandbox, { parameters = {}, answer = {}, verifier }: Login = {}) {
  const configuration = await discover(sandbox);
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
  const state = oidc.randomState();
  const url = oidc.buildAuthorizationUrl(configuration, {
    redirect_uri: REDIRECT,
    scope: `${EVENTS_SCOPE} ${LIST_SCOPE}`,
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    access_type: 'offline',
    state,
    ...parameters,
  });
  const final = await sandbox.authorizeInBrowser(url.href, { account: DOCTOR, ...answer });
  const tokens = await oidc.authorizationCodeGrant(configuration, new URL(final), {
    pkceCodeVerifier: verifier ?? pkceCodeVerifier,
    expectedState: state,
    ...(parameters.nonce === undefined ? {} : { expectedNonce: parameters.nonce }),
  });
  return { configuration, tokens, url, final };
}

function getToken(sandbox: GoogleSandbox, form: Record<string, string>): Promise<Response> {
  const client = { client_id: 'sandbox-client', client_secret: 'sandbox-secret' };
  return fetch(sandbox.tokenUrl, { method: 'POST', body: new URLSearchParams({ ...client, ...form }) });
}

async function statusAndError(response: Response): Promise<unknown[]> {
  const body = await response.json();
  return [response.status, typeof body === 'object' && body !== null && 'error' in body ? body.error : undefined];
}

describe('logging in', () => {
  it('works with openid-client from discovery to an API call', async () => {
    const { sandbox, as } = await startBench();
    const { tokens } = await logIn(sandbox);
    expect(tokens).toMatchObject({ token_type: 'bearer', expires_in: 3599, scope: `${EVENTS_SCOPE} ${LIST_SCOPE}` });
    expect(tokens.refresh_token).toEqual(expect.any(String));
    expect(tokens.id_token).toBeUndefined();
    expect((await as(tokens.access_token)('GET', '/calendars/primary/events')).status).toBe(200);
  });

  it('identifies the user if the scope openid is requested', async () => {
    const { sandbox } = await startBench();
    const parameters = { scope: `openid email ${EVENTS_SCOPE}`, nonce: 'n-1' };
    const { configuration, tokens } = await logIn(sandbox, { parameters });
    expect(tokens.claims()).toMatchObject({ iss: sandbox.issuer, email: DOCTOR, aud: 'sandbox-client', nonce: 'n-1' });
    const info = await oidc.fetchUserInfo(configuration, tokens.access_token, String(tokens.claims()?.sub));
    expect(info.email).toBe(DOCTOR);
  });

  it('grants only the scopes that stay ticked', async () => {
    const { sandbox, as } = await startBench();
    const { tokens } = await logIn(sandbox, { answer: { scopes: [LIST_SCOPE] } });
    expect(tokens.scope).toBe(LIST_SCOPE);
    const call = as(tokens.access_token);
    expect((await call('GET', '/users/me/calendarList')).status).toBe(200);
    expect(await call('GET', '/calendars/primary/events')).toMatchObject({
      status: 403,
      reason: 'insufficientPermissions',
    });
  });

  it('fails with access_denied if the user denies or unticks everything', async () => {
    const { sandbox } = await startBench();
    await expect(logIn(sandbox, { answer: { deny: true } })).rejects.toMatchObject({ error: 'access_denied' });
    await expect(logIn(sandbox, { answer: { scopes: [] } })).rejects.toMatchObject({ error: 'access_denied' });
  });

  it('answers with issuer and state (RFC 9207)', async () => {
    const { sandbox } = await startBench();
    const { url } = await logIn(sandbox);
    url.searchParams.set('state', 'a b&c');
    const answer = new URL(await sandbox.authorizeInBrowser(url.href, { account: DOCTOR })).searchParams;
    expect([answer.get('state'), answer.get('iss')]).toEqual(['a b&c', sandbox.issuer]);
  });

  it('refuses a wrong verifier, a second use of the code and another redirect URI', async () => {
    const { sandbox } = await startBench();
    const wrong = logIn(sandbox, { verifier: oidc.randomPKCECodeVerifier() });
    await expect(wrong).rejects.toMatchObject({ error: 'invalid_grant' });
    const { final, url } = await logIn(sandbox);
    const used = new URL(final).searchParams.get('code') ?? '';
    const form = { grant_type: 'authorization_code', code: used, redirect_uri: REDIRECT, code_verifier: 'x' };
    expect(await statusAndError(await getToken(sandbox, form))).toEqual([400, 'invalid_grant']);
    const fresh = new URL(await sandbox.authorizeInBrowser(url.href, { account: DOCTOR })).searchParams.get('code');
    const moved = { ...form, code: fresh ?? '', redirect_uri: 'http://127.0.0.1:10/callback' };
    expect(await statusAndError(await getToken(sandbox, moved))).toEqual([400, 'redirect_uri_mismatch']);
  });

  it('refuses a code after ten minutes', async () => {
    let now = Date.now();
    const { sandbox } = await startBench({ now: () => now });
    const { url } = await logIn(sandbox);
    const code =
      new URL(await sandbox.authorizeInBrowser(url.href, { account: DOCTOR })).searchParams.get('code') ?? '';
    now += 600_000;
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT };
    expect(await statusAndError(await getToken(sandbox, form))).toEqual([400, 'invalid_grant']);
  });

  it('shows an error page, without a redirect, for an unknown client or a foreign redirect URI', async () => {
    const clients = [{}, { clientId: 'web', type: 'web' as const, redirectUris: ['https://app.example/cb'] }];
    const { sandbox } = await startBench({ clients });
    const { url } = await logIn(sandbox);
    const change = (name: string, value: string): string => {
      const changed = new URL(url);
      changed.searchParams.set(name, value);
      return changed.href;
    };
    const person = { account: DOCTOR };
    await expect(sandbox.authorizeInBrowser(change('client_id', 'nobody'), person)).rejects.toThrow('invalid_client');
    await expect(sandbox.authorizeInBrowser(change('redirect_uri', 'https://evil.example/'), person)).rejects.toThrow(
      'redirect_uri_mismatch',
    );
    await expect(sandbox.authorizeInBrowser(change('client_id', 'web'), person)).rejects.toThrow(
      'redirect_uri_mismatch',
    );
    expect(await sandbox.authorizeInBrowser(change('redirect_uri', 'http://127.0.0.1:4242/x'), person)).toContain(
      ':4242/x',
    );
  });

  it.each([
    ['scope', 'https://www.googleapis.com/auth/drive', 'invalid_scope'],
    ['response_type', 'token', 'unsupported_response_type'],
    ['code_challenge_method', 'plain', 'invalid_request'],
    ['prompt', 'none', 'interaction_required'],
  ])('sends %s=%s back as %s', async (name, value, error) => {
    const { sandbox } = await startBench();
    const { url } = await logIn(sandbox);
    url.searchParams.set(name, value);
    const answer = new URL(await sandbox.authorizeInBrowser(url.href, { account: DOCTOR }));
    expect(answer.searchParams.get('error')).toBe(error);
  });
});

describe('refresh tokens', () => {
  it('are issued only at the first consent, unless consent is requested again', async () => {
    const { sandbox } = await startBench();
    expect((await logIn(sandbox)).tokens.refresh_token).toBeDefined();
    expect((await logIn(sandbox)).tokens.refresh_token).toBeUndefined();
    expect((await logIn(sandbox, { parameters: { prompt: 'consent' } })).tokens.refresh_token).toBeDefined();
    const other = { answer: { account: 'other@clinic.example' } };
    expect(
      (await logIn(sandbox, { ...other, parameters: { access_type: 'online' } })).tokens.refresh_token,
    ).toBeUndefined();
  });

  it('give new access tokens and are not rotated', async () => {
    const { sandbox, as } = await startBench();
    const { configuration, tokens } = await logIn(sandbox);
    const refreshed = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
    expect(refreshed.refresh_token).toBeUndefined();
    expect(refreshed.access_token).not.toBe(tokens.access_token);
    expect((await as(refreshed.access_token)('GET', '/calendars/primary/events')).status).toBe(200);
    await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
    expect(sandbox.counts.tokenRequests).toBe(3);
  });

  it('can be narrowed, not widened', async () => {
    const { sandbox } = await startBench();
    const { configuration, tokens } = await logIn(sandbox, { answer: { scopes: [EVENTS_SCOPE] } });
    const refresh = (scope: string) => oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '', { scope });
    expect((await refresh(EVENTS_SCOPE)).scope).toBe(EVENTS_SCOPE);
    await expect(refresh(LIST_SCOPE)).rejects.toMatchObject({ error: 'invalid_scope' });
  });

  it('die when the person ends the consent, with the access tokens', async () => {
    const { sandbox, as } = await startBench();
    const { configuration, tokens } = await logIn(sandbox);
    sandbox.revokeConsent(DOCTOR);
    const refresh = oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
    await expect(refresh).rejects.toMatchObject({ error: 'invalid_grant', status: 400 });
    expect((await as(tokens.access_token)('GET', '/calendars/primary/events')).status).toBe(401);
    expect((await logIn(sandbox)).tokens.refresh_token).toBeDefined();
  });

  it('die by revocation, which a second time is an error', async () => {
    const { sandbox } = await startBench();
    const { configuration, tokens } = await logIn(sandbox);
    await oidc.tokenRevocation(configuration, tokens.refresh_token ?? '');
    await expect(oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    });
    const again = await fetch(`${sandbox.url}/revoke?token=${tokens.access_token}`, { method: 'POST' });
    expect(again.status).toBe(400);
  });

  it('can have an expiry time, and report it', async () => {
    let now = Date.now();
    const { sandbox } = await startBench({ refreshTokenLifetimeMs: 7 * 86_400_000, now: () => now });
    const { configuration, tokens } = await logIn(sandbox);
    expect(tokens.refresh_token_expires_in).toBe(604_800);
    now += 6 * 86_400_000;
    const later = await oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '');
    expect(later.refresh_token_expires_in).toBe(86_400);
    now += 86_400_000;
    await expect(oidc.refreshTokenGrant(configuration, tokens.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    });
  });

  it('die after six months without use', async () => {
    let now = Date.now();
    const { sandbox } = await startBench({ now: () => now });
    const { tokens } = await logIn(sandbox);
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' };
    now += 182 * 86_400_000;
    expect((await getToken(sandbox, form)).status).toBe(200);
    now += 183 * 86_400_000;
    expect(await statusAndError(await getToken(sandbox, form))).toEqual([400, 'invalid_grant']);
  });

  it('are limited to 100 per account and client: the oldest dies', async () => {
    const { sandbox } = await startBench();
    const { tokens: first } = await logIn(sandbox);
    for (let count = 0; count < 99; count++) {
      await logIn(sandbox, { parameters: { prompt: 'consent' } });
    }
    const form = { grant_type: 'refresh_token', refresh_token: first.refresh_token ?? '' };
    expect((await getToken(sandbox, form)).status).toBe(200);
    await logIn(sandbox, { parameters: { prompt: 'consent' } });
    expect((await getToken(sandbox, form)).status).toBe(400);
  });
});

describe('the token endpoint', () => {
  it('knows its clients', async () => {
    const { sandbox } = await startBench();
    const { tokens } = await logIn(sandbox);
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' };
    expect(await statusAndError(await getToken(sandbox, { ...form, client_secret: 'no' }))).toEqual([
      401,
      'invalid_client',
    ]);
    expect(await statusAndError(await getToken(sandbox, { ...form, client_id: 'no' }))).toEqual([
      401,
      'invalid_client',
    ]);
    expect(await statusAndError(await getToken(sandbox, { grant_type: 'password' }))).toEqual([
      400,
      'unsupported_grant_type',
    ]);
  });

  it('gives access tokens of the configured lifetime', async () => {
    const { sandbox } = await startBench({ accessTokenLifetimeMs: 120_000 });
    expect((await logIn(sandbox)).tokens.expires_in).toBe(120);
  });

  it('fails on demand like any other path', async () => {
    const { sandbox } = await startBench();
    const { tokens } = await logIn(sandbox);
    sandbox.faults.add({ match: { path: '^/token' }, fault: { kind: 'status', status: 503 } });
    const form = { grant_type: 'refresh_token', refresh_token: tokens.refresh_token ?? '' };
    expect(await statusAndError(await getToken(sandbox, form))).toEqual([503, 'internal_failure']);
  });
});

describe('service accounts', () => {
  const ROBOT = 'robot@project.iam.gserviceaccount.example';

  it('get tokens for themselves with their key', async () => {
    const { sandbox, as, calendarId, events } = await startBench();
    const keyFile = sandbox.createServiceAccount(ROBOT);
    const { access_token, expires_in } = await serviceAccountToken(keyFile);
    expect(expires_in).toBe(3599);
    expect((await as(access_token)('GET', events)).status).toBe(404);
    sandbox.setRole(calendarId, ROBOT, 'writer');
    expect((await as(access_token)('GET', events)).status).toBe(200);
  });

  it('act for the people and scopes that are listed', async () => {
    const { sandbox, as, events } = await startBench();
    const keyFile = sandbox.createServiceAccount(ROBOT, { subjects: [DOCTOR], scopes: ['calendar'] });
    const { access_token } = await serviceAccountToken(keyFile, { sub: DOCTOR });
    expect((await as(access_token)('GET', events)).status).toBe(200);

    const unauthorized = [401, 'unauthorized_client'];
    const other = await requestServiceAccountToken(keyFile, { sub: 'other@clinic.example' });
    expect(await statusAndError(other)).toEqual(unauthorized);
    const wider = await requestServiceAccountToken(keyFile, { sub: DOCTOR, scope: EVENTS_SCOPE });
    expect(await statusAndError(wider)).toEqual(unauthorized);
    sandbox.delegate(ROBOT, undefined);
    expect(await statusAndError(await requestServiceAccountToken(keyFile, { sub: DOCTOR }))).toEqual(unauthorized);
    sandbox.delegate(ROBOT, { subjects: 'all', scopes: ['calendar'] });
    const nobody = await requestServiceAccountToken(keyFile, { sub: 'nobody@clinic.example' });
    expect(await statusAndError(nobody)).toEqual([400, 'invalid_grant']);
  });

  it.each([
    ['signed for another audience', { aud: 'https://elsewhere.example/token' }, 'invalid_grant'],
    ['that is over', { iat: 1_700_000_000, exp: 1_700_003_600 }, 'invalid_grant'],
    ['that lives too long', { exp: Math.floor(Date.now() / 1000) + 7200 }, 'invalid_grant'],
    ['of an unknown account', { iss: 'nobody@project.example' }, 'invalid_grant'],
    ['without a scope', { scope: '' }, 'invalid_scope'],
  ])('are refused an assertion %s', async (_what, claims: Record<string, string | number>, error) => {
    const { sandbox } = await startBench();
    const keyFile = sandbox.createServiceAccount(ROBOT);
    expect(await statusAndError(await requestServiceAccountToken(keyFile, claims))).toEqual([400, error]);
  });

  it('are refused an assertion signed with another key', async () => {
    const { sandbox } = await startBench();
    const keyFile = sandbox.createServiceAccount(ROBOT);
    const otherKey = sandbox.createServiceAccount('other@project.example').private_key;
    expect(await statusAndError(await requestServiceAccountToken(keyFile, {}, otherKey))).toEqual([
      400,
      'invalid_grant',
    ]);
  });
});
