import { expect, test } from 'vitest';
import { createPassphraseStore } from '../../../src/operator/control/access-stores.ts';
import { createAccessSealer } from '../../../src/state/sealing.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
const sealer = createAccessSealer(Buffer.alloc(32, 7));
const CHEAP = { N: 16, r: 8, p: 1 };

test('a passphrase fits however its letters are written, and nothing else does', async () => {
  const store = createPassphraseStore(redis.connect(), sealer, CHEAP);
  expect([await store.isSet(), await store.fits('')]).toEqual([false, false]);
  await store.set('perch\u00e9 no, quattro parole');
  expect(await store.isSet()).toBe(true);
  expect(await store.fits('perche\u0301 no, quattro parole')).toBe(true);
  for (const other of ['', 'perche no, quattro parole', 'perch\u00e9 no, quattro parole '])
    expect(await store.fits(other)).toBe(false);
  await store.set('another one of the owner');
  expect(await store.fits('perch\u00e9 no, quattro parole')).toBe(false);
});

test('a guess costs as much as specified, also for a password set at a lower cost', async () => {
  const connection = redis.connect();
  const store = createPassphraseStore(connection, sealer);
  await store.set('correct horse battery staple');
  const [key = ''] = await connection.keys('*');
  const { cost } = JSON.parse(sealer.open(String(await connection.get(key)), key));
  expect(cost).toEqual({ N: 32_768, r: 8, p: 3 });
  await createPassphraseStore(connection, sealer, CHEAP).set('of earlier days, and cheap');
  expect(await store.fits('of earlier days, and cheap')).toBe(true);
});

test('the value in Redis does not reveal the password, and another value is refused', async () => {
  const connection = redis.connect();
  const store = createPassphraseStore(connection, sealer, CHEAP);
  await store.set('canary battery staple');
  const [key = ''] = await connection.keys('*');
  expect(await connection.get(key)).not.toContain('canary');
  const forged = createAccessSealer(Buffer.alloc(32, 8));
  await connection.set(key, forged.seal(JSON.stringify({ salt: '', hash: '', cost: CHEAP }), key));
  await expect(store.fits('')).rejects.toMatchObject({ code: 'state-damaged' });
});
