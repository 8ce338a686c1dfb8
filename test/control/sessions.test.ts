import { describe, expect, test } from 'vitest';
import { accountIdOf, deviceOf } from '../../src/control/access.ts';
import { endOtherSessions, listOwnSessions } from '../../src/control/sessions.ts';
import { HOUR_MS } from '../../src/model/time.ts';
import { useRedis } from '../support/redis.ts';
import { accessSettings, openAccessWorld } from './acting.ts';

const redis = useRedis();
const LIFE = { mostMs: 12 * HOUR_MS, idleMs: HOUR_MS };
const OWNER = { id: accountIdOf({ way: 'passphrase' }), name: 'owner' };

async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const world = openAccessWorld(connection, { access: accessSettings({ passphrase: true }) });
  const begin = () => world.desk.sessions.begin(OWNER.id, { way: 'passphrase' }, LIFE);
  return { ...world, begin };
}

describe('own sessions', () => {
  test('are listed newest first, without those that ended by time or everywhere', async () => {
    const { desk, begin, state } = await open();
    const old = await begin();
    state.now += HOUR_MS;
    const own = await begin();
    const listed = await listOwnSessions(desk, OWNER, own);
    expect(listed.map(({ isThis, beganAt }) => [isThis, state.now - beganAt])).toEqual([
      [true, 0],
      [false, HOUR_MS],
    ]);
    state.now += 11 * HOUR_MS;
    expect((await listOwnSessions(desk, OWNER, old)).map(({ isThis }) => isThis)).toEqual([false]);
    await desk.sessions.endAll(OWNER.id);
    expect(await listOwnSessions(desk, OWNER, own)).toEqual([]);
    state.access = null;
    expect(await listOwnSessions(desk, OWNER, own)).toEqual([]);
  });

  test('end except the own one; nothing is recorded if none ends', async () => {
    const { desk, begin, recorded } = await open();
    const [own] = [await begin(), await begin(), await begin()];
    await endOtherSessions(desk, OWNER, own ?? '', desk.sessions.idOf(own ?? ''));
    expect(recorded).toEqual([]);
    await endOtherSessions(desk, OWNER, own ?? '', null);
    expect(recorded).toMatchObject([{ verb: 'sign-out', outcome: 'done', what: { others: 2 } }]);
    expect((await listOwnSessions(desk, OWNER, own ?? '')).map(({ isThis }) => isThis)).toEqual([true]);
  });
});

test.each([
  ['Mozilla/5.0 Chrome/153.0 Safari/537.36 Edg/153.0', '192.0.2.7', { browser: 'Edge', network: '192.0.2.0/24' }],
  ['Mozilla/5.0 Chrome/153.0 Safari/537.36', '2001:db8:0:1::/64', { browser: 'Chrome', network: '2001:db8:0:1::/64' }],
  ['curl/8', '', { browser: null, network: null }],
])('a browser is recognised by family and network, not by a whole address: %s', (userAgent, caller, device) => {
  expect(deviceOf({ userAgent, caller })).toEqual(device);
});
