import { Redis } from 'ioredis';
import { expect, onTestFinished, test } from 'vitest';
import { DAY_MS } from '../../src/core/model/time.ts';
import { keys } from '../../src/state/keys.ts';
import { createTenantStorage, KeySizes } from '../../src/state/tenant-storage.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const LIMIT = 5_000_000;
const TENANT = 'aurora';

/** A user with the given permissions, on a connection that ends with the test. */
async function connectAs(permissions: string): Promise<Redis> {
  await redis.connect().call('ACL', 'SETUSER', 'some', 'reset', 'on', '>secret', '~*', ...permissions.split(' '));
  const connection = new Redis(redis.port, '127.0.0.1', { username: 'some', password: 'secret' });
  onTestFinished(() => connection.disconnect());
  return connection;
}

test('a count has the memory of all keys of the tenant, also of those that are never released, and of no other', async () => {
  const connection = redis.connect();
  const storage = createTenantStorage(connection, TENANT, LIMIT);
  expect(await storage.read()).toEqual({ bytes: null, addedBytes: 0, countedAt: null, limitBytes: LIMIT });
  await connection.set(keys.tombstones(TENANT), 'x'.repeat(100_000));
  await connection.hset(keys.outbox(TENANT, 'room'), Object.fromEntries(fields(2_000)));
  await connection.set(keys.tombstones('bellini'), 'x'.repeat(1_000_000));
  await connection.set('cm:{clinic-mirror}:epoch', 'x'.repeat(1_000_000));
  await storage.count(NOW);
  const { bytes, countedAt } = await storage.read();
  const exact = await connection.memory('USAGE', keys.outbox(TENANT, 'room'), 'SAMPLES', 0);
  expect(bytes).toBeGreaterThan((100_000 + (exact ?? 0)) * 0.9);
  expect(bytes).toBeLessThan((100_000 + (exact ?? 0)) * 1.2);
  expect(countedAt).toBe(NOW);
});

function fields(count: number): [string, string][] {
  return Array.from({ length: count }, (_, index) => [`field-${index}`, 'y'.repeat(index % 200)]);
}

test('an estimate counts until the next count, and the record expires if no daemon counts', async () => {
  const connection = redis.connect();
  const storage = createTenantStorage(connection, TENANT, LIMIT);
  await storage.add(700);
  await storage.add(300);
  expect(await storage.read()).toMatchObject({ bytes: null, addedBytes: 1_000 });
  expect(await connection.pttl(keys.storage(TENANT))).toBeGreaterThan(DAY_MS / 2);
  await storage.count(NOW);
  expect(await storage.read()).toMatchObject({ addedBytes: 0, countedAt: NOW });
  expect(await connection.pttl(keys.storage(TENANT))).toBeGreaterThan(DAY_MS / 2);
});

test('without the permission for MEMORY USAGE the memory is unknown, and no error', async () => {
  const connection = await connectAs('+@all -memory|usage');
  const storage = createTenantStorage(connection, TENANT, LIMIT);
  await connection.set(keys.tombstones(TENANT), 'x');
  await storage.add(700);
  await storage.count(NOW);
  expect(await storage.read()).toEqual({ bytes: null, addedBytes: 0, countedAt: NOW, limitBytes: LIMIT });
});

test('sums by tenant: a key that was deleted meanwhile counts nothing', async () => {
  const connection = redis.connect();
  await connection.set(keys.tombstones(TENANT), 'x'.repeat(1_000));
  const sizes = new KeySizes();
  await sizes.add(connection, [keys.tombstones(TENANT), keys.tombstones('bellini'), 'of-another-program']);
  await sizes.add(connection, []);
  expect(sizes.of(TENANT)).toBeGreaterThan(1_000);
  expect(sizes.of('bellini')).toBe(0);
});
