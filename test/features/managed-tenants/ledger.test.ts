import type { Redis } from 'ioredis';
import { describe, expect, test } from 'vitest';
import { managedTenantKeys } from '../../../src/features/managed-tenants/keys.ts';
import { comparedWith, type Looked, meantBy, revisionShown } from '../../../src/features/managed-tenants/ledger.ts';
import type { ManagedTenantStore } from '../../../src/features/managed-tenants/store.ts';
import { openManagedStore, RING } from '../../operator/control/open-configurations.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
const contentOf = (name: string) => ({ yaml: `name: ${name}\n`, json: '{"name":"Studio"}', secrets: {} });

/** A mark outside Redis, which several processes share. */
function openMark() {
  const mark = { at: 0 };
  return {
    mark,
    given: {
      mark: {
        read: async () => mark.at,
        leave: async (counter: number) => {
          mark.at = Math.max(mark.at, counter);
        },
      },
    },
  };
}

describe('a restored older state', () => {
  const DAMAGED = expect.objectContaining({ code: 'state-damaged' });
  const stateOf = async (connection: Redis) =>
    [
      await connection.hgetall(managedTenantKeys.managedRevisions()),
      await connection.hgetall(managedTenantKeys.managedTenants()),
    ] as const;

  /** `uno` was changed, `due` removed and `tre` left unchanged, after the state in `older`. */
  async function changed() {
    const connection = redis.connect();
    await connection.flushall();
    const { mark, given } = openMark();
    const openStore = () => openManagedStore(connection, RING, given);
    const store = openStore();
    const [uno, due] = [
      await store.put('uno', contentOf('A'), null),
      await store.put('due', contentOf('B'), null),
      await store.put('tre', contentOf('C'), null),
    ];
    const older = await stateOf(connection);
    await store.put('uno', contentOf('paused'), uno);
    await store.remove('due', due ?? '');
    /** Restores all fields, or only some; daemons check, since the version differs. */
    const putBack = async (only?: readonly string[]) => {
      const chosen = (all: Record<string, string>) =>
        Object.fromEntries(Object.entries(all).filter(([id]) => only?.includes(id) ?? true));
      if (only === undefined)
        await connection.del(managedTenantKeys.managedRevisions(), managedTenantKeys.managedTenants());
      await connection.hset(managedTenantKeys.managedRevisions(), { ...chosen(older[0]), '*': `${older[0]['*']}9` });
      await connection.hset(managedTenantKeys.managedTenants(), chosen(older[1]));
    };
    return { connection, mark, store, openStore, putBack };
  }

  /** Lists documents that open, and documents that are refused. */
  async function readBy(store: ManagedTenantStore) {
    const { tenants, damaged } = await store.read();
    for (const id of damaged) expect(() => tenants.get(id)?.open()).toThrow(DAMAGED);
    const open = [...tenants.values()].filter(({ id }) => !damaged.includes(id));
    return { open: open.map((each) => each.open().yaml).toSorted(), damaged: damaged.toSorted() };
  }

  test('of single tenants opens nowhere: of the one that was changed, and of the one that was removed', async () => {
    const { store, openStore, putBack } = await changed();
    await store.read();
    await putBack(['uno', 'due']);
    const found = { open: ['name: C\n'], damaged: ['due', 'uno'] };
    expect(await readBy(store)).toEqual(found);
    expect(await readBy(openStore())).toEqual(found);
  });

  test('with its encrypted head is refused if the mark, or the process, knows a newer one', async () => {
    const { store, openStore, putBack, mark } = await changed();
    await store.read();
    await putBack();
    expect(await readBy(store)).toEqual({ open: ['name: C\n'], damaged: ['due', 'uno'] });
    expect(await readBy(openStore())).toEqual({ open: [], damaged: ['due', 'tre', 'uno'] });
    mark.at = 0;
    expect(await readBy(store)).toEqual({ open: ['name: C\n'], damaged: ['due', 'uno'] });
  });

  test('is noticed although its version is the one that was read last', async () => {
    const { connection, openStore, mark } = await changed();
    const late = openStore();
    await late.read();
    const before = await stateOf(connection);
    const store = openStore();
    const revision = (await store.read()).tenants.get('uno')?.revision ?? '';
    await store.put('uno', contentOf('newest'), revision);
    await connection.hset(managedTenantKeys.managedRevisions(), before[0]);
    await connection.hset(managedTenantKeys.managedTenants(), before[1]);
    expect(mark.at).toBe(store.counter());
    expect((await late.read()).damaged).toContain('uno');
  });

  test('without a head, or with a document only, is refused', async () => {
    const { connection, openStore, store } = await changed();
    const now = await stateOf(connection);
    await connection.hdel(managedTenantKeys.managedRevisions(), '*head');
    expect((await readBy(openStore())).damaged).toEqual(['tre', 'uno']);
    await connection.hset(managedTenantKeys.managedRevisions(), { ...now[0], '*': 'another' });
    await connection.hset(managedTenantKeys.managedTenants(), 'uno', now[1].tre ?? '');
    expect(await readBy(store)).toEqual({ open: ['name: C\n'], damaged: ['uno'] });
  });

  test('is replaced, removed, added again or accepted', async () => {
    const { connection, openStore, putBack } = await changed();
    await putBack(['uno', 'due']);
    await connection.hdel(managedTenantKeys.managedRevisions(), 'tre');
    const store = openStore();
    const shown = async (id: string) => (await store.find(id))?.revision ?? '';
    expect(await store.put('due', contentOf('D'), null)).toBeNull();
    expect(await store.accept('uno', await shown('due'))).toBe(false);
    expect(await store.accept('uno', await shown('uno'))).toBe(true);
    expect(await store.remove('due', await shown('due'))).toBe(true);
    expect(await store.put('tre', contentOf('E'), null)).not.toBeNull();
    const found = { open: ['name: A\n', 'name: E\n'], damaged: [] };
    expect(await readBy(store)).toEqual(found);
    expect(await readBy(openStore())).toEqual(found);
    expect(await store.accept('uno', await shown('uno'))).toBe(false);
  });

  test('without the head is not accepted: every document is refused', async () => {
    const { connection } = await changed();
    await connection.hdel(managedTenantKeys.managedRevisions(), '*head');
    expect(await readBy(openManagedStore(connection, RING, openMark().given))).toEqual({
      ...{ open: [], damaged: expect.arrayContaining(['tre', 'uno']) },
    });
  });
});

describe('a check of the ledger', () => {
  const look = (stored: Record<string, string>, counted: Record<string, string>): Looked => ({
    ...{ version: 'v', sealed: 's', marked: 0, revisions: new Map(Object.entries(stored)) },
    head: { guarded: new Set(), counter: 1, revisions: new Map(Object.entries(counted)) },
  });

  test('distinguishes unchanged tenants, changed tenants and damaged tenants', () => {
    const now = look(
      { same: 'r1', changed: 'r2', added: 'r3', forged: 'x' },
      { same: 'r1', changed: 'r2', added: 'r3', lost: 'r4' },
    );
    const tenantOf = (id: string, revision: string) => ({ id, revision, open: () => contentOf(id) });
    const before = new Map([tenantOf('same', 'r1'), tenantOf('changed', 'r0')].map((one) => [one.id, one]));
    const { same, damaged, others } = comparedWith(before, now);
    expect({ same: [...same.keys()], damaged: damaged.toSorted(), others }).toEqual({
      ...{ same: ['same'], damaged: ['forged', 'lost'], others: ['changed', 'added'] },
    });
  });

  test('shows a damaged tenant with a revision that no document has, another for each state', () => {
    const states = [
      look({ a: 'x' }, { a: 'r' }),
      look({ a: 'y' }, { a: 'r' }),
      look({ a: 'x' }, {}),
      look({}, { a: 'r' }),
    ];
    const shown = states.map((now) => revisionShown(now, 'a'));
    expect(new Set([...shown, 'x', 'y', 'r']).size).toBe(7);
  });

  test('interprets a change as the shown value, the effective value, or none if Redis has no value', () => {
    expect(meantBy(look({}, {}), 'a')).toEqual(['']);
    const [damaged, lost] = [look({ a: 'x' }, { a: 'r' }), look({}, { a: 'r' })];
    expect(meantBy(damaged, 'a')).toEqual([revisionShown(damaged, 'a'), 'r']);
    expect(meantBy(lost, 'a')).toEqual([revisionShown(lost, 'a'), 'r', '']);
  });
});
