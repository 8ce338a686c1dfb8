import { generateKeyPairSync, verify } from 'node:crypto';
import { describe, expect, onTestFinished, test } from 'vitest';
import { startGoogleSandbox } from '../../sandbox/google/index.ts';
import { createHttpClient } from '../../src/core/http/client.ts';
import { quotaUserOf } from '../../src/oauth/authorizer.ts';
import { createServiceAccountAuthorizer } from '../../src/oauth/service-account.ts';
import { paced } from '../support/pace.ts';
import { NEVER } from './connection.ts';
import { oauthError, startTokenServer } from './token-server.ts';

const SCOPE = 'https://www.googleapis.com/auth/calendar.app.created';
const { privateKey, publicKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
const PEM = privateKey.export({ type: 'pkcs8', format: 'pem' }).toString();

function authorizerOf(keyFile: object | string, clock: () => number = Date.now) {
  const http = createHttpClient({ userAgent: 'test', clock, timeoutMs: paced(2_000) });
  const settings = {
    connection: 'google',
    keyFile: typeof keyFile === 'string' ? keyFile : JSON.stringify(keyFile),
    subject: 'doctor@clinic.example',
    scopes: [SCOPE],
    quotaUser: quotaUserOf('studio-rossi', 'calendar'),
  };
  return createServiceAccountAuthorizer(settings, { http, clock });
}

async function openScripted(clock?: () => number) {
  const server = await startTokenServer();
  let issued = 0;
  server.onToken = () => {
    issued += 1;
    return { body: { access_token: `token-${issued}`, token_type: 'Bearer', expires_in: 3_599 } };
  };
  const keyFile = {
    client_email: 'sa@project.example',
    private_key: PEM,
    private_key_id: 'key-1',
    token_uri: `${server.url}/token`,
  };
  return { server, keyFile, authorizer: authorizerOf(keyFile, clock) };
}

function claimsOf(form: URLSearchParams | undefined): Record<string, unknown> {
  const [header = '', payload = '', signature = ''] = (form?.get('assertion') ?? '').split('.');
  const isGenuine = verify(
    'RSA-SHA256',
    Buffer.from(`${header}.${payload}`),
    publicKey,
    Buffer.from(signature, 'base64url'),
  );
  expect(isGenuine).toBe(true);
  expect(JSON.parse(Buffer.from(header, 'base64url').toString())).toEqual({ alg: 'RS256', typ: 'JWT', kid: 'key-1' });
  return JSON.parse(Buffer.from(payload, 'base64url').toString());
}

describe('a service account', () => {
  test('sends a signed assertion for a user, once for all concurrent callers, and again before the hour is over', async () => {
    let now = Date.now();
    const { server, authorizer } = await openScripted(() => now);
    const headers = await Promise.all(Array.from({ length: 10 }, () => authorizer.header(NEVER)));
    expect(new Set(headers)).toEqual(new Set(['Bearer token-1']));
    expect(server.posted).toHaveLength(1);
    expect(claimsOf(server.posted[0]?.form)).toEqual({
      iss: 'sa@project.example',
      sub: 'doctor@clinic.example',
      scope: SCOPE,
      aud: `${server.url}/token`,
      iat: Math.floor(now / 1_000),
      exp: Math.floor(now / 1_000) + 3_600,
    });
    expect(server.posted[0]?.form.get('client_id')).toBeNull();
    now += 54 * 60_000;
    expect(await authorizer.header(NEVER)).toBe('Bearer token-1');
    now += 60_000;
    expect(await authorizer.header(NEVER)).toBe('Bearer token-2');
    expect(await authorizer.renew(NEVER)).toBe('Bearer token-3');
  });

  test('charges its quota to an opaque id that reveals no user', async () => {
    const { authorizer } = await openScripted();
    expect(authorizer.quotaUser).toMatch(/^[\w-]{32}$/);
  });

  test('a clock ten minutes off: the assertion is dated again by the server clock, also from then on', async () => {
    const { server, authorizer } = await openScripted();
    const serverNow = () => Date.now() - 600_000;
    server.dateHeader = () => new Date(serverNow()).toUTCString();
    const grant = server.onToken;
    server.onToken = (form) =>
      Number(claimsOf(form).iat) * 1_000 > serverNow() + 300_000 ? oauthError('invalid_grant') : grant(form);
    expect(await authorizer.header(NEVER)).toBe('Bearer token-1');
    expect(server.posted).toHaveLength(2);
    expect(await authorizer.renew(NEVER)).toBe('Bearer token-2');
    expect(server.posted).toHaveLength(3);
  });

  test.each([
    ['unauthorized_client', 401, 'delegation-missing'],
    ['access_denied', 403, 'delegation-missing'],
    ['invalid_scope', 400, 'delegation-missing'],
    ['invalid_grant', 400, 'service-account-refused'],
  ])('%s is the settings fault', async (error, status, code) => {
    const { server, authorizer } = await openScripted();
    server.onToken = () => oauthError(error, status);
    const thrown = await authorizer.header(NEVER).catch((each: unknown) => each);
    expect(thrown).toMatchObject({ actor: 'settings', code, retry: 'never' });
    if (code === 'delegation-missing') expect(thrown).toMatchObject({ remedy: expect.stringContaining(SCOPE) });
    expect(`${String(thrown)} ${JSON.stringify(thrown)}`).not.toMatch(/canary|PRIVATE/);
    expect(server.posted).toHaveLength(1);
  });

  test('an unreachable server is queried again after a delay', async () => {
    const { server, authorizer } = await openScripted();
    const grant = server.onToken;
    server.onToken = () => ({ status: 503, body: 'busy', headers: { 'retry-after': '7' } });
    await expect(authorizer.header(NEVER)).rejects.toMatchObject({ actor: 'remote', retryAfterMs: 7_000 });
    server.onToken = grant;
    expect(await authorizer.header(NEVER)).toBe('Bearer token-1');
  });

  test.each<[string, object | string]>([
    ['not JSON', 'key-canary'],
    ['of a user', { client_id: 'x', refresh_token: 'key-canary' }],
    ['with a broken key', { client_email: 'a', private_key: 'key-canary', token_uri: 'https://t.example.org' }],
    ['with an insecure URL', { client_email: 'a', private_key: PEM, token_uri: 'http://t.example.org/token' }],
  ])('a key file that is %s is refused at once, without quoting it', (_name, keyFile) => {
    let thrown: unknown;
    try {
      authorizerOf(keyFile);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ actor: 'settings', code: 'service-account-key' });
    expect(`${String(thrown)} ${(thrown as Error).stack} ${JSON.stringify(thrown)}`).not.toMatch(/canary|PRIVATE/);
    expect((thrown as Error).cause).toBeUndefined();
  });

  test("works against the vendor's sandbox, which checks signature, delegation and scopes", async () => {
    const google = await startGoogleSandbox();
    onTestFinished(() => google.close());
    google.addAccount('doctor@clinic.example');
    const keyFile = google.createServiceAccount('sa@project.example', { subjects: 'all', scopes: [SCOPE] });
    const authorizer = authorizerOf(keyFile);
    const authorization = await authorizer.header(NEVER);
    const list = await fetch(`${google.calendarApiUrl}/calendar/v3/users/me/calendarList`, {
      headers: { authorization },
    });
    expect([200, 403]).toContain(list.status);
    google.delegate('sa@project.example', { subjects: 'all', scopes: [] });
    await expect(authorizer.renew(NEVER)).rejects.toMatchObject({ actor: 'settings', code: 'delegation-missing' });
  });
});
