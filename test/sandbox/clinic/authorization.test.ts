import * as client from 'openid-client';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test, vi } from 'vitest';
import { authorizeInBrowser, type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { call, discover, firstTenant, logIn, prepareLogin, REDIRECT_URI } from './support.ts';

const SCOPE = 'openid offline_access svc.agenda svc.patients';

let sandbox: ClinicSandbox;

beforeAll(async () => {
  sandbox = await startClinicSandbox({
    tenants: 1,
    appointments: 40,
    clients: [
      { clientId: 'desktop', clientSecret: 'desktop-secret', redirectUris: [REDIRECT_URI] },
      { clientId: 'public', redirectUris: [REDIRECT_URI] },
      { clientId: 'web', clientSecret: 'web-secret', redirectUris: ['https://web.example.com/callback'] },
      { clientId: 'doomed', clientSecret: 'doomed-secret', redirectUris: [REDIRECT_URI] },
    ],
  });
});

afterAll(() => sandbox.close());

function userinfo(accessToken: string): Promise<{ status: number }> {
  return call(sandbox, accessToken, 'GET', '/v2/userinfo');
}

describe('discovery', () => {
  test('states the endpoints of the specification and the issuer', async () => {
    const metadata = (await discover(sandbox)).serverMetadata();
    expect(metadata).toMatchObject({
      issuer: sandbox.authUrl,
      authorization_endpoint: `${sandbox.authUrl}/connect/authorize`,
      token_endpoint: `${sandbox.authUrl}/connect/token`,
      userinfo_endpoint: `${sandbox.baseUrl}/v2/userinfo`,
      authorization_response_iss_parameter_supported: true,
      code_challenge_methods_supported: ['S256'],
    });
    expect(metadata.device_authorization_endpoint).toMatch(sandbox.authUrl);
    expect(metadata.revocation_endpoint).toMatch(sandbox.authUrl);
  });
});

describe('authorization code', () => {
  test('issues tokens for the granted scopes, and the response names its issuer', async () => {
    const configuration = await discover(sandbox);
    const { url, verifier, state } = await prepareLogin(configuration, SCOPE);
    const callback = new URL(await authorizeInBrowser(url, firstTenant(sandbox).user));
    expect(callback.searchParams.get('iss')).toBe(sandbox.authUrl);
    const tokens = await client.authorizationCodeGrant(configuration, callback, {
      pkceCodeVerifier: verifier,
      expectedState: state,
    });
    expect(tokens.scope?.split(' ').sort()).toEqual(SCOPE.split(' ').sort());
    expect(tokens.refresh_token).toBeTypeOf('string');
    expect(tokens.expires_in).toBe(3600);
    expect((await userinfo(tokens.access_token)).status).toBe(200);
  });

  test('accepts that the user grants a subset; scopes not granted are missing from the token', async () => {
    const person = { ...firstTenant(sandbox).user, scopes: ['offline_access', 'svc.patients'] };
    const tokens = await logIn(sandbox, person, { scope: SCOPE });
    expect(tokens.scope?.split(' ').sort()).toEqual(['offline_access', 'openid', 'svc.patients']);
    const { status, body } = await call(
      sandbox,
      tokens.access_token,
      'GET',
      `/v2/tenants/${firstTenant(sandbox).id}/appointments`,
    );
    expect([status, body.error]).toEqual([403, 'missing_claim']);
  });

  test('gives no refresh token without offline_access', async () => {
    const tokens = await logIn(sandbox, firstTenant(sandbox).user, { scope: 'openid svc.agenda' });
    expect(tokens.refresh_token).toBeUndefined();
  });

  test('gives no refresh token when the user leaves offline_access out', async () => {
    const tokens = await logIn(sandbox, { ...firstTenant(sandbox).user, scopes: ['svc.agenda'] }, { scope: SCOPE });
    expect(tokens.refresh_token).toBeUndefined();
  });

  test('sends a refusal back as access_denied with state and issuer', async () => {
    const { url, state } = await prepareLogin(await discover(sandbox), SCOPE);
    const callback = new URL(await authorizeInBrowser(url, { ...firstTenant(sandbox).user, deny: true }));
    expect(Object.fromEntries(callback.searchParams)).toMatchObject({
      error: 'access_denied',
      state,
      iss: sandbox.authUrl,
    });
  });

  test('requires PKCE of public clients, and of others if the option is set', async () => {
    const without = async (server: ClinicSandbox, clientId?: string) => {
      const { url, state } = await prepareLogin(await discover(server, clientId), SCOPE);
      const plain = new URL(url);
      plain.searchParams.delete('code_challenge');
      plain.searchParams.delete('code_challenge_method');
      const callback = new URL(await authorizeInBrowser(plain.href, firstTenant(server).user));
      expect(callback.searchParams.get('state')).toBe(state);
      return { callback, state };
    };
    expect((await without(sandbox, 'public')).callback.searchParams.get('error')).toBe('invalid_request');
    const { callback, state: expectedState } = await without(sandbox, 'desktop');
    const tokens = await client.authorizationCodeGrant(await discover(sandbox, 'desktop'), callback, { expectedState });
    expect((await userinfo(tokens.access_token)).status).toBe(200);
    const strict = await startClinicSandbox({ tenants: 1, appointments: 20, pkce: 'all' });
    try {
      expect((await without(strict)).callback.searchParams.get('error')).toBe('invalid_request');
    } finally {
      await strict.close();
    }
  });

  test('refuses a sign-in without the scope openid, by browser and by device, unless the option is set', async () => {
    const configuration = await discover(sandbox);
    const { url, state } = await prepareLogin(configuration, 'svc.agenda offline_access');
    const refused = new URL(await authorizeInBrowser(url, firstTenant(sandbox).user));
    expect(Object.fromEntries(refused.searchParams)).toMatchObject({ error: 'invalid_scope', state });
    const device = client.initiateDeviceAuthorization(configuration, { scope: 'svc.agenda' });
    await expect(device).rejects.toMatchObject({ error: 'invalid_scope' });
    const lax = await startClinicSandbox({ tenants: 1, appointments: 20, openid: 'optional' });
    try {
      expect((await logIn(lax, firstTenant(lax).user, { scope: 'svc.agenda' })).access_token).toBeTypeOf('string');
    } finally {
      await lax.close();
    }
  });

  test('refuses a wrong verifier, and a code that was used before ends its tokens', async () => {
    const configuration = await discover(sandbox);
    const { url, verifier, state } = await prepareLogin(configuration, SCOPE);
    const callback = new URL(await authorizeInBrowser(url, firstTenant(sandbox).user));
    const wrong = client.authorizationCodeGrant(configuration, callback, {
      pkceCodeVerifier: client.randomPKCECodeVerifier(),
      expectedState: state,
    });
    await expect(wrong).rejects.toMatchObject({ error: 'invalid_grant' });
    const checks = { pkceCodeVerifier: verifier, expectedState: state };
    const tokens = await client.authorizationCodeGrant(configuration, callback, checks);
    const again = client.authorizationCodeGrant(configuration, callback, checks);
    await expect(again).rejects.toMatchObject({ error: 'invalid_grant' });
    expect((await userinfo(tokens.access_token)).status).toBe(401);
  });

  test('accepts any port of a registered loopback URL, and no other path', async () => {
    const configuration = await discover(sandbox);
    const anyPort = await prepareLogin(configuration, SCOPE, 'http://127.0.0.1:54321/callback');
    expect(await authorizeInBrowser(anyPort.url, firstTenant(sandbox).user)).toMatch(
      /^http:\/\/127\.0\.0\.1:54321\/callback\?code=/,
    );
    const otherPath = await prepareLogin(configuration, SCOPE, 'http://127.0.0.1/elsewhere');
    await expect(authorizeInBrowser(otherPath.url, firstTenant(sandbox).user)).rejects.toThrow(/status 400/);
  });

  test('accepts only the registered port if ports must match', async () => {
    const redirectUris = ['http://127.0.0.1:54321/callback'];
    const exact = await startClinicSandbox({
      ...{ tenants: 1, appointments: 20 },
      clients: [{ clientId: 'exact', clientSecret: 'exact-secret', redirectUris, exactPorts: true }],
    });
    try {
      const configuration = await discover(exact);
      const right = await prepareLogin(configuration, SCOPE, redirectUris[0]);
      expect(await authorizeInBrowser(right.url, firstTenant(exact).user)).toMatch(/:54321\/callback\?code=/);
      const other = await prepareLogin(configuration, SCOPE, 'http://127.0.0.1:54322/callback');
      await expect(authorizeInBrowser(other.url, firstTenant(exact).user)).rejects.toThrow(/status 400/);
    } finally {
      await exact.close();
    }
  });

  test('has the redirect URLs of this host and of a daemon registered by default', async () => {
    const usual = await startClinicSandbox({ tenants: 1, appointments: 20 });
    try {
      for (const address of ['http://127.0.0.1:5000/callback', 'http://localhost:8080/oauth/callback']) {
        const { url } = await prepareLogin(await discover(usual), SCOPE, address);
        expect(await authorizeInBrowser(url, firstTenant(usual).user)).toContain(`${address}?code=`);
      }
    } finally {
      await usual.close();
    }
  });

  test('serves public clients without a secret and refuses a wrong secret', async () => {
    const tokens = await logIn(sandbox, firstTenant(sandbox).user, { scope: SCOPE, clientId: 'public' });
    expect(tokens.refresh_token).toBeTypeOf('string');
    const response = await fetch(`${sandbox.authUrl}/connect/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'refresh_token',
        refresh_token: 'x',
        client_id: 'desktop',
        client_secret: 'no',
      }),
    });
    expect(response.status).toBe(401);
    expect(await response.json()).toMatchObject({ error: 'invalid_client' });
  });

  test('accepts the secret as HTTP Basic too', async () => {
    const { refresh_token: token = '' } = await logIn(sandbox, firstTenant(sandbox).user, { scope: SCOPE });
    const response = await fetch(`${sandbox.authUrl}/connect/token`, {
      method: 'POST',
      headers: { authorization: `Basic ${Buffer.from('desktop:desktop-secret').toString('base64')}` },
      body: new URLSearchParams({ grant_type: 'refresh_token', refresh_token: token }),
    });
    expect(response.status).toBe(200);
  });

  test('registers web clients with exact URLs', async () => {
    const configuration = await discover(sandbox, 'web');
    const { url } = await prepareLogin(configuration, SCOPE, 'https://web.example.com/callback');
    expect(await authorizeInBrowser(url, firstTenant(sandbox).user)).toMatch(
      /^https:\/\/web\.example\.com\/callback\?code=/,
    );
  });

  test('does not log in with a wrong password', async () => {
    const { url } = await prepareLogin(await discover(sandbox), SCOPE);
    const person = { ...firstTenant(sandbox).user, password: 'wrong' };
    await expect(authorizeInBrowser(url, person)).rejects.toThrow(/status 401/);
  });
});

describe('refresh', () => {
  test('rotates, and using an old token again ends the whole family', async () => {
    const configuration = await discover(sandbox);
    const first = await logIn(sandbox, firstTenant(sandbox).user, { scope: SCOPE });
    const second = await client.refreshTokenGrant(configuration, first.refresh_token ?? '');
    expect(second.refresh_token).not.toBe(first.refresh_token);
    expect((await userinfo(second.access_token)).status).toBe(200);

    const replay = client.refreshTokenGrant(configuration, first.refresh_token ?? '');
    await expect(replay).rejects.toMatchObject({ error: 'invalid_grant' });
    const rotated = client.refreshTokenGrant(configuration, second.refresh_token ?? '');
    await expect(rotated).rejects.toMatchObject({ error: 'invalid_grant' });
    expect((await userinfo(second.access_token)).status).toBe(401);
  });

  test('another sign-in of the same user starts another token family', async () => {
    const configuration = await discover(sandbox);
    const one = await logIn(sandbox, firstTenant(sandbox).user, { scope: SCOPE });
    const other = await logIn(sandbox, firstTenant(sandbox).user, { scope: SCOPE });
    await client.refreshTokenGrant(configuration, one.refresh_token ?? '');
    await expect(client.refreshTokenGrant(configuration, one.refresh_token ?? '')).rejects.toThrow();
    await expect(client.refreshTokenGrant(configuration, other.refresh_token ?? '')).resolves.toBeDefined();
  });

  test('keeps the granted scopes and can narrow the access token', async () => {
    const configuration = await discover(sandbox);
    const { refresh_token: token = '' } = await logIn(sandbox, firstTenant(sandbox).user, { scope: SCOPE });
    const narrow = await client.refreshTokenGrant(configuration, token, { scope: 'openid svc.agenda' });
    expect(narrow.scope?.split(' ').sort()).toEqual(['openid', 'svc.agenda']);
  });
});

describe('events that end tokens', () => {
  test('revocation at the endpoint', async () => {
    const configuration = await discover(sandbox);
    const tokens = await logIn(sandbox, firstTenant(sandbox).user, { scope: SCOPE });
    await client.tokenRevocation(configuration, tokens.refresh_token ?? '');
    await expect(client.refreshTokenGrant(configuration, tokens.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    });
    expect((await userinfo(tokens.access_token)).status).toBe(401);
  });

  test('revocation of an access token, with its refresh token as RFC 7009 section 2.1 permits', async () => {
    const configuration = await discover(sandbox);
    const tokens = await logIn(sandbox, firstTenant(sandbox).user, { scope: SCOPE });
    await client.tokenRevocation(configuration, tokens.access_token);
    expect((await userinfo(tokens.access_token)).status).toBe(401);
    await expect(client.refreshTokenGrant(configuration, tokens.refresh_token ?? '')).rejects.toThrow();
  });

  test('revocation of the application by the user', async () => {
    const configuration = await discover(sandbox);
    const { user } = firstTenant(sandbox);
    const [mine, publics] = [
      await logIn(sandbox, user, { scope: SCOPE }),
      await logIn(sandbox, user, { scope: SCOPE, clientId: 'public' }),
    ];
    sandbox.revokeAccess(user.username, 'desktop');
    await expect(client.refreshTokenGrant(configuration, mine.refresh_token ?? '')).rejects.toThrow();
    expect((await userinfo(publics.access_token)).status).toBe(200);
  });

  test('a disabled account, which cannot log in either', async () => {
    const configuration = await discover(sandbox);
    const { unknownNull } = sandbox.users;
    const tokens = await logIn(sandbox, unknownNull, { scope: SCOPE });
    sandbox.disableUser(unknownNull.username);
    expect((await userinfo(tokens.access_token)).status).toBe(401);
    await expect(client.refreshTokenGrant(configuration, tokens.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    });
    await expect(logIn(sandbox, unknownNull, { scope: SCOPE })).rejects.toThrow(/status 401/);
    sandbox.enableUser(unknownNull.username);
    await expect(logIn(sandbox, unknownNull, { scope: SCOPE })).resolves.toBeDefined();
  });

  test('a changed role', async () => {
    const configuration = await discover(sandbox);
    const tokens = await logIn(sandbox, sandbox.users.readOnly, { scope: SCOPE });
    sandbox.changeRole(sandbox.users.readOnly.username, firstTenant(sandbox).id, 'Doctor', ['agenda.read']);
    await expect(client.refreshTokenGrant(configuration, tokens.refresh_token ?? '')).rejects.toThrow();
  });

  test('a revoked client, which is then unknown', async () => {
    const configuration = await discover(sandbox, 'doomed');
    const tokens = await logIn(sandbox, firstTenant(sandbox).user, { scope: SCOPE, clientId: 'doomed' });
    sandbox.revokeClient('doomed');
    expect((await userinfo(tokens.access_token)).status).toBe(401);
    await expect(client.refreshTokenGrant(configuration, tokens.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_client',
    });
  });
});

describe('lifetimes', () => {
  let brief: ClinicSandbox;

  beforeAll(async () => {
    brief = await startClinicSandbox({
      tenants: 1,
      appointments: 20,
      scopePrefix: 'acme.',
      accessTokenLifetimeSeconds: 60,
      refreshTokenLifetimeSeconds: 3600,
      authorizationCodeLifetimeSeconds: 30,
    });
  });

  afterAll(() => brief.close());
  beforeEach(() => void vi.useFakeTimers({ toFake: ['Date'] }));
  afterEach(() => void vi.useRealTimers());

  function passSeconds(seconds: number): void {
    vi.setSystemTime(Date.now() + seconds * 1000);
  }

  test('the scope prefix is an option', () => {
    expect(brief.scopes).toContain('acme.agenda');
  });

  test('access tokens expire', async () => {
    const tokens = await logIn(brief, firstTenant(brief).user);
    expect(tokens.expires_in).toBe(60);
    passSeconds(58);
    expect((await call(brief, tokens.access_token, 'GET', '/v2/userinfo')).status).toBe(200);
    passSeconds(3);
    expect((await call(brief, tokens.access_token, 'GET', '/v2/userinfo')).status).toBe(401);
  });

  test('authorization codes expire', async () => {
    const configuration = await discover(brief);
    const { url, verifier, state } = await prepareLogin(configuration, 'openid');
    const callback = new URL(await authorizeInBrowser(url, firstTenant(brief).user));
    passSeconds(31);
    const late = client.authorizationCodeGrant(configuration, callback, {
      pkceCodeVerifier: verifier,
      expectedState: state,
    });
    await expect(late).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  test('refresh tokens slide: they live on while used, and die when idle', async () => {
    const configuration = await discover(brief);
    let { refresh_token: token = '' } = await logIn(brief, firstTenant(brief).user);
    for (let use = 0; use < 4; use++) {
      passSeconds(3000);
      ({ refresh_token: token = '' } = await client.refreshTokenGrant(configuration, token));
    }
    passSeconds(3601);
    await expect(client.refreshTokenGrant(configuration, token)).rejects.toMatchObject({ error: 'invalid_grant' });
  });

  test('without rotation the refresh token stays the same and use renews it', async () => {
    const steady = await startClinicSandbox({
      tenants: 1,
      appointments: 20,
      rotateRefreshTokens: false,
      refreshTokenLifetimeSeconds: 3600,
    });
    try {
      const configuration = await discover(steady);
      const { refresh_token: token = '' } = await logIn(steady, firstTenant(steady).user);
      for (let use = 0; use < 4; use++) {
        passSeconds(3000);
        const refreshed = await client.refreshTokenGrant(configuration, token);
        expect(refreshed.refresh_token ?? token).toBe(token);
      }
    } finally {
      await steady.close();
    }
  });
});

test('the oldest grant dies when a client and user have too many', async () => {
  const small = await startClinicSandbox({ tenants: 1, appointments: 20, grantsPerClientAndUser: 2 });
  try {
    const configuration = await discover(small);
    const { user } = firstTenant(small);
    const [first, second, third] = [await logIn(small, user), await logIn(small, user), await logIn(small, user)];
    const other = await logIn(small, small.users.everyTenant);
    await expect(client.refreshTokenGrant(configuration, first.refresh_token ?? '')).rejects.toMatchObject({
      error: 'invalid_grant',
    });
    for (const alive of [second, third, other]) {
      await expect(client.refreshTokenGrant(configuration, alive.refresh_token ?? '')).resolves.toBeDefined();
    }
  } finally {
    await small.close();
  }
});
