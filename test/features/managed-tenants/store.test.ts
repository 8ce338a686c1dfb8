import { expect, test } from 'vitest';
import { managedTenantKeys } from '../../../src/features/managed-tenants/keys.ts';
import { openManagedStore, RING } from '../../operator/control/open-configurations.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
const CONTENT = { yaml: 'name: Studio\n', json: '{"name":"Studio"}', secrets: { dav: 'correct-horse' } };
const contentOf = (name: string) => ({ ...CONTENT, yaml: `name: ${name}\n` });

/** Two processes with the same keys. */
async function open() {
  const connection = redis.connect();
  await connection.flushall();
  return { connection, one: openManagedStore(connection), other: openManagedStore(connection) };
}

test('a document stored by one process is read by others, encrypted in transit and in Redis', async () => {
  const { connection, one, other } = await open();
  const revision = await one.put('uno', CONTENT, null);
  expect(revision).toMatch(/^[\w-]{22}$/);
  const read = (await other.read()).tenants.get('uno');
  expect([read?.revision, read?.open()]).toEqual([revision, CONTENT]);
  const stored = JSON.stringify([
    await connection.hgetall(managedTenantKeys.managedTenants()),
    await connection.hgetall(managedTenantKeys.managedRevisions()),
  ]);
  expect(stored).not.toMatch(/correct-horse|Studio/);
});

test('of two concurrent changes of a tenant one succeeds, and the other is rejected', async () => {
  const { one, other } = await open();
  const both = await Promise.all([one.put('uno', contentOf('A'), null), other.put('uno', contentOf('B'), null)]);
  expect(both.filter((revision) => revision !== null)).toHaveLength(1);
  const revision = both.find((each) => each !== null) ?? '';
  const changes = [
    one.put('uno', contentOf('C'), revision),
    other.put('uno', contentOf('D'), revision),
    other.remove('uno', revision),
  ];
  expect((await Promise.all(changes)).filter((done) => done !== null && done !== false)).toHaveLength(1);
  expect(await one.put('uno', contentOf('E'), null)).toBeNull();
});

test('a read requests changes only, and returns the same object without changes', async () => {
  const { one, other } = await open();
  await one.put('uno', contentOf('A'), null);
  await one.put('due', contentOf('B'), null);
  const first = await other.read();
  expect(await other.read()).toBe(first);
  const before = first.tenants.get('due');
  await one.put('uno', contentOf('C'), first.tenants.get('uno')?.revision ?? '');
  const second = await other.read();
  expect(second.tenants.get('due')).toBe(before);
  expect(second.tenants.get('uno')?.open().yaml).toBe('name: C\n');
  await one.remove('uno', second.tenants.get('uno')?.revision ?? '');
  expect([...(await other.read()).tenants.keys()]).toEqual(['due']);
});

test('a changed document, or one under the key of another, cannot be decrypted', async () => {
  const { connection, one, other } = await open();
  await one.put('uno', CONTENT, null);
  await one.put('due', CONTENT, null);
  const sealed = (await connection.hget(managedTenantKeys.managedTenants(), 'uno')) ?? '';
  await connection.hset(managedTenantKeys.managedTenants(), 'due', sealed);
  const { tenants } = await other.read();
  expect(() => tenants.get('due')?.open()).toThrow(expect.objectContaining({ code: 'state-damaged' }));
  expect(tenants.get('uno')?.open()).toEqual(CONTENT);
});

test('an emptied Redis is distinguished from one in which every tenant was removed', async () => {
  const { connection, one } = await open();
  await one.put('uno', CONTENT, null);
  const { tenants } = await one.read();
  await one.remove('uno', tenants.get('uno')?.revision ?? '');
  expect((await one.read()).tenants.size).toBe(0);
  await one.put('uno', CONTENT, null);
  await one.read();
  await connection.flushall();
  await expect(one.read()).rejects.toMatchObject({ code: 'managed-tenants-lost' });
  expect(await one.put('uno', CONTENT, null)).not.toBeNull();
  expect((await one.read()).tenants.size).toBe(1);
});

test('a document that Redis lost is reported as lost until it exists again, whichever process writes first', async () => {
  const { connection, one, other } = await open();
  for (const id of ['uno', 'due', 'tre']) await one.put(id, contentOf(id), null);
  const before = await one.read();
  await one.remove('tre', before.tenants.get('tre')?.revision ?? '');
  expect([...(await one.read()).lost.keys()]).toEqual([]);
  await connection.flushall();
  await expect(one.read()).rejects.toMatchObject({ code: 'managed-tenants-lost' });
  expect((await one.find('due'))?.open().yaml).toBe('name: due\n');
  // With or without a check in between, the next reader finds one of two.
  const first = await other.put('uno', contentOf('uno'), null);
  const partly = await one.read();
  expect([[...partly.tenants.keys()], [...partly.lost.keys()]]).toEqual([['uno'], ['due']]);
  expect((await one.find('due'))?.revision).toBe(before.tenants.get('due')?.revision);
  await connection.flushall();
  await other.put('quattro', contentOf('quattro'), null);
  expect([...(await one.read()).lost.keys()].sort()).toEqual(['due', 'uno']);
  await other.put('uno', contentOf('uno'), null);
  const due = await other.put('due', contentOf('due'), null);
  expect((await one.read()).lost.size).toBe(0);
  await other.remove('due', due ?? '');
  const last = await one.read();
  expect([[...last.tenants.keys()].sort(), last.lost.size]).toEqual([['quattro', 'uno'], 0]);
  expect(first).not.toBeNull();
});

test('a document encrypted with an old key is encrypted with the active key when it is read', async () => {
  const { connection, one } = await open();
  await one.put('uno', CONTENT, null);
  const rotated = openManagedStore(connection, [{ id: 'k2', key: Buffer.alloc(32, 3) }, ...RING]);
  const read = (await rotated.read()).tenants.get('uno');
  expect(read?.open()).toEqual(CONTENT);
  const alone = openManagedStore(connection, [{ id: 'k2', key: Buffer.alloc(32, 3) }]);
  expect((await alone.read()).tenants.get('uno')?.open()).toEqual(CONTENT);
  expect((await rotated.read()).tenants.get('uno')?.revision).toBe(read?.revision);
});

test('a document encrypted with an old key is readable from a read-only Redis', async () => {
  const { connection, one } = await open();
  await one.put('uno', CONTENT, null);
  await connection.config('SET', 'maxmemory', '1mb');
  try {
    await expect(one.put('due', CONTENT, null)).rejects.toThrow('OOM');
    const rotated = openManagedStore(connection, [{ id: 'k2', key: Buffer.alloc(32, 3) }, ...RING]);
    expect((await rotated.read()).tenants.get('uno')?.open()).toEqual(CONTENT);
  } finally {
    await connection.config('SET', 'maxmemory', '0');
  }
});

test('a change is no forgery, though another one comes before each command of a reading', async () => {
  const { connection, one } = await open();
  let revision = await one.put('uno', contentOf('0'), null);
  let changes = 0;
  const change = async () => {
    changes += 1;
    revision = await one.put('uno', contentOf(`${changes}`), revision);
  };
  const interrupted = new Proxy(connection, {
    get: (target, name) => {
      const member = Reflect.get(target, name);
      if (typeof member !== 'function') return member;
      return async (...given: unknown[]) => {
        await change();
        return Reflect.apply(member, target, given);
      };
    },
  });
  const reader = openManagedStore(interrupted);
  for (let turn = 0; turn < 20; turn += 1) {
    const { damaged, tenants } = await reader.read();
    expect({ damaged, yaml: tenants.get('uno')?.open().yaml }).toEqual({ damaged: [], yaml: `name: ${changes}\n` });
  }
  expect(changes).toBeGreaterThanOrEqual(20);
});

test('two processes that change different tenants at once both do', async () => {
  const { one, other } = await open();
  const ids = Array.from({ length: 10 }, (_, index) => `t${index}`);
  const done = await Promise.all(ids.map((id, index) => (index % 2 ? one : other).put(id, contentOf(id), null)));
  expect(done).not.toContain(null);
  expect(await one.read()).toMatchObject({ damaged: [] });
  expect((await other.read()).tenants.size).toBe(10);
});
