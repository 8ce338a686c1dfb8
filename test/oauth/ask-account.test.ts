import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { newSigningKey, type SigningKey, signJwt, toJwks } from '../../sandbox/kit/oauth/jwt.ts';
import type { PendingLogin } from '../../src/oauth/credential.ts';
import { beginLogin, completeLogin, type LoginTarget } from '../../src/oauth/login.ts';
import { googleProvider, microsoftProvider, type Provider } from '../../src/oauth/providers.ts';
import { createLoginStore } from '../../src/operator/control/login-stores.ts';
import { useRedis } from '../support/redis.ts';
import { NEVER, openWorker, RING } from './connection.ts';
import { startTokenServer, tokensNamed } from './token-server.ts';

const redis = useRedis();
const KEY = newSigningKey();
const REDIRECT = 'https://mirror.example.org/oauth/callback';
const CLIENT = { clientId: 'client-1', clientSecret: 'secret-canary' };
const SCOPES = ['openid', 'email', 'calendar'];

type Claims = Record<string, unknown>;

/** Logs in with an id_token that the test derives from a correct one. */
async function logIn(
  idTokenOf: (good: Claims) => string | undefined,
  { provide, aheadMs = 0 }: { provide?: (url: string) => Provider; aheadMs?: number } = {},
) {
  const server = await startTokenServer();
  server.metadata = { jwks_uri: `${server.url}/keys` };
  server.onKeys = () => ({ body: toJwks(KEY) });
  if (aheadMs !== 0) server.dateHeader = () => new Date(Date.now() + aheadMs).toUTCString();
  const provider = provide?.(server.url) ?? googleProvider({ ...CLIENT, issuer: server.url });
  const worker = openWorker({ redis: redis.connect(), issuer: server.url, provider, scopes: SCOPES });
  const target: LoginTarget = { context: worker.place, server: worker.server, scopes: SCOPES, clock: Date.now };
  const logins = createLoginStore<PendingLogin>(redis.connect(), RING);
  const url = await beginLogin(target, logins, REDIRECT);
  const now = Math.floor((Date.now() + aheadMs) / 1_000);
  const good = {
    iss: server.url,
    aud: CLIENT.clientId,
    sub: 'subject-1',
    email: 'doctor@clinic.example',
    email_verified: true,
    nonce: url.searchParams.get('nonce') ?? undefined,
    iat: now,
    exp: now + 3_600,
  };
  server.onToken = () => ({ body: { ...tokensNamed(0), expires_in: 3_600, id_token: idTokenOf(good) } });
  const callback = new URL(`${REDIRECT}?code=c&state=${url.searchParams.get('state')}`);
  return { server, url, worker, done: completeLogin({ callback }, logins, () => target, NEVER) };
}

const signed =
  (changes: Claims, key: SigningKey = KEY) =>
  (good: Claims) =>
    signJwt({ ...good, ...changes }, key);

/** A token that says by which algorithm it is signed, with a signature of the test's choice. */
function forged(header: object, signatureOf: (signedPart: string) => string) {
  return (good: Claims) => {
    const encode = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url');
    const part = `${encode(header)}.${encode(good)}`;
    return `${part}.${signatureOf(part)}`;
  };
}

describe('the id_token of a connection', () => {
  test('is requested with a nonce, and names the account', async () => {
    const { url, done, worker } = await logIn(signed({}));
    expect(url.searchParams.get('nonce')).toMatch(/^[\w-]{43}$/);
    const account = { subject: 'subject-1', address: 'doctor@clinic.example', domain: null };
    expect(await done).toMatchObject({ account, isUnconfirmed: false });
    expect((await worker.credentials.read('clinic'))?.tokens.account).toEqual(account);
  });

  const now = Math.floor(Date.now() / 1_000);
  test.each<[string, (good: Claims) => string]>([
    ['of another issuer', signed({ iss: 'https://evil.example' })],
    ['for another client', signed({ aud: 'client-2' })],
    ['for several clients, given to another', signed({ aud: ['client-1', 'client-2'], azp: 'client-2' })],
    ['of another sign-in', signed({ nonce: 'another' })],
    ['of no sign-in', signed({ nonce: undefined })],
    ['that is expired', signed({ iat: now - 7_200, exp: now - 3_600 })],
    ['that is not valid yet', signed({ nbf: now + 3_600 })],
    ['without an expiry', signed({ exp: undefined })],
    ['without a subject', signed({ sub: undefined })],
    ['signed by another key with the same id', signed({}, { ...newSigningKey(), keyId: KEY.keyId })],
    ['signed by an unknown key', signed({}, newSigningKey())],
    ['without a signature', forged({ alg: 'none' }, () => '')],
    [
      "signed by the client's secret",
      forged({ alg: 'HS256', kid: KEY.keyId }, (part) =>
        createHmac('sha256', CLIENT.clientSecret).update(part).digest('base64url'),
      ),
    ],
    ['that is none', () => 'not-a-token'],
  ])('%s is refused, and nothing is stored', async (_what, idTokenOf) => {
    const { done, worker } = await logIn(idTokenOf);
    await expect(done).rejects.toMatchObject({ actor: 'authorization', code: 'id-token-rejected', retry: 'never' });
    expect(await worker.credentials.read('clinic')).toBeNull();
  });

  test('of a server whose clock is hours ahead is good by that clock', async () => {
    const { done } = await logIn(signed({}), { aheadMs: 5 * 3_600_000 });
    expect(await done).toMatchObject({ account: { subject: 'subject-1' } });
  });

  test('is not taken while its keys cannot be read, and that is not the person’s fault', async () => {
    const { server, done } = await logIn(signed({}));
    server.onKeys = () => ({ status: 503, body: 'busy' });
    await expect(done).rejects.toMatchObject({ actor: 'remote' });
  });

  test('may be absent: then the account is unknown', async () => {
    const { done } = await logIn(() => undefined);
    expect(await done).toMatchObject({ account: null });
  });

  test('costs one request for the keys at sign-in, and none at a refresh', async () => {
    const { server, worker, done } = await logIn(signed({}));
    let asked = 0;
    server.onKeys = () => {
      asked += 1;
      return { body: toJwks(KEY) };
    };
    await done;
    expect(asked).toBe(1);
    const { version = 0 } = (await worker.credentials.read('clinic')) ?? {};
    expect((await worker.refresher.refresh(version)).tokens.account).toMatchObject({ subject: 'subject-1' });
    expect(asked).toBe(1);
  });

  test('leaves no personal data in a thrown error', async () => {
    const { done } = await logIn(signed({ aud: 'client-2' }));
    const error = await done.catch((thrown: unknown) => thrown);
    const texts: string[] = [];
    for (let each = error; each instanceof Error; each = each.cause)
      texts.push(String(each.stack), JSON.stringify(each));
    expect(texts.join('\n')).toContain('id-token-rejected');
    expect(texts.join('\n')).not.toMatch(/doctor@|subject-1/);
  });
});

describe("the issuer of Microsoft's id_tokens", () => {
  const HOME = '11111111-2222-3333-4444-555555555555';
  const microsoft = (directory: string) => (authority: string) =>
    microsoftProvider({ authority, directory, ...CLIENT });
  const claimsOf = (tid: string) => (good: Claims) =>
    signJwt(
      {
        ...good,
        iss: `${String(good.iss)}/${tid}/v2.0`,
        tid,
        oid: 'oid-1',
        preferred_username: 'rossi@aurora.example',
      },
      KEY,
    );

  async function logInAt(directory: string, idTokenOf: (good: Claims) => string) {
    const provide = microsoft(directory);
    // The keys stand where Microsoft has them.
    return logIn(idTokenOf, {
      provide: (url) => {
        const { endpoints, ...provider } = provide(url);
        if (endpoints === null) throw new Error('Microsoft has endpoints');
        return { ...provider, endpoints: { ...endpoints, token: `${url}/token`, keys: `${url}/keys` } };
      },
    });
  }

  test.each(['organizations', 'aurora.example', HOME])('is the directory of the user: %s', async (directory) => {
    const { done } = await logInAt(directory, claimsOf(HOME));
    expect(await done).toMatchObject({
      account: { subject: 'oid-1', address: 'rossi@aurora.example', domain: 'aurora.example' },
    });
  });

  test('is no other directory than the one that the settings name by its id', async () => {
    const { done } = await logInAt(HOME, claimsOf('99999999-2222-3333-4444-555555555555'));
    await expect(done).rejects.toMatchObject({ code: 'id-token-rejected' });
  });

  test('is the directory that the token names', async () => {
    const { done } = await logInAt('organizations', (good) =>
      signJwt({ ...good, iss: `${String(good.iss)}/elsewhere/v2.0`, tid: HOME }, KEY),
    );
    await expect(done).rejects.toMatchObject({ code: 'id-token-rejected' });
  });
});
