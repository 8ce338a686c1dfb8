import * as client from 'openid-client';
import { afterAll, afterEach, beforeAll, expect, test, vi } from 'vitest';
import { createDevicePolling } from '../../../sandbox/clinic/authorization/device-polling.ts';
import { approveDevice, type ClinicSandbox, startClinicSandbox } from '../../../sandbox/clinic/index.ts';
import { call, discover, firstTenant, type Json } from './support.ts';

const SCOPE = 'openid offline_access svc.agenda';
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

let sandbox: ClinicSandbox;
let configuration: client.Configuration;

beforeAll(async () => {
  sandbox = await startClinicSandbox({
    tenants: 1,
    appointments: 20,
    deviceIntervalSeconds: 0.2,
    slowDownSeconds: 0.2,
    deviceCodeLifetimeSeconds: 60,
  });
  configuration = await discover(sandbox);
});

afterAll(() => sandbox.close());
afterEach(() => void vi.useRealTimers());

function start(): Promise<client.DeviceAuthorizationResponse> {
  return client.initiateDeviceAuthorization(configuration, { scope: SCOPE });
}

async function poll(deviceCode: string): Promise<{ status: number; body: Json }> {
  const { clientId = '', clientSecret = '' } = sandbox.clients[0] ?? {};
  const response = await fetch(`${sandbox.authUrl}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({
      grant_type: DEVICE_GRANT,
      device_code: deviceCode,
      client_id: clientId,
      client_secret: clientSecret,
    }),
  });
  const body: Json = JSON.parse(await response.text());
  return { status: response.status, body };
}

test('states where to go, what to type and how often to poll', async () => {
  const started = await start();
  expect(started).toMatchObject({ verification_uri: `${sandbox.authUrl}/device`, interval: 0.2, expires_in: 60 });
  expect(started.user_code).toMatch(/^\w{4}-\w{4}$/);
});

test('gives tokens after approval, for the scopes that were ticked', async () => {
  const started = await start();
  const waiting = client.pollDeviceAuthorizationGrant(configuration, started);
  await approveDevice(started.verification_uri, started.user_code, {
    ...firstTenant(sandbox).user,
    scopes: ['offline_access', 'svc.agenda'],
  });
  const tokens = await waiting;
  expect(tokens.scope?.split(' ').sort()).toEqual(['offline_access', 'openid', 'svc.agenda']);
  expect((await call(sandbox, tokens.access_token, 'GET', '/v2/userinfo')).status).toBe(200);
  await expect(client.refreshTokenGrant(configuration, tokens.refresh_token ?? '')).resolves.toBeDefined();
});

test('answers authorization_pending, and slow_down when polled too fast', async () => {
  const { device_code: code } = await start();
  expect(await poll(code)).toMatchObject({ status: 400, body: { error: 'authorization_pending' } });
  expect(await poll(code)).toMatchObject({ status: 400, body: { error: 'slow_down' } });
  expect((await poll((await start()).device_code)).body.error).toBe('authorization_pending');
});

test('each slow_down lengthens the interval permanently', () => {
  vi.useFakeTimers({ toFake: ['performance'] });
  const polling = createDevicePolling(5, 5);

  function pollAfter(seconds: number): boolean {
    vi.advanceTimersByTime(seconds * 1000);
    return polling.isTooFast('code');
  }

  expect([pollAfter(0), pollAfter(5), pollAfter(5)]).toEqual([false, false, false]);
  expect([pollAfter(4), pollAfter(5), pollAfter(14), pollAfter(20), pollAfter(19)]).toEqual([
    true,
    true,
    true,
    false,
    true,
  ]);
});

test('another client cannot slow a device down', async () => {
  const { device_code: code } = await start();
  await poll(code);
  const response = await fetch(`${sandbox.authUrl}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams({ grant_type: DEVICE_GRANT, device_code: code, client_id: 'somebody' }),
  });
  expect(await response.json()).toMatchObject({ error: 'invalid_client' });
});

test('answers access_denied after a refusal', async () => {
  const started = await start();
  await approveDevice(started.verification_uri, started.user_code, { ...firstTenant(sandbox).user, deny: true });
  const { status, body } = await poll(started.device_code);
  expect([status, body.error]).toEqual([400, 'access_denied']);
});

test('answers expired_token when the code is too old, and the person cannot use it any more', async () => {
  const started = await start();
  vi.useFakeTimers({ toFake: ['Date'] });
  vi.setSystemTime(Date.now() + 61_000);
  const { status, body } = await poll(started.device_code);
  expect([status, body.error]).toEqual([400, 'expired_token']);
  const approving = approveDevice(started.verification_uri, started.user_code, firstTenant(sandbox).user);
  await expect(approving).rejects.toThrow(/did not take the user code/);
});

test('a device code works once', async () => {
  const started = await start();
  await approveDevice(started.verification_uri, started.user_code, firstTenant(sandbox).user);
  await client.pollDeviceAuthorizationGrant(configuration, started);
  expect((await poll(started.device_code)).body.error).toBe('invalid_grant');
});

test('a wrong user code is not taken', async () => {
  const { verification_uri: address } = await start();
  await expect(approveDevice(address, 'AAAA-AAAA', firstTenant(sandbox).user)).rejects.toThrow(/user code/);
});
