import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../../src/core/model/time.ts';
import { accountIdOf } from '../../../../src/operator/control/access.ts';
import { useRedis } from '../../../support/redis.ts';
import { account, FROM_HERE, openPort, PEOPLE } from './open-port.ts';

const redis = useRedis();
const PASSPHRASE = 'correct horse battery staple';
const FIREFOX = 'Mozilla/5.0 (X11; Linux x86_64; rv:150.0) Gecko/20100101 Firefox/150.0';
const EDGE =
  'Mozilla/5.0 (Windows NT 10.0) AppleWebKit/537.36 (KHTML, like Gecko) Chrome/153.0.0.0 Safari/537.36 Edg/153.0.0.0';

async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const port = await openPort(connection, { trustedProxies: ['127.0.0.1'] });
  await port.desk.passphrase.set(PASSPHRASE);
  /** Signs the owner in with a browser of this kind, from an address. */
  const owner = async (userAgent: string, address: string, browser = port.browser()) => {
    const headers = { ...FROM_HERE, 'user-agent': userAgent, 'x-forwarded-for': address };
    expect((await browser.post('/sign-in', { passphrase: PASSPHRASE }, headers)).statusCode).toBe(303);
    const page = (await browser.get('/sessions')).body;
    const csrf = /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? '';
    return { ...browser, csrf };
  };
  return { ...port, owner };
}

const idsIn = (body: string) => [...body.matchAll(/name="session" value="([^"]+)"/g)].map(([, id = '']) => id);

describe('the list of own sessions', () => {
  test('shows browser, network and times of each own session, and no other user’s, no secret and no whole address', async () => {
    const { owner, signedIn, state } = await open();
    const elsewhere = await owner(FIREFOX, '203.0.113.77');
    const stranger = await signedIn(account('vera'));
    state.now += 5 * MINUTE_MS;
    const { get, cookies } = await owner(EDGE, '2001:db8:1:2:3::4');
    const { statusCode, body } = await get('/sessions');
    expect(statusCode).toBe(200);
    for (const shown of [
      'Firefox',
      '203.0.113.0/24',
      'Edge',
      '2001:db8:1:2::/64',
      'datetime="2026-06-15T08:00:00.000Z"',
      'this browser',
    ]) {
      expect(body).toContain(shown);
    }
    expect(idsIn(body)).toHaveLength(1);
    const secrets = [cookies, elsewhere.cookies, stranger.cookies].map((each) => String(each.get('__Host-session')));
    for (const hidden of [...secrets, '203.0.113.77', '3::4', 'vera']) expect(body).not.toContain(hidden);
    expect((await stranger.get('/sessions')).body).not.toMatch(/Firefox|Edge/);
  });

  test('ends one other session or all others; the own one continues', async () => {
    const { owner, recorded } = await open();
    const [one, two, three] = [await owner(FIREFOX, '1.1.1.1'), await owner(EDGE, '1.1.1.2'), await owner('', '')];
    const statuses = async () => {
      const asked = await Promise.all([one, two, three].map(({ get }) => get('/sessions')));
      return asked.map(({ statusCode }) => statusCode);
    };
    const [first = ''] = idsIn((await three.get('/sessions')).body);
    const ended = await three.post('/sessions', { csrf: three.csrf, session: first });
    expect(ended.headers.location).toBe('/sessions?did=ended.1');
    expect((await three.get('/sessions?did=ended.1')).body).toContain('1 session has ended.');
    const again = await three.post('/sessions', { csrf: three.csrf, session: first });
    expect((await three.get(String(again.headers.location))).body).toContain('No such session was open');
    expect((await statuses()).toSorted()).toEqual([200, 200, 303]);
    await three.post('/sessions', { csrf: three.csrf });
    expect(await statuses()).toEqual([303, 303, 200]);
    const records = recorded.filter(({ verb, outcome }) => verb === 'end-sessions' && outcome === 'done');
    const record = { tenant: null, who: { id: 'owner' }, what: { user: 'owner', sessions: 1 } };
    expect(records).toMatchObject([record, record]);
  });

  test('ends none with an old sign-in: the page leads to the sign-in, and back', async () => {
    const { owner, state } = await open();
    const victim = await owner(FIREFOX, '1.1.1.1');
    const thief = await owner(EDGE, '1.1.1.2');
    state.now += 15 * MINUTE_MS;
    const led = await thief.post('/sessions', { csrf: thief.csrf });
    expect([led.statusCode, led.headers.location]).toEqual([303, '/sign-in?again=1&to=%2Fsessions']);
    expect((await victim.get('/sessions')).statusCode).toBe(200);
  });

  test('ends no session of another user, and none without the proof of the own page', async () => {
    const { owner, signedIn } = await open();
    const victim = await owner(FIREFOX, '1.1.1.1');
    const other = await owner(EDGE, '1.1.1.2');
    const [id = ''] = idsIn((await other.get('/sessions')).body);
    const thief = await signedIn(account('vera'));
    await thief.post('/sessions', { csrf: thief.csrf, session: id });
    await thief.post('/sessions', { csrf: thief.csrf });
    expect((await other.post('/sessions', { session: id })).statusCode).toBe(403);
    expect((await victim.get('/sessions')).statusCode).toBe(200);
  });

  test('forgets ended sessions, also those that a writer to Redis adds', async () => {
    const { owner, signedIn } = await open();
    const { get } = await owner(FIREFOX, '1.1.1.1');
    const vera = await signedIn(account('vera'));
    const connection = redis.connect();
    const lists = await connection.keys('*:sessions-of:*');
    const members = await Promise.all(lists.map((list) => connection.smembers(list)));
    for (const list of lists) await connection.sadd(list, 'invented', ...members.flat());
    expect(idsIn((await get('/sessions')).body)).toEqual([]);
    expect(idsIn((await vera.get('/sessions')).body)).toEqual([]);
    expect(await Promise.all(lists.map((list) => connection.scard(list)))).toEqual([1, 1]);
  });
});

describe('the API', () => {
  const listed = (body: string) =>
    (JSON.parse(body) as { sessions: { id: string; user: string; name: string }[] }).sessions;
  const end = (browser: Awaited<ReturnType<typeof signIn>>, id: string) =>
    browser.app.inject({
      method: 'POST',
      url: '/api/v1/sessions/end',
      payload: { id },
      headers: { ...FROM_HERE, cookie: `__Host-session=${browser.session}`, 'x-csrf-token': browser.csrf },
    });
  async function signIn(port: Awaited<ReturnType<typeof open>>, name: string) {
    const browser = await port.signedIn(account(name));
    return { ...browser, app: port.app, sessions: async () => listed((await browser.get('/api/v1/sessions')).body) };
  }

  test('lists own sessions; an owner of all tenants sees and ends those of all users', async () => {
    const port = await open();
    const vera = [await signIn(port, 'vera'), await signIn(port, 'vera')] as const;
    const otto = await signIn(port, 'otto');
    const olga = await signIn(port, 'olga');
    expect((await vera[0].sessions()).map(({ name }) => name)).toEqual(Array(2).fill('vera@clinic.example'));
    const all = await olga.sessions();
    expect(all.map(({ name }) => name.split('@')[0]).toSorted()).toEqual(['olga', 'otto', 'vera', 'vera']);
    const ottos = all.find(({ name }) => name.startsWith('otto'))?.id ?? '';
    expect((await end(vera[0], ottos)).statusCode).toBe(404);
    expect((await end(vera[0], accountIdOf(account('otto')))).statusCode).toBe(404);
    expect(JSON.parse((await end(olga, ottos)).body)).toEqual({ ended: 1 });
    expect((await otto.get('/sessions')).statusCode).toBe(303);
    expect(JSON.parse((await end(olga, accountIdOf(account('vera')))).body)).toEqual({ ended: 2 });
    const statuses = await Promise.all([...vera, olga].map((each) => each.get('/sessions')));
    expect(statuses.map(({ statusCode }) => statusCode)).toEqual([303, 303, 200]);
    expect(port.recorded.filter(({ verb, outcome }) => verb === 'end-sessions' && outcome === 'done')).toMatchObject([
      { who: { id: accountIdOf(account('olga')) }, what: { user: accountIdOf(account('otto')), sessions: 1 } },
      { who: { id: accountIdOf(account('olga')) }, what: { user: accountIdOf(account('vera')), sessions: 2 } },
    ]);
  });

  test('ends no session with an old sign-in', async () => {
    const port = await open();
    const vera = await signIn(port, 'vera');
    const [own] = await vera.sessions();
    port.state.now += 15 * MINUTE_MS;
    const refused = await end(vera, own?.id ?? '');
    expect([refused.statusCode, JSON.parse(refused.body).code]).toEqual([401, 'sign-in-again']);
    expect((await end(vera, 'invented')).statusCode).toBe(404);
    expect((await vera.get('/api/v1/sessions')).statusCode).toBe(200);
  });
});

describe('before a sensitive action', () => {
  test('a user with an old sign-in signs in again, in a new session, and continues', async () => {
    const { owner, browser, state } = await open();
    const mine = browser();
    const { get, post, cookies } = await owner(FIREFOX, '1.1.1.1', mine);
    expect((await get('/add-clinic')).statusCode).toBe(200);
    state.now += 15 * MINUTE_MS;
    const before = cookies.get('__Host-session');
    const led = await get('/add-clinic');
    expect([led.statusCode, led.headers.location]).toEqual([303, '/sign-in?again=1&to=%2Fadd-clinic']);
    expect((await get('/sessions')).statusCode).toBe(200);
    const page = (await get(String(led.headers.location))).body;
    expect(page).toContain('Sign in again');
    expect(page).toContain('name="to" value="/add-clinic"');
    expect(page).toContain('href="/sign-in/provider?again=1&amp;to=%2Fadd-clinic"');
    const back = await post('/sign-in', { to: '/add-clinic', passphrase: PASSPHRASE });
    expect(back.headers.location).toBe('/add-clinic');
    expect((await get('/add-clinic')).statusCode).toBe(200);
    const thief = browser();
    thief.cookies.set('__Host-session', String(before));
    expect((await thief.get('/sessions')).statusCode).toBe(303);
  });

  test('a stolen session that is used all the time stays old, and a wrong passphrase does not renew it', async () => {
    const { owner, state } = await open();
    const { get, post } = await owner(FIREFOX, '1.1.1.1');
    for (let at = 0; at < 10; at += 1) {
      state.now += 2 * MINUTE_MS;
      await get('/sessions');
    }
    expect((await post('/sign-in', { to: '/add-clinic', passphrase: 'mistyped' })).statusCode).toBe(400);
    expect((await get('/add-clinic')).statusCode).toBe(303);
  });

  test('the minutes are those of the settings, and a program with a token needs no sign-in', async () => {
    const { owner, state, app, token } = await open();
    const { get } = await owner(FIREFOX, '1.1.1.1');
    state.access = { ...PEOPLE, reauthenticateAfterMinutes: 60 };
    state.now += HOUR_MS - 1;
    expect((await get('/add-clinic')).statusCode).toBe(200);
    const headers = { authorization: `Bearer ${await token('ci', 'owner')}` };
    state.now += 1;
    expect((await get('/add-clinic')).statusCode).toBe(303);
    expect((await app.inject({ url: '/add-clinic', headers })).statusCode).toBe(200);
  });
});
