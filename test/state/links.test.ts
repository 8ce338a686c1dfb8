import fc from 'fast-check';
import type { Redis } from 'ioredis';
import { describe, expect, test, vi } from 'vitest';
import { CacheBudget } from '../../src/core/model/cache.ts';
import type { Link } from '../../src/core/model/operations.ts';
import type { Lease, OutboxEntry, OutboxSettlement } from '../../src/engine/store.ts';
import { createLeases } from '../../src/state/leases.ts';
import { createLinkStore, type LinkStore } from '../../src/state/links.ts';
import { createOutbox, type Outbox } from '../../src/state/outbox.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { createProofSealer, createSealer } from '../../src/state/sealing.ts';
import { NOW, recordIds } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';
import { copyState, goBackTo } from '../support/stored-state.ts';
import { crashingRedis } from '../tenant/crashing-redis.ts';
import { someLinks } from './link-arbitraries.ts';

const TENANT = 'studio-rossi';
const IDENTITY_KEY = Buffer.alloc(32, 7);
const SEALERS = {
  sealer: createSealer([{ id: 'k1', key: Buffer.alloc(32, 9) }], 'studio-rossi'),
  proofs: createProofSealer(IDENTITY_KEY, 'studio-rossi'),
};
const redis = useRedis();

async function open(connection: Redis = redis.connect()) {
  const lease = await take(connection);
  return { connection, lease, links: createLinkStore(connection, TENANT, IDENTITY_KEY) };
}

async function take(connection: RedisClient, ttlMs = 60_000, name = 'plan'): Promise<Lease> {
  const lease = await createLeases(connection, TENANT, ttlMs).tryTake(name);
  if (lease === null) throw new Error('the lease is taken');
  return lease;
}

function linkOf(recordId: string, changes: Partial<Link> = {}): Link {
  return {
    recordId,
    fingerprint: 'f'.repeat(22),
    versionTag: '"3181161784712000"',
    startAt: NOW,
    endAt: NOW,
    idAttempt: 0,
    remoteId: null,
    drift: null,
    ...changes,
  };
}

function many(count: number, changes: Partial<Link> = {}): Link[] {
  return Array.from({ length: count }, (_, index) => linkOf(`appointment-${index}`, changes));
}

describe('links', () => {
  test('are read unchanged, in whole or in part', async () => {
    const { connection, links } = await open();
    await fc.assert(
      fc.asyncProperty(someLinks, async (written) => {
        await connection.flushall();
        const lease = await take(connection);
        await links.writeAll('doctor', written, lease);
        const expected = new Map(written.map((link) => [link.recordId, link]));
        expect(await links.read('doctor')).toEqual(expected);
        const ids = [...expected.keys()];
        expect(await links.readSome('doctor', [...ids, 'nobody-has-this'])).toEqual(expected);
        expect(await links.count('doctor')).toBe(written.length);
        await lease.release();
      }),
      { numRuns: 40 },
    );
  });

  test('of versions before are read: without stored fingerprint, drift and revision, with other spellings of times and tags', async () => {
    const { connection, links } = await open();
    const key = `cm:{${TENANT}}:links:doctor:0:0`;
    const f = 'f'.repeat(22);
    await connection.hset(key, {
      a: `${f}\ttd0n80\t0\t"3"`,
      b: `${f}\ttd0n80\t1\t"3"\tremote\tedited`,
      c: `\ttd0n80`,
      d: `${f}\ttd0n80+2s1\ti1a\t3`,
      e: `${f}\ttd0n80+2s0\t21\tW/"3"`,
    });
    const startAt = Number.parseInt('td0n80', 36) * 1_000;
    const old = (recordId: string, changes: Partial<Link>) =>
      linkOf(recordId, { startAt, endAt: startAt, ...changes, fingerprint: changes.fingerprint ?? f });
    expect([...(await links.read('doctor')).values()]).toEqual([
      old('a', { versionTag: '"3"' }),
      // Nothing proves where those are: they are found among the target's own objects.
      old('b', { versionTag: '"3"', drift: 'edited', isUnplaced: true }),
      old('c', { fingerprint: '', versionTag: null }),
      old('d', { versionTag: '"3"', revision: 46, endAt: startAt + 3_601_000, isUnplaced: true }),
      old('e', { versionTag: 'W/"3"', revision: 1, endAt: startAt + 3_600_000, isUnplaced: true }),
    ]);
  });

  test('that are marked are found without reading the others, and only while they are', async () => {
    const { links, lease } = await open();
    expect(await links.drifted('doctor')).toEqual([]);
    const edited = linkOf('a', {
      drift: 'edited',
      observedFingerprint: 'g'.repeat(22),
      storedFingerprint: 'h'.repeat(22),
    });
    const removed = linkOf('b', { drift: 'removed' });
    await links.nameDrifted('doctor', new Set(['a', 'b', 'c', 'nobody-has-this']));
    await links.writeAll('doctor', [edited, removed, linkOf('c')], lease);
    const byId = (one: Link, other: Link) => (one.recordId < other.recordId ? -1 : 1);
    expect((await links.drifted('doctor')).sort(byId)).toEqual([edited, removed]);
    expect(await links.drifted('nurse')).toEqual([]);
    await links.writeAll('doctor', [linkOf('a')], lease);
    expect(await links.drifted('doctor')).toEqual([removed]);
    await links.nameDrifted('doctor', new Set(['a']));
    expect(await links.drifted('doctor')).toEqual([]);
  });

  test('of one target are not those of another', async () => {
    const { links, lease } = await open();
    await links.writeAll('doctor', many(3), lease);
    expect(await links.count('nurse')).toBe(0);
    await links.clear('nurse', lease);
    expect(await links.count('doctor')).toBe(3);
  });

  test('take the current time of their record, unless they belong to another item by then', async () => {
    const { connection, links, lease } = await open();
    const place = `cm:{${TENANT}}:links:doctor:0:0`;
    await links.writeAll('doctor', [linkOf('old', { versionTag: '"3"', idAttempt: 1, remoteId: 'remote' })], lease);
    const [fingerprint, , ...rest] = ((await connection.hget(place, 'old')) ?? '').split('\t');
    // As versions before wrote times.
    await connection.hset(place, { old: [fingerprint, 'td0n80', ...rest].join('\t') });
    const drifted = linkOf('drifted', { drift: 'edited', observedFingerprint: 'g'.repeat(22) });
    const other = linkOf('other', { fingerprint: 'o'.repeat(22) });
    await links.writeAll('doctor', [drifted, other], lease);
    const time = { startAt: NOW + 60_000, endAt: NOW + 30 * 86_400_000 };
    const ids = ['old', 'drifted', 'other', 'gone'];
    const told = ids.map((recordId) => ({ recordId, fingerprint: 'f'.repeat(22), ...time }));
    await links.recordTimes('doctor', told, lease);
    const expected = [
      linkOf('old', { versionTag: '"3"', idAttempt: 1, remoteId: 'remote', ...time }),
      { ...drifted, ...time },
      other,
    ];
    expect(await links.read('doctor')).toEqual(new Map(expected.map((link) => [link.recordId, link])));
  });

  test('that were rebuilt from an object without marks are known with the time of their record', async () => {
    const { links, lease } = await open();
    const rebuilt = { unmarked: true, isRebuilt: true } as const;
    const stored = [linkOf('a', rebuilt), linkOf('b', rebuilt), linkOf('c', { versionTag: 'r' })];
    await links.writeAll('doctor', stored, lease);
    expect([...(await links.read('doctor')).values()]).toEqual(stored);
    const { fingerprint, startAt, endAt } = stored[0]!;
    const told = ['a', 'c'].map((recordId) => ({ recordId, fingerprint, startAt, endAt }));
    await links.recordTimes('doctor', told, lease);
    const { isRebuilt: _, ...known } = stored[0]!;
    expect([...(await links.read('doctor')).values()]).toEqual([known, stored[1], stored[2]]);
  });

  test('that are released are deleted, the others remain', async () => {
    const { links, lease } = await open();
    await links.writeAll('doctor', many(1_200), lease);
    const ids = many(1_200).map(({ recordId }) => recordId);
    await links.release('doctor', ids.slice(1), lease);
    expect([...(await links.read('doctor')).keys()]).toEqual(ids.slice(0, 1));
    await links.release('doctor', [], lease);
    expect(await links.count('doctor')).toBe(1);
  });

  test('that are cleared leave nothing behind in Redis', async () => {
    const { connection, links, lease } = await open();
    await links.fit('doctor', 5_000, lease);
    await links.writeAll('doctor', many(5_000), lease);
    await links.clear('doctor', lease);
    expect(await links.count('doctor')).toBe(0);
    expect(await connection.keys('*links*')).toEqual([`cm:{${TENANT}}:links:doctor`]);
  });
});

describe('a table of links', () => {
  test('is laid out again as it grows, and loses nothing', async () => {
    const { connection, links, lease } = await open();
    const sizes = [100, 500, 3_000, 8_000];
    for (const [index, size] of sizes.entries()) {
      await links.fit('doctor', size, lease);
      await links.writeAll('doctor', many(size), lease);
      expect(await links.count('doctor')).toBe(size);
      expect((await links.layout('doctor')).layoutVersion).toBe(index);
    }
    expect(await links.read('doctor')).toEqual(new Map(many(8_000).map((link) => [link.recordId, link])));
    const { layoutVersion: generation, buckets } = await links.layout('doctor');
    const stored = await connection.keys('*links:doctor:*');
    expect(stored.every((key) => key.includes(`:doctor:${generation}:`))).toBe(true);
    expect(stored.length).toBeLessThanOrEqual(buckets);
  });

  test('keeps its buckets small enough for the compact form of a hash', async () => {
    const { connection, links, lease } = await open();
    await links.fit('doctor', 8_000, lease);
    await links.writeAll('doctor', many(8_000), lease);
    const { layoutVersion: generation } = await links.layout('doctor');
    const buckets = await connection.keys(`cm:{${TENANT}}:links:doctor:${generation}:*`);
    const encodings = await Promise.all(buckets.map((key) => connection.object('ENCODING', key)));
    expect(new Set(encodings)).toEqual(new Set(['listpack']));
  });

  test('remains unchanged while it has free space', async () => {
    const { links, lease } = await open();
    await links.fit('doctor', 8_000, lease);
    const before = await links.layout('doctor');
    for (const expected of [0, 10, 8_000]) await links.fit('doctor', expected, lease);
    expect(await links.layout('doctor')).toEqual(before);
  });

  test('does not show again what an earlier attempt left, wherever its process died', async () => {
    const { connection } = await open();
    for (let commands = 0; commands < 10; commands += 1) {
      await connection.flushall();
      const lease = await take(connection);
      const links = createLinkStore(connection, TENANT, IDENTITY_KEY);
      await links.writeAll('doctor', many(100), lease);
      const dying = createLinkStore(crashingRedis(connection, commands, true), TENANT, IDENTITY_KEY);
      await dying.fit('doctor', 1_000, lease).catch(() => {});
      expect(await links.count('doctor'), `died after ${commands} commands`).toBe(100);
      await links.clear('doctor', lease);
      expect(await links.count('doctor'), `died after ${commands} commands`).toBe(0);
      await links.fit('doctor', 1_000, lease);
      expect(await links.count('doctor'), `died after ${commands} commands`).toBe(0);
    }
  });
});

describe('a process without the lease', () => {
  test.each<[string, (links: ReturnType<typeof createLinkStore>, lease: Lease) => Promise<void>]>([
    ['writes no link', (links, lease) => links.writeAll('doctor', many(1, { idAttempt: 5 }), lease)],
    [
      'records no time',
      (links, lease) => links.recordTimes('doctor', [linkOf('appointment-0', { startAt: NOW + 60_000 })], lease),
    ],
    ['releases no link', (links, lease) => links.release('doctor', ['appointment-0'], lease)],
    ['clears nothing', (links, lease) => links.clear('doctor', lease)],
    ['changes no layout', (links, lease) => links.fit('doctor', 1_000, lease)],
  ])('%s', async (_, act) => {
    const { connection, links, lease } = await open();
    await links.writeAll('doctor', many(200), lease);
    await lease.release();
    await take(connection);
    await expect(act(links, lease)).rejects.toMatchObject({ actor: 'conflict', code: 'lease-lost', retry: 'later' });
    expect(await links.read('doctor')).toEqual(new Map(many(200).map((link) => [link.recordId, link])));
  });
});

test('a link takes at most 80 bytes of Redis, its share of its bucket included', async () => {
  const { connection, links, lease } = await open();
  const count = 20_000;
  const anHour = { endAt: NOW + 3_600_000, revision: 123_456 };
  await links.fit('doctor', count, lease);
  await links.writeAll('doctor', many(count, anHour), lease);
  // By key: what the server uses as a whole also grows and shrinks with its buffers.
  const sizes = await Promise.all(
    (await connection.keys('*links:doctor*')).map((key) => connection.memory('USAGE', key)),
  );
  const bytes = sizes.reduce<number>((total, size) => total + (size ?? 0), 0) / count;
  console.info(`a link takes ${bytes.toFixed(1)} bytes of Redis`);
  expect(bytes).toBeLessThanOrEqual(80);
  expect(await links.count('doctor')).toBe(count);
});

describe('links that are cached in memory', () => {
  async function openKept(entries = 1_000) {
    const { connection, lease, links: plain } = await open();
    const links = createLinkStore(connection, TENANT, IDENTITY_KEY, new CacheBudget(entries));
    await links.writeAll('doctor', many(5), lease);
    return { connection, lease, links, plain };
  }

  test('are the same map while none has changed, and cost one command', async () => {
    const { connection, links } = await openKept();
    const first = await links.read('doctor');
    const commands = vi.spyOn(connection, 'sendCommand');
    expect(await links.read('doctor')).toBe(first);
    expect(commands).toHaveBeenCalledOnce();
  });

  test.each<[string, (links: LinkStore, lease: Lease) => Promise<void>]>([
    ['written', (links, lease) => links.writeAll('doctor', [linkOf('new')], lease)],
    ['released', (links, lease) => links.release('doctor', ['appointment-1'], lease)],
    [
      'given another time',
      (links, lease) => links.recordTimes('doctor', [linkOf('appointment-1', { endAt: NOW + 60_000 })], lease),
    ],
    ['cleared', (links, lease) => links.clear('doctor', lease)],
    ['laid out again', (links, lease) => links.fit('doctor', 10_000, lease)],
  ])('are read again when one was %s, by whichever process', async (_, change) => {
    const { lease, links, plain } = await openKept();
    await links.read('doctor');
    await change(plain, lease);
    expect(await links.read('doctor')).toEqual(await plain.read('doctor'));
  });

  test('are read again when Redis was restored and reached the same number of changes', async () => {
    const { connection, lease, links, plain } = await openKept();
    const before = await copyState(connection);
    await links.writeAll('doctor', [linkOf('lost')], lease);
    expect((await links.read('doctor')).has('lost')).toBe(true);
    await goBackTo(connection, before);
    await plain.writeAll('doctor', [linkOf('other')], lease);
    expect([...(await links.read('doctor')).keys()].sort()).toEqual([
      ...many(5).map(({ recordId }) => recordId),
      'other',
    ]);
  });

  test('are not read again after this process settles or releases some, and are then another map', async () => {
    const { connection, lease, links, plain } = await openKept();
    const outbox = createOutbox(connection, TENANT, SEALERS, links);
    const before = await links.read('doctor');
    await settle(outbox, [linkOf('appointment-1', { idAttempt: 2 }), linkOf('new')], lease);
    await links.release('doctor', ['appointment-2'], lease);
    const commands = vi.spyOn(connection, 'sendCommand');
    const after = await links.read('doctor');
    expect(commands).toHaveBeenCalledOnce();
    expect(after).toEqual(await plain.read('doctor'));
    expect([before.size, after.size]).toEqual([5, 5]);
    expect(before.get('appointment-1')?.idAttempt).toBe(0);
  });

  test('equal those in Redis, after any change by any process at any time', async () => {
    const { connection, lease } = await openKept();
    const lanes = await Promise.all([0, 1, 2].map((by) => take(connection, 60_000, `lane-${by}`)));
    const stores = [1_000, 1_000, 3].map((entries) =>
      createLinkStore(connection, TENANT, IDENTITY_KEY, new CacheBudget(entries)),
    );
    const outboxes = stores.map((store) => createOutbox(connection, TENANT, SEALERS, store));
    const plain = createLinkStore(connection, TENANT, IDENTITY_KEY);
    const id = fc.constantFrom('a', 'b', 'c', 'd');
    const step = fc.record({
      by: fc.nat({ max: 2 }),
      what: fc.constantFrom('settle', 'remove', 'release', 'read', 'read', 'write'),
      id,
      idAttempt: fc.nat({ max: 8 }),
    });
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 15 }), async (steps) => {
        for (const { by, what, id, idAttempt } of steps) {
          const store = stores[by] as LinkStore;
          const [outbox, lane] = [outboxes[by] as Outbox, lanes[by] as Lease];
          if (what === 'settle') await settle(outbox, [linkOf(id, { idAttempt })], lane);
          if (what === 'remove') await settle(outbox, [], lane, [id]);
          if (what === 'release') await store.release('doctor', [id], lease);
          if (what === 'write') await store.writeAll('doctor', [linkOf(id, { idAttempt })], lease);
          if (what === 'read') expect(await store.read('doctor')).toEqual(await plain.read('doctor'));
        }
        for (const store of stores) expect(await store.read('doctor')).toEqual(await plain.read('doctor'));
      }),
      { numRuns: 40 },
    );
  });

  test('are not cached without free space', async () => {
    const { links } = await openKept(4);
    expect(await links.read('doctor')).not.toBe(await links.read('doctor'));
  });
});

describe('a scan of the links of a target in pages', () => {
  async function walk(links: LinkStore, limit: number, between: () => Promise<void> = async () => {}) {
    const pages: string[][] = [];
    let place: Awaited<ReturnType<LinkStore['page']>>['next'] = null;
    do {
      const page = await links.page('doctor', place, limit);
      pages.push(page.links.map(({ recordId }) => recordId));
      place = page.next;
      if (place !== null) await between();
    } while (place !== null);
    return pages;
  }

  test('gives each once, in full pages, whatever their number and the size of a page', async () => {
    const { links, lease } = await open();
    await fc.assert(
      fc.asyncProperty(
        fc.uniqueArray(recordIds, { maxLength: 200 }),
        fc.integer({ min: 1, max: 70 }),
        fc.constantFrom(1, 500),
        async (ids, limit, expected) => {
          await links.clear('doctor', lease);
          await links.fit('doctor', expected, lease);
          await links.writeAll(
            'doctor',
            ids.map((id) => linkOf(id)),
            lease,
          );
          const pages = await walk(links, limit);
          expect(pages.flat().sort()).toEqual([...ids].sort());
          expect(pages.slice(0, -1).every(({ length }) => length === limit)).toBe(true);
        },
      ),
      { numRuns: 20 },
    );
  });

  test('misses none that stay, while others come and go', async () => {
    const { links, lease } = await open();
    await links.fit('doctor', 400, lease);
    await links.writeAll('doctor', many(300), lease);
    let round = 0;
    const found = (
      await walk(links, 50, async () => {
        round += 1;
        await links.release('doctor', [`appointment-${round}`], lease);
        await links.writeAll('doctor', [linkOf(`late-${round}`)], lease);
      })
    ).flat();
    const stayed = many(300)
      .map(({ recordId }) => recordId)
      .slice(10);
    expect(stayed.filter((id) => found.filter((each) => each === id).length !== 1)).toEqual([]);
  });

  test('must restart once the layout of the table changes', async () => {
    const { links, lease } = await open();
    await links.writeAll('doctor', many(130), lease);
    const { next } = await links.page('doctor', null, 10);
    await links.fit('doctor', 500, lease);
    await expect(links.page('doctor', next, 10)).rejects.toMatchObject({ actor: 'conflict', code: 'cursor-expired' });
    expect((await walk(links, 40)).flat()).toHaveLength(130);
  });
});

/** Settles successful changes: existing objects with their links, the others without. */
async function settle(outbox: Outbox, links: readonly Link[], lease: Lease, removed: readonly string[] = []) {
  const changed = links.map((link) => ({ recordId: link.recordId, link }));
  const gone = removed.map((recordId) => ({ recordId, link: null }));
  const settlements = [...changed, ...gone].map(({ recordId, link }): OutboxSettlement => {
    const entry = { recordId, revision: 1, idAttempt: 0, run: null } as OutboxEntry;
    return { entry, kind: 'done', link };
  });
  await outbox.complete('doctor', settlements, { now: NOW, lease });
}
