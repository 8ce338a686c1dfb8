import { expect, test } from 'vitest';
import { createGeneration, joinAll } from '../../src/state/generations.ts';
import { keys } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const TENANTS = Array.from({ length: 30 }, (_, index) => `tenant-${index}`);

/** The generations of a process that begins. */
function begin(hashOf: (tenant: string) => string) {
  const options = { redis: redis.connect(), targets: ['doctor'], clock: Date.now };
  return new Map(TENANTS.map((tenant) => [tenant, createGeneration({ ...options, tenant, hash: hashOf(tenant) })]));
}

test('a process whose files are as they were looks once at each tenant, and writes for the one whose file changed', async () => {
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

test('a tenant that was taken out and comes back as it was is no longer missed, before its generation is looked at', async () => {
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
