import { expect, test } from 'vitest';
import { createLoginStore } from '../../src/state/logins.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const ring = [{ id: 'k1', key: Buffer.alloc(32, 1) }];
const login = { tenant: 'studio-rossi', connection: 'clinic', codeVerifier: 'verifier-canary' };

test('a begun login is given once, to whoever comes first', async () => {
  const logins = createLoginStore<typeof login>(redis.connect(), ring);
  const elsewhere = createLoginStore<typeof login>(redis.connect(), ring);
  await logins.put('state-1', login);
  const taken = await Promise.all([logins.take('state-1'), elsewhere.take('state-1'), logins.take('state-1')]);
  expect(taken.filter((each) => each !== null)).toEqual([login]);
  expect(await logins.take('state-2')).toBeNull();
});

test('a begun login is forgotten after ten minutes', async () => {
  const connection = redis.connect();
  await createLoginStore(connection, ring).put('state-1', login);
  const [key = ''] = await connection.keys('*');
  const lifeMs = await connection.pttl(key);
  expect(lifeMs).toBeGreaterThan(590_000);
  expect(lifeMs).toBeLessThanOrEqual(600_000);
});

test('neither names nor values in Redis let one finish the login', async () => {
  const connection = redis.connect();
  await createLoginStore(connection, ring).put('state-canary', login);
  const [key = ''] = await connection.keys('*');
  expect(`${key} ${await connection.get(key)}`).not.toMatch(/canary|studio-rossi/);
});

test('a login moved to another state does not open', async () => {
  const connection = redis.connect();
  const logins = createLoginStore(connection, ring);
  await logins.put('state-1', login);
  await logins.put('state-2', { ...login, connection: 'google' });
  const [first = '', second = ''] = await connection.keys('*');
  await connection.copy(first, second, 'REPLACE');
  const answers = await Promise.allSettled([logins.take('state-1'), logins.take('state-2')]);
  expect(answers.filter((answer) => answer.status === 'rejected')).toHaveLength(1);
});
