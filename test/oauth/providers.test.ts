import { describe, expect, onTestFinished, test } from 'vitest';
import { type GraphSandbox, type GraphSandboxOptions, startGraphSandbox } from '../../sandbox/graph/index.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { PendingLogin } from '../../src/oauth/credential.ts';
import { type DevicePrompt, loginByDevice } from '../../src/oauth/device-login.ts';
import { disconnect, type LoginTarget, storeLogin } from '../../src/oauth/login.ts';
import { loginOnLoopback } from '../../src/oauth/loopback-login.ts';
import { microsoftProvider, missingScopes } from '../../src/oauth/providers.ts';
import { createAuthorizationServer } from '../../src/oauth/server.ts';
import { createLoginStore } from '../../src/operator/control/login-stores.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { NEVER, openWorker, RING } from './connection.ts';

const AUTHORITY = 'https://login.microsoftonline.com';

function providerOf(changes: { authority?: string; directory?: string } = {}) {
  return microsoftProvider({
    authority: AUTHORITY,
    directory: 'organizations',
    clientId: 'app-1',
    clientSecret: null,
    ...changes,
  });
}

describe("Microsoft's provider", () => {
  test('has the endpoints of its directory, and needs no discovery', async () => {
    const provider = providerOf({ directory: 'clinic.example' });
    const http = createHttpClient({ userAgent: 'test', clock: Date.now });
    const server = createAuthorizationServer({ provider, http, clock: Date.now });
    const url = await server.authorizationUrl({ scope: 'offline_access', state: 's' });
    expect(`${url.origin}${url.pathname}`).toBe(`${AUTHORITY}/clinic.example/oauth2/v2.0/authorize`);
    expect(Object.fromEntries(url.searchParams)).toMatchObject({ client_id: 'app-1', prompt: 'select_account' });
    expect(provider).toMatchObject({
      issuer: `${AUTHORITY}/clinic.example/v2.0`,
      endpoints: { token: `${AUTHORITY}/clinic.example/oauth2/v2.0/token`, revocation: null },
      deviceEndpoint: `${AUTHORITY}/clinic.example/oauth2/v2.0/devicecode`,
    });
  });

  test('is refused when secrets would go over plain http', () => {
    expect(() => providerOf({ authority: 'http://login.example' })).toThrow(
      expect.objectContaining({ code: 'insecure-address' }),
    );
  });
});

describe('permissions of Graph', () => {
  const needed = ['https://graph.microsoft.com/Calendars.ReadWrite', 'offline_access'];

  test.each([
    ['with their URL prefix', ['https://graph.microsoft.com/Calendars.ReadWrite']],
    ['without the URL prefix', ['openid', 'profile', 'Calendars.ReadWrite']],
    ['in lower case', ['https://graph.microsoft.com/calendars.readwrite']],
  ])('are held when they are granted %s', (_how, granted) => {
    expect(missingScopes(needed, granted)).toEqual([]);
  });

  test('are missing when others are granted', () => {
    expect(missingScopes(needed, ['Calendars.Read', 'Calendars.ReadWrite.Shared'])).toEqual([needed[0]]);
    expect(missingScopes(['Svc.Agenda'], ['svc.agenda']), 'elsewhere letters count').toEqual(['Svc.Agenda']);
  });
});

const redis = useRedis();

const ACCOUNT = 'doctor@clinic.example';

describe('against the authorization endpoint of the Graph sandbox', () => {
  const account = ACCOUNT;
  const scopes = ['https://graph.microsoft.com/Calendars.ReadWrite', 'offline_access'];

  async function openGraph(options: GraphSandboxOptions = {}) {
    const sandbox = await startGraphSandbox(options);
    onTestFinished(() => sandbox.close());
    sandbox.addMailbox(account);
    const { clientId, clientSecret } = sandbox.application;
    const provider = microsoftProvider({
      authority: sandbox.url,
      directory: sandbox.tenantId,
      clientId,
      clientSecret: clientSecret ?? null,
    });
    const newWorker = () => openWorker({ redis: redis.connect(), issuer: provider.issuer, provider, scopes });
    const worker = newWorker();
    const target: LoginTarget = { context: worker.place, server: worker.server, scopes, clock: Date.now };
    const visit = async (url: URL) => void (await fetch(await sandbox.authorizeInBrowser(url.href, { account })));
    const logins = createLoginStore<PendingLogin>(redis.connect(), RING);
    const login = () => loginOnLoopback(target, { pending: logins }, (url) => void visit(url), NEVER);
    const reads = async (authorization: string) =>
      (await fetch(`${sandbox.graphUrl}/v1.0/me/calendar`, { headers: { authorization } })).status;
    return { sandbox, worker, newWorker, target, login, reads };
  }

  test.each<[string, GraphSandboxOptions]>([
    ['a registration with a secret', {}],
    ['a registration without one', { applications: [{ clientId: 'public-client' }] }],
  ])('an operator connects by %s, and the token is renewed with the newest refresh token', async (_what, options) => {
    const { worker, login, reads } = await openGraph(options);
    expect(await login()).toMatchObject({ missingScopes: [] });
    expect(await reads(await worker.authorizer.header(NEVER))).toBe(200);
    const before = await worker.credentials.read('clinic');
    await worker.refresher.refresh(before?.version ?? 0);
    const after = await worker.credentials.read('clinic');
    expect(after?.tokens?.refreshToken).toBeTruthy();
    expect(after?.tokens?.refreshToken).not.toBe(before?.tokens?.refreshToken);
    expect(await reads(await worker.authorizer.header(NEVER))).toBe(200);
  });

  test('20 workers that need a new token at once ask Microsoft once', async () => {
    const { sandbox, login, newWorker, reads } = await openGraph();
    await login();
    const before = sandbox.counts.tokenRequests;
    const headers = await Promise.all(Array.from({ length: 20 }, () => newWorker().authorizer.renew(NEVER)));
    expect(new Set(headers).size).toBe(1);
    expect(sandbox.counts.tokenRequests - before).toBe(1);
    expect(await reads(headers[0] ?? '')).toBe(200);
  });

  test('while Redis is away the new access token is not used; afterwards Redis holds its refresh token', async () => {
    const { sandbox, worker, newWorker, login, reads } = await openGraph();
    await login();
    const before = await worker.credentials.read('clinic');
    sandbox.faults.add({ match: { path: '/token' }, times: 1, fault: { kind: 'latency', ms: 3_000 } });
    sandbox.recording.record(true);
    let given: string | null = null;
    const renewing = worker.authorizer.renew(NEVER).then((header) => {
      given = header;
    });
    await waitFor(() => sandbox.recording.recorded().length > 0, { what: 'the request to Microsoft' });
    await redis.crash();
    await waitFor(() => sandbox.requests.inFlight('http') === 0, { what: 'the answer of Microsoft' });
    expect(given).toBeNull();
    await redis.startAgain();
    await renewing;
    const after = await newWorker().credentials.read('clinic');
    expect(after?.tokens?.refreshToken).not.toBe(before?.tokens?.refreshToken);
    expect(given).toBe(`Bearer ${after?.tokens?.accessToken}`);
    expect(await reads(given ?? '')).toBe(200);
  });

  test('an answer lost after the rotation is survived: Microsoft takes the old refresh token again', async () => {
    const { sandbox, worker, login, reads } = await openGraph();
    await login();
    sandbox.faults.add({ match: { path: '/token' }, times: 1, fault: { kind: 'lost-answer' } });
    expect(await reads(await worker.authorizer.renew(NEVER))).toBe(200);
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'connected', reason: null });
  });

  test('disconnecting reports that Microsoft has no revocation, sends it no request, and deletes the connection', async () => {
    const { sandbox, worker, login } = await openGraph();
    await login();
    sandbox.recording.record(true);
    expect(await disconnect(worker.place, worker.server, silentLogger, NEVER)).toBe('not-supported');
    expect(sandbox.recording.recorded()).toEqual([]);
    expect(await worker.credentials.read('clinic')).toBeNull();
  });

  test('a connection that the organisation ended requires action', async () => {
    const { sandbox, worker, login } = await openGraph();
    await login();
    sandbox.requireInteraction(account);
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({ actor: 'authorization', retry: 'never' });
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'needs-login' });
  });

  describe('by device code', () => {
    /** Runs one action at each poll of the device; the waits advance the clock, for Microsoft too. */
    async function loginOnDevice(looks: ((shown: Shown) => unknown)[], options: GraphSandboxOptions = {}) {
      const time = { now: Date.now(), skewMs: 0 };
      const graph = await openGraph({ now: () => time.now + time.skewMs, ...options });
      const shown = { ...graph, time, prompts: [] as DevicePrompt[], waits: [] as number[] };
      const outcome = loginByDevice(
        {
          ...graph.target,
          clock: () => time.now,
          show: (prompt) => void shown.prompts.push(prompt),
          async pause(durationMs) {
            shown.waits.push(durationMs / 1_000);
            time.now += durationMs;
            await looks.shift()?.(shown);
          },
        },
        NEVER,
      );
      // Each test awaits the outcome later.
      outcome.catch(() => {});
      return { ...shown, outcome };
    }

    test('waits while the user signs in, shows no URL with the code in it, and stores a working connection', async () => {
      const { outcome, prompts, waits, target, worker, reads } = await loginOnDevice([nothing, nothing, approve]);
      expect(await storeLogin(target, await outcome, { way: 'here' }, NEVER)).toMatchObject({ missingScopes: [] });
      expect(waits).toEqual([5, 5, 5]);
      expect(prompts).toMatchObject([{ verificationUriComplete: null, userCode: expect.stringMatching(/^\w{9}$/) }]);
      expect(await reads(await worker.authorizer.header(NEVER))).toBe(200);
      expect((await worker.credentials.read('clinic'))?.tokens?.refreshToken).toBeTruthy();
    });

    test('slow_down twice makes every further wait five seconds longer each', async () => {
      const slowDown = { kind: 'status', status: 400, body: { error: 'slow_down' } };
      const { outcome, waits } = await loginOnDevice([
        ({ sandbox }) => sandbox.faults.add({ match: { path: '/token' }, times: 2, fault: slowDown }),
        nothing,
        nothing,
        approve,
      ]);
      await outcome;
      expect(waits).toEqual([5, 10, 15, 15]);
    });

    test.each<[string, ((shown: Shown) => unknown)[], string, string]>([
      ['authorization_declined', [nothing, decline], 'authorization_declined', 'login-refused'],
      ['expired_token', [nothing, expire], 'expired_token', 'device-code-expired'],
      // Microsoft gave the tokens, and the code is used up.
      ['bad_verification_code', [nothing, loseTheAnswer], 'bad_verification_code', 'device-code-unknown'],
    ])('%s ends it in clear words, and nothing is stored', async (_what, looks, word, code) => {
      const { outcome, sandbox, worker } = await loginOnDevice([
        ({ sandbox: at }) => at.recording.record(true),
        ...looks,
      ]);
      await expect(outcome).rejects.toMatchObject({
        actor: 'authorization',
        code,
        retry: 'never',
        remedy: expect.any(String),
      });
      const last = sandbox.recording.recorded().findLast(({ url }) => url.endsWith('/token'));
      const again = await fetch(sandbox.tokenUrl, { method: 'POST', body: new URLSearchParams(last?.body) });
      expect(await again.json(), "Microsoft's own word").toMatchObject({ error: word });
      expect(await worker.credentials.read('clinic')).toBeNull();
    });
  });
});

/** A running sign-in by device code. */
interface Shown {
  sandbox: GraphSandbox;
  prompts: DevicePrompt[];
  /** In seconds. */
  waits: number[];
  time: { now: number; skewMs: number };
}

const nothing = () => {};

function approve({ sandbox, prompts }: Shown): Promise<void> {
  return sandbox.approveDevice(prompts[0]?.userCode ?? '', { account: ACCOUNT });
}

function decline({ sandbox, prompts }: Shown): Promise<void> {
  return sandbox.approveDevice(prompts[0]?.userCode ?? '', { account: ACCOUNT, deny: true });
}

/** Microsoft's clock runs ahead of the clock of this host. */
function expire({ time }: Shown): void {
  time.skewMs = 3_600_000;
}

async function loseTheAnswer(shown: Shown): Promise<void> {
  await approve(shown);
  shown.sandbox.faults.add({ match: { path: '/token' }, times: 1, fault: { kind: 'lost-answer' } });
}
