import { createHash } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import {
  type SalesforceSandbox,
  type SalesforceSandboxOptions,
  startSalesforceSandbox,
} from '../../sandbox/salesforce/index.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { PendingLogin } from '../../src/oauth/credential.ts';
import { salesforceProvider } from '../../src/oauth/crm-providers.ts';
import { dueForRefresh } from '../../src/oauth/due.ts';
import type { LoginTarget } from '../../src/oauth/login.ts';
import { disconnect } from '../../src/oauth/login.ts';
import { loginOnLoopback } from '../../src/oauth/loopback-login.ts';
import { createLoginStore } from '../../src/operator/control/login-stores.ts';
import { keys } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';
import { connect, forgetAccount, NEVER, openWorker, RING, refusedOnce, TENANT, type Worker } from './connection.ts';

const redis = useRedis();
const SCOPES = ['api', 'refresh_token'];
const USER = 'integration@clinic.example';
const ROTATING = { clientSecret: 'sandbox-secret', rotateRefreshTokens: true };

async function openSalesforce(options: SalesforceSandboxOptions = {}) {
  const sandbox = await startSalesforceSandbox(options);
  onTestFinished(() => sandbox.close());
  const { clientId, clientSecret } = sandbox.application;
  const provider = salesforceProvider({ loginUrl: sandbox.loginUrl, clientId, clientSecret: clientSecret ?? null });
  const newWorker = (clock?: () => number) =>
    openWorker({
      redis: redis.connect(),
      issuer: provider.issuer,
      provider,
      scopes: SCOPES,
      isFromFile: true,
      ...(clock === undefined ? {} : { clock }),
    });
  const worker = newWorker();
  const target: LoginTarget = { context: worker.place, server: worker.server, scopes: SCOPES, clock: Date.now };
  const logins = createLoginStore<PendingLogin>(redis.connect(), RING);
  const visit = async (url: URL) => void (await fetch(await sandbox.authorizeInBrowser(url.href, { account: USER })));
  const login = () => loginOnLoopback(target, { pending: logins }, (url) => void visit(url), NEVER);
  return { sandbox, worker, newWorker, login };
}

/** What a connector sees of its first call: the place and the token of one moment. */
async function reads(worker: Pick<Worker, 'authorizer'>, sandbox: SalesforceSandbox, header: string): Promise<number> {
  const place = worker.authorizer.baseUrl?.() ?? '';
  const url = `${place}/services/data/${sandbox.apiVersion}/sobjects/Contact/describe`;
  return (await fetch(url, { headers: { authorization: header } })).status;
}

describe('the sign-in of an operator to Salesforce', () => {
  test.each<[string, SalesforceSandboxOptions]>([
    ['with a secret', {}],
    ['without one', { applications: [{ clientSecret: undefined }] }],
  ])(
    'gives an application %s a connection without a known expiry, and the URL of its organisation',
    async (_what, options) => {
      const { sandbox, worker, login } = await openSalesforce(options);
      expect(await login()).toMatchObject({ missingScopes: [] });
      expect(await worker.credentials.read('clinic')).toMatchObject({ accessExpiresAt: null, state: 'connected' });
      const header = await worker.authorizer.header(NEVER);
      expect(worker.authorizer.baseUrl?.()).toBe(sandbox.url);
      expect(await reads(worker, sandbox, header)).toBe(200);
    },
  );

  test('learns the account by user name and id, and by the id from each refresh', async () => {
    const { worker, login } = await openSalesforce();
    const { account } = await login();
    expect(account).toEqual({ subject: expect.stringMatching(/^005/), address: USER, domain: null });
    await forgetAccount(worker);
    await worker.authorizer.renew(NEVER);
    expect((await worker.credentials.read('clinic'))?.tokens.account).toEqual({ ...account, address: null });
  });

  test('reports a required action of an administrator first, and otherwise that the code was refused', async () => {
    const { sandbox, worker, login } = await openSalesforce();
    sandbox.refuseUser(USER, 'inactive user');
    await expect(login()).rejects.toMatchObject({ actor: 'authorization', code: 'account-inactive' });
    sandbox.refuseUser(USER, 'something else');
    await expect(login()).rejects.toMatchObject({ actor: 'authorization', code: 'login-code-refused' });
    expect(await worker.credentials.read('clinic')).toBeNull();
  });

  test('encrypts token and URL together', async () => {
    const { sandbox, worker, login } = await openSalesforce();
    await login();
    const stored = await redis.connect().hgetall(keys.credential(TENANT, 'clinic'));
    expect(Object.keys(stored)).toContain('sealed');
    expect(JSON.stringify(stored)).not.toContain(new URL(sandbox.url).host);
    expect((await worker.credentials.read('clinic'))?.tokens).toMatchObject({ baseUrl: sandbox.url });
  });
});

describe('a Salesforce session', () => {
  test('is used until it is refused, then renewed once for all concurrent callers', async () => {
    const { sandbox, worker, login } = await openSalesforce();
    await login();
    const before = sandbox.counts.refreshes;
    const [first, second] = [await worker.authorizer.header(NEVER), await worker.authorizer.header(NEVER)];
    expect(first).toBe(second);
    expect(sandbox.counts.refreshes - before).toBe(0);
    sandbox.endSessions();
    expect(await reads(worker, sandbox, first)).toBe(401);
    const renewed = await Promise.all(Array.from({ length: 5 }, () => worker.authorizer.renew(NEVER)));
    expect(new Set(renewed).size).toBe(1);
    expect(await reads(worker, sandbox, renewed[0] ?? '')).toBe(200);
    expect(sandbox.counts.refreshes - before).toBe(1);
  });

  test('20 workers share one refresh of a rotating token', async () => {
    const { sandbox, login, newWorker } = await openSalesforce({ applications: [ROTATING] });
    await login();
    const before = sandbox.counts.refreshes;
    const workers = Array.from({ length: 20 }, () => newWorker());
    const headers = await Promise.all(workers.map((each) => each.authorizer.renew(NEVER)));
    expect(new Set(headers).size).toBe(1);
    expect(new Set(workers.map((each) => each.authorizer.baseUrl?.()))).toEqual(new Set([sandbox.url]));
    expect(sandbox.counts.refreshes - before).toBe(1);
  });

  test('a rotated refresh token is stored before anybody has the session', async () => {
    const { worker, newWorker, login } = await openSalesforce({ applications: [ROTATING] });
    await login();
    const before = await worker.credentials.read('clinic');
    const header = await worker.authorizer.renew(NEVER);
    const after = await newWorker().credentials.read('clinic');
    expect(header).toBe(`Bearer ${after?.tokens.accessToken}`);
    expect(after?.tokens.refreshToken).not.toBe(before?.tokens.refreshToken);
  });

  test('an answer that is lost after the rotation ends the connection, and reports the loss', async () => {
    const { sandbox, worker, login } = await openSalesforce({ applications: [ROTATING] });
    await login();
    sandbox.faults.add({ match: { path: '/oauth2/token' }, times: 1, fault: { kind: 'lost-answer' } });
    await refusedOnce(worker);
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({ code: 'refresh-answer-lost' });
    expect(await worker.credentials.read('clinic')).toMatchObject({ reason: 'refresh-answer-lost' });
  });

  test('a request that is cut before it arrives is sent again', async () => {
    const { sandbox, worker, login } = await openSalesforce({ applications: [ROTATING] });
    await login();
    sandbox.faults.add({ match: { path: '/oauth2/token' }, times: 1, fault: { kind: 'cut' } });
    expect(await reads(worker, sandbox, await worker.authorizer.renew(NEVER))).toBe(200);
  });
});

describe('an organisation that moves', () => {
  test.each(['unauthorized', 'closed'] as const)(
    'is found at its new URL by the next refresh, in every process; the old one: %s',
    async (old) => {
      const { sandbox, worker, newWorker, login } = await openSalesforce();
      await login();
      const peer = newWorker();
      const stale = await peer.authorizer.header(NEVER);
      expect(peer.authorizer.baseUrl?.()).toBe(sandbox.url);
      const moved = await sandbox.moveInstance(old);
      const header = await worker.authorizer.renew(NEVER);
      expect(worker.authorizer.baseUrl?.()).toBe(moved);
      expect(await reads(worker, sandbox, header)).toBe(200);
      peer.beginAnew();
      expect(await peer.authorizer.header(NEVER)).not.toBe(stale);
      expect(peer.authorizer.baseUrl?.()).toBe(moved);
    },
  );
});

describe('the URL of an organisation', () => {
  test('must be known: a connection without it requires action', async () => {
    const { worker } = await openSalesforce();
    await connect(worker, { accessExpiresAt: null });
    const unknown = { actor: 'authorization', code: 'instance-unknown' };
    await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject(unknown);
    expect(() => worker.authorizer.baseUrl?.()).toThrow(expect.objectContaining(unknown));
  });

  test('is absent for a provider with fixed URLs', async () => {
    const worker = openWorker({ redis: redis.connect(), issuer: 'https://login.example' });
    expect(worker.authorizer.baseUrl).toBeUndefined();
  });
});

describe('a connection that Salesforce ended', () => {
  test.each([
    ['inactive user', 'account-inactive', /administrator to activate the user/],
    [
      'ip restricted or invalid login hours',
      'address-restricted',
      /administrator to permit the IP address of this host/,
    ],
    ["user hasn't approved this consumer", 'application-not-approved', /administrator to approve the application/],
    ['expired access/refresh token', 'login-ended', /sign in again/],
    ['something else', 'login-ended', /sign in again/],
  ])('by %j requires a new sign-in, and reports the first step', async (description, code, remedy) => {
    const { sandbox, worker, login } = await openSalesforce();
    await login();
    sandbox.refuseUser(USER, description);
    if (code === 'login-ended') await refusedOnce(worker);
    for (const renewing of [() => worker.authorizer.renew(NEVER), () => worker.authorizer.header(NEVER)]) {
      const thrown = await renewing().catch((error: unknown) => error);
      expect(thrown).toMatchObject({ actor: 'authorization', code, remedy: expect.stringMatching(remedy) });
      expect(JSON.stringify(thrown)).not.toContain(description);
    }
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'needs-login', reason: code });
    sandbox.refuseUser(USER, undefined);
    await login();
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'connected', reason: null });
  });

  test('by a sixth grant elsewhere requires a new sign-in, and the newest grant continues', async () => {
    const { sandbox, worker, login } = await openSalesforce();
    await login();
    const old = await worker.credentials.read('clinic');
    for (let grant = 0; grant < 4; grant += 1) await login();
    expect(sandbox.liveGrants(USER)).toBe(5);
    await expect(worker.server.refresh(old?.tokens.refreshToken ?? '', NEVER)).resolves.toMatchObject({
      baseUrl: sandbox.url,
    });
    await login();
    expect(sandbox.liveGrants(USER)).toBe(5);
    await expect(worker.server.refresh(old?.tokens.refreshToken ?? '', NEVER)).rejects.toMatchObject({
      code: 'login-ended',
    });
    expect(await reads(worker, sandbox, await worker.authorizer.renew(NEVER))).toBe(200);
  });

  test('because newer grants replaced it ends automatically, in status too', async () => {
    const { sandbox, worker, login } = await openSalesforce({ grantsPerUser: 1 });
    await login();
    const verifier = 'v'.repeat(43);
    const redirect = 'http://127.0.0.1/elsewhere';
    const url = await worker.server.authorizationUrl({
      redirect_uri: redirect,
      scope: SCOPES.join(' '),
      state: 's',
      code_challenge: createHash('sha256').update(verifier).digest('base64url'),
      code_challenge_method: 'S256',
    });
    const back = new URL(await sandbox.authorizeInBrowser(url.href, { account: USER }));
    await worker.server.exchangeCode(back, { state: 's', codeVerifier: verifier }, NEVER);
    await refusedOnce(worker);
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({ actor: 'authorization', code: 'login-ended' });
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'needs-login', reason: 'login-ended' });
  });
});

describe('an unused connection', () => {
  test('is refreshed daily, and outlives an idle time of 30 days', async () => {
    const time = { now: Date.now() };
    const idle = { ...ROTATING, refreshTokenIdleMs: 30 * 86_400_000 };
    const { sandbox, login, newWorker } = await openSalesforce({ applications: [idle], now: () => time.now });
    await login();
    const worker = newWorker(() => time.now);
    // The time of the sign-in comes from the clock of this host.
    time.now += 60_000;
    for (let day = 0; day < 40; day += 1) {
      time.now += 86_400_000;
      expect(await worker.authorizer.refreshIfDue(NEVER)).toBe(true);
      expect(await worker.authorizer.refreshIfDue(NEVER)).toBe(false);
    }
    expect(await reads(worker, sandbox, await worker.authorizer.header(NEVER))).toBe(200);
    const credential = await worker.credentials.read('clinic');
    expect(credential !== null && dueForRefresh(credential, time.now)).toBe(false);
  });
});

describe('ending a Salesforce connection', () => {
  test('revokes the grant there', async () => {
    const { sandbox, worker, login } = await openSalesforce();
    await login();
    expect(await disconnect(worker.place, worker.server, silentLogger, NEVER)).toBe('revoked');
    expect(sandbox.liveGrants(USER)).toBe(0);
    expect(await worker.credentials.read('clinic')).toBeNull();
  });
});
