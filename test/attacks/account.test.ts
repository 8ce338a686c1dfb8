import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { parse, stringify } from 'yaml';
import { createLoginServices } from '../../src/composition/operator-services.ts';
import { acceptAccount, beginRemoteLogin } from '../../src/control/logins.ts';
import { status } from '../../src/control/status.ts';
import { silentLogger } from '../../src/log/logger.ts';
import { startDaemon } from '../../src/main.ts';
import { freePort } from '../../tools/free-port.ts';
import { openLoginLink } from '../../tools/login-link.ts';
import type { SmallTarget } from '../e2e/support/small-configuration.ts';
import { expectExact, type SmallWorld, startSmallWorld } from '../e2e/support/small-world.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';

const redis = useRedis();
const STRANGER = 'stranger@elsewhere.example';
const TENANT = 'clinic-1';

interface Settings {
  account?: (doctor: string) => object;
  workspaceDomains?: string[];
}

/**
 * Opens a clinic whose doctor's calendar names patients, with a daemon that accepts connections by link. The calendar has no connection
 * yet.
 * @param options.account the account that the settings expect
 * @param options.workspaceDomains domains of organisations at Google
 */
async function open({ account, workspaceDomains = [] }: Settings = {}) {
  const port = await freePort();
  const base = `http://127.0.0.1:${port}`;
  const callback = `${base}/oauth/callback`;
  const dataDirectory = await mkdtemp(join(tmpdir(), 'clinic-mirror-account-'));
  onTestFinished(() => rm(dataDirectory, { recursive: true }));
  const world = await startSmallWorld({
    redisUrl: redis.url,
    appointments: 12,
    target: { title: 'full', titleReason: 'the doctor asked for it' },
    // A client that need not use PKCE, which is the worse case.
    google: { clients: [{ type: 'web', redirectUris: [callback] }], workspaceDomains },
    settings: { http: { port, publicUrl: base }, dataDirectory },
  });
  onTestFinished(() => world.close());
  const target = world.targets[0] as SmallTarget;
  if (account !== undefined) await expectAccount(world, target, account(target.account));
  await world.logIn({ connections: ['clinic'] });
  const daemon = await startDaemon(world.open().configuration, silentLogger, new AbortController().signal);
  onTestFinished(() => daemon.close());

  const desk = createLoginServices(world.opened());
  const newLink = async () =>
    (await beginRemoteLogin(desk, { tenant: TENANT, connection: target.target }, 'anna', null)).url;
  const accept = (account: string) =>
    acceptAccount(desk, { tenant: TENANT, connection: target.target }, account, new AbortController().signal);
  /** Opens the link and signs in. @returns the provider's redirect, with the browser's cookies */
  const logInBy = async (link: string, who: string) => {
    const { authorizationUrl, cookie } = await openLoginLink(link);
    return { back: await world.google.authorizeInBrowser(authorizationUrl, { account: who }), cookie };
  };
  const connect = async (who: string) => {
    const { back, cookie } = await logInBy(await newLink(), who);
    return visit(back, cookie);
  };
  const look = async () => {
    const [tenant] = (await status(world.opened().installation, TENANT)).tenants;
    const login = tenant?.connections.find(({ connection }) => connection === target.target);
    return { login, target: tenant?.targets[0] };
  };
  const settled = (code: string) =>
    waitFor(async () => (await look()).target?.failure?.code === code, { what: `the target to stand: ${code}` });
  /** Returns the audit log's records about links: verb, outcome, code, and account. */
  const told = async () => {
    const lines = await Array.fromAsync(world.opened().acts.log?.read() ?? []);
    const entries = lines.flatMap(({ entry }) => (entry?.verb.endsWith('-link') === true ? [entry] : []));
    return entries.map(({ verb, outcome, code, what }) => [verb, outcome, code, what.account ?? null]);
  };
  return { world, target, told, callback, accept, newLink, logInBy, connect, look, settled };
}

async function expectAccount(world: SmallWorld, { target }: SmallTarget, account: object): Promise<void> {
  const file = join(world.configDir, 'tenants', `${TENANT}.yaml`);
  const content = parse(await readFile(file, 'utf8')) as { connections: Record<string, object> };
  content.connections[target] = { ...content.connections[target], account };
  await writeFile(file, stringify(content));
}

/** What a browser shows that is led there. */
async function visit(address: string, cookie = ''): Promise<{ status: number; title: string | undefined }> {
  const answer = await fetch(address, { headers: cookie === '' ? {} : { cookie } });
  return { status: answer.status, title: /<title>(.*)<\/title>/.exec(await answer.text())?.[1] };
}

const REFUSED = { status: 400, title: 'Not connected' };
const HELD = { status: 200, title: 'Almost done' };
const CONNECTED = { status: 200, title: 'Connected' };

describe('a stranger with the stranger’s own account at a doctor’s connection link', () => {
  test('receives nothing, every page shows the account, and an operator decides', async () => {
    const { world, target, connect, logInBy, look, settled } = await open();

    const { out: link } = await world.cli('login', TENANT, target.target, '--link');
    const { back, cookie } = await logInBy(link.trim(), STRANGER);
    expect(await visit(back, cookie)).toEqual(HELD);
    await settled('account-unconfirmed');

    expect(target.proxy.requests, 'no request at all').toEqual([]);
    expect((await look()).login).toMatchObject({ state: 'unconfirmed', account: expect.stringContaining(STRANGER) });
    expect((await look()).target).toMatchObject({ reason: 'on-hold', links: 0, failure: { actor: 'guard' } });
    for (const command of ['status', 'health']) {
      const { out } = await world.cli(command, TENANT);
      expect(out.replace(/\s+/g, ' ')).toContain(`connection ${target.target} (google): unconfirmed`);
      expect(out).toContain(STRANGER);
      expect(out).toContain('accept-account');
    }
    const { code, err } = await world.cli('accept-account', TENANT, target.target, target.account);
    expect([code, err]).toEqual([1, expect.stringContaining('account-differs')]);

    expect(await connect(target.account), 'another account once more').toEqual(HELD);
    expect(await world.cli('accept-account', TENANT, target.target, target.account)).toMatchObject({ code: 0 });
    await waitFor(async () => (await look()).target?.sync === 'in-sync', { what: "the doctor's calendar" });
    await expectExact(world);
    expect((await look()).login).toMatchObject({
      state: 'connected',
      account: expect.stringContaining(target.account),
    });
  });

  test('leaves in the audit log the creator of the link, the opening by a browser, and the account', async () => {
    const { world, target, told, callback, logInBy } = await open({ account: (address) => ({ address }) });
    await visit(`${callback}?state=${'x'.repeat(43)}&code=y`);
    await expect(logInBy(`${callback.replace('callback', 'login')}/${'x'.repeat(43)}`, STRANGER)).rejects.toThrow();
    expect(await told(), 'who has no link writes nothing').toEqual([]);
    for (const who of [STRANGER, target.account]) {
      const { out: link } = await world.cli('login', TENANT, target.target, '--link');
      const { back, cookie } = await logInBy(link.trim(), who);
      await visit(back, cookie);
    }
    const begun = [
      ['login-link', 'begun', null, null],
      ['login-link', 'done', null, null],
      ['open-link', 'begun', null, null],
    ];
    expect(await told()).toEqual([
      ...begun,
      ['end-link', 'failed', 'wrong-account', null],
      ...begun,
      ['end-link', 'done', null, expect.stringContaining(target.account)],
    ]);
  });

  test('is rejected if the settings name the account', async () => {
    const { world, target, connect, look } = await open({ account: (address) => ({ address }) });

    expect(await connect(STRANGER)).toEqual(REFUSED);

    expect((await look()).login).toMatchObject({ state: 'never', account: null });
    expect(target.proxy.requests).toEqual([]);
    expect(await connect(target.account)).toEqual(CONNECTED);
    await waitFor(async () => (await look()).target?.sync === 'in-sync', { what: "the doctor's calendar" });
    expect(await connect(STRANGER)).toEqual(REFUSED);
    await world.cycle();
    await expectExact(world);
  });

  test('is rejected with an account of the clinic’s e-mail domain outside the clinic’s organisation', async () => {
    const account = () => ({ domain: 'clinic-1.example' });
    const { connect, look } = await open({ account });
    expect(await connect('former@clinic-1.example')).toEqual(REFUSED);
    expect((await look()).login).toMatchObject({ state: 'never' });
    const organised = await open({ account, workspaceDomains: ['clinic-1.example'] });
    expect(await organised.connect('former@clinic-1.example')).toEqual(CONNECTED);
  });

  test('changes nothing after the doctor’s connection: existing events stay, and no event follows', async () => {
    const { world, target, connect, accept, look, settled } = await open();
    await connect(target.account);
    await accept(target.account);
    await waitFor(async () => (await look()).target?.sync === 'in-sync', { what: "the doctor's calendar" });
    const before = await target.read();
    target.proxy.forget();

    expect(await connect(STRANGER)).toEqual(HELD);
    const { clinicId } = world.tenants[0] ?? { clinicId: '' };
    world.clinic.simulate(clinicId, { booked: 3, moved: 2, cancelled: 1 });
    await world.opened().queues.pullNow(TENANT);
    await waitFor(async () => ((await look()).target?.pending ?? 0) > 0, { what: 'the changes to wait' });
    await settled('account-unconfirmed');

    expect(target.proxy.requests).toEqual([]);
    expect(await target.read()).toEqual(before);
    expect(await connect(target.account), 'no second confirmation is required').toEqual(CONNECTED);
    await waitFor(async () => (await look()).target?.sync === 'in-sync', { what: 'the doctor’s calendar to follow' });
    await expectExact(world);
  });
});

describe('an intercepted or forwarded connection link', () => {
  test('works only for the first browser that presses its button', async () => {
    const { newLink, logInBy } = await open();
    const link = await newLink();
    const first = await logInBy(link, STRANGER);
    await expect(logInBy(link, STRANGER)).rejects.toThrow('The link answered 400');
    expect(await visit(first.back, first.cookie)).toEqual(HELD);
  });

  test('the provider’s answer is refused in another browser, and afterwards in every browser', async () => {
    const { world, target, newLink, logInBy, look } = await open();
    const { back, cookie } = await logInBy(await newLink(), target.account);

    expect(await visit(back)).toEqual(REFUSED);
    expect(await visit(back, cookie), 'used up').toEqual(REFUSED);

    expect(world.google.counts.tokenRequests).toBe(0);
    expect((await look()).login).toMatchObject({ state: 'never' });
  });

  test("a stranger's own answer is refused in the doctor's browser", async () => {
    const { world, target, newLink, logInBy, look } = await open();
    const doctor = await logInBy(await newLink(), target.account);
    const stranger = await logInBy(await newLink(), STRANGER);

    expect(await visit(stranger.back, doctor.cookie)).toEqual(REFUSED);

    expect(world.google.counts.tokenRequests).toBe(0);
    expect((await look()).login).toMatchObject({ state: 'never' });
  });

  test("the nonce exposes a stranger's code inserted into the doctor's authorization", async () => {
    const { world, target, callback, newLink, logInBy, look } = await open();
    const doctor = await logInBy(await newLink(), target.account);
    const { searchParams } = new URL(doctor.back);
    const own = new URL(`${world.google.issuer}/o/oauth2/v2/auth`);
    const { clientId } = world.google.client;
    const asked = { client_id: clientId, redirect_uri: callback, response_type: 'code', state: 'x', prompt: 'consent' };
    const scope = 'openid email https://www.googleapis.com/auth/calendar';
    own.search = String(new URLSearchParams({ ...asked, scope, access_type: 'offline' }));
    const strangers = new URL(await world.google.authorizeInBrowser(own.href, { account: STRANGER }));
    searchParams.set('code', strangers.searchParams.get('code') ?? '');

    expect(await visit(`${callback}?${searchParams}`, doctor.cookie)).toEqual({ status: 502, title: 'Not connected' });

    expect(world.google.counts.tokenRequests, 'the code was good').toBe(1);
    expect((await look()).login).toMatchObject({ state: 'never' });
  });
});
