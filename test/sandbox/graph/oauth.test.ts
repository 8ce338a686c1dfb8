import { createPrivateKey, randomUUID, sign } from 'node:crypto';
import * as oidc from 'openid-client';
import { describe, expect, it } from 'vitest';
import type { CertificateWithKey, GraphSandbox, PersonsAnswer } from '../../../sandbox/graph/index.ts';
import { DOCTOR, startBench } from './support.ts';

const REDIRECT = 'http://localhost:9/callback';
const SCOPE = 'openid profile offline_access https://graph.microsoft.com/Calendars.ReadWrite';
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

function discover(sandbox: GraphSandbox, secret = 'sandbox-secret'): Promise<oidc.Configuration> {
  return oidc.discovery(new URL(sandbox.issuer), 'sandbox-client', secret, undefined, {
    execute: [oidc.allowInsecureRequests],
  });
}

interface Login {
  parameters?: Record<string, string>;
  answer?: Partial<PersonsAnswer>;
  verifier?: string;
}

/** Signs in completely as a client does. */
async function logIn(sandbox: GraphSandbox, { parameters = {}, answer = {}, verifier }: Login = {}) {
  const configuration = await discover(sandbox);
  const pkceCodeVerifier = oidc.randomPKCECodeVerifier();
  const state = oidc.randomState();
  const url = oidc.buildAuthorizationUrl(configuration, {
    redirect_uri: REDIRECT,
    scope: SCOPE,
    code_challenge: await oidc.calculatePKCECodeChallenge(pkceCodeVerifier),
    code_challenge_method: 'S256',
    state,
    ...parameters,
  });
  const final = await sandbox.authorizeInBrowser(url.href, { account: DOCTOR, ...answer });
  const tokens = await oidc.authorizationCodeGrant(configuration, new URL(final), {
    pkceCodeVerifier: verifier ?? pkceCodeVerifier,
    expectedState: state,
  });
  return { configuration, tokens };
}

interface TokenAnswer {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: tokens and errors
  body: any;
}

async function post(url: string, form: Record<string, string>): Promise<TokenAnswer> {
  const response = await fetch(url, { method: 'POST', body: new URLSearchParams(form) });
  return { status: response.status, body: await response.json() };
}

function getToken(sandbox: GraphSandbox, form: Record<string, string>): Promise<TokenAnswer> {
  return post(sandbox.tokenUrl, { client_id: 'sandbox-client', client_secret: 'sandbox-secret', ...form });
}

function refresh(sandbox: GraphSandbox, token: string | undefined, form: Record<string, string> = {}) {
  return getToken(sandbox, { grant_type: 'refresh_token', refresh_token: token ?? '', ...form });
}

describe('logging in', () => {
  it('works with openid-client from discovery to an API call', async () => {
    const { sandbox, as } = await startBench();
    const { tokens } = await logIn(sandbox);
    expect(tokens).toMatchObject({ token_type: 'bearer', scope: 'openid profile Calendars.ReadWrite' });
    expect(tokens.claims()).toMatchObject({ iss: sandbox.issuer, preferred_username: DOCTOR, tid: sandbox.tenantId });
    expect(tokens.expires_in).toBeGreaterThanOrEqual(3600);
    expect(tokens.expires_in).toBeLessThanOrEqual(5400);
    expect((await as(tokens.access_token)('GET', '/me')).body.mail).toBe(DOCTOR);
    expect((await as(tokens.access_token)('GET', '/me/events')).status).toBe(200);
  });

  it('identifies the user in id tokens only by their scopes', async () => {
    const { sandbox } = await startBench();
    const { tokens } = await logIn(sandbox, { parameters: { scope: 'openid' } });
    const claims = { ...tokens.claims() };
    expect(claims).toMatchObject({ sub: expect.any(String), tid: sandbox.tenantId });
    for (const name of ['oid', 'preferred_username', 'email']) expect(claims).not.toHaveProperty(name);
  });

  it('gives no refresh token without offline_access', async () => {
    const { sandbox } = await startBench();
    const { tokens } = await logIn(sandbox, { parameters: { scope: 'Calendars.Read' } });
    expect(tokens.refresh_token).toBeUndefined();
  });

  it('fails when the person declines, the verifier is wrong, or PKCE is missing for a public client', async () => {
    const { sandbox } = await startBench();
    await expect(logIn(sandbox, { answer: { deny: true } })).rejects.toMatchObject({ error: 'access_denied' });
    const verifier = oidc.randomPKCECodeVerifier();
    await expect(logIn(sandbox, { verifier })).rejects.toMatchObject({ error: 'invalid_grant' });
    const open = await startBench({ applications: [{ clientId: 'public' }] });
    const query = `client_id=public&response_type=code&scope=Calendars.Read&redirect_uri=${encodeURIComponent(REDIRECT)}`;
    const url = `${open.sandbox.url}/${open.sandbox.tenantId}/oauth2/v2.0/authorize?${query}`;
    const final = new URL(await open.sandbox.authorizeInBrowser(url, { account: DOCTOR }));
    expect(final.searchParams.get('error')).toBe('invalid_request');
  });

  it('redirects to registered and loopback URLs only', async () => {
    const { sandbox } = await startBench({
      applications: [{ clientSecret: 's', redirectUris: ['https://app.example/cb'] }],
    });
    const open = (redirectUri: string) =>
      sandbox.authorizeInBrowser(
        `${sandbox.url}/${sandbox.tenantId}/oauth2/v2.0/authorize?client_id=sandbox-client&response_type=code` +
          `&scope=Calendars.Read&redirect_uri=${encodeURIComponent(redirectUri)}`,
        { account: DOCTOR },
      );
    expect(await open('https://app.example/cb')).toContain('https://app.example/cb?code=');
    await expect(open('https://app.example/other')).rejects.toThrow('400');
  });

  it('redeems a code once', async () => {
    const { sandbox } = await startBench();
    const url =
      `${sandbox.url}/${sandbox.tenantId}/oauth2/v2.0/authorize?client_id=sandbox-client&response_type=code` +
      `&scope=Calendars.Read&redirect_uri=${encodeURIComponent(REDIRECT)}`;
    const code = new URL(await sandbox.authorizeInBrowser(url, { account: DOCTOR })).searchParams.get('code') ?? '';
    const form = { grant_type: 'authorization_code', code, redirect_uri: REDIRECT };
    expect((await getToken(sandbox, form)).status).toBe(200);
    expect(await getToken(sandbox, form)).toMatchObject({ status: 400, body: { error: 'invalid_grant' } });
  });

  it('knows its tenant, and the names for any', async () => {
    const { sandbox } = await startBench();
    const discovery = (tenant: string) => fetch(`${sandbox.url}/${tenant}/v2.0/.well-known/openid-configuration`);
    expect(await (await discovery('organizations')).json()).toMatchObject({ issuer: `${sandbox.url}/{tenantid}/v2.0` });
    const other = await discovery('elsewhere.example');
    expect(other.status).toBe(400);
    expect(await other.json()).toMatchObject({ error: 'invalid_tenant', error_codes: [90_002] });
  });
});

describe('a refresh', () => {
  it('brings a new refresh token each time, and the old one stays good', async () => {
    const { sandbox } = await startBench();
    const { tokens } = await logIn(sandbox);
    const first = await refresh(sandbox, tokens.refresh_token);
    expect(first.body.refresh_token).not.toBe(tokens.refresh_token);
    expect((await refresh(sandbox, tokens.refresh_token)).status).toBe(200);
    expect((await refresh(sandbox, first.body.refresh_token)).status).toBe(200);
    expect(sandbox.counts.tokenRequests).toBe(4);
  });

  it('may request fewer scopes, not more', async () => {
    const { sandbox } = await startBench();
    const { tokens } = await logIn(sandbox);
    expect((await refresh(sandbox, tokens.refresh_token, { scope: 'openid' })).body.scope).toBe('openid');
    const more = await refresh(sandbox, tokens.refresh_token, { scope: 'User.Read.All' });
    expect(more.body).toMatchObject({ error: 'invalid_grant', suberror: 'consent_required' });
  });

  it('fails after 90 days, after revocation, and while user interaction is required', async () => {
    let now = Date.now();
    const { sandbox } = await startBench({ now: () => now });
    const { tokens } = await logIn(sandbox);
    sandbox.requireInteraction(DOCTOR);
    expect((await refresh(sandbox, tokens.refresh_token)).body).toMatchObject({
      error: 'invalid_grant',
      suberror: 'basic_action',
      error_codes: [50_076],
    });
    const { tokens: newer } = await logIn(sandbox);
    expect((await refresh(sandbox, tokens.refresh_token)).status).toBe(200);
    sandbox.revokeConsent(DOCTOR);
    const revoked = await refresh(sandbox, newer.refresh_token);
    expect(revoked).toMatchObject({ status: 400, body: { error: 'invalid_grant', suberror: 'bad_token' } });
    const { tokens: last } = await logIn(sandbox);
    now += 90 * 86_400_000;
    expect((await refresh(sandbox, last.refresh_token)).body).toMatchObject({ suberror: 'token_expired' });
  });

  it('with the claims of a challenge brings a token that satisfies it', async () => {
    const { sandbox, as } = await startBench();
    const { tokens } = await logIn(sandbox);
    sandbox.challengeClaims(DOCTOR);
    const refused = await as(tokens.access_token)('GET', '/me/events');
    const header = /claims="([^"]+)"/.exec(refused.headers.get('www-authenticate') ?? '')?.[1] ?? '';
    const claims = Buffer.from(header, 'base64').toString();
    const plain = await refresh(sandbox, tokens.refresh_token);
    expect((await as(plain.body.access_token)('GET', '/me/events')).status).toBe(401);
    const answered = await refresh(sandbox, tokens.refresh_token, { claims });
    expect((await as(answered.body.access_token)('GET', '/me/events')).status).toBe(200);
    sandbox.challengeClaims(DOCTOR, true);
    expect((await refresh(sandbox, tokens.refresh_token, { claims })).body.error).toBe('interaction_required');
    expect((await as(answered.body.access_token)('GET', '/me/events')).status).toBe(401);
  });

  it('may fail for a while by fault', async () => {
    const { sandbox } = await startBench();
    const { tokens } = await logIn(sandbox);
    sandbox.faults.add({ match: { path: '/token' }, times: 1, fault: { kind: 'status', status: 503 } });
    const failed = await refresh(sandbox, tokens.refresh_token);
    expect(failed).toMatchObject({ status: 503, body: { error: 'temporarily_unavailable' } });
    expect((await refresh(sandbox, tokens.refresh_token)).status).toBe(200);
  });
});

describe('a device', () => {
  async function begin(sandbox: GraphSandbox) {
    const url = sandbox.tokenUrl.replace(/token$/, 'devicecode');
    const { body } = await post(url, { client_id: 'sandbox-client', scope: SCOPE });
    const poll = () => getToken(sandbox, { grant_type: DEVICE_GRANT, device_code: body.device_code });
    return { body, poll };
  }

  it('waits for the person, then gets its tokens once', async () => {
    const { sandbox } = await startBench();
    const { body, poll } = await begin(sandbox);
    expect(body).toMatchObject({ expires_in: 900, interval: 5 });
    expect(body.verification_uri_complete).toBeUndefined();
    expect(body.message).toContain(body.user_code);
    expect(await poll()).toMatchObject({ status: 400, body: { error: 'authorization_pending' } });
    await sandbox.approveDevice(body.user_code, { account: DOCTOR });
    expect((await poll()).body).toMatchObject({ refresh_token: expect.any(String), token_type: 'Bearer' });
    expect((await poll()).body.error).toBe('bad_verification_code');
  });

  it('is declined, expires, or was never known', async () => {
    let now = Date.now();
    const { sandbox } = await startBench({ now: () => now });
    const declined = await begin(sandbox);
    await sandbox.approveDevice(declined.body.user_code, { account: DOCTOR, deny: true });
    expect((await declined.poll()).body.error).toBe('authorization_declined');
    const late = await begin(sandbox);
    now += 900_000;
    expect((await late.poll()).body.error).toBe('expired_token');
    await expect(sandbox.approveDevice(late.body.user_code, { account: DOCTOR })).rejects.toThrow('400');
    const unknown = await getToken(sandbox, { grant_type: DEVICE_GRANT, device_code: 'x' });
    expect(unknown.body.error).toBe('bad_verification_code');
  });

  it('logs in with openid-client', async () => {
    const { sandbox } = await startBench({ devicePollIntervalS: 0.01 });
    const configuration = await discover(sandbox);
    const device = await oidc.initiateDeviceAuthorization(configuration, { scope: SCOPE });
    await sandbox.approveDevice(device.user_code, { account: DOCTOR });
    const tokens = await oidc.pollDeviceAuthorizationGrant(configuration, device);
    expect(tokens.claims()?.preferred_username).toBe(DOCTOR);
  });
});

describe('app-only access', () => {
  const appToken = { grant_type: 'client_credentials', scope: 'https://graph.microsoft.com/.default' };

  it('gets a token by its secret, for everything that it was given, and no refresh token', async () => {
    const { sandbox, as } = await startBench();
    const { body } = await getToken(sandbox, appToken);
    expect(body.refresh_token).toBeUndefined();
    expect((await as(body.access_token)('GET', `/users/${DOCTOR}/events`)).status).toBe(200);
  });

  it.each([
    [{ client_secret: 'wrong' }, 401, 'invalid_client'],
    [{ client_id: 'unknown' }, 400, 'unauthorized_client'],
    [{ scope: 'https://graph.microsoft.com/Calendars.Read' }, 400, 'invalid_scope'],
    [{ grant_type: 'password' }, 400, 'unsupported_grant_type'],
  ])('is refused with %j', async (form, status, error) => {
    const { sandbox } = await startBench();
    const refused = await getToken(sandbox, { ...appToken, ...form });
    expect(refused).toMatchObject({ status, body: { error, error_codes: [expect.any(Number)] } });
    expect(refused.body.error_description).toMatch(/^AADSTS\d+: /);
  });

  it('gets a token by a certificate that signs its assertion', async () => {
    const { sandbox } = await startBench();
    const certificate = sandbox.createCertificate();
    const withAssertion = (changes: Record<string, unknown> = {}, key: CertificateWithKey = certificate) =>
      post(sandbox.tokenUrl, {
        ...appToken,
        client_id: 'sandbox-client',
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
        client_assertion: assertion(certificate.thumbprint, key.privateKey, sandbox.tokenUrl, changes),
      });
    expect((await withAssertion()).body).toMatchObject({ error: 'invalid_client', error_codes: [700_027] });
    sandbox.registerCertificate(certificate.certificate);
    expect((await withAssertion()).body.access_token).toEqual(expect.any(String));
    expect((await withAssertion({ aud: sandbox.issuer })).status).toBe(200);
    expect((await withAssertion({ aud: 'https://elsewhere.example' })).body.error_codes).toEqual([700_023]);
    expect((await withAssertion({ sub: 'someone' })).body.error_codes).toEqual([700_021]);
    expect((await withAssertion({ exp: 1 })).body.error_codes).toEqual([700_024]);
    expect((await withAssertion({}, sandbox.createCertificate())).body.error_codes).toEqual([700_027]);
  });

  it('gets a token by openid-client’s private_key_jwt', async () => {
    const { sandbox } = await startBench();
    const { certificate, privateKey, thumbprint } = sandbox.createCertificate();
    sandbox.registerCertificate(certificate);
    const der = createPrivateKey(privateKey).export({ type: 'pkcs8', format: 'der' });
    const algorithm = { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' };
    const key = await crypto.subtle.importKey('pkcs8', new Uint8Array(der), algorithm, false, ['sign']);
    const authentication = oidc.PrivateKeyJwt({ key, kid: thumbprint });
    const configuration = await oidc.discovery(new URL(sandbox.issuer), 'sandbox-client', undefined, authentication, {
      execute: [oidc.allowInsecureRequests],
    });
    const tokens = await oidc.clientCredentialsGrant(configuration, { scope: appToken.scope });
    expect(tokens.expires_in).toBeGreaterThanOrEqual(3600);
  });
});

function assertion(thumbprint: string, privateKey: string, audience: string, changes: Record<string, unknown>): string {
  const now = Math.floor(Date.now() / 1000);
  const claims = {
    aud: audience,
    iss: 'sandbox-client',
    sub: 'sandbox-client',
    jti: randomUUID(),
    nbf: now,
    exp: now + 600,
  };
  const encode = (value: object): string => Buffer.from(JSON.stringify(value)).toString('base64url');
  const header = { alg: 'RS256', typ: 'JWT', 'x5t#S256': thumbprint };
  const signed = `${encode(header)}.${encode({ ...claims, ...changes })}`;
  return `${signed}.${sign('RSA-SHA256', Buffer.from(signed), privateKey).toString('base64url')}`;
}
