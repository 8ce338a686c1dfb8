// Tier: full. Its daemons sync a calendar before and after an account is confirmed.
import { describe, expect, test } from 'vitest';
import { expectExact } from '../e2e/support/small-world.ts';
import { useRedis } from '../support/redis.ts';
import { waitFor } from '../support/wait-for.ts';
import { CONNECTED, HELD, open, STRANGER, TENANT, visit } from './account-world.ts';

const redis = useRedis();

describe('a stranger with the stranger’s own account at a doctor’s connection link', () => {
  test('receives nothing, every page shows the account, and an operator decides', async () => {
    const { world, target, connect, logInBy, look, settled } = await open(redis.url);

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

  test('changes nothing after the doctor’s connection: existing events stay, and no event follows', async () => {
    const { world, target, connect, accept, look, settled } = await open(redis.url);
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
