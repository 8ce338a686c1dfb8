import { describe, expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { accountIdOf, deviceOf } from '../../../src/operator/control/access.ts';
import { endOtherSessions, endSessions, listSessions, OWN_ONLY } from '../../../src/operator/control/sessions.ts';
import { useRedis } from '../../support/redis.ts';
import { accessSettings, openAccessWorld } from './acting.ts';

const redis = useRedis();
const LIFE = { mostMs: 12 * HOUR_MS, idleMs: HOUR_MS };
const OWNER = accountIdOf({ way: 'passphrase' });

async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const world = openAccessWorld(connection, { access: accessSettings({ passphrase: true }) });
  const acting = {
    who: { kind: 'holder', name: 'owner', id: OWNER, claimed: null },
    why: null,
    actServices: world.desk.acts,
  } as const;
  const begin = () => world.desk.sessions.begin(OWNER, { way: 'passphrase' }, LIFE);
  const own = () => listSessions(world.desk, { acting, rights: OWN_ONLY });
  return { ...world, acting, begin, own };
}

describe('own sessions', () => {
  test('are listed newest first, without those that ended by time or everywhere', async () => {
    const { desk, begin, own, state } = await open();
    await begin();
    state.now += HOUR_MS;
    const newest = desk.sessions.idOf(await begin());
    const listed = await own();
    expect(listed.map(({ user, name, beganAt }) => [user, name, state.now - beganAt])).toEqual([
      ['owner', 'owner', 0],
      ['owner', 'owner', HOUR_MS],
    ]);
    state.now += 11 * HOUR_MS;
    expect((await own()).map(({ id }) => id)).toEqual([newest]);
    await desk.sessions.endAll(OWNER);
    expect(await own()).toEqual([]);
    state.access = null;
    expect(await own()).toEqual([]);
  });

  test('end except the one of the request; nothing is recorded if none ends', async () => {
    const { desk, acting, begin, own, recorded } = await open();
    const [one = ''] = [await begin(), await begin(), await begin()];
    await endOtherSessions(desk, acting, one, desk.sessions.idOf(one));
    expect(recorded).toEqual([]);
    await endOtherSessions(desk, acting, one, null);
    expect(recorded.at(-1)).toMatchObject({ verb: 'end-sessions', outcome: 'done', what: { sessions: 2 } });
    expect((await own()).map(({ id }) => id)).toEqual([desk.sessions.idOf(one)]);
  });
});

describe('an owner', () => {
  test('of all tenants lists sessions of all users, also those that a writer to Redis took from the list', async () => {
    const { desk, acting, begin } = await open();
    await begin();
    const connection = redis.connect();
    for (const list of await connection.keys('*:sessions-of:*')) await connection.del(list);
    const seenBy = async (level: 'operator' | 'owner', tenants: ReadonlySet<string> | null) =>
      (await listSessions(desk, { acting, rights: { level, tenants } })).length;
    expect(await seenBy('owner', null)).toBe(1);
    expect([await seenBy('owner', new Set(['aurora'])), await seenBy('operator', null)]).toEqual([0, 0]);
  });

  test('ends all sessions of a user, also one that begins meanwhile', async () => {
    const { desk, acting, begin } = await open();
    await begin();
    const late = desk.sessions.listAll;
    const racing = {
      ...desk,
      sessions: {
        ...desk.sessions,
        listAll: async (life: typeof LIFE) => [await late(life), await begin()][0] as never,
      },
    };
    const caller = { acting, rights: { level: 'owner', tenants: null } } as const;
    expect(await endSessions(racing, caller, OWNER)).toEqual({ ended: 1 });
    expect(await desk.sessions.listAll(LIFE)).toEqual([]);
    await expect(endSessions(desk, caller, OWNER)).rejects.toMatchObject({ code: 'no-such-session' });
  });
});

test.each([
  ['Mozilla/5.0 Chrome/153.0 Safari/537.36 Edg/153.0', '192.0.2.7', { browser: 'Edge', network: '192.0.2.0/24' }],
  ['Mozilla/5.0 Chrome/153.0 Safari/537.36', '2001:db8:0:1::/64', { browser: 'Chrome', network: '2001:db8:0:1::/64' }],
  ['curl/8', '', { browser: null, network: null }],
])('a browser is recognised by family and network, not by a whole address: %s', (userAgent, caller, device) => {
  expect(deviceOf({ userAgent, caller })).toEqual(device);
});
