import { createHash } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { PendingLogin } from '../../src/oauth/credential.ts';
import { beginLogin, completeLogin, disconnect, type LoginTarget } from '../../src/oauth/login.ts';
import { createLoginStore } from '../../src/operator/control/login-stores.ts';
import { useRedis } from '../support/redis.ts';
import { connect, NEVER, openWorker, RING, SCOPES, TENANT } from './connection.ts';
import { type Answer, oauthError, startTokenServer, tokensNamed } from './token-server.ts';

const redis = useRedis();

const REDIRECT = 'https://mirror.example.org/oauth/callback';

async function open() {
  const server = await startTokenServer();
  const worker = openWorker({ redis: redis.connect(), issuer: server.url });
  const logins = createLoginStore<PendingLogin>(redis.connect(), RING);
  const target: LoginTarget = { context: worker.place, server: worker.server, scopes: SCOPES, clock: Date.now };
  const find = (tenant: string, connection: string) => (tenant === TENANT && connection === 'clinic' ? target : null);
  server.onToken = () => ({ body: { ...tokensNamed(0), expires_in: 3_600 } });
  const begin = async () => {
    const url = await beginLogin(target, logins, REDIRECT);
    return { url, state: url.searchParams.get('state') ?? '' };
  };
  const complete = (parameters: Record<string, string>) =>
    completeLogin(
      { callback: new URL(`http://127.0.0.1:8080/oauth/callback?${new URLSearchParams(parameters)}`) },
      logins,
      find,
      NEVER,
    );
  return { server, worker, logins, target, find, begin, complete };
}

describe('a sign-in by authorization code', () => {
  test('requests a code with PKCE S256 and a state, and exchanges it with the verifier and the same redirect URL', async () => {
    const { server, worker, begin, complete } = await open();
    const { url, state } = await begin();
    expect(Object.fromEntries(url.searchParams)).toMatchObject({
      response_type: 'code',
      client_id: 'client-1',
      redirect_uri: REDIRECT,
      scope: SCOPES.join(' '),
      code_challenge_method: 'S256',
    });
    expect(state.length).toBeGreaterThanOrEqual(43);
    expect(await complete({ code: 'code-1', state })).toEqual({
      tenant: TENANT,
      connection: 'clinic',
      grantedScopes: SCOPES,
      missingScopes: [],
      account: null,
      isUnconfirmed: false,
    });
    const [form] = server.forms('/token');
    expect(form?.get('redirect_uri')).toBe(REDIRECT);
    expect(form?.get('code')).toBe('code-1');
    const verifier = form?.get('code_verifier') ?? '';
    expect(verifier).toMatch(/^[A-Za-z0-9\-._~]{43,128}$/);
    expect(createHash('sha256').update(verifier).digest('base64url')).toBe(url.searchParams.get('code_challenge'));
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-0');
  });

  test('an answer of another issuer is refused before anything is sent, and its state is used up', async () => {
    const { server, begin, complete } = await open();
    const { state } = await begin();
    await expect(complete({ code: 'code-1', state, iss: 'https://evil.example.org' })).rejects.toMatchObject({
      actor: 'authorization',
      code: 'login-answer-rejected',
    });
    await expect(complete({ code: 'code-1', state, iss: server.url })).rejects.toMatchObject({ code: 'login-unknown' });
    expect(server.posted).toEqual([]);
  });

  test('a missing iss is refused when the server says that it sends one', async () => {
    const { server, begin, complete } = await open();
    server.metadata = { authorization_response_iss_parameter_supported: true };
    const first = await begin();
    await expect(complete({ code: 'code-1', state: first.state })).rejects.toMatchObject({
      code: 'login-answer-rejected',
    });
    expect(server.posted).toEqual([]);
    const second = await begin();
    await expect(complete({ code: 'code-1', state: second.state, iss: server.url })).resolves.toMatchObject({
      connection: 'clinic',
    });
  });

  test('a state works once; a replayed, foreign or missing one is refused', async () => {
    const { server, begin, complete } = await open();
    const { state } = await begin();
    const results = await Promise.allSettled([complete({ code: 'c', state }), complete({ code: 'c', state })]);
    expect(results.map((result) => result.status).sort()).toEqual(['fulfilled', 'rejected']);
    for (const parameters of [{ code: 'c', state }, { code: 'c', state: 'made-up' }, { code: 'c' }]) {
      await expect(complete(parameters as Record<string, string>)).rejects.toMatchObject({
        actor: 'authorization',
        code: 'login-unknown',
      });
    }
    expect(server.forms('/token')).toHaveLength(1);
  });

  test('ends at the receiver at which it began: in the same browser, or on the same host', async () => {
    const { server, logins, target, find } = await open();
    const endings: [begunWith: string | null, endedWith: string | null][] = [
      ['key-1', 'key-2'],
      ['key-1', ''],
      ['key-1', null],
      [null, 'key-1'],
      [null, ''],
    ];
    for (const [begunWith, endedWith] of endings) {
      const url = await beginLogin(target, logins, REDIRECT, begunWith);
      const callback = new URL(`${REDIRECT}?code=c&state=${url.searchParams.get('state')}`);
      const end = (key: string | null) => completeLogin({ callback, browserKey: key }, logins, find, NEVER);
      await expect(end(endedWith)).rejects.toMatchObject({ actor: 'authorization', code: 'login-other-browser' });
      await expect(end(begunWith), 'it is used up').rejects.toMatchObject({ code: 'login-unknown' });
    }
    expect(server.posted).toEqual([]);
    const url = await beginLogin(target, logins, REDIRECT, 'key-1');
    const callback = new URL(`${REDIRECT}?code=c&state=${url.searchParams.get('state')}`);
    expect(await completeLogin({ callback, browserKey: 'key-1' }, logins, find, NEVER)).toMatchObject({
      connection: 'clinic',
    });
  });

  test('metadata that names another issuer is refused', async () => {
    const { server, target, logins } = await open();
    server.metadata = { issuer: 'https://evil.example.org' };
    await expect(beginLogin(target, logins, REDIRECT)).rejects.toMatchObject({
      actor: 'settings',
      code: 'issuer-mismatch',
    });
    server.metadata = { issuer: undefined };
    await expect(beginLogin(target, logins, REDIRECT)).rejects.toMatchObject({
      actor: 'settings',
      code: 'discovery-failed',
    });
  });

  test('an invalid discovery document is distinguished from an unreachable one', async () => {
    const { server, target, logins } = await open();
    server.onDiscovery = () => ({ status: 404, body: 'not here' });
    await expect(beginLogin(target, logins, REDIRECT)).rejects.toMatchObject({
      actor: 'settings',
      code: 'discovery-failed',
    });
    server.onDiscovery = () => ({ status: 503, body: 'busy' });
    await expect(beginLogin(target, logins, REDIRECT)).rejects.toMatchObject({ actor: 'remote' });
    server.onDiscovery = null;
    await expect(beginLogin(target, logins, REDIRECT)).resolves.toBeInstanceOf(URL);
  });

  test('endpoints and redirect URLs must be https, except on this host', async () => {
    const { server, target, logins } = await open();
    await expect(beginLogin(target, logins, 'http://mirror.example.org/cb')).rejects.toMatchObject({
      code: 'insecure-address',
    });
    server.metadata = { token_endpoint: 'http://tokens.example.org/token' };
    await expect(beginLogin(target, logins, REDIRECT)).rejects.toMatchObject({
      actor: 'settings',
      code: 'insecure-address',
    });
  });

  test('a refusal by the user is distinguished from a failure', async () => {
    const { server, begin, complete } = await open();
    const { state } = await begin();
    await expect(complete({ error: 'access_denied', error_description: 'no', state })).rejects.toMatchObject({
      actor: 'authorization',
      code: 'login-refused',
    });
    expect(server.posted).toEqual([]);
  });

  test.each([
    ['consent_required', 'interaction-required', 'authorization'],
    ['interaction_required', 'interaction-required', 'authorization'],
    ['server_error', 'provider-failed', 'remote'],
    ['temporarily_unavailable', 'provider-failed', 'remote'],
    ['unauthorized_client', 'client-not-allowed', 'settings'],
    ['invalid_scope', 'scope-rejected', 'settings'],
    ['some_error_of_theirs', 'token-error-unknown', 'contract'],
  ])('an error at the callback is reported by its cause: %s', async (error, code, actor) => {
    const { server, begin, complete } = await open();
    server.metadata = { authorization_response_iss_parameter_supported: true };
    const { state } = await begin();
    await expect(complete({ error, state })).rejects.toMatchObject({ actor, code });
    expect(server.posted).toEqual([]);
  });

  test('scopes that the user unticked are in the result and stored with the credential', async () => {
    const { server, worker, begin, complete } = await open();
    server.onToken = () => ({ body: { ...tokensNamed(0), expires_in: 3_600, scope: 'openid svc.agenda' } });
    const { state } = await begin();
    expect(await complete({ code: 'c', state })).toMatchObject({ missingScopes: ['svc.patients'] });
    expect(await worker.credentials.read('clinic')).toMatchObject({
      state: 'connected',
      reason: 'missing-scopes',
      grantedScopes: ['openid', 'svc.agenda'],
    });
  });

  test('a sign-in without a refresh token is refused, and the existing connection stays', async () => {
    const { server, worker, begin, complete } = await open();
    const before = await connect(worker, { accessExpiresAt: null });
    server.onToken = () => ({ body: { access_token: 'a', token_type: 'Bearer' } });
    const { state } = await begin();
    await expect(complete({ code: 'c', state })).rejects.toMatchObject({
      actor: 'authorization',
      code: 'no-refresh-token',
    });
    expect(await worker.credentials.read('clinic')).toEqual(before);
  });

  test('a code that the server refuses is an error for the person; nothing is stored', async () => {
    const { server, worker, begin, complete } = await open();
    server.onToken = () => oauthError('invalid_grant');
    const { state } = await begin();
    await expect(complete({ code: 'c', state })).rejects.toMatchObject({
      actor: 'authorization',
      code: 'login-code-refused',
    });
    expect(await worker.credentials.read('clinic')).toBeNull();
  });

  test('a new sign-in replaces an expired connection, and one that cannot be decrypted any more', async () => {
    const { worker, begin, complete } = await open();
    await connect(worker, { state: 'needs-login', reason: 'login-ended' });
    await complete({ code: 'c', state: (await begin()).state });
    const first = await worker.credentials.read('clinic');
    expect(first).toMatchObject({ state: 'connected', reason: null });
    await redis.connect().hset(`cm:{${TENANT}}:credential:clinic`, 'sealed', 's1.gone.AAAA');
    await complete({ code: 'c', state: (await begin()).state });
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'connected' });
  });

  test('a connection whose provider was changed meanwhile is refused', async () => {
    const { logins, target, begin } = await open();
    const { state } = await begin();
    const elsewhere = {
      ...target.server,
      provider: { ...target.server.provider, issuer: 'https://other.example.org' },
    };
    const callback = new URL(`${REDIRECT}?code=c&state=${state}`);
    const completed = completeLogin({ callback }, logins, () => ({ ...target, server: elsewhere }), NEVER);
    await expect(completed).rejects.toMatchObject({ actor: 'authorization', code: 'login-overtaken' });
  });
});

describe('a connection that ends', () => {
  async function open() {
    const server = await startTokenServer();
    const worker = openWorker({ redis: redis.connect(), issuer: server.url, requestTimeoutMs: 300 });
    return { server, worker, end: () => disconnect(worker.place, worker.server, silentLogger, NEVER) };
  }

  describe('disconnecting', () => {
    test('revokes the refresh token and deletes the connection', async () => {
      const { server, worker, end } = await open();
      await connect(worker);
      expect(await end()).toBe('revoked');
      expect(server.forms('/revoke').map((form) => form.get('token'))).toEqual(['refresh-0']);
      expect(await worker.credentials.read('clinic')).toBeNull();
      await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject({ code: 'not-connected' });
    });

    test.each<[string, Answer]>([
      ['an error', oauthError('invalid_token')],
      ['a failure', { status: 500, body: 'x' }],
      ['a cut connection', 'cut'],
      ['silence', 'silent'],
    ])('deletes the connection when the provider answers the revocation with %s', async (_name, answer) => {
      const { server, worker, end } = await open();
      server.onRevoke = () => answer;
      await connect(worker);
      expect(await end()).toBe('failed');
      expect(await worker.credentials.read('clinic')).toBeNull();
    });

    test('deletes the connection of a provider without a revocation endpoint, or that is no longer configured', async () => {
      const { server, worker, end } = await open();
      server.metadata = { revocation_endpoint: undefined };
      await connect(worker);
      expect(await end()).toBe('not-supported');
      await connect(worker);
      expect(await disconnect(worker.place, null, silentLogger, NEVER)).toBe('not-supported');
      expect(await worker.credentials.read('clinic')).toBeNull();
      expect(await end()).toBe('nothing-to-revoke');
    });

    test('deletes a connection that cannot be decrypted any more', async () => {
      const { worker, end } = await open();
      await connect(worker);
      await redis.connect().hset(`cm:{${TENANT}}:credential:clinic`, 'sealed', 's1.gone.AAAA');
      expect(await end()).toBe('failed');
      expect(await worker.credentials.read('clinic')).toBeNull();
    });

    test('waits for a running refresh, so that its new token is revoked', async () => {
      const { server, worker, end } = await open();
      let answer: (value: Answer) => void = () => {};
      server.onToken = () => new Promise((resolve) => (answer = resolve));
      await connect(worker);
      const refreshing = worker.authorizer.header(NEVER);
      await expect.poll(() => server.forms('/token').length).toBe(1);
      const ending = end();
      answer({ body: { ...tokensNamed(1), expires_in: 3_600 } });
      expect(await refreshing).toBe('Bearer access-1');
      expect(await ending).toBe('revoked');
      expect(server.forms('/revoke')[0]?.get('token')).toBe('refresh-1');
    });
  });
});
