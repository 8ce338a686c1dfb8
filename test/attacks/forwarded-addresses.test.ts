import { describe, expect, onTestFinished, test } from 'vitest';
import { silentLogger } from '../../src/core/log/logger.ts';
import { showFeed } from '../../src/features/feeds/feeds.ts';
import { createFeedDirectory } from '../../src/features/feeds/store.ts';
import { rememberBrowser, rememberedBrowserOf } from '../../src/operator/control/sign-in.ts';
import { createPublicServer } from '../../src/operator/http-server/public-server.ts';
import type { PublicVerbs } from '../../src/operator/http-server/verbs.ts';
import { openInstallation } from '../operator/control/open-installation.ts';
import { FROM_HERE, openPort, PEOPLE } from '../operator/http-server/access/open-port.ts';
import { useRedis } from '../support/redis.ts';

/*
 * Limits count requests by address. A client can write any address into `X-Forwarded-For`, so the header is valid only from a proxy in
 * `http.trustedProxies`. Without that setting all clients behind a proxy share one budget, and are always limited.
 */

const redis = useRedis();
const PASSPHRASE = 'correct horse battery staple';

async function open(trustedProxies: readonly string[] = []) {
  const connection = redis.connect();
  await connection.flushall();
  const port = await openPort(connection, { access: PEOPLE, trustedProxies });
  await port.desk.passphrase.set(PASSPHRASE);
  // The real comparison takes a tenth of a second on purpose.
  port.desk.passphrase.fits = async (given) => given === PASSPHRASE;
  return { ...port, connection };
}

const from = (forwarded: string) => ({ ...FROM_HERE, 'x-forwarded-for': forwarded });
const invented = [
  ['of the own network', (at: number) => `10.0.${at}.1`],
  ['that is none', (at: number) => `guess-${at}`],
  ['of the internet', (at: number) => `8.8.${Math.floor(at / 250)}.${at % 250}`],
] as const;

describe.each(invented)('an untrusted peer with an address %s in each request', (_, addressOf) => {
  test('gets 20 of 40 passphrases compared', async () => {
    const { browser } = await open();
    const { post } = browser();
    const answers = Array.from({ length: 40 }, (_, at) =>
      post('/sign-in', { passphrase: 'guess' }, from(addressOf(at))),
    );
    const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    expect(statuses.filter((status) => status !== 429)).toHaveLength(20);
  });

  test('gets 120 of 300 tokens looked up', async () => {
    const { app } = await open();
    const answers = Array.from({ length: 300 }, (_, at) => {
      const authorization = `Bearer cmt_monitor_${`${at}`.padEnd(43, 'A')}`;
      const headers = { host: 'mirror.test', authorization, 'x-forwarded-for': addressOf(at) };
      return app.inject({ method: 'GET', url: '/api/v1/tenants', headers });
    });
    const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    expect(statuses.filter((status) => status !== 429)).toHaveLength(120);
  });

  test('gets 60 of 200 feeds looked up', async () => {
    const directory = createFeedDirectory(redis.connect());
    const installation = openInstallation({ tenants: [] });
    const verbs = {
      showFeed: (...asked: Parameters<PublicVerbs['showFeed']>) => showFeed({ installation, directory }, ...asked),
    } as PublicVerbs;
    const app = await createPublicServer(verbs, { publicUrl: () => 'https://mirror.test', log: silentLogger });
    onTestFinished(() => app.close());
    const answers = Array.from({ length: 200 }, (_, at) =>
      app.inject({ url: `/feeds/${`${at}`.padEnd(43, 'A')}.ics`, headers: { 'x-forwarded-for': addressOf(at) } }),
    );
    const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    expect(statuses.filter((status) => status !== 429)).toHaveLength(60);
  });
});

describe('behind a trusted proxy', () => {
  test('each client has its own limit, with any value that the client writes into the header', async () => {
    const { browser } = await open(['127.0.0.1']);
    const { post } = browser();
    const tryFrom = (client: string, at: number) =>
      post('/sign-in', { passphrase: 'guess' }, from(`9.9.9.${at}, ${client}`));
    const answers = await Promise.all(Array.from({ length: 40 }, (_, at) => tryFrom('8.8.8.8', at)));
    expect(answers.filter(({ statusCode }) => statusCode !== 429)).toHaveLength(20);
    expect((await tryFrom('8.8.4.4', 0)).statusCode).toBe(400);
  });

  test.each([
    ['a proxy that names no client', undefined],
    ['a proxy that names nonsense', 'unknown'],
  ])('%s has one limit for all', async (_, forwarded) => {
    const { browser } = await open(['127.0.0.1']);
    const headers = forwarded === undefined ? FROM_HERE : from(forwarded);
    const answers = Array.from({ length: 40 }, () => browser().post('/sign-in', { passphrase: 'guess' }, headers));
    const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    expect(statuses.filter((status) => status !== 429)).toHaveLength(20);
  });

  test('clients of one IPv6 network have one limit', async () => {
    const { browser } = await open(['127.0.0.1']);
    const answers = Array.from({ length: 40 }, (_, at) =>
      browser().post('/sign-in', { passphrase: 'guess' }, from(`2a01:4f8:1:2::${at + 1}`)),
    );
    const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    expect(statuses.filter((status) => status !== 429)).toHaveLength(20);
  });
});

describe('a browser in which the owner signed in before', () => {
  const KNOWN = '__Host-known-browser';
  const right = { passphrase: PASSPHRASE };
  const wrong = { passphrase: 'guess' };
  type Opened = Awaited<ReturnType<typeof open>>;

  async function signedInBefore({ browser }: Opened) {
    const own = browser();
    expect((await own.post('/sign-in', right, from('8.8.8.8'))).statusCode).toBe(303);
    own.cookies.delete('__Host-session');
    return own;
  }

  /** Strangers use all tries of the account, from many addresses, and all requests of the owner's shared address. */
  async function attack({ browser }: Opened) {
    const addresses = ['8.8.8.8', ...Array.from({ length: 9 }, (_, at) => `9.9.9.${at}`)];
    for (const address of addresses) {
      const tries = Array.from({ length: 20 }, () => browser().post('/sign-in', wrong, from(address)));
      await Promise.all(tries);
    }
    await Promise.all(Array.from({ length: 130 }, () => browser().get('/sign-in', from('8.8.8.8'))));
    const strangers = await browser().post('/sign-in', right, from('7.7.7.7'));
    expect(strangers.statusCode).toBe(429);
  }

  test('signs in while strangers use up every attempt of the account and of the IP address', async () => {
    const opened = await open(['127.0.0.1']);
    const own = await signedInBefore(opened);
    await attack(opened);
    expect((await own.get('/sign-in', from('8.8.8.8'))).statusCode).toBe(200);
    expect((await own.post('/sign-in', right, from('8.8.8.8'))).statusCode).toBe(303);
  });

  test('has a cookie that no script reads, that no form of another site sends, and that opens no page', async () => {
    const opened = await open();
    const { browser } = opened;
    const answer = await browser().post('/sign-in', right);
    const cookie = answer.cookies.find(({ name }) => name === KNOWN);
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Lax', secure: true, path: '/', maxAge: 90 * 86_400 });
    const stolen = browser();
    stolen.cookies.set(KNOWN, cookie?.value ?? '');
    expect((await stolen.get('/')).statusCode).toBe(303);
    expect((await stolen.get('/api/v1/tenants')).statusCode).not.toBe(200);
  });

  test('gives a thief 20 attempts in total, from any number of IP addresses and browsers', async () => {
    const opened = await open(['127.0.0.1']);
    const own = await signedInBefore(opened);
    await attack(opened);
    const answers = Array.from({ length: 40 }, (_, at) => {
      const thief = opened.browser();
      thief.cookies.set(KNOWN, own.cookies.get(KNOWN) ?? '');
      return thief.post('/sign-in', wrong, from(`7.7.7.${at}`));
    });
    const statuses = (await Promise.all(answers)).map(({ statusCode }) => statusCode);
    expect(statuses.filter((status) => status !== 429)).toHaveLength(20);
  });

  test.each<[string, (cookie: string) => string]>([
    ['changed', (cookie) => `${cookie.slice(0, -2)}${cookie.endsWith('AA') ? 'BB' : 'AA'}`],
    ['invented', () => 's1.k1.AAAA'],
    ['of nothing', () => ''],
  ])('is distinguished from a cookie that was %s', async (_, change) => {
    const opened = await open(['127.0.0.1']);
    const own = await signedInBefore(opened);
    await attack(opened);
    own.cookies.set(KNOWN, change(own.cookies.get(KNOWN) ?? ''));
    expect((await own.post('/sign-in', right, from('7.7.7.8'))).statusCode).toBe(429);
  });

  test('is forgotten after 90 days', async () => {
    const opened = await open(['127.0.0.1']);
    const own = await signedInBefore(opened);
    await attack(opened);
    opened.state.now += 90 * 86_400_000;
    expect((await own.post('/sign-in', right, from('7.7.7.8'))).statusCode).toBe(429);
  });

  test('has no extra tries at the owner’s passphrase if it remembers another account', async () => {
    const opened = await open(['127.0.0.1']);
    await attack(opened);
    const viewer = opened.browser();
    viewer.cookies.set(KNOWN, rememberBrowser(opened.desk, 'account:https://id.test#vera', null));
    expect((await viewer.post('/sign-in', right, from('7.7.7.8'))).statusCode).toBe(429);
  });

  test('keeps its budget when the owner signs in again', async () => {
    const opened = await open(['127.0.0.1']);
    const own = await signedInBefore(opened);
    const before = rememberedBrowserOf(opened.desk, own.cookies.get(KNOWN) ?? '');
    await own.post('/sign-in', right, from('8.8.8.8'));
    expect(before).toMatchObject({ account: 'owner' });
    expect(rememberedBrowserOf(opened.desk, own.cookies.get(KNOWN) ?? '')).toEqual(before);
  });
});

describe('forwarding headers', () => {
  const told = ({ lines }: Awaited<ReturnType<typeof open>>) =>
    lines.filter((line) => line.includes('proxy-not-trusted'));

  test.each(['x-forwarded-for', 'forwarded', 'x-real-ip'])(
    'of an untrusted peer are logged once, with the setting and no client address: %s',
    async (name) => {
      const opened = await open();
      for (let at = 0; at < 3; at += 1) await opened.browser().get('/sign-in', { [name]: '8.8.8.8' });
      const [line = '', ...more] = told(opened);
      expect(more).toEqual([]);
      expect(JSON.parse(line)).toMatchObject({
        peer: '127.0.0.1',
      });
      expect(line).toContain('http.trustedProxies');
      expect(line).not.toContain('8.8.8.8');
    },
  );

  test('of a trusted proxy are not logged', async () => {
    const opened = await open(['127.0.0.0/8']);
    await opened.browser().get('/sign-in', { 'x-forwarded-for': '8.8.8.8' });
    expect(told(opened)).toEqual([]);
  });
});
