import { describe, expect, onTestFinished, test } from 'vitest';
import { type HubSpotSandboxOptions, startHubSpotSandbox } from '../../sandbox/hubspot/index.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { createBearerAuthorizer } from '../../src/oauth/authorizer.ts';
import type { PendingLogin } from '../../src/oauth/credential.ts';
import { hubSpotProvider } from '../../src/oauth/crm-providers.ts';
import type { LoginTarget } from '../../src/oauth/login.ts';
import { disconnect } from '../../src/oauth/login.ts';
import { loginOnLoopback } from '../../src/oauth/loopback-login.ts';
import { createLoginStore } from '../../src/operator/control/login-stores.ts';
import { useRedis } from '../support/redis.ts';
import { forgetAccount, NEVER, openWorker, RING, refusedOnce } from './connection.ts';

const redis = useRedis();
const SCOPES = ['oauth', 'crm.objects.contacts.read', 'crm.objects.contacts.write'];

async function openHubSpot(options: HubSpotSandboxOptions = {}, changes: { tokenPath?: string; secret?: string } = {}) {
  const sandbox = await startHubSpotSandbox(options);
  onTestFinished(() => sandbox.close());
  const { clientId, clientSecret } = sandbox.application;
  const provider = hubSpotProvider({
    clientId,
    clientSecret: changes.secret ?? clientSecret,
    authorizeUrl: sandbox.authorizeUrl,
    tokenUrl: changes.tokenPath === undefined ? sandbox.tokenUrl : `${sandbox.url}${changes.tokenPath}`,
  });
  const newWorker = () => openWorker({ redis: redis.connect(), issuer: provider.issuer, provider, scopes: SCOPES });
  const worker = newWorker();
  const target: LoginTarget = { context: worker.place, server: worker.server, scopes: SCOPES, clock: Date.now };
  const logins = createLoginStore<PendingLogin>(redis.connect(), RING);
  const visit = async (url: URL, deny = false) =>
    void (await fetch(await sandbox.authorizeInBrowser(url.href, { account: 'admin@clinic.example', deny })));
  const login = (deny?: boolean) => loginOnLoopback(target, { pending: logins }, (url) => void visit(url, deny), NEVER);
  const reads = async (authorization: string) =>
    (await fetch(`${sandbox.apiUrl}/crm/v3/objects/contacts`, { headers: { authorization } })).status;
  return { sandbox, worker, newWorker, login, reads };
}

describe('the installation of the application in HubSpot', () => {
  test('gives a connection whose token works, expires in half an hour and is refreshed with the same refresh token', async () => {
    const { worker, login, reads } = await openHubSpot();
    expect(await login()).toMatchObject({ grantedScopes: SCOPES, missingScopes: [] });
    expect(await reads(await worker.authorizer.header(NEVER))).toBe(200);
    const before = await worker.credentials.read('clinic');
    const lifeMs = (before?.accessExpiresAt ?? 0) - Date.now();
    expect(lifeMs).toBeGreaterThan(29 * 60_000);
    expect(lifeMs).toBeLessThanOrEqual(30 * 60_000);
    expect(await reads(await worker.authorizer.renew(NEVER))).toBe(200);
    const after = await worker.credentials.read('clinic');
    expect(after?.tokens.refreshToken).toBe(before?.tokens.refreshToken);
    expect(after?.tokens.accessToken).not.toBe(before?.tokens.accessToken);
  });

  test('learns the account: at sign-in by introspection, later with each refresh, and never from an old endpoint', async () => {
    const { worker, login } = await openHubSpot();
    const { account } = await login();
    expect(account).toEqual({ subject: expect.stringMatching(/^\d+$/), address: 'admin@clinic.example', domain: null });
    await forgetAccount(worker);
    await worker.authorizer.renew(NEVER);
    expect((await worker.credentials.read('clinic'))?.tokens.account).toEqual({ ...account, address: null });
    const old = await openHubSpot({}, { tokenPath: '/oauth/v1/token' });
    expect(await old.login()).toMatchObject({ account: null });
  });

  test('is not refused while the account is unknown', async () => {
    const { sandbox, login } = await openHubSpot();
    sandbox.faults.add({ match: { path: '/introspect' }, times: 5, fault: { kind: 'status', status: 503, body: {} } });
    expect(await login()).toMatchObject({ account: { subject: expect.any(String), address: null } });
  });

  test('sends id and secret only in the body', async () => {
    const { sandbox, worker, login } = await openHubSpot();
    await login();
    sandbox.recording.record(true);
    await worker.authorizer.renew(NEVER);
    const [refresh] = sandbox.recording.recorded();
    const form = new URLSearchParams(String(refresh?.body));
    expect(form.get('client_id')).toBe(sandbox.application.clientId);
    expect(form.get('client_secret')).toBe(sandbox.application.clientSecret);
    expect(refresh?.headers.authorization).toBeUndefined();
    expect(refresh?.url).not.toContain('?');
  });

  test('has scopes that the account did not give named', async () => {
    const { sandbox, worker, login } = await openHubSpot();
    await login();
    const less = openWorker({
      redis: redis.connect(),
      issuer: sandbox.url,
      provider: worker.server.provider,
      scopes: [...SCOPES, 'crm.objects.deals.write'],
    });
    await less.authorizer.renew(NEVER);
    expect(await less.credentials.read('clinic')).toMatchObject({
      state: 'connected',
      reason: 'missing-scopes',
      grantedScopes: SCOPES,
    });
  });

  test('may refuse', async () => {
    const { login } = await openHubSpot();
    await expect(login(true)).rejects.toMatchObject({ actor: 'authorization', code: 'login-refused' });
  });
});

describe('refreshing a HubSpot connection', () => {
  test('20 workers that need a token at once ask once', async () => {
    const { sandbox, login, newWorker } = await openHubSpot({ rotateRefreshTokens: true });
    await login();
    sandbox.recording.record(true);
    const headers = await Promise.all(Array.from({ length: 20 }, () => newWorker().authorizer.renew(NEVER)));
    expect(new Set(headers).size).toBe(1);
    expect(sandbox.recording.recorded()).toHaveLength(1);
  });

  test('survives a lost answer where the refresh token stays', async () => {
    const { sandbox, worker, login, reads } = await openHubSpot();
    await login();
    sandbox.faults.add({ match: { path: '/token' }, times: 1, fault: { kind: 'lost-answer' } });
    expect(await reads(await worker.authorizer.renew(NEVER))).toBe(200);
  });

  test('says that an answer was lost where the refresh token was replaced', async () => {
    const { sandbox, worker, login } = await openHubSpot({ rotateRefreshTokens: true });
    await login();
    sandbox.faults.add({ match: { path: '/token' }, times: 1, fault: { kind: 'lost-answer' } });
    await refusedOnce(worker);
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({ code: 'refresh-answer-lost' });
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'needs-login' });
  });

  test.each<[string, HubSpotSandboxOptions, string]>([
    ['of version 2026-03', {}, '/oauth/2026-03/token'],
    ['of version 2026-03, with vendor errors only', { oauthErrors: 'vendor' }, '/oauth/2026-03/token'],
    ['of version 1', {}, '/oauth/v1/token'],
  ])(
    'ends the connection when the application was uninstalled, at the endpoint %s',
    async (_which, options, tokenPath) => {
      const { sandbox, worker, login } = await openHubSpot(options, { tokenPath });
      await login();
      sandbox.uninstall();
      await refusedOnce(worker);
      await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({
        actor: 'authorization',
        code: 'login-ended',
      });
      expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'needs-login', reason: 'login-ended' });
    },
  );

  test.each(['standard', 'vendor'] as const)(
    "a wrong secret is the settings' fault, told in %s words",
    async (oauthErrors) => {
      const { login } = await openHubSpot({ oauthErrors }, { secret: 'secret-canary' });
      const thrown = await login().catch((error: unknown) => error);
      expect(thrown).toMatchObject({ actor: 'settings', code: 'client-rejected' });
      expect(`${(thrown as Error).stack} ${JSON.stringify(thrown)}`).not.toContain('canary');
    },
  );
});

describe('ending a HubSpot connection', () => {
  test('revokes the refresh token there', async () => {
    const { sandbox, worker, login } = await openHubSpot();
    await login();
    const credential = await worker.credentials.read('clinic');
    expect(await disconnect(worker.place, worker.server, silentLogger, NEVER)).toBe('revoked');
    expect(await worker.credentials.read('clinic')).toBeNull();
    const refreshing = worker.server.refresh(credential?.tokens.refreshToken ?? '', NEVER);
    await expect(refreshing).rejects.toMatchObject({ code: 'login-ended' });
    expect(sandbox.requests.requests({ method: 'POST' })).toBeGreaterThan(0);
  });

  test('only forgets it at the old endpoint, which has no way that others could use', async () => {
    const { worker, login } = await openHubSpot({}, { tokenPath: '/oauth/v1/token' });
    await login();
    expect(await disconnect(worker.place, worker.server, silentLogger, NEVER)).toBe('not-supported');
  });
});

describe("a private application's token", () => {
  test('works without a sign-in, and cannot be renewed', async () => {
    const { sandbox, reads } = await openHubSpot();
    const token = sandbox.issuePrivateToken();
    const authorizer = createBearerAuthorizer('crm', token);
    expect(await reads(await authorizer.header(NEVER))).toBe(200);
    sandbox.revokePrivateToken(token);
    expect(await reads(await authorizer.header(NEVER))).toBe(401);
    const thrown = await authorizer.renew(NEVER).catch((error: unknown) => error);
    expect(thrown).toMatchObject({ actor: 'authorization', code: 'key-refused', retry: 'never' });
    expect(JSON.stringify(thrown)).not.toContain(token);
  });
});
