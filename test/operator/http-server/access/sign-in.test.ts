import { once } from 'node:events';
import { get, type IncomingMessage } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { createHttpClient } from '../../../../src/core/http/client.ts';
import { MINUTE_MS, SECOND_MS } from '../../../../src/core/model/time.ts';
import { administratorsProvider } from '../../../../src/oauth/providers.ts';
import { createAuthorizationServer } from '../../../../src/oauth/server.ts';
import { accountIdOf, entrantBySession, releaseAccount } from '../../../../src/operator/control/access.ts';
import { controlKeys } from '../../../../src/operator/control/keys.ts';
import { useRedis } from '../../../support/redis.ts';
import { accessSettings } from '../../control/acting.ts';
import { type OidcServer, type Person, startOidcServer } from './oidc-server.ts';
import { account, openPort, PEOPLE } from './open-port.ts';

const redis = useRedis();
const CALLBACK = 'https://mirror.test/sign-in/callback';
const OLGA: Person = { sub: '248289761001', email: 'olga@clinic.example', email_verified: true };

let provider: OidcServer;
beforeAll(async () => {
  provider = await startOidcServer(CALLBACK);
});
afterAll(() => provider.close());

/** Opens the port, with a provider and three rules that authorize users, and a page for viewers that shows the visitor. */
async function open(demanded: object = {}) {
  const { issuer, clientId, clientSecret } = provider;
  const oidc = {
    ...{ issuer, clientId, clientSecret: { env: 'CLIENT_SECRET' } },
    people: [
      { email: 'Olga@Clinic.example', level: 'owner' },
      { subject: 'subject-of-otto', level: 'operator', tenants: ['studio-rossi'] },
    ],
    groups: [{ value: 'front-desk', level: 'viewer' }],
    ...demanded,
  };
  const http = createHttpClient({ userAgent: 'test', clock: Date.now });
  const told = administratorsProvider({ issuer, clientId, clientSecret });
  const server = createAuthorizationServer({ provider: told, http, clock: Date.now });
  const port = await openPort(redis.connect(), { access: accessSettings({ oidc }), server });
  port.app.get('/test/:tenant', { config: { level: 'viewer' } }, async ({ visitor }) => ({
    ...{ id: visitor?.id, name: visitor?.name, level: visitor?.level },
    tenants: visitor?.tenants === null ? null : [...(visitor?.tenants ?? [])],
  }));
  /** Signs in as far as the provider, and comes back. */
  const signIn = async (
    person: Person | null,
    browser = port.browser(),
    { query = '', change = (_: URL) => {} }: { query?: string; change?: (request: URL) => void } = {},
  ) => {
    const begun = await browser.get(`/sign-in/provider?to=/test/studio-rossi${query}`);
    expect(begun.statusCode).toBe(303);
    const request = new URL(String(begun.headers.location));
    change(request);
    const back = await provider.signIn(request.href, person);
    expect(`${back.origin}${back.pathname}`).toBe(CALLBACK);
    const answer = await browser.get(`${back.pathname}${back.search}`);
    return { browser, back, answer, asked: new URL(String(begun.headers.location)).searchParams };
  };
  return { ...port, signIn };
}

describe('at a provider', () => {
  test.each<[string, Person, object]>([
    ['by a verified e-mail address', OLGA, { name: 'olga@clinic.example', level: 'owner', tenants: null }],
    [
      'by the user id of the provider',
      { sub: 'subject-of-otto' },
      { name: 'subject-of-otto', level: 'operator', tenants: ['studio-rossi'] },
    ],
    [
      'by a group',
      { sub: '7', email: 'anna@elsewhere.example', email_verified: true, groups: ['staff', 'front-desk'] },
      { name: 'anna@elsewhere.example', level: 'viewer', tenants: null },
    ],
  ])('an authorized user gets the requested page: %s', async (_, person, visitor) => {
    const { signIn, recorded } = await open();
    const { browser, answer } = await signIn(person);
    expect([answer.statusCode, answer.headers.location]).toEqual([303, '/test/studio-rossi']);
    expect(browser.cookies.get('__Host-sign-in')).toBeUndefined();
    const id = `account:${provider.issuer}#${person.sub}`;
    expect((await browser.get('/test/studio-rossi')).json()).toEqual({ id, ...visitor });
    expect(recorded).toMatchObject([{ verb: 'sign-in', outcome: 'done', who: { kind: 'account', id } }]);
  });

  test.each<[string, Person | null]>([
    ['of whom no rule speaks', { sub: '9', email: 'mallory@clinic.example', email_verified: true }],
    ["with an operator's e-mail address that is not verified", { ...OLGA, sub: '9', email_verified: false }],
    ["with an operator's e-mail address without a verification claim", { sub: '9', email: 'olga@clinic.example' }],
    ['with a group that is called nearly so', { sub: '9', groups: ['front-desk-2', 'FRONT-DESK'] }],
    ["with an operator's id as the e-mail address", { sub: '9', email: 'subject-of-otto', email_verified: true }],
    ['who refuses', null],
  ])('an unauthorized user gets an error, and has no session: %s', async (_, person) => {
    const { signIn, recorded } = await open();
    const { browser, answer } = await signIn(person);
    expect(answer.statusCode).toBe(400);
    expect([...browser.cookies.keys()]).toEqual([]);
    expect((await browser.get('/test/studio-rossi')).statusCode).toBe(303);
    expect(recorded).toMatchObject([{ verb: 'sign-in', outcome: 'refused', what: { attempts: 1 } }]);
    expect(JSON.stringify(recorded)).not.toMatch(/mallory|olga/);
  });

  test('an e-mail address in the id_token is not verified by the userinfo endpoint for another one', async () => {
    const { signIn } = await open();
    const other = { sub: '9', email: 'mallory@clinic.example', email_verified: true };
    for (const email_verified of [undefined, false]) {
      const inIdToken = { email: 'olga@clinic.example', ...(email_verified === undefined ? {} : { email_verified }) };
      const { answer, browser } = await signIn({ ...other, inIdToken });
      expect(answer.statusCode).toBe(400);
      expect([...browser.cookies.keys()]).toEqual([]);
    }
    expect((await signIn({ ...other, inIdToken: { email_verified: true } })).answer.statusCode).toBe(400);
    const vouched = { email: 'olga@clinic.example', email_verified: true };
    expect((await signIn({ sub: '10', inIdToken: vouched })).answer.statusCode).toBe(303);
  });

  test('an e-mail address stays with the account that used it first, and never changes an identity', async () => {
    const { signIn, desk, recorded } = await open();
    expect((await signIn(OLGA)).answer.statusCode).toBe(303);
    // The e-mail address was given to another user, and Olga has a new one by now.
    const { answer } = await signIn({ ...OLGA, sub: '9' });
    expect(answer.statusCode).toBe(400);
    expect(recorded.at(-1)).toMatchObject({ outcome: 'refused', code: 'account-changed' });
    const renamed = await signIn({ ...OLGA, email: 'olga.new@clinic.example' });
    expect((await renamed.browser.get('/test/studio-rossi')).json()).toMatchObject({ level: 'owner' });
    await releaseAccount(desk, 'OLGA@clinic.example');
    expect((await signIn({ ...OLGA, sub: '9' })).answer.statusCode).toBe(303);
    expect((await signIn(OLGA)).answer.statusCode).toBe(400);
  });

  test("an answer ends in the browser that asked for it, in time, once, and only as the provider's own", async () => {
    const { signIn, browser, state } = await open();
    const stranger = browser();
    const begun = await stranger.get('/sign-in/provider');
    const other = await signIn(OLGA);
    // The attacker has the victim open the attacker's own answer, and the other way round.
    expect((await stranger.get(`/sign-in/callback${other.back.search}`)).statusCode).toBe(400);
    expect((await browser().get(`/sign-in/callback${other.back.search}`)).statusCode).toBe(400);
    expect((await other.browser.get(`/sign-in/callback${other.back.search}`)).statusCode).toBe(400);
    const late = browser();
    const address = String((await late.get('/sign-in/provider')).headers.location);
    const back = await provider.signIn(address, OLGA);
    state.now += 10 * MINUTE_MS;
    expect((await late.get(`/sign-in/callback${back.search}`)).statusCode).toBe(400);
    expect(new URL(String(begun.headers.location)).searchParams.get('code_challenge_method')).toBe('S256');
    for (const changed of [`${back.search}x`, back.search.replace('iss=', 'iss=https%3A%2F%2Fevil.test%2F'), '']) {
      const again = browser();
      await again.get('/sign-in/provider');
      expect((await again.get(`/sign-in/callback${changed}`)).statusCode).toBe(400);
    }
  });

  test('the temporary data in a browser reveals nothing, and cannot be forged', async () => {
    const { browser } = await open();
    const { cookies, get } = browser();
    const { headers } = await get('/sign-in/provider?to=/canary');
    const kept = cookies.get('__Host-sign-in') ?? '';
    expect(Buffer.from(kept.split('.')[2] ?? '', 'base64url').toString('latin1')).not.toMatch(/canary|state|issuer/);
    // Only the request limit of the client.
    expect(await redis.connect().keys('*')).toEqual([expect.stringMatching(/^cm:\{requests-/)]);
    const back = await provider.signIn(String(headers.location), OLGA);
    cookies.set('__Host-sign-in', `${kept.slice(0, -2)}${kept.endsWith('AA') ? 'BB' : 'AA'}`);
    expect((await get(`/sign-in/callback${back.search}`)).statusCode).toBe(400);
  });

  test('an unreachable provider is reported to the user', async () => {
    const { browser, state, lines } = await open();
    state.access = {
      ...PEOPLE,
      oidc: { ...(PEOPLE.oidc as NonNullable<typeof PEOPLE.oidc>), issuer: 'https://id.test' },
    };
    const { get } = browser();
    // Begun at one provider, it is not ended at another one.
    expect((await get('/sign-in/callback?code=c&state=s')).statusCode).toBe(400);
    expect(lines.join('')).not.toContain('code=c');
  });
});

describe('at a provider that must confirm the way of the sign-in', () => {
  const nowSeconds = () => Math.floor(Date.now() / SECOND_MS);
  const MFA = { acr: 'urn:example:mfa', amr: ['pwd', 'otp', 'mfa'] };
  const weak = { outcome: 'refused', code: 'sign-in-too-weak' };

  test('the demands are in the request, and an id_token that meets them signs in', async () => {
    const { signIn } = await open({
      acrValues: ['urn:example:hardware', 'urn:example:mfa'],
      amr: ['otp', 'mfa'],
      maxAgeMinutes: 60,
    });
    const { answer, asked } = await signIn({ ...OLGA, login: MFA });
    expect(answer.headers.location).toBe('/test/studio-rossi');
    expect([asked.get('acr_values'), asked.get('max_age')]).toEqual(['urn:example:hardware urn:example:mfa', '3600']);
    const { asked: usual } = await (await open()).signIn(OLGA);
    expect([usual.has('acr_values'), usual.has('max_age')]).toEqual([false, false]);
  });

  test.each<[string, object, Person['login']]>([
    ['no level', { acrValues: ['urn:example:mfa'] }, {}],
    ['a level with nearly the name', { acrValues: ['urn:example:mfa'] }, { acr: 'urn:example:mfa2' }],
    ['no method', { amr: ['mfa'] }, {}],
    ['only one of two methods', { amr: ['mfa', 'hwk'] }, MFA],
    ['an old sign-in', { maxAgeMinutes: 60 }, { ts: nowSeconds() - 3_600 - 90 }],
    ['a sign-in in the future', { maxAgeMinutes: 60 }, { ts: nowSeconds() + 600 }],
  ])('an id_token is refused that names %s', async (_, demanded, login = {}) => {
    const { signIn, recorded } = await open(demanded);
    const { answer, browser } = await signIn({ ...OLGA, login });
    expect([answer.statusCode, [...browser.cookies.keys()]]).toEqual([400, []]);
    expect(answer.body).toContain('did not confirm the sign-in');
    expect(recorded).toMatchObject([weak]);
  });

  test('userinfo does not replace a claim that the id_token lacks', async () => {
    const { signIn, recorded } = await open({ acrValues: ['urn:example:mfa'], amr: ['mfa'], maxAgeMinutes: 60 });
    const told = { ...MFA, auth_time: nowSeconds() } as object;
    expect((await signIn({ ...OLGA, ...told })).answer.statusCode).toBe(400);
    expect(recorded).toMatchObject([weak]);
  });

  test.each<[string, object, string]>([
    ['that the settings demand', { maxAgeMinutes: 60 }, ''],
    ['of a new sign-in for a sensitive action', {}, '&again=1'],
  ])(
    'a user who removes max_age from the request in the browser is refused: the age %s',
    async (_, demanded, query) => {
      const { signIn, recorded } = await open(demanded);
      const change = ({ searchParams }: URL) => searchParams.delete('max_age');
      expect((await signIn(OLGA, undefined, { query, change })).answer.statusCode).toBe(400);
      expect(recorded).toMatchObject([weak]);
    },
  );

  test('a new sign-in for a sensitive action counts from auth_time; one without a known time does not count', async () => {
    const { signIn, state } = await open();
    state.now = Date.now();
    const statusOf = async (login: Person['login'], query: string) => {
      const { browser, asked } = await signIn({ ...OLGA, login: login ?? {} }, undefined, { query });
      return [asked.get('max_age'), (await browser.get('/add-clinic')).statusCode];
    };
    expect(await statusOf({}, '')).toEqual([null, 303]);
    expect(await statusOf({}, '&again=1')).toEqual(['900', 200]);
    const almost = nowSeconds() - 14 * 60;
    expect(await statusOf({ ts: almost }, '&again=1')).toEqual(['900', 200]);
    state.now += 2 * MINUTE_MS;
    expect(await statusOf({ ts: almost }, '&again=1')).toEqual(['900', 303]);
  });
});

describe('the page', () => {
  test('offers the enabled ways, in Italian and English', async () => {
    const port = await openPort(redis.connect());
    const { get } = port.browser();
    const both = (await get('/sign-in?to=/week')).body;
    expect(both).toContain('<html lang="en"');
    expect(both).toContain('href="/sign-in/provider?to=%2Fweek"');
    expect(both).toContain('Continue with id.test');
    expect(both).toContain('name="passphrase"');
    port.state.access = { ...PEOPLE, passphrase: false };
    expect((await get('/sign-in')).body).not.toContain('name="passphrase"');
    port.state.access = accessSettings();
    expect((await get('/sign-in', { 'accept-language': 'it-IT' })).body).toMatch(/<html lang="it"[\s\S]*Accedi/);
    port.state.access = null;
    expect((await get('/sign-in')).body).toContain('Sign-in is not configured');
  });

  test('is shown to a user who is not signed in; an API client gets a code', async () => {
    const port = await openPort(redis.connect());
    port.app.get('/test', { config: { level: 'viewer' } }, async () => ({}));
    const { get } = port.browser();
    expect((await get('/test?a=1')).headers.location).toBe('/sign-in?to=%2Ftest%3Fa%3D1');
    const answer = await get('/test', { accept: 'application/json' });
    expect([answer.statusCode, answer.json()]).toEqual([401, { error: 'not-logged-in' }]);
    expect(answer.headers['www-authenticate']).toBe('Bearer');
  });

  test('follows the current rights of the signed-in user, and answers everything else with not found', async () => {
    const port = await openPort(redis.connect());
    const { get } = await port.signedIn(account('vera'));
    for (const url of ['/nothing', '/test/../nothing', '/sign-in/nothing']) {
      expect((await get(url)).statusCode).toBe(404);
    }
  });
});

/** Follows the Overview's events over a separate connection. @returns when the port ended the stream */
async function follow(port: number, cookie: string) {
  const request = get({ port, path: '/events', headers: { host: 'mirror.test', cookie } });
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  response.resume();
  return { status: response.statusCode, ended: once(response, 'end'), isOpen: () => !response.readableEnded };
}

test('a stream of events closes with its session, and other streams of that user continue', async () => {
  const { app, signedIn, desk } = await openPort(redis.connect(), { access: PEOPLE });
  const { port } = new URL(await app.listen({ host: '127.0.0.1', port: 0 }));
  const [here, elsewhere] = [await signedIn(account('olga')), await signedIn(account('olga'))];
  const streams = [];
  for (const { session } of [here, elsewhere]) streams.push(await follow(Number(port), `__Host-session=${session}`));
  expect(streams.map(({ status }) => status)).toEqual([200, 200]);
  await here.post('/sign-out', { csrf: here.csrf });
  await streams[0]?.ended;
  expect(streams[1]?.isOpen()).toBe(true);
  // As another process would.
  await desk.sessions.endAll(accountIdOf(account('olga')));
  await streams[1]?.ended;
});

test('following events keeps no idle session alive', async () => {
  const { desk } = await openPort(redis.connect(), { access: PEOPLE });
  const olga = account('olga');
  const connection = redis.connect();
  const longestMs = async () => {
    const names = await connection.keys(controlKeys.session('*').replaceAll(/[{}]/g, '?'));
    return Math.max(...(await Promise.all(names.map((name) => connection.pttl(name)))));
  };
  await connection.flushall();
  const own = await desk.sessions.begin(accountIdOf(olga), olga, { mostMs: 60 * MINUTE_MS, idleMs: MINUTE_MS });
  expect(await entrantBySession(desk, own, 'look')).toMatchObject({ level: 'owner' });
  expect(await longestMs()).toBeLessThanOrEqual(MINUTE_MS);
  expect(await entrantBySession(desk, own)).toMatchObject({ level: 'owner' });
  expect(await longestMs()).toBeGreaterThan(MINUTE_MS);
});
