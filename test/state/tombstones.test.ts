import { describe, expect, test } from 'vitest';
import { silentLogger } from '../../src/log/logger.ts';
import { keys } from '../../src/state/keys.ts';
import { createProtection } from '../../src/state/protection.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { createTombstoneStore } from '../../src/state/tombstones.ts';
import { openEpoch } from '../jobs/open-tenant.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';
const IDENTITY_KEY = Buffer.alloc(32, 7);
const NOW = Date.parse('2026-06-15T10:00:00Z');

/** The storage that makes changes of a tenant durable. */
function protectionOf(connection: RedisClient, tenant = TENANT) {
  const clock = () => NOW;
  const epoch = openEpoch(connection, clock);
  return createProtection({
    redis: connection,
    tenant,
    identityKey: IDENTITY_KEY,
    stateCounter: epoch,
    clock,
    log: silentLogger,
  });
}

describe('a tombstone', () => {
  test('has one name for a patient, another for each tenant and installation, and keeps its first time', async () => {
    const connection = redis.connect();
    const store = createTombstoneStore(connection, TENANT, IDENTITY_KEY, protectionOf(connection));
    const name = await store.add('p1', NOW);
    expect(await store.add('p1', NOW + 1)).toBe(name);
    expect(await connection.hgetall(keys.tombstones(TENANT))).toEqual({ [name]: `${NOW}` });
    expect(name).not.toContain('p1');
    const others = [
      createTombstoneStore(connection, 'other', IDENTITY_KEY, protectionOf(connection, 'other')),
      createTombstoneStore(connection, TENANT, Buffer.alloc(32, 8), protectionOf(connection)),
    ];
    for (const other of others) expect(await other.add('p1', NOW)).not.toBe(name);
  });
});
