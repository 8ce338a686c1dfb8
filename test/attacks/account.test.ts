import { describe, expect, test } from 'vitest';
import { expectExact } from '../e2e/support/small-world.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { CONNECTED, HELD, open, REFUSED, STRANGER, TENANT, visit } from './account-world.ts';

const redis = useRedis();

describe('a stranger with the stranger’s own account at a doctor’s connection link', () => {
  test('leaves in the audit log the creator of the link, the opening by a browser, and the account', async () => {
    const { world, target, told, callback, logInBy } = await open(redis.url, { account: (address) => ({ address }) });
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
    const { world, target, connect, look } = await open(redis.url, { account: (address) => ({ address }) });

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
    const { connect, look } = await open(redis.url, { account });
    expect(await connect('former@clinic-1.example')).toEqual(REFUSED);
    expect((await look()).login).toMatchObject({ state: 'never' });
    const organised = await open(redis.url, { account, workspaceDomains: ['clinic-1.example'] });
    expect(await organised.connect('former@clinic-1.example')).toEqual(CONNECTED);
  });
});

describe('an intercepted or forwarded connection link', () => {
  test('works only for the first browser that presses its button', async () => {
    const { newLink, logInBy } = await open(redis.url);
    const link = await newLink();
    const first = await logInBy(link, STRANGER);
    await expect(logInBy(link, STRANGER)).rejects.toThrow('The link answered 400');
    expect(await visit(first.back, first.cookie)).toEqual(HELD);
  });

  test('the provider’s answer is refused in another browser, and afterwards in every browser', async () => {
    const { world, target, newLink, logInBy, look } = await open(redis.url);
    const { back, cookie } = await logInBy(await newLink(), target.account);

    expect(await visit(back)).toEqual(REFUSED);
    expect(await visit(back, cookie), 'used up').toEqual(REFUSED);

    expect(world.google.counts.tokenRequests).toBe(0);
    expect((await look()).login).toMatchObject({ state: 'never' });
  });

  test("a stranger's own answer is refused in the doctor's browser", async () => {
    const { world, target, newLink, logInBy, look } = await open(redis.url);
    const doctor = await logInBy(await newLink(), target.account);
    const stranger = await logInBy(await newLink(), STRANGER);

    expect(await visit(stranger.back, doctor.cookie)).toEqual(REFUSED);

    expect(world.google.counts.tokenRequests).toBe(0);
    expect((await look()).login).toMatchObject({ state: 'never' });
  });

  test("the nonce exposes a stranger's code inserted into the doctor's authorization", async () => {
    const { world, target, callback, newLink, logInBy, look } = await open(redis.url);
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
