import { describe, expect, test } from 'vitest';
import { type DevicePrompt, loginByDevice } from '../../src/oauth/device-login.ts';
import { useRedis } from '../support/redis.ts';
import { NEVER, openWorker, SCOPES } from './connection.ts';
import { type Answer, oauthError, startTokenServer, tokensNamed } from './token-server.ts';

const redis = useRedis();

/** Runs a device sign-in against a server that gives these answers, in order; the waits advance the clock. */
async function login(answers: Answer[], started: Record<string, unknown> = {}, requestTimeoutMs = 5_000) {
  const server = await startTokenServer();
  server.onDevice = () => ({
    body: {
      device_code: 'device-canary',
      user_code: 'ABCD-EFGH',
      verification_uri: 'https://login.example.org/device',
      expires_in: 600,
      ...started,
    },
  });
  server.onToken = () => answers.shift() ?? { body: { ...tokensNamed(0), expires_in: 3_600 } };
  const worker = openWorker({ redis: redis.connect(), issuer: server.url, requestTimeoutMs });
  const waits: number[] = [];
  const prompts: DevicePrompt[] = [];
  let now = 1_000_000;
  const outcome = loginByDevice(
    {
      server: worker.server,
      scopes: SCOPES,
      show: (prompt) => prompts.push(prompt),
      async pause(durationMs) {
        waits.push(durationMs / 1_000);
        now += durationMs;
      },
      clock: () => now,
    },
    NEVER,
  );
  return { server, waits, prompts, outcome };
}

const pending = oauthError('authorization_pending');
const slowDown = oauthError('slow_down');

describe('a sign-in by device code', () => {
  test('shows code and URL, requests the scopes, and polls every five seconds by default', async () => {
    const { server, waits, prompts, outcome } = await login([pending, pending]);
    expect(await outcome).toMatchObject({ accessToken: 'access-0', refreshToken: 'refresh-0' });
    expect(waits).toEqual([5, 5, 5]);
    expect(prompts).toEqual([
      {
        userCode: 'ABCD-EFGH',
        verificationUri: 'https://login.example.org/device',
        verificationUriComplete: null,
        expiresAt: 1_600_000,
      },
    ]);
    expect(server.forms('/device')[0]?.get('scope')).toBe(SCOPES.join(' '));
    expect(server.forms('/token')[0]?.get('device_code')).toBe('device-canary');
    expect(server.forms('/token')[0]?.get('grant_type')).toBe('urn:ietf:params:oauth:grant-type:device_code');
  });

  test('slow_down twice: 5, 10, 15 seconds, and it stays there', async () => {
    const { waits, outcome } = await login([slowDown, slowDown, pending, pending]);
    await outcome;
    expect(waits).toEqual([5, 10, 15, 15, 15]);
  });

  test.each([
    ['a number', 2, 2],
    ['a text', '3', 3],
    ['zero', 0, 5],
    ['null', null, 5],
  ])('an interval that is %s', async (_name, interval, seconds) => {
    const { waits, outcome } = await login([pending], { interval });
    await outcome;
    expect(waits).toEqual([seconds, seconds]);
  });

  test('waits as long as Retry-After says, once', async () => {
    const { waits, outcome } = await login([
      { status: 429, body: { error: 'rate_limit_exceeded' }, headers: { 'retry-after': '30' } },
      pending,
    ]);
    await outcome;
    expect(waits).toEqual([5, 30, 10]);
  });

  test('backs off while the server cannot be reached', async () => {
    const { waits, outcome } = await login(['cut', { status: 502, body: 'x' }, pending]);
    await outcome;
    expect(waits).toEqual([5, 10, 20, 20]);
  });

  test.each([
    ['access_denied', 'login-refused'],
    ['authorization_declined', 'login-refused'],
    ['expired_token', 'device-code-expired'],
    ['bad_verification_code', 'device-code-unknown'],
    ['invalid_grant', 'device-code-unknown'],
  ])('%s ends it in clear words: %s', async (error, code) => {
    const { server, outcome } = await login([pending, oauthError(error)]);
    await expect(outcome).rejects.toMatchObject({ actor: 'authorization', code, retry: 'never' });
    expect(server.forms('/token')).toHaveLength(2);
  });

  test('ends when no user comes in time, even if the server never reports the expiry', async () => {
    const { waits, outcome } = await login(Array(20).fill(pending), { expires_in: 31 });
    await expect(outcome).rejects.toMatchObject({ code: 'device-code-expired' });
    expect(waits).toHaveLength(7);
  });

  test('a rejected client is the settings fault, at once', async () => {
    const { outcome, waits } = await login([oauthError('invalid_client', 401)]);
    await expect(outcome).rejects.toMatchObject({ actor: 'settings', code: 'client-rejected' });
    expect(waits).toHaveLength(1);
  });

  test('a server without a device endpoint is the settings fault, with the remedy', async () => {
    const server = await startTokenServer();
    server.metadata = { device_authorization_endpoint: undefined };
    const worker = openWorker({ redis: redis.connect(), issuer: server.url });
    await expect(worker.server.beginDevice(SCOPES, NEVER)).rejects.toMatchObject({
      actor: 'settings',
      code: 'endpoint-unknown',
      remedy: expect.stringContaining('deviceEndpoint'),
    });
  });
});

describe('an unsafe instruction of the server is not shown', () => {
  const PAGE = 'https://login.example.org/device';

  test.each([
    ['a script', { verification_uri: 'javascript:fetch("https://evil.test")' }],
    ['a file', { verification_uri: 'file:///etc/passwd' }],
    ['a URL with a hidden host', { verification_uri: 'https://login.example.org@evil.test/device' }],
    ['no URL', { verification_uri: 'Call the help desk: 555 0100' }],
    ['a URL that is too long', { verification_uri: `${PAGE}?${'x'.repeat(2_000)}` }],
    ['a sentence instead of a code', { user_code: 'ABCD. Then call 555 0100 and read it to the help desk' }],
    ['a code that turns the terminal', { user_code: 'ABCD\u001b[2J' }],
    ['a code of two lines', { user_code: 'ABCD\nOpen https://evil.test' }],
    ['no code', { user_code: '' }],
  ])('%s', async (_, started) => {
    const { prompts, outcome } = await login([], started);
    await expect(outcome).rejects.toMatchObject({
      code: expect.stringMatching(/^(device-answer-refused|token-answer-unreadable)$/),
    });
    expect(prompts).toEqual([]);
  });

  test('a URL of another site in addition to the page', async () => {
    const { prompts, outcome } = await login([], {
      verification_uri_complete: 'https://evil.test/device?code=ABCD-EFGH',
    });
    await outcome;
    expect(prompts).toMatchObject([{ verificationUri: PAGE, verificationUriComplete: null }]);
  });

  test('a name in letters that look like others is shown as what it is', async () => {
    const { prompts, outcome } = await login([], { verification_uri: 'https://l\u043egin.example.org/device' });
    await outcome;
    expect(prompts[0]?.verificationUri).toMatch(/^https:\/\/xn--/);
  });

  test('nor is it polled without pause, or for ever', async () => {
    const fast = await login([pending], { interval: 0.1 });
    await fast.outcome;
    expect(fast.waits).toEqual([1, 1]);
    const endless = await login(
      Array.from({ length: 100 }, () => pending),
      { expires_in: 10_000_000, interval: 600 },
    );
    await expect(endless.outcome).rejects.toMatchObject({ code: 'device-code-expired' });
    expect(endless.waits).toEqual(Array(60).fill(60));
  });
});
