import { describe, expect, test } from 'vitest';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { controlKeys } from '../../../src/operator/control/keys.ts';
import { createLoginLinks, createLoginStore } from '../../../src/operator/control/login-stores.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
const ring = [{ id: 'k1', key: Buffer.alloc(32, 1) }];
const login = { tenant: 'studio-rossi', connection: 'clinic', codeVerifier: 'verifier-canary' };

test('a started sign-in is given once, to the first request', async () => {
  const logins = createLoginStore<typeof login>(redis.connect(), ring);
  const elsewhere = createLoginStore<typeof login>(redis.connect(), ring);
  await logins.put('state-1', login);
  const taken = await Promise.all([logins.take('state-1'), elsewhere.take('state-1'), logins.take('state-1')]);
  expect(taken.filter((each) => each !== null)).toEqual([login]);
  expect(await logins.take('state-2')).toBeNull();
});

test('a started sign-in is deleted after ten minutes', async () => {
  const connection = redis.connect();
  await createLoginStore(connection, ring).put('state-1', login);
  const [key = ''] = await connection.keys('*');
  const lifeMs = await connection.pttl(key);
  expect(lifeMs).toBeGreaterThan(590_000);
  expect(lifeMs).toBeLessThanOrEqual(600_000);
});

test('neither names nor values in Redis allow finishing the sign-in', async () => {
  const connection = redis.connect();
  await createLoginStore(connection, ring).put('state-canary', login);
  const [key = ''] = await connection.keys('*');
  expect(`${key} ${await connection.get(key)}`).not.toMatch(/canary|studio-rossi/);
});

test('a sign-in moved to another state does not open', async () => {
  const connection = redis.connect();
  const logins = createLoginStore(connection, ring);
  await logins.put('state-1', login);
  await logins.put('state-2', { ...login, connection: 'google' });
  const [first = '', second = ''] = await connection.keys('*');
  await connection.copy(first, second, 'REPLACE');
  const answers = await Promise.allSettled([logins.take('state-1'), logins.take('state-2')]);
  expect(answers.filter((answer) => answer.status === 'rejected')).toHaveLength(1);
});

const LINK = { tenant: 'aurora', connection: 'doctor-1', by: 'anna-canary', madeAt: NOW, endsAt: NOW + 48 * HOUR_MS };

function open() {
  const clock = { now: NOW };
  const connection = redis.connect();
  const of = () => createLoginLinks(redis.connect(), ring, () => clock.now);
  return { clock, connection, links: of(), elsewhere: of() };
}

describe('a sign-in link', () => {
  test('is given once, to the first request; a preview does not consume it', async () => {
    const { links, elsewhere } = open();
    const { id } = await links.put('ticket-1', LINK);
    for (let at = 0; at < 3; at += 1) expect(await elsewhere.find('ticket-1')).toEqual({ ...LINK, id });
    const taken = await Promise.all([links.take('ticket-1'), elsewhere.take('ticket-1'), links.take('ticket-1')]);
    expect(taken.filter((each) => each !== null)).toEqual([{ ...LINK, id }]);
    expect([await links.take('ticket-1'), await links.find('ticket-1'), await links.list('aurora')]).toEqual([
      null,
      null,
      [],
    ]);
    expect(await links.take('ticket-2')).toBeNull();
  });

  test('is listed with its creator, oldest first, until it is withdrawn; then its URL is useless', async () => {
    const { links } = open();
    const second = await links.put('ticket-2', { ...LINK, madeAt: NOW + 1 });
    const first = await links.put('ticket-1', LINK);
    await links.put('ticket-3', { ...LINK, tenant: 'belvedere' });
    expect(await links.list('aurora')).toEqual([first, second]);
    expect(await links.withdraw('belvedere', first.id)).toBe(false);
    expect([await links.withdraw('aurora', first.id), await links.withdraw('aurora', first.id)]).toEqual([true, false]);
    expect([await links.find('ticket-1'), await links.take('ticket-1')]).toEqual([null, null]);
    expect(await links.list('aurora')).toEqual([second]);
  });

  test('ends in its time, and leaves nothing behind', async () => {
    const { links, clock, connection } = open();
    await links.put('ticket-1', LINK);
    const [ticket = ''] = (await connection.keys('*')).filter((key) => key.includes('{login}'));
    expect(await connection.pttl(ticket)).toBeGreaterThan(48 * HOUR_MS - MINUTE_MS);
    expect(await connection.pttl(ticket)).toBeLessThanOrEqual(48 * HOUR_MS);
    expect(await connection.pttl(controlKeys.loginLinks('aurora'))).toBeGreaterThan(7 * 24 * HOUR_MS);
    clock.now = LINK.endsAt - 1;
    expect(await links.find('ticket-1')).not.toBeNull();
    clock.now = LINK.endsAt;
    expect([await links.find('ticket-1'), await links.take('ticket-1'), await links.list('aurora')]).toEqual([
      null,
      null,
      [],
    ]);
    expect(await connection.exists(controlKeys.loginLinks('aurora'))).toBe(0);
  });

  test('neither names nor values in Redis let one use it, and one that is put elsewhere does not open', async () => {
    const { links, connection } = open();
    const mine = await links.put('ticket-canary', LINK);
    const other = await links.put('ticket-other', { ...LINK, tenant: 'belvedere', connection: 'doctor-9' });
    for (const key of await connection.keys('*')) {
      const value = (await connection.type(key)) === 'hash' ? await connection.hgetall(key) : await connection.get(key);
      expect(`${key} ${JSON.stringify(value)}`).not.toMatch(/canary|doctor-1/);
    }
    const sealed = await connection.hget(controlKeys.loginLinks('belvedere'), other.id);
    await connection.hset(controlKeys.loginLinks('aurora'), mine.id, sealed ?? '');
    await expect(links.take('ticket-canary')).rejects.toMatchObject({ code: 'state-damaged' });
  });
});
