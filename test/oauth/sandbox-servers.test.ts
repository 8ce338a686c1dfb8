import { describe, expect, onTestFinished, test } from 'vitest';
import {
  approveDevice,
  authorizeInBrowser,
  type ClinicSandboxOptions,
  startClinicSandbox,
} from '../../sandbox/clinic/index.ts';
import { type GoogleSandboxOptions, startGoogleSandbox } from '../../sandbox/google/index.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import type { PendingLogin } from '../../src/oauth/credential.ts';
import { type DevicePrompt, loginByDevice } from '../../src/oauth/device-login.ts';
import { dueForRefresh } from '../../src/oauth/due.ts';
import { disconnect, type LoginTarget, storeLogin } from '../../src/oauth/login.ts';
import { loginOnLoopback } from '../../src/oauth/loopback-login.ts';
import { clinicProvider, googleProvider, type Provider } from '../../src/oauth/providers.ts';
import { createLoginStore } from '../../src/operator/control/login-stores.ts';
import { useRedis } from '../support/redis.ts';
import { forgetAccount, NEVER, openWorker, RING, refusedOnce, type Worker } from './connection.ts';

const redis = useRedis();
const CLINIC_SCOPES = ['openid', 'offline_access', 'svc.agenda', 'svc.patients'];
const CALENDAR = 'https://www.googleapis.com/auth/calendar.events';
const CALENDARS = 'https://www.googleapis.com/auth/calendar.app.created';

async function openClinic(options: ClinicSandboxOptions = {}) {
  const clinic = await startClinicSandbox({ tenants: 1, appointments: 10, ...options });
  onTestFinished(() => clinic.close());
  const [client] = clinic.clients;
  const provider = clinicProvider({
    authUrl: clinic.authUrl,
    clientId: client?.clientId ?? '',
    clientSecret: client?.clientSecret ?? null,
  });
  const newWorker = () =>
    openWorker({ redis: redis.connect(), issuer: clinic.authUrl, provider, scopes: CLINIC_SCOPES });
  const worker = newWorker();
  const user = clinic.tenants[0]?.user ?? { username: '', password: '' };
  const login = (scopes?: string[]) =>
    loginAs(worker, CLINIC_SCOPES, (url) =>
      authorizeInBrowser(url, { ...user, ...(scopes === undefined ? {} : { scopes }) }),
    );
  const userinfo = async (authorization: string) =>
    (await fetch(`${clinic.baseUrl}/v2/userinfo`, { headers: { accept: 'application/json', authorization } })).status;
  return { clinic, provider, worker, newWorker, user, login, userinfo };
}

async function openGoogle(options: GoogleSandboxOptions = {}) {
  const google = await startGoogleSandbox(options);
  onTestFinished(() => google.close());
  google.addAccount('doctor@clinic.example');
  const { clientId, clientSecret } = google.client;
  const provider: Provider = googleProvider({ issuer: google.issuer, clientId, clientSecret });
  const scopes = [CALENDAR, CALENDARS];
  const worker = openWorker({ redis: redis.connect(), issuer: google.issuer, provider, scopes });
  const login = (granted?: string[]) =>
    loginAs(worker, scopes, (url) =>
      google.authorizeInBrowser(url, {
        account: 'doctor@clinic.example',
        ...(granted === undefined ? {} : { scopes: granted }),
      }),
    );
  return { google, worker, login };
}

/** Runs the sign-in of the command line with a scripted user. */
function loginAs(worker: Worker, scopes: readonly string[], visit: (url: string) => Promise<string>) {
  const logins = createLoginStore<PendingLogin>(redis.connect(), RING);
  const target: LoginTarget = { context: worker.place, server: worker.server, scopes, clock: Date.now };
  return loginOnLoopback(
    target,
    { pending: logins },
    (url) => void visit(url.href).then((address) => fetch(address)),
    NEVER,
  );
}

describe('against the authorization server of the clinic sandbox', () => {
  test('a sign-in on this host gives working tokens', async () => {
    const { worker, login, userinfo } = await openClinic();
    expect(await login()).toMatchObject({ missingScopes: [], account: { subject: expect.any(String) } });
    expect(await userinfo(await worker.authorizer.header(NEVER))).toBe(200);
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'connected', reason: null });
  });

  test('the account is known from the id token, at sign-in and with each refresh', async () => {
    const { worker, login } = await openClinic();
    const { account } = await login();
    await forgetAccount(worker);
    await worker.authorizer.renew(NEVER);
    expect((await worker.credentials.read('clinic'))?.tokens.account).toEqual(account);
  });

  test('without a discovery document the endpoints of the specification serve', async () => {
    const { clinic, provider, user, userinfo } = await openClinic();
    const { issuer, clientId, clientSecret } = provider;
    const settings = { authUrl: issuer, clientId, clientSecret, discovery: false };
    const worker = openWorker({
      redis: redis.connect(),
      issuer: clinic.authUrl,
      provider: clinicProvider(settings),
      scopes: CLINIC_SCOPES,
    });
    await loginAs(worker, CLINIC_SCOPES, (url) => authorizeInBrowser(url, user));
    expect(await userinfo(await worker.authorizer.renew(NEVER))).toBe(200);
    await expect(worker.server.beginDevice(CLINIC_SCOPES, NEVER)).rejects.toMatchObject({ code: 'endpoint-unknown' });
    expect(await disconnect(worker.place, worker.server, silentLogger, NEVER)).toBe('not-supported');
  });

  test('20 workers renew the rotating token at once: one call, and the family lives', async () => {
    const { clinic, login, newWorker, userinfo } = await openClinic();
    await login();
    const before = clinic.counts.requests({ method: 'POST', route: '/connect/token' });
    const headers = await Promise.all(Array.from({ length: 20 }, () => newWorker().authorizer.renew(NEVER)));
    expect(new Set(headers).size).toBe(1);
    expect(clinic.counts.requests({ method: 'POST', route: '/connect/token' }) - before).toBe(1);
    expect(await userinfo(headers[0] ?? '')).toBe(200);
  });

  test('an answer lost after the rotation ends the connection there, and reports the loss', async () => {
    const { clinic, worker, login } = await openClinic();
    await login();
    clinic.faults.add({ match: { method: 'POST', path: '/connect/token' }, times: 1, fault: { kind: 'lost-answer' } });
    await refusedOnce(worker);
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({
      actor: 'authorization',
      code: 'refresh-answer-lost',
    });
    expect(await worker.credentials.read('clinic')).toMatchObject({
      state: 'needs-login',
      reason: 'refresh-answer-lost',
    });
    await login();
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'connected', reason: null });
  });

  test('a connection cut before the server saw the request is survived', async () => {
    const { clinic, worker, login, userinfo } = await openClinic();
    await login();
    clinic.faults.add({ match: { method: 'POST', path: '/connect/token' }, times: 1, fault: { kind: 'cut' } });
    expect(await userinfo(await worker.authorizer.renew(NEVER))).toBe(200);
  });

  test('unticked scopes are listed', async () => {
    const { login } = await openClinic();
    expect(await login(['openid', 'offline_access', 'svc.agenda'])).toMatchObject({ missingScopes: ['svc.patients'] });
  });

  test('without offline access the user learns that the connection would not last', async () => {
    const { login } = await openClinic();
    await expect(login(['openid', 'svc.agenda', 'svc.patients'])).rejects.toMatchObject({ code: 'no-refresh-token' });
  });

  test('a disabled account ends the connection at the next refresh', async () => {
    const { clinic, user, worker, login } = await openClinic();
    await login();
    clinic.disableUser(user.username);
    await refusedOnce(worker);
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({ actor: 'authorization' });
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'needs-login' });
  });

  test('a revoked client is a fault in the settings, and the connection stays', async () => {
    const { clinic, provider, worker, login } = await openClinic();
    await login();
    clinic.revokeClient(provider.clientId);
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({ actor: 'settings', code: 'client-rejected' });
    expect(await worker.credentials.read('clinic')).toMatchObject({ state: 'connected', reason: 'client-rejected' });
  });

  test('a device sign-in polls, slows down on request, and stores its tokens', async () => {
    const { worker, user, userinfo } = await openClinic({ deviceIntervalSeconds: 0.05, slowDownSeconds: 0.05 });
    const target: LoginTarget = {
      context: worker.place,
      server: worker.server,
      scopes: CLINIC_SCOPES,
      clock: Date.now,
    };
    const prompts: DevicePrompt[] = [];
    let polls = 0;
    const answer = await loginByDevice(
      {
        ...target,
        show: (prompt) => prompts.push(prompt),
        async pause() {
          polls += 1;
          const [prompt] = prompts;
          if (polls === 3 && prompt) await approveDevice(prompt.verificationUri, prompt.userCode, user);
        },
      },
      NEVER,
    );
    expect(polls).toBeGreaterThanOrEqual(3);
    expect(await storeLogin(target, answer, { way: 'here' }, NEVER)).toMatchObject({ missingScopes: [] });
    expect(await userinfo(await worker.authorizer.header(NEVER))).toBe(200);
  });

  test('disconnecting revokes the tokens there', async () => {
    const { worker, login, userinfo } = await openClinic();
    await login();
    const header = await worker.authorizer.header(NEVER);
    expect(await disconnect(worker.place, worker.server, silentLogger, NEVER)).toBe('revoked');
    expect(await userinfo(header)).toBe(401);
  });
});

describe("against Google's sandbox", () => {
  test('a sign-in gives a token that is refreshed without rotation, and works', async () => {
    const { google, worker, login } = await openGoogle();
    expect(await login()).toMatchObject({ missingScopes: [] });
    const first = await worker.credentials.read('clinic');
    const authorization = await worker.authorizer.renew(NEVER);
    const second = await worker.credentials.read('clinic');
    expect(second?.tokens.refreshToken).toBe(first?.tokens.refreshToken);
    expect(second?.tokens.accessToken).not.toBe(first?.tokens.accessToken);
    const list = await fetch(`${google.calendarApiUrl}/calendar/v3/calendars/primary/events`, {
      headers: { authorization },
    });
    expect(list.status).toBe(200);
  });

  test('a second sign-in also gives a refresh token', async () => {
    const { worker, login } = await openGoogle();
    await login();
    const first = await worker.credentials.read('clinic');
    await login();
    const second = await worker.credentials.read('clinic');
    expect(second?.tokens.refreshToken).toBeTruthy();
    expect(second?.version).toBeGreaterThan(first?.version ?? 0);
  });

  test('granular consent: the unticked scope is listed', async () => {
    const { login } = await openGoogle();
    expect(await login([CALENDAR])).toMatchObject({ grantedScopes: [CALENDAR], missingScopes: [CALENDARS] });
  });

  test('a withdrawn consent ends the connection', async () => {
    const { google, worker, login } = await openGoogle();
    await login();
    google.revokeConsent('doctor@clinic.example');
    await refusedOnce(worker);
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({ actor: 'authorization', code: 'login-ended' });
  });

  test('the expiry of a consent is known in advance', async () => {
    const { worker, login } = await openGoogle({ refreshTokenLifetimeMs: 7 * 86_400_000 });
    await login();
    const credential = await worker.credentials.read('clinic');
    if (credential === null) throw new Error('no credential');
    expect((credential.refreshExpiresAt ?? 0) - Date.now()).toBeGreaterThan(7 * 86_400_000 - 60_000);
    expect(dueForRefresh({ ...credential, accessExpiresAt: null }, Date.now() + 86_400_000)).toBe(true);
  });

  test('disconnecting revokes the consent', async () => {
    const { worker, login } = await openGoogle();
    await login();
    expect(await disconnect(worker.place, worker.server, silentLogger, NEVER)).toBe('revoked');
  });
});
