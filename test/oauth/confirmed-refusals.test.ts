import { describe, expect, test } from 'vitest';
import { hubSpotProvider, oauthProvider, salesforceProvider } from '../../src/oauth/crm-providers.ts';
import { clinicProvider, googleProvider, microsoftProvider, type Provider } from '../../src/oauth/providers.ts';
import { useRedis } from '../support/redis.ts';
import { connect, NEVER, openWorker } from './connection.ts';
import { type Answer, rotatingTokens, startTokenServer, tokensNamed } from './token-server.ts';

const redis = useRedis();
const CLIENT = { clientId: 'client-1', clientSecret: 'secret-canary' };
const MINUTE_MS = 60_000;
const CONFIRM_AFTER_MS = 2 * MINUTE_MS;

const PROVIDERS: Record<string, (url: string) => Provider> = {
  'the clinic': (url) => clinicProvider({ authUrl: url, ...CLIENT }),
  Google: (url) => googleProvider({ issuer: url, ...CLIENT }),
  Microsoft: (url) => at(microsoftProvider({ authority: url, directory: 'organizations', ...CLIENT }), url),
  HubSpot: (url) => hubSpotProvider({ authorizeUrl: `${url}/authorize`, tokenUrl: `${url}/token`, ...CLIENT }),
  Salesforce: (url) => at(salesforceProvider({ loginUrl: url, ...CLIENT }), url),
  'another CRM': (url) =>
    oauthProvider({
      ...{ ...CLIENT, authorizationEndpoint: `${url}/authorize`, tokenEndpoint: `${url}/token`, loginParameters: {} },
      ...{ issuer: null, revocationEndpoint: null, deviceEndpoint: null, userinfoEndpoint: null },
    }),
};

/** The same provider with the token endpoint of the scripted server. */
function at(provider: Provider, url: string): Provider {
  return { ...provider, endpoints: { ...provider.endpoints!, token: `${url}/token` } };
}

const refused = (description: string, error = 'invalid_grant'): Answer => ({
  status: 400,
  body: { error, error_description: description },
});
const granted: Answer = { body: { ...tokensNamed(1), expires_in: 3_600 } };

async function open(
  provider: (url: string) => Provider,
  answers: readonly Answer[],
  refreshExpiresAt: number | null = null,
) {
  const server = await startTokenServer();
  const time = { now: Date.now() };
  const left = [...answers];
  server.onToken = () => left.shift() ?? refused('nothing more was expected');
  const newWorker = () =>
    openWorker({
      redis: redis.connect(),
      issuer: server.url,
      provider: provider(server.url),
      clock: () => time.now,
      confirmAfterMs: CONFIRM_AFTER_MS,
    });
  const worker = newWorker();
  await connect(worker, { accessExpiresAt: time.now + MINUTE_MS, refreshExpiresAt });
  const standing = () => worker.credentials.read('clinic');
  const asked = () => server.forms('/token').length;
  return { server, time, worker, newWorker, standing, asked };
}

describe.each(Object.entries(PROVIDERS))('a connection to %s', (_, provider) => {
  test('that is refused once continues: the old token is used, and an attempt minutes later succeeds', async () => {
    const { time, worker, newWorker, standing, asked } = await open(provider, [refused('Bad Request'), granted]);
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-0');
    expect(await standing()).toMatchObject({ state: 'connected', reason: 'refusal-unconfirmed', refusedAt: time.now });
    // Neither this process nor another one queries the provider before the confirmation is due, even if the token has expired.
    time.now += CONFIRM_AFTER_MS - 1_000;
    const early = await newWorker()
      .authorizer.header(NEVER)
      .catch((error: unknown) => error);
    expect(early).toMatchObject({ actor: 'remote', code: 'refusal-unconfirmed', retryAfterMs: 1_000 });
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({ code: 'refusal-unconfirmed' });
    expect(asked()).toBe(1);
    time.now += 2_000;
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
    const after = await standing();
    expect(after).toMatchObject({ state: 'connected', reason: null });
    expect(after?.refusedAt).toBeUndefined();
  });

  test('that is refused twice, minutes apart, requires a new sign-in', async () => {
    const { time, worker, standing, asked } = await open(provider, [refused('Bad Request'), refused('Bad Request')]);
    await worker.authorizer.header(NEVER);
    time.now += CONFIRM_AFTER_MS + 1_000;
    await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject({
      actor: 'authorization',
      code: 'login-ended',
    });
    expect(await standing()).toMatchObject({ state: 'needs-login', reason: 'login-ended' });
    await expect(worker.authorizer.renew(NEVER)).rejects.toMatchObject({ code: 'login-ended' });
    expect(asked()).toBe(2);
  });

  test.each([
    ['Salesforce', 'expired authorization code', 'invalid_grant'],
    ['Entra', 'AADSTS50196: The server terminated an operation because it encountered a loop.', 'invalid_grant'],
    ['Entra', 'AADSTS90033: A transient error has occurred. Please try again.', 'invalid_request'],
    ['Entra', 'AADSTS90090: The service is temporarily not reachable.', 'invalid_grant'],
    ['Salesforce', 'token request is already being processed', 'invalid_grant'],
    ['Google', 'Internal error, try again later', 'invalid_grant'],
    ['Google', 'server_error', 'invalid_grant'],
    ['Google', '', 'internal_failure'],
  ])(
    'that is refused temporarily, with %s (%s), is checked again later, however often',
    async (_, description, error) => {
      const words = refused(description, error);
      const { time, worker, standing } = await open(provider, [words, words, words, granted]);
      for (let round = 0; round < 3; round += 1) {
        await worker.authorizer.header(NEVER).catch(() => {});
        expect(await standing()).toMatchObject({ state: 'connected', reason: 'token-endpoint-unavailable' });
        time.now += 10 * MINUTE_MS;
      }
      expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
      expect(await standing()).toMatchObject({ state: 'connected', reason: null });
    },
  );

  test('whose first answer is cut off and whose second is in passing stays connected', async () => {
    const { time, worker, standing } = await open(provider, ['cut', refused('expired authorization code'), granted]);
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-0');
    expect(await standing()).toMatchObject({ state: 'connected' });
    time.now += MINUTE_MS;
    expect(await worker.authorizer.header(NEVER)).toBe('Bearer access-1');
    expect(await standing()).toMatchObject({ state: 'connected', unansweredSince: null });
  });
});

describe('a refusal is believed at once', () => {
  test.each([
    ['when consent is missing', refused('AADSTS65001: no consent')],
    ['when the grant was revoked', refused('AADSTS50173: The provided grant has expired.')],
    ['when the password has expired', refused('AADSTS50055: The password is expired.')],
    ['when a user must answer', refused('x', 'interaction_required')],
  ])('%s', async (_, answer) => {
    const { worker, standing } = await open(PROVIDERS.Microsoft!, [answer]);
    await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject({ actor: 'authorization', retry: 'never' });
    expect(await standing()).toMatchObject({ state: 'needs-login' });
  });

  test('after the end of the refresh token', async () => {
    const { worker, standing } = await open(PROVIDERS.HubSpot!, [refused('Bad Request')], Date.now() - 1);
    await expect(worker.authorizer.header(NEVER)).rejects.toMatchObject({ code: 'login-ended' });
    expect(await standing()).toMatchObject({ state: 'needs-login' });
  });
});

test('a new connection made meanwhile does not wait for the confirmation of the previous one', async () => {
  const { time, worker, asked } = await open(PROVIDERS.Google!, [refused('x'), granted]);
  await worker.authorizer.header(NEVER);
  await worker.credentials.remove('clinic');
  await connect(worker, { version: 2, accessExpiresAt: time.now + MINUTE_MS });
  expect(await worker.authorizer.renew(NEVER)).toBe('Bearer access-1');
  expect(asked()).toBe(2);
});

test('a number of Entra that leaves the cause open is confirmed before it is believed', async () => {
  const application = refused('AADSTS1000031: The application can not be accessed at this time.');
  const { worker, standing } = await open(PROVIDERS.Microsoft!, [application]);
  await worker.authorizer.header(NEVER);
  expect(await standing()).toMatchObject({ state: 'connected', refusedAt: expect.any(Number) });
});

test('a refusal with a date in the future is checked at once, and confirmed later', async () => {
  const { time, worker, newWorker, standing, asked } = await open(PROVIDERS.Google!, [
    refused('x'),
    refused('x'),
    granted,
  ]);
  await worker.authorizer.header(NEVER);
  time.now -= 60 * MINUTE_MS;
  await expect(newWorker().authorizer.renew(NEVER)).rejects.toMatchObject({ code: 'refusal-unconfirmed' });
  expect(asked()).toBe(2);
  expect(await standing()).toMatchObject({ state: 'connected', refusedAt: time.now });
});

test('a lost answer of a server that ends the grant is reported as such after the confirmation, and the fence holds', async () => {
  const { server, time, worker, newWorker, standing } = await open(PROVIDERS['the clinic']!, []);
  const rotating = rotatingTokens();
  let calls = 0;
  server.onToken = (form) => {
    const answer = rotating.onToken(form);
    return calls++ === 0 ? 'cut' : answer;
  };
  await worker.authorizer.header(NEVER);
  expect(await standing()).toMatchObject({ state: 'connected', reason: 'refusal-unconfirmed' });
  time.now += CONFIRM_AFTER_MS;
  const workers = Array.from({ length: 5 }, newWorker);
  const errors = await Promise.all(
    workers.map((each) => each.authorizer.header(NEVER).catch((error: unknown) => error)),
  );
  for (const error of errors) expect(error).toMatchObject({ code: 'refresh-answer-lost' });
  expect(calls).toBe(3);
});
