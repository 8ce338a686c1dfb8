import { expect, test } from 'vitest';
import { createConfigVersion, joinAll, takeLeases } from '../../src/state/config-version.ts';
import { keys } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const TENANTS = Array.from({ length: 30 }, (_, index) => `tenant-${index}`);

/** The generations of a process that begins. */
function begin(hashOf: (tenant: string) => string) {
  const options = { redis: redis.connect(), targets: ['doctor'], clock: Date.now };
  return new Map(TENANTS.map((tenant) => [tenant, createConfigVersion({ ...options, tenant, hash: hashOf(tenant) })]));
}

test('a process with unchanged files checks each tenant once, and writes for the tenant whose file changed', async () => {
  const connection = redis.connect();
  await joinAll(
    connection,
    begin(() => 'a'),
  );
  await connection.set(keys.lease('tenant-3', 'plan'), 'held');
  await connection.set(keys.lease('tenant-7', 'plan'), 'held');
  await connection.config('RESETSTAT');
  const next = begin((tenant) => (tenant === 'tenant-7' ? 'b' : 'a'));
  await joinAll(connection, next);
  const told = await connection.info('commandstats');
  const calls = (command: string) => Number(new RegExp(`cmdstat_${command}:calls=(\\d+)`).exec(told)?.[1] ?? 0);
  expect([calls('hmget'), calls('eval')]).toEqual([30, 1]);
  const numbers = await Promise.all([...next.values()].map((generation) => generation.join()));
  expect(numbers).toEqual(TENANTS.map((tenant) => (tenant === 'tenant-7' ? 2 : 1)));
  expect(await connection.get(keys.lease('tenant-3', 'plan'))).toBe('held');
  expect(await connection.get(keys.lease('tenant-7', 'plan'))).toBeNull();
});

test('a tenant that was removed and restored unchanged is no longer missing, before a check of its generation', async () => {
  const connection = redis.connect();
  await joinAll(
    connection,
    begin(() => 'a'),
  );
  await connection.hset(keys.removedTenants(), 'tenant-3', 1, 'gone', 1);
  await joinAll(
    connection,
    begin(() => 'a'),
  );
  expect(Object.keys(await connection.hgetall(keys.removedTenants()))).toEqual(['gone']);
});

test('a process whose configuration returned after another one keeps its number', async () => {
  const of = (hash: string) =>
    createConfigVersion({ redis: redis.connect(), tenant: 'came-back', hash, targets: ['doctor'], clock: Date.now });
  const [stayed, changing] = [of('a'), of('b')];
  expect(await stayed.join()).toBe(1);
  expect(await changing.join()).toBe(2);
  expect(await stayed.isNewest()).toBe(false);
  expect(await of('a').join()).toBe(3);
  expect(await stayed.isNewest()).toBe(true);
  expect(await stayed.join()).toBe(3);
  expect(await changing.isNewest()).toBe(false);
});

test('a process that is declared newest becomes newest, and takes the leases of the other', async () => {
  const connection = redis.connect();
  const [told] = [...begin(() => 'a').entries()].map(([tenant, generation]) => new Map([[tenant, generation]]));
  if (told === undefined) throw new Error('there is none');
  await joinAll(connection, told);
  await joinAll(
    connection,
    begin(() => 'b'),
  );
  const [[tenant = '', generation] = []] = [...told];
  await connection.set(keys.lease(tenant, 'plan'), 'held');
  expect(await generation?.isNewest()).toBe(false);
  await joinAll(connection, told, { rejoins: true });
  expect(await generation?.isNewest()).toBe(true);
  expect(await connection.get(keys.lease(tenant, 'plan'))).toBeNull();
});

test('a process that released a tenant takes the leases of planner and lanes from their holders', async () => {
  const connection = redis.connect();
  const options = { redis: connection, tenant: 'let-go', hash: 'a', targets: ['doctor'], clock: Date.now };
  const generation = createConfigVersion(options);
  await generation.join();
  for (const name of ['plan', 'lane-doctor', 'login']) await connection.set(keys.lease('let-go', name), 'held');
  generation.end();
  await takeLeases(connection, 'let-go');
  const held = async (name: string) => (await connection.exists(keys.lease('let-go', name))) === 1;
  expect(await Promise.all(['plan', 'lane-doctor', 'login'].map(held))).toEqual([false, false, true]);
  expect(await generation.isNewest()).toBe(false);
});

test('what has ended takes no number any more, whatever is still at work under it', async () => {
  const options = { redis: redis.connect(), tenant: 'ended', targets: ['doctor'], clock: Date.now };
  const [before, after] = [
    createConfigVersion({ ...options, hash: 'a' }),
    createConfigVersion({ ...options, hash: 'b' }),
  ];
  before.end();
  await after.join();
  await expect(before.join()).rejects.toMatchObject({ code: 'configuration-superseded' });
  expect(await after.newest()).toMatchObject({ number: 1, isOurs: true });
});
