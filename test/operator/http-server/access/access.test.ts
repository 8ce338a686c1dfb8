import type { RouteOptions } from 'fastify';
import { describe, expect, test } from 'vitest';
import { ACCESS_LEVELS, type AccessLevel } from '../../../../src/core/model/acts.ts';
import { HOUR_MS, MINUTE_MS } from '../../../../src/core/model/time.ts';
import { visitorOf } from '../../../../src/operator/http-server/operators.ts';
import { useRedis } from '../../../support/redis.ts';
import { accessSettings, openActing } from '../../control/acting.ts';
import { account, FROM_HERE, openPort, PEOPLE, refusalIn } from './open-port.ts';

/*
 * Unauthorized access, and access above the own rights: each attempt is refused. Routes of the test represent pages and API; one test also
 * requests every existing route.
 */

const redis = useRedis();

const OTTO = account('otto');

const PASSPHRASE = 'correct horse battery staple';

/** The port with a route of each level, about a clinic and about none. */
async function open(choice: Parameters<typeof openPort>[1] = {}) {
  const port = await openPort(redis.connect(), { trustedProxies: ['127.0.0.1'], ...choice });
  const done: string[] = [];
  for (const level of ACCESS_LEVELS) {
    const act = async (request: Parameters<typeof visitorOf>[0]) => {
      done.push(`${level} ${visitorOf(request).name}`);
      return { done: true };
    };
    port.app.post(`/test/${level}`, { config: { level } }, act);
    port.app.post(`/test/${level}/:tenant`, { config: { level } }, act);
    port.app.get(`/test/${level}/:tenant`, { config: { level } }, act);
  }
  return { ...port, done };
}

const bearer = (token: string) => ({ authorization: `Bearer ${token}` });

describe('a page of another site', () => {
  const other = { host: 'mirror.test' };
  test.each<[string, Record<string, string>, boolean]>([
    ['with only the cookie', other, false],
    ['with the CSRF proof of a page, and a foreign origin', { ...other, origin: 'https://evil.test' }, true],
    ['whose origin the browser does not send', { ...other, origin: 'null' }, true],
    ['of another subdomain of the same domain', { ...other, 'sec-fetch-site': 'same-site' }, true],
    ['of the same name at another port', { ...other, origin: 'https://mirror.test:8443' }, true],
    ['by plain http', { ...other, origin: 'http://mirror.test' }, true],
  ])('cannot change anything through the browser of a signed-in user: %s', async (_, headers, showsProof) => {
    const { signedIn, done } = await open();
    const { post, csrf } = await signedIn(OTTO);
    const answer = await post('/test/operator', showsProof ? { csrf } : {}, headers);
    expect([answer.statusCode, refusalIn(answer)]).toEqual([403, 'not-from-here']);
    expect(done).toEqual([]);
  });

  test('cannot use the CSRF proof of another session, none or several, where a page requires its own', async () => {
    const { signedIn, done, browser } = await open();
    const { post, csrf, get } = await signedIn(OTTO);
    const stranger = await signedIn(account('vera'));
    for (const shown of [stranger.csrf, '', csrf.slice(1), `${csrf}x`]) {
      expect((await post('/test/operator', { csrf: shown })).statusCode).toBe(403);
    }
    expect((await browser().post('/test/operator', { csrf })).statusCode).toBe(401);
    expect((await get(`/test/operator/studio-rossi?csrf=${csrf}`)).statusCode).toBe(200);
    expect((await post('/test/operator', { csrf })).json()).toEqual({ done: true });
    expect((await post('/test/operator', {}, { ...FROM_HERE, 'x-csrf-token': csrf })).json()).toEqual({ done: true });
    expect(done).toHaveLength(3);
  });

  test('cannot sign a user in with its own account', async () => {
    const { desk, browser } = await open();
    await desk.passphrase.set(PASSPHRASE);
    for (const headers of [{ ...other }, { ...other, origin: 'https://evil.test' }, { ...other, origin: 'null' }]) {
      const { post, cookies } = browser();
      expect((await post('/sign-in', { passphrase: PASSPHRASE }, headers)).statusCode).toBe(403);
      expect([...cookies]).toEqual([]);
    }
  });

  test('is shown in no frame, runs no script in the pages, and learns no URL of them', async () => {
    const { browser } = await open();
    const { headers } = await browser().get('/sign-in?to=/canary');
    expect(String(headers['content-security-policy']).split(';').toSorted()).toEqual([
      ...["base-uri 'none'", "connect-src 'self'", "default-src 'none'", "font-src 'self'", "form-action 'self'"],
      ...["frame-ancestors 'none'", "img-src 'self' data:", "script-src 'self'", "style-src 'self'"],
    ]);
    expect(headers).toMatchObject({
      ...{ 'x-frame-options': 'DENY', 'referrer-policy': 'same-origin', 'cache-control': 'no-store' },
      ...{ 'x-content-type-options': 'nosniff', 'cross-origin-opener-policy': 'same-origin' },
    });
  });

  test('whose name resolves to this host (DNS rebinding) reads and changes nothing', async () => {
    const { signedIn, browser, done } = await open({ publicUrl: 'http://localhost:8090' });
    const { session, csrf } = await signedIn(OTTO);
    const { cookies, get, post } = browser();
    cookies.set('clinic-mirror-session', session);
    for (const host of ['evil.test', 'localhost.evil.test:8090', '10.0.0.1:8090']) {
      expect(refusalIn(await get('/test/viewer/studio-rossi', { host }))).toBe('not-this-host');
      expect((await get('/sign-in', { host })).statusCode).toBe(421);
      const headers = { host, origin: `http://${host}`, 'sec-fetch-site': 'same-origin' };
      expect((await post('/test/operator', { csrf }, headers)).statusCode).toBe(421);
    }
    expect(done).toEqual([]);
    for (const host of ['localhost:8090', '127.0.0.1:8090']) {
      expect((await post('/test/operator', { csrf }, { host, origin: `http://${host}` })).statusCode).toBe(200);
    }
  });
});

describe('a session', () => {
  const passphraseOf = (port: Awaited<ReturnType<typeof open>>) => port.desk.passphrase.set(PASSPHRASE);

  test('that an attacker placed in the browser is not the signed-in one (fixation)', async () => {
    const port = await open();
    await passphraseOf(port);
    const attacker = await port.signedIn(account('vera'));
    const { cookies, post } = port.browser();
    for (const planted of ['chosen-by-the-attacker', attacker.session]) {
      cookies.set('__Host-session', planted);
      expect((await post('/sign-in', { passphrase: PASSPHRASE })).statusCode).toBe(303);
      expect(cookies.get('__Host-session')).not.toBe(planted);
      const withPlanted = port.browser();
      withPlanted.cookies.set('__Host-session', planted);
      expect((await withPlanted.get('/test/viewer/studio-rossi')).statusCode).toBe(303);
    }
  });

  test('is in a cookie that scripts, other hosts and plain http can neither read nor set', async () => {
    const port = await open();
    await passphraseOf(port);
    const { post, cookies } = port.browser();
    const { headers } = await post('/sign-in', { passphrase: PASSPHRASE });
    expect([headers['set-cookie']].flat()[0]).toMatch(
      /^__Host-session=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/,
    );
    const session = cookies.get('__Host-session') ?? '';
    const plain = port.browser();
    plain.cookies.set('session', session);
    plain.cookies.set('clinic-mirror-session', session);
    expect((await plain.get('/test/viewer/studio-rossi')).statusCode).toBe(303);
    expect(port.lines.join('')).not.toContain(session);
  });

  test('that was stolen is worth nothing after its owner signed out, here or everywhere', async () => {
    const { signedIn, browser } = await open();
    const [one, two, other] = [await signedIn(OTTO), await signedIn(OTTO), await signedIn(account('vera'))];
    const thief = browser();
    const tryWith = async (session: string) => {
      thief.cookies.set('__Host-session', session);
      return (await thief.get('/test/viewer/studio-rossi')).statusCode;
    };
    expect(await tryWith(one.session)).toBe(200);
    await one.post('/sign-out', { csrf: one.csrf });
    expect([await tryWith(one.session), await tryWith(two.session)]).toEqual([303, 200]);
    const three = await signedIn(OTTO);
    await three.post('/sign-out', { csrf: three.csrf, everywhere: '1' });
    expect([await tryWith(two.session), await tryWith(three.session)]).toEqual([303, 303]);
    expect([await tryWith(other.session), await tryWith((await signedIn(OTTO)).session)]).toEqual([200, 200]);
  });

  test('ends after its time, however often it is used, and sooner when it is not', async () => {
    const { signedIn, state, desk } = await open();
    const { get, session } = await signedIn(OTTO);
    state.now += 12 * HOUR_MS - 1;
    expect((await get('/test/viewer/studio-rossi')).statusCode).toBe(200);
    const connection = redis.connect();
    const [key = ''] = await connection.keys('*:session:*');
    expect(await connection.pttl(key)).toBeLessThanOrEqual(HOUR_MS);
    expect(await connection.pttl(key)).toBeGreaterThan(HOUR_MS - MINUTE_MS);
    state.now += 1;
    expect((await get('/test/viewer/studio-rossi')).statusCode).toBe(303);
    expect(await connection.exists(key)).toBe(0);
    expect(await desk.sessions.use(session, { mostMs: 24 * HOUR_MS, idleMs: HOUR_MS })).toBeNull();
  });

  test('cannot be created or read with access to Redis only', async () => {
    const { signedIn, browser } = await open();
    const { session } = await signedIn(OTTO);
    const connection = redis.connect();
    const [key = ''] = await connection.keys('*:session:*');
    const value = String(await connection.get(key));
    expect(`${key} ${value}`).not.toContain(session);
    expect(value).not.toMatch(/otto|clinic\.example/);
    // The attacker chooses a session, and replaces its value by the encrypted value of another session.
    const { createHash } = await import('node:crypto');
    const chosen = createHash('sha256').update('chosen').digest('base64url');
    await connection.set(key.replace(/[^:]+$/, chosen), value);
    const { cookies, get } = browser();
    cookies.set('__Host-session', 'chosen');
    expect((await get('/test/viewer/studio-rossi')).statusCode).not.toBe(200);
  });
});

describe('a user with too few rights', () => {
  test('for a route, by session or token, is refused by every route', async () => {
    const { signedIn, routes, app, done, token } = await open();
    const asked: string[] = [];
    for (const level of ACCESS_LEVELS) {
      const names = { viewer: 'vera', operator: 'otto', owner: 'olga' };
      const { session, csrf } = await signedIn(account(names[level]));
      const shown = await token(`of-${level}`, level);
      for (const route of routes.filter((each) => isAbove(each, level))) {
        const url = route.url.replaceAll(/:(\w+)/g, (_, name) => (name === 'tenant' ? 'studio-rossi' : 'x'));
        const method = [route.method].flat()[0] as 'POST';
        const payload = route.method === 'GET' ? {} : { payload: {} };
        const common = { method, url, ...payload };
        const cookie = `__Host-session=${session}`;
        const bySession = await app.inject({ ...common, headers: { ...FROM_HERE, cookie, 'x-csrf-token': csrf } });
        const byToken = await app.inject({ ...common, headers: bearer(shown) });
        expect([bySession.statusCode, byToken.statusCode], `${level}: ${method} ${route.url}`).toEqual([403, 403]);
        asked.push(url);
      }
    }
    expect(asked.length).toBeGreaterThanOrEqual(9);
    expect(done).toEqual([]);
  });

  test('finds no route without a required level, except the public ones', async () => {
    const { routes } = await open();
    const open_ = routes
      .filter(({ config }) => config?.level === undefined)
      .map(({ method, url }) => `${method} ${url}`);
    expect(open_.filter((route) => !FOR_EVERYBODY.test(route)).toSorted()).toEqual([]);
    expect(open_.length).toBeGreaterThan(5);
    const changing = routes.filter(({ method }) => ![method].flat().every((each) => each === 'GET' || each === 'HEAD'));
    expect(changing.map(({ url }) => url)).toContain('/sign-out');
  });

  test('cannot learn that another clinic exists, whatever the rights in their own', async () => {
    const { signedIn, done, app, token } = await open();
    const { post, get, csrf } = await signedIn(OTTO);
    const shown = await token('rossi', 'owner', ['studio-rossi']);
    for (const tenant of [
      'studio-bianchi',
      'nobody',
      'STUDIO-ROSSI',
      'studio-rossi%2F..%2Fstudio-bianchi',
      '__proto__',
    ]) {
      const answers = [
        await get(`/test/viewer/${tenant}`),
        await post(`/test/operator/${tenant}`, { csrf }),
        await app.inject({ method: 'POST', url: `/test/owner/${tenant}`, headers: bearer(shown) }),
      ];
      for (const answer of answers) {
        expect([answer.statusCode, refusalIn(answer)], tenant).toEqual([404, 'no-such-tenant']);
      }
    }
    expect(done).toEqual([]);
    expect((await get('/test/viewer/studio-rossi')).statusCode).toBe(200);
  });

  test('since a moment ago may no more from that moment on (stale role)', async () => {
    const { signedIn, state } = await open();
    const { post, get, csrf } = await signedIn(account('olga'));
    const may = async () => (await post('/test/owner', { csrf })).statusCode;
    expect(await may()).toBe(200);
    const oidc = PEOPLE.oidc as NonNullable<typeof PEOPLE.oidc>;
    const withPeople = (people: typeof oidc.people) => ({ ...PEOPLE, oidc: { ...oidc, people } });
    state.access = withPeople([{ email: 'olga@clinic.example', level: 'operator' }]);
    expect(await may()).toBe(403);
    state.access = withPeople([{ email: 'olga@clinic.example', level: 'owner', tenants: ['studio-bianchi'] }]);
    expect((await get('/test/viewer/studio-rossi')).statusCode).toBe(404);
    state.access = withPeople([{ email: 'vera@clinic.example', level: 'owner' }]);
    expect(await may()).toBe(401);
    state.access = { ...PEOPLE, oidc: { ...oidc, issuer: 'https://another.test' } };
    expect(await may()).toBe(401);
    state.access = null;
    expect(await may()).toBe(401);
    state.access = PEOPLE;
    expect(await may()).toBe(200);
  });
});

/** Public routes, and routes of the sign-in. */
const FOR_EVERYBODY = /^(GET|HEAD) \/(healthz|readyz|metrics|assets\/:name)$|^(GET|HEAD|POST) \/sign-in(\/|$)/;

function isAbove({ config }: RouteOptions, level: AccessLevel): boolean {
  return config?.level !== undefined && ACCESS_LEVELS.indexOf(config.level) > ACCESS_LEVELS.indexOf(level);
}

describe('a token', () => {
  test('is valid for its purpose until it expires or is revoked, and never together with a session', async () => {
    const { app, desk, state, token, signedIn } = await open();
    const shown = await token('ci', 'operator');
    const ask = async (headers: Record<string, string>) =>
      (await app.inject({ method: 'POST', url: '/test/operator', headers })).statusCode;
    expect(await ask(bearer(shown))).toBe(200);
    const { session, csrf } = await signedIn(OTTO);
    const cookie = `__Host-session=${session}`;
    const other = `${shown.slice(0, -1)}${shown.endsWith('A') ? 'B' : 'A'}`;
    const wrong = [other, shown.slice(0, -1), `${shown}x`, shown.replace('ci', 'co'), 'cmt_ci_', 'x'];
    for (const guess of wrong) {
      expect(await ask({ ...FROM_HERE, ...bearer(guess), cookie, 'x-csrf-token': csrf }), guess).toBe(401);
    }
    state.now += 24 * HOUR_MS;
    expect(await ask(bearer(shown))).toBe(401);
    const again = await token('ci', 'operator');
    expect(await ask(bearer(again))).toBe(200);
    await desk.tokens.revoke('ci');
    expect(await ask(bearer(again))).toBe(401);
  });

  test('cannot be created with access to Redis only: neither its value nor another one fits', async () => {
    const { app, token } = await open();
    const shown = await token('viewer', 'viewer');
    const connection = redis.connect();
    const [key = ''] = await connection.keys('*access-tokens*');
    const value = String(await connection.hget(key, 'viewer'));
    expect(value).not.toContain(shown.slice(-43));
    await connection.hset(key, 'owner', value);
    const moved = shown.replace('viewer', 'owner');
    expect((await app.inject({ method: 'POST', url: '/test/viewer', headers: bearer(moved) })).statusCode).not.toBe(
      200,
    );
  });
});

describe('a guessing attacker', () => {
  const from = (address: string) => ({ ...FROM_HERE, 'x-forwarded-for': address });

  test('the passphrase is limited by IP address and, across many of them, by account; the audit log records a few attempts', async () => {
    const { desk, browser, recorded } = await open();
    await desk.passphrase.set(PASSPHRASE);
    // What is compared takes a tenth of a second by intent.
    const compared: string[] = [];
    desk.passphrase.fits = async (given) => {
      compared.push(given);
      return given === PASSPHRASE;
    };
    const { post, cookies } = browser();
    const tries = async (count: number, address: string) => {
      const answers = Array.from({ length: count }, (_, at) =>
        post('/sign-in', { passphrase: `guess ${at}` }, from(address)),
      );
      return (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    };
    expect((await tries(30, '8.8.8.8')).toSorted()).toEqual([...Array(20).fill(400), ...Array(10).fill(429)]);
    expect((await post('/sign-in', { passphrase: PASSPHRASE }, from('8.8.8.8'))).statusCode).toBe(429);
    for (let at = 1; at <= 5; at += 1) await tries(19, `9.9.9.${at}`);
    expect((await post('/sign-in', { passphrase: PASSPHRASE }, from('9.9.9.9'))).statusCode).toBe(429);
    expect(compared).toHaveLength(100);
    expect([...cookies]).toEqual([]);
    expect(recorded.length).toBeLessThan(10);
    for (const entry of recorded) expect(entry).toMatchObject({ verb: 'sign-in', outcome: 'refused', tenant: null });
    expect(JSON.stringify(recorded)).not.toMatch(/guess|8\.8\.8\.8/);
  });

  test('typing errors do not accumulate: a sign-in clears the failures before it', async () => {
    const { desk, browser } = await open();
    await desk.passphrase.set(PASSPHRASE);
    desk.passphrase.fits = async (given) => given === PASSPHRASE;
    const { post } = browser();
    for (let round = 0; round < 4; round += 1) {
      for (let at = 0; at < 10; at += 1) await post('/sign-in', { passphrase: 'mistyped' }, from('8.8.4.4'));
      expect((await post('/sign-in', { passphrase: PASSPHRASE }, from('8.8.4.4'))).statusCode).toBe(303);
    }
  });

  test('cannot sign in before a passphrase was set, or if passphrases are disabled', async () => {
    const { browser, state } = await open();
    for (const access of [PEOPLE, { ...PEOPLE, passphrase: false }, accessSettings(), null]) {
      state.access = access;
      for (const passphrase of ['', PASSPHRASE]) {
        expect((await browser().post('/sign-in', { passphrase })).statusCode).toBe(400);
      }
    }
  });
});

describe('the URL of a first sign-in', () => {
  const linkOf = async ({ desk }: Awaited<ReturnType<typeof open>>, isFirst: boolean) => {
    const { makeSignInLink } = await import('../../../../src/operator/control/access.ts');
    return (await makeSignInLink(openActing(), desk, isFirst)).url.replace('https://mirror.test', '');
  };
  const both = { passphrase: PASSPHRASE, again: PASSPHRASE };

  test('is used up by one browser, and not by programs that open it; replayed it is worth nothing', async () => {
    const port = await open();
    const link = await linkOf(port, true);
    for (let at = 0; at < 3; at += 1) expect((await port.browser().get(link)).statusCode).toBe(200);
    const { post, cookies, get } = port.browser();
    expect((await post(link, { passphrase: 'short', again: 'short' })).statusCode).toBe(400);
    expect((await post(link, { ...both, again: 'another' })).statusCode).toBe(400);
    const answers = await Promise.all([
      post(link, both),
      port.browser().post(link, both),
      port.browser().post(link, both),
    ]);
    expect(answers.map(({ statusCode }) => statusCode).toSorted()).toEqual([303, 400, 400]);
    const winner = answers.find(({ statusCode }) => statusCode === 303);
    cookies.set('__Host-session', String(winner?.headers['set-cookie']).split(/[=;]/)[1] ?? '');
    expect((await get('/test/owner/studio-rossi')).statusCode).toBe(200);
    expect((await port.browser().get(link)).body).toContain('already used');
    expect(port.lines.join('')).not.toContain(link.split('/').at(-1));
  });

  test('only sets the passphrase, and does nothing once it is set', async () => {
    const port = await open();
    const [first, second] = [await linkOf(port, true), await linkOf(port, true)];
    const { post, cookies } = port.browser();
    expect((await post(first, {})).statusCode).toBe(400);
    expect([...cookies]).toEqual([]);
    expect((await post(first, both)).statusCode).toBe(303);
    expect(
      (await port.browser().post(second, { passphrase: 'another long passphrase', again: 'another long passphrase' }))
        .statusCode,
    ).toBe(400);
    expect((await port.browser().post('/sign-in', { passphrase: PASSPHRASE })).statusCode).toBe(303);
  });

  test('with another passphrase revokes all sessions of the previous one', async () => {
    const port = await open();
    await port.desk.passphrase.set('the previous passphrase');
    const stolen = await port.signedIn({ way: 'passphrase' });
    expect((await stolen.get('/test/owner/studio-rossi')).statusCode).toBe(200);
    expect((await port.browser().post(await linkOf(port, false), both)).statusCode).toBe(303);
    expect((await stolen.get('/test/owner/studio-rossi')).statusCode).toBe(303);
    expect(port.recorded.map(({ verb, outcome }) => `${verb} ${outcome}`)).toEqual([
      ...['set-passphrase begun', 'set-passphrase done', 'sign-in done'],
    ]);
  });
});

describe('a return URL', () => {
  test.each([
    ...['https://evil.test/', '//evil.test', '/\\evil.test', '/\t/evil.test', '/%09/evil.test/../..//evil.test'],
    ...['\\\\evil.test', 'javascript:alert(1)', '/..//evil.test', '/sign-in', '/sign-out', `/${'x'.repeat(600)}`],
  ])('leads to no other site after a sign-in (open redirect): %s', async (to) => {
    const { desk, browser } = await open();
    desk.passphrase.fits = async () => true;
    const { post, get } = browser();
    const { headers, statusCode } = await post('/sign-in', { passphrase: PASSPHRASE, to });
    expect(statusCode).toBe(303);
    expect(new URL(String(headers.location), 'https://mirror.test').origin).toBe('https://mirror.test');
    expect(headers.location).not.toMatch(/^\/[/\\]/);
    const page = (await get(`/sign-in?to=${encodeURIComponent(to)}`)).body;
    expect(page).not.toMatch(/(value|href)="(https?:|javascript:|\/\/|\/\\)/);
  });

  test('keeps the requested page', async () => {
    const { browser, desk } = await open();
    desk.passphrase.fits = async () => true;
    const { get, post } = browser();
    const { headers } = await get('/test/viewer/studio-rossi?day=2026-11-23&x=%22%3E');
    expect(headers.location).toBe(
      `/sign-in?to=${encodeURIComponent('/test/viewer/studio-rossi?day=2026-11-23&x=%22%3E')}`,
    );
    const to = new URL(String(headers.location), 'https://mirror.test').searchParams.get('to') ?? '';
    expect((await post('/sign-in', { passphrase: PASSPHRASE, to })).headers.location).toBe(to);
  });
});
