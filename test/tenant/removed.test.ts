import { beforeEach, describe, expect, test } from 'vitest';
import { KEY_OWNERS } from '../../src/daemon/key-tables.ts';
import type { Lease } from '../../src/engine/store.ts';
import { keys } from '../../src/state/keys.ts';
import { createLeases } from '../../src/state/leases.ts';
import { createTenantStorage, KeySizes } from '../../src/state/tenant-storage.ts';
import { createRemovedStore } from '../../src/tenant/removed.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';
const ROOM = 'target/room';

async function open() {
  const connection = redis.connect();
  await connection.flushall();
  const lease = (await createLeases(connection, TENANT, 60_000).tryTake('plan')) as Lease;
  return { connection, lease, removed: createRemovedStore(connection, KEY_OWNERS) };
}

let world: Awaited<ReturnType<typeof open>>;
beforeEach(async () => {
  world = await open();
});

test('a part has the time at which it was first missed, until it exists again', async () => {
  const { removed, lease } = world;
  await removed.recordParts(TENANT, { missed: [ROOM], ended: [] }, NOW, lease);
  await removed.recordParts(TENANT, { missed: [ROOM, 'connection/mail'], ended: [] }, NOW + 5, lease);
  expect([...(await removed.parts(TENANT))]).toEqual([
    [ROOM, NOW],
    ['connection/mail', NOW + 5],
  ]);
  await removed.recordParts(TENANT, { missed: [], ended: [ROOM] }, NOW + 9, lease);
  await removed.recordParts(TENANT, { missed: [ROOM], ended: [] }, NOW + 10, lease);
  expect((await removed.parts(TENANT)).get(ROOM)).toBe(NOW + 10);
  expect(await removed.parts('studio-bianchi')).toEqual(new Map());
});

test('a tenant has the time at which it was first missed, until it exists again', async () => {
  const { removed } = world;
  await removed.recordTenants({ missed: [TENANT], ended: [] }, NOW);
  await removed.recordTenants({ missed: [TENANT, 'other'], ended: [] }, NOW + 5);
  expect([...(await removed.tenants())]).toEqual([
    [TENANT, NOW],
    ['other', NOW + 5],
  ]);
  await removed.recordTenants({ missed: [], ended: [TENANT, 'other'] }, NOW + 9);
  expect(await removed.tenants()).toEqual(new Map());
});

test('a removal with a damaged time is recorded again', async () => {
  const { connection, removed, lease } = world;
  await connection.hset(keys.removed(TENANT), ROOM, 'x');
  await connection.hset(keys.removedTenants(), TENANT, '[1');
  expect([await removed.parts(TENANT), await removed.tenants()]).toEqual([new Map(), new Map()]);
  await removed.recordParts(TENANT, { missed: [ROOM], ended: [] }, NOW, lease);
  await removed.recordTenants({ missed: [TENANT], ended: [] }, NOW);
  expect([...(await removed.parts(TENANT)), ...(await removed.tenants())]).toEqual([
    [ROOM, NOW],
    [TENANT, NOW],
  ]);
});

test('the holders of keys are the tenant itself, its targets and its connections, each with the kinds of its keys', async () => {
  const { connection, removed } = world;
  await connection.set(keys.credential(TENANT, 'mail'), '1');
  await connection.set(keys.pins(TENANT, 'room'), '1');
  await connection.set(keys.drifted(TENANT, 'room'), '1');
  await connection.set('of-another-program', '1');
  const holders = await removed.holders();
  expect([...holders.keys()]).toEqual([TENANT]);
  expect(holders.get(TENANT)?.get('connection/mail')).toEqual(new Set(['credential']));
  expect(holders.get(TENANT)?.get(ROOM)).toEqual(new Set(['pins', 'drifted']));
});

describe('a deletion', () => {
  const ofRoom = [keys.pins(TENANT, 'room'), keys.drifted(TENANT, 'room')];
  const others = [keys.pins(TENANT, 'doctor'), keys.credential(TENANT, 'room'), keys.pins('studio-bianchi', 'room')];

  /** How many there are of keys, which may be of several tenants. */
  const countOf = async (...names: string[]) =>
    (await Promise.all(names.map((name) => world.connection.exists(name)))).filter((found) => found === 1).length;

  beforeEach(async () => {
    for (const key of [...ofRoom, ...others]) await world.connection.set(key, '1');
  });

  test('of a part unlinks its keys only, without those of spared kinds', async () => {
    const { removed, lease } = world;
    expect(await removed.releasePart(TENANT, ROOM, new Set(['pins']), lease)).toBe(1);
    expect(await countOf(...ofRoom)).toBe(1);
    expect(await removed.releasePart(TENANT, ROOM, new Set(), lease)).toBe(1);
    expect(await countOf(...ofRoom)).toBe(0);
    expect(await countOf(...others)).toBe(3);
  });

  test('of a tenant unlinks all of its keys while it is missed', async () => {
    const { removed, lease } = world;
    await removed.recordTenants({ missed: [TENANT], ended: [] }, NOW);
    expect(await removed.releaseTenant(TENANT, new Set(['credential']), lease)).not.toBeNull();
    expect(await countOf(...ofRoom, ...others)).toBe(2);
  });

  test('of a restored tenant unlinks only its configuration number, and reports this', async () => {
    const { removed, lease } = world;
    expect(await removed.releaseTenant(TENANT, new Set(), lease)).toBeNull();
    expect(await countOf(...ofRoom, ...others)).toBe(5);
  });

  test('is refused as lease-lost without the lease, and nothing goes', async () => {
    const { removed, lease } = world;
    await lease.release();
    await expect(removed.releasePart(TENANT, ROOM, new Set(), lease)).rejects.toMatchObject({ code: 'lease-lost' });
    expect(await countOf(...ofRoom)).toBe(2);
  });
});

test('keys of the installation have no tenant, also those of its leases', async () => {
  const { connection, removed } = world;
  await createLeases(connection, 'clinic-mirror', 60_000).tryTake('alerts');
  expect(await connection.keys('cm:{clinic-mirror}:fence:*')).toHaveLength(1);
  expect([...(await removed.holders()).keys()]).not.toContain('clinic-mirror');
});

test('the scan of the holders also counts the memory of each tenant', async () => {
  const { connection, removed } = world;
  await connection.set(keys.pins(TENANT, 'room'), 'x'.repeat(5_000));
  await connection.set(keys.pins('studio-bianchi', 'room'), 'x'.repeat(50_000));
  const sizes = new KeySizes();
  await removed.holders(sizes);
  await removed.recordSizes([TENANT, 'studio-bianchi', 'new'], sizes, NOW);
  const read = (tenant: string) => createTenantStorage(connection, tenant, 1).read();
  const [one, other, none] = await Promise.all([TENANT, 'studio-bianchi', 'new'].map(read));
  expect(one?.bytes).toBeGreaterThan(5_000);
  expect(one?.bytes).toBeLessThan(12_000);
  expect(other?.bytes).toBeGreaterThan(50_000);
  expect(none).toMatchObject({ bytes: 0, countedAt: NOW });
});
