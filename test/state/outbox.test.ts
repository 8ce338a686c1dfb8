import { createHash } from 'node:crypto';
import type { Redis } from 'ioredis';
import { beforeEach, describe, expect, test, vi } from 'vitest';
import type { CalendarItem } from '../../src/core/model/items.ts';
import type { Link } from '../../src/core/model/operations.ts';
import type { PlannedChange } from '../../src/core/model/plan.ts';
import type { Lease, OutboxEntry, OutboxSettlement } from '../../src/engine/store.ts';
import { createJournal } from '../../src/state/journal.ts';
import { keys } from '../../src/state/keys.ts';
import { createLeases } from '../../src/state/leases.ts';
import { createLinkStore } from '../../src/state/links.ts';
import { createOutbox, type Outbox } from '../../src/state/outbox.ts';
import { createProofSealer, createSealer } from '../../src/state/sealing.ts';
import { createTargetStore } from '../../src/state/targets.ts';
import { NOW } from '../domain/arbitraries.ts';
import { useRedis } from '../support/redis.ts';

const TENANT = 'studio-rossi';

const KEYS = [{ id: 'k1', key: Buffer.alloc(32, 9) }];

const redis = useRedis();

const sealersOf = (tenant: string) => ({
  sealer: createSealer(KEYS, tenant),
  proofs: createProofSealer(Buffer.alloc(32, 7), tenant),
});

async function open() {
  const connection = redis.connect();
  const links = createLinkStore(connection, TENANT, Buffer.alloc(32, 7));
  const [planner, lane] = await Promise.all([take(connection, 'plan'), take(connection, 'lane')]);
  return {
    connection,
    links,
    planner,
    lane,
    outbox: createOutbox(connection, TENANT, sealersOf(TENANT), links),
  };
}

async function take(connection: Redis, name: string): Promise<Lease> {
  const lease = await createLeases(connection, TENANT, 60_000).tryTake(name);
  if (lease === null) throw new Error('the lease is taken');
  return lease;
}

function itemOf(title: string): CalendarItem {
  const time = { kind: 'all-day', startDate: '2026-06-15', endDate: '2026-06-16' } as const;
  return { title, description: 'notes-canary', location: null, time, busy: true };
}

/** Distinguishes titles without revealing them, as a keyed hash does. */
function fingerprintOf(title: string): string {
  return createHash('sha256').update(title).digest('base64url').slice(0, 21);
}

function present(recordId: string, title = 'Mario Rossi'): PlannedChange {
  const wanted = {
    want: 'present',
    item: itemOf(title),
    fingerprint: fingerprintOf(title),
    startAt: NOW,
    endAt: NOW + 3_600_000,
  } as const;
  return { recordId, reason: 'new', wanted, fields: [] };
}

function absent(recordId: string): PlannedChange {
  return { recordId, reason: 'cancelled', wanted: { want: 'absent', startAt: NOW, endAt: NOW }, fields: [] };
}

function done(entry: OutboxEntry, versionTag = 'v1'): OutboxSettlement {
  const { recordId, startAt, endAt } = entry;
  const fingerprint = entry.fingerprint ?? '';
  const link = { recordId, fingerprint, versionTag, startAt, endAt, idAttempt: 0, remoteId: null, drift: null };
  return { entry, kind: 'done', link };
}

function only(entries: readonly OutboxEntry[]): OutboxEntry {
  const [entry] = entries;
  if (entry === undefined || entries.length > 1) throw new Error(`expected one entry, there are ${entries.length}`);
  return entry;
}

type Opened = Awaited<ReturnType<typeof open>>;

const takeDue = async ({ outbox }: Opened, now = NOW) => only(await outbox.due('doctor', now, 10));

describe('an added entry', () => {
  test('comes out whole, oldest first, when it is due', async () => {
    const { outbox, planner } = await open();
    await outbox.put('doctor', [present('2', 'later')], { now: NOW + 5, lease: planner });
    await outbox.put('doctor', [present('1', 'earlier')], { now: NOW, lease: planner });
    expect(await outbox.due('doctor', NOW - 1, 10)).toEqual([]);
    expect(await outbox.due('doctor', NOW, 10)).toMatchObject([{ recordId: '1' }]);
    const entries = await outbox.due('doctor', NOW + 5, 10);
    expect(entries).toMatchObject([
      {
        recordId: '1',
        want: 'present',
        item: itemOf('earlier'),
        sent: false,
        idAttempt: 0,
        attempts: 0,
        parked: false,
      },
      { recordId: '2', want: 'present', item: itemOf('later'), enqueuedAt: NOW + 5, lastError: null },
    ]);
    expect(await outbox.due('doctor', NOW + 5, 1)).toHaveLength(1);
    expect(await outbox.nextDueAt('doctor')).toBe(NOW);
    expect(await outbox.oldestAt('doctor')).toBe(NOW);
  });

  test('is the newest of the entries added for a record', async () => {
    const opened = await open();
    await opened.outbox.put('doctor', [present('1', 'first'), present('1', 'second')], {
      now: NOW,
      lease: opened.planner,
    });
    expect((await takeDue(opened)).item).toMatchObject({ title: 'second' });
    await opened.outbox.put('doctor', [absent('1')], { now: NOW, lease: opened.planner });
    expect(await takeDue(opened)).toMatchObject({ want: 'absent', item: null, reason: 'cancelled', fingerprint: null });
    expect(await opened.outbox.counts('doctor')).toEqual({ pending: 1, failing: 0 });
  });

  test('is seen by the planner without its content', async () => {
    const { outbox, planner } = await open();
    await outbox.put('doctor', [present('1')], { now: NOW, lease: planner });
    const expected = {
      recordId: '1',
      reason: 'new',
      want: 'present',
      fingerprint: fingerprintOf('Mario Rossi'),
      startAt: NOW,
      endAt: NOW + 3_600_000,
      attempts: 0,
      lastError: null,
      sent: false,
      parked: false,
      enqueuedAt: NOW,
      dueAt: NOW,
    };
    expect(await outbox.pending('doctor')).toEqual(new Map([['1', expected]]));
    expect(await outbox.pendingOf('doctor', '1')).toEqual(expected);
    expect(await outbox.pendingOf('doctor', '2')).toBeNull();
    expect(await outbox.pending('nurse')).toEqual(new Map());
  });

  test('in thousands comes out in thousands', async () => {
    const { outbox, planner } = await open();
    await outbox.put(
      'doctor',
      Array.from({ length: 2_000 }, (_, index) => present(`${index}`)),
      { now: NOW, lease: planner },
    );
    expect(await outbox.counts('doctor')).toEqual({ pending: 2_000, failing: 0 });
    expect(new Set((await outbox.due('doctor', NOW, 5_000)).map(({ recordId }) => recordId)).size).toBe(2_000);
  });

  test('reveals no patient data anywhere in Redis', async () => {
    const { connection, outbox, planner, lane } = await open();
    await outbox.put('doctor', [present('1', 'Mario Rossi +39 333 1234567 mario@example.org')], {
      now: NOW,
      lease: planner,
    });
    const entry = only(await outbox.due('doctor', NOW, 10));
    await outbox.markSent('doctor', [entry], NOW, lane);
    await outbox.complete('doctor', [{ entry, kind: 'retry', error: 'x', dueAt: NOW, parked: false }], {
      now: NOW,
      lease: lane,
    });
    const everything = await dump(connection);
    expect(everything).toContain('outbox');
    expect(everything).not.toMatch(/Mario|Rossi|1234567|example\.org|notes-canary/);
  });

  test('does not open under another record, target or tenant: it is removed, and the next plan adds it again', async () => {
    const { connection, links, outbox, planner } = await open();
    await outbox.put('doctor', [present('1')], { now: NOW, lease: planner });
    const from = `cm:{${TENANT}}:outbox:doctor`;
    const stored = (await connection.hget(from, '1')) ?? '';
    await connection.hset(from, '2', stored);
    await connection.zadd(`cm:{${TENANT}}:outbox-due:doctor`, NOW, '2');
    await connection.zrem(`cm:{${TENANT}}:outbox-due:doctor`, '1');
    expect(await outbox.due('doctor', NOW, 10)).toEqual([]);
    expect(await connection.hexists(from, '2')).toBe(0);
    await redis.move(from, 'cm:{studio-bianchi}:outbox:doctor');
    await connection.zadd('cm:{studio-bianchi}:outbox-due:doctor', NOW, '1');
    const other = createOutbox(connection, 'studio-bianchi', sealersOf('studio-bianchi'), links);
    expect(await other.due('doctor', NOW, 10)).toEqual([]);
    expect(await other.nextDueAt('doctor')).toBeNull();
  });
});

describe('an entry that is in flight', () => {
  test('succeeded: it is gone, and its link exists', async () => {
    const opened = await open();
    await opened.outbox.put('doctor', [present('1')], { now: NOW, lease: opened.planner });
    const entry = await takeDue(opened);
    await opened.outbox.markSent('doctor', [entry], NOW, opened.lane);
    await opened.outbox.complete('doctor', [done(entry)], { now: NOW, lease: opened.lane });
    expect(await opened.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
    expect(await opened.outbox.nextDueAt('doctor')).toBeNull();
    expect(await opened.outbox.oldestAt('doctor')).toBeNull();
    expect([...(await opened.links.read('doctor')).keys()]).toEqual(['1']);
  });

  test('succeeded after a newer one came: the link exists and the newer one remains', async () => {
    const opened = await open();
    await opened.outbox.put('doctor', [present('1', 'old')], { now: NOW, lease: opened.planner });
    const entry = await takeDue(opened);
    await opened.outbox.markSent('doctor', [entry], NOW, opened.lane);
    await opened.outbox.put('doctor', [present('1', 'new')], { now: NOW, lease: opened.planner });
    await opened.outbox.complete('doctor', [done(entry)], { now: NOW, lease: opened.lane });
    expect((await opened.links.read('doctor')).get('1')?.fingerprint).toBe(fingerprintOf('old'));
    const newer = await takeDue(opened);
    expect(newer).toMatchObject({ item: itemOf('new'), sent: false });
    await opened.outbox.complete('doctor', [done(newer)], { now: NOW, lease: opened.lane });
    expect((await opened.links.read('doctor')).get('1')?.fingerprint).toBe(fingerprintOf('new'));
    expect(await opened.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
  });

  test('is done twice, the second time after the newer one: what is newer stays', async () => {
    const opened = await open();
    await opened.outbox.put('doctor', [present('1', 'old')], { now: NOW, lease: opened.planner });
    // As with a silent connection: its command arrives once more, late.
    const send = vi.spyOn(opened.connection, 'eval');
    await opened.outbox.complete('doctor', [done(await takeDue(opened))], { now: NOW, lease: opened.lane });
    const [sent] = send.mock.calls.slice(-1);
    const again = () => opened.connection.eval(...(sent as Parameters<typeof opened.connection.eval>));
    await opened.outbox.put('doctor', [present('1', 'new')], { now: NOW, lease: opened.planner });
    await opened.outbox.complete('doctor', [done(await takeDue(opened))], { now: NOW, lease: opened.lane });
    await again();
    expect((await opened.links.read('doctor')).get('1')?.fingerprint).toBe(fingerprintOf('new'));
    await opened.outbox.put('doctor', [absent('1')], { now: NOW, lease: opened.planner });
    const entry = await takeDue(opened);
    await opened.outbox.complete('doctor', [{ entry, kind: 'done', link: null }], { now: NOW, lease: opened.lane });
    await again();
    expect(await opened.links.count('doctor')).toBe(0);
  });

  test('removes an object: the removal is known, if recorded, until a new object or the erasure of the record', async () => {
    const opened = await open();
    const takeOut = async (...ids: string[]) => {
      await opened.outbox.put('doctor', ids.map(absent), { now: NOW, lease: opened.planner });
      const entries = await opened.outbox.due('doctor', NOW, 10);
      const settlements = entries.map((entry) => ({ entry, kind: 'done', link: null }) as const);
      await opened.outbox.complete('doctor', settlements, {
        now: NOW,
        lease: opened.lane,
        recordTakenOut: ids.includes('1'),
      });
    };
    const known = () => opened.outbox.takenOut('doctor', ['1', '2', '3']);
    await takeOut('1', '2');
    await takeOut('3');
    expect(await known()).toEqual(new Set(['1', '2']));
    await opened.outbox.put('doctor', [present('1')], { now: NOW, lease: opened.planner });
    await opened.outbox.complete('doctor', [done(await takeDue(opened))], { now: NOW, lease: opened.lane });
    expect(await known()).toEqual(new Set(['2']));
    await opened.links.erase('doctor', ['2']);
    expect(await known()).toEqual(new Set());
  });

  test('has no outcome while a newer one came: the newer one knows that something was sent', async () => {
    const opened = await open();
    await opened.outbox.put('doctor', [present('1', 'old')], { now: NOW, lease: opened.planner });
    const entry = await takeDue(opened);
    await opened.outbox.markSent('doctor', [entry], NOW, opened.lane);
    await opened.outbox.put('doctor', [absent('1')], { now: NOW, lease: opened.planner });
    await opened.outbox.complete('doctor', [retry(entry, { dueAt: NOW + 60_000 })], { now: NOW, lease: opened.lane });
    expect(await takeDue(opened)).toMatchObject({ want: 'absent', sent: true, attempts: 0, lastError: null });
    expect(await opened.outbox.counts('doctor')).toEqual({ pending: 1, failing: 0 });
  });

  test('failed: it is retried later, and counted as failing until it succeeds', async () => {
    const opened = await open();
    await opened.outbox.put('doctor', [present('1')], { now: NOW, lease: opened.planner });
    const entry = await takeDue(opened);
    await opened.outbox.complete('doctor', [retry(entry, { dueAt: NOW + 60_000 })], { now: NOW, lease: opened.lane });
    expect(await opened.outbox.due('doctor', NOW + 59_999, 10)).toEqual([]);
    expect(await opened.outbox.nextDueAt('doctor')).toBe(NOW + 60_000);
    expect(await opened.outbox.counts('doctor')).toEqual({ pending: 1, failing: 1 });
    const again = await takeDue(opened, NOW + 60_000);
    expect(again).toMatchObject({ attempts: 1, lastError: 'server-error', parked: false, dueAt: NOW + 60_000 });
    await opened.outbox.complete('doctor', [done(again)], { now: NOW, lease: opened.lane });
    expect(await opened.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
  });

  test('keeps the cause of its last failure, until it fails with another one or has a new plan', async () => {
    const opened = await open();
    await opened.outbox.put('doctor', [present('1')], { now: NOW, lease: opened.planner });
    const about = async () => (await opened.outbox.pendingOf('doctor', '1'))?.about;
    const fail = async (changes: { about?: string }) =>
      opened.outbox.complete('doctor', [retry(await takeDue(opened), changes)], { now: NOW, lease: opened.lane });
    await fail({ about: 'contacts.phone' });
    expect(await about()).toBe('contacts.phone');
    expect((await opened.outbox.pending('doctor')).get('1')?.about).toBe('contacts.phone');
    await fail({});
    expect(await about()).toBeUndefined();
    await fail({ about: 'contacts.phone' });
    await opened.outbox.put('doctor', [present('1', 'newer')], { now: NOW, lease: opened.planner });
    expect(await about()).toBeUndefined();
  });

  test('is parked: newer content frees it, and so does haste', async () => {
    const opened = await open();
    await opened.outbox.put('doctor', [present('1')], { now: NOW, lease: opened.planner });
    const parked = { dueAt: NOW + 86_400_000, parked: true };
    await opened.outbox.complete('doctor', [retry(await takeDue(opened), parked)], { now: NOW, lease: opened.lane });
    expect(await opened.outbox.pendingOf('doctor', '1')).toMatchObject({ parked: true });
    await opened.outbox.put('doctor', [present('1', 'newer')], { now: NOW, lease: opened.planner });
    const freed = await takeDue(opened);
    expect(freed).toMatchObject({ parked: false, attempts: 0, lastError: null });
    await opened.outbox.complete('doctor', [retry(freed, parked)], { now: NOW, lease: opened.lane });
    expect(await opened.outbox.hurry('doctor', NOW + 1)).toBe(1);
    expect(await takeDue(opened, NOW + 1)).toMatchObject({ recordId: '1' });
  });

  test('met a burnt key: it continues at once under the next one, and so does the following entry', async () => {
    const opened = await open();
    await opened.outbox.put('doctor', [present('1')], { now: NOW, lease: opened.planner });
    const entry = await takeDue(opened);
    await opened.outbox.complete('doctor', [{ entry, kind: 'next-epoch' }], { now: NOW, lease: opened.lane });
    expect(await takeDue(opened)).toMatchObject({ idAttempt: 1 });
    await opened.outbox.put('doctor', [present('1', 'newer')], { now: NOW, lease: opened.planner });
    expect(await takeDue(opened)).toMatchObject({ idAttempt: 1, item: itemOf('newer') });
  });

  test('was removed: its link goes with it', async () => {
    const opened = await open();
    await opened.outbox.put('doctor', [present('1')], { now: NOW, lease: opened.planner });
    await opened.outbox.complete('doctor', [done(await takeDue(opened))], { now: NOW, lease: opened.lane });
    await opened.outbox.put('doctor', [absent('1')], { now: NOW, lease: opened.planner });
    await opened.outbox.complete('doctor', [{ entry: await takeDue(opened), kind: 'done', link: null }], {
      now: NOW,
      lease: opened.lane,
    });
    expect(await opened.links.count('doctor')).toBe(0);
  });

  test('is not brought back by an outcome that comes twice', async () => {
    const opened = await open();
    await opened.outbox.put('doctor', [present('1')], { now: NOW, lease: opened.planner });
    const entry = await takeDue(opened);
    await opened.outbox.complete('doctor', [done(entry)], { now: NOW, lease: opened.lane });
    await opened.outbox.complete('doctor', [retry(entry), { entry, kind: 'next-epoch' }], {
      now: NOW,
      lease: opened.lane,
    });
    expect(await opened.outbox.counts('doctor')).toEqual({ pending: 0, failing: 0 });
    expect(await opened.outbox.nextDueAt('doctor')).toBeNull();
  });
});

test('what nothing was written of is as if it had never been sent', async () => {
  const { outbox, planner, lane } = await open();
  await outbox.put('doctor', [present('1')], { now: NOW, lease: planner });
  const entry = only(await outbox.due('doctor', NOW, 10));
  await outbox.markSent('doctor', [entry], NOW, lane);
  expect(only(await outbox.due('doctor', NOW, 10))).toMatchObject({ sent: true, sentAt: NOW });
  await outbox.markUnsent('doctor', [entry], lane);
  expect(only(await outbox.due('doctor', NOW, 10))).toEqual(entry);
});

describe('a process without the lease', () => {
  test.each<[string, (opened: Opened, entry: OutboxEntry) => Promise<void>]>([
    ['puts nothing in', ({ outbox, planner }) => outbox.put('doctor', [absent('1')], { now: NOW, lease: planner })],
    ['notes nothing as sent', ({ outbox, lane }, entry) => outbox.markSent('doctor', [entry], NOW, lane)],
    ['takes no mark back', ({ outbox, lane }, entry) => outbox.markUnsent('doctor', [entry], lane)],
    [
      'settles nothing',
      ({ outbox, lane }, entry) => outbox.complete('doctor', [done(entry)], { now: NOW, lease: lane }),
    ],
  ])('%s', async (_, act) => {
    const opened = await open();
    await opened.outbox.put('doctor', [present('1')], { now: NOW, lease: opened.planner });
    const entry = await takeDue(opened);
    await Promise.all([opened.planner.release(), opened.lane.release()]);
    await Promise.all([take(opened.connection, 'plan'), take(opened.connection, 'lane')]);
    const before = await dump(opened.connection);
    await expect(act(opened, entry)).rejects.toMatchObject({ actor: 'conflict', code: 'lease-lost' });
    expect(await dump(opened.connection)).toBe(before);
  });
});

test('an emptied outbox leaves nothing behind, and does not affect the others', async () => {
  const { connection, outbox, planner } = await open();
  await outbox.put('doctor', [present('1')], { now: NOW, lease: planner });
  await outbox.put('nurse', [present('1')], { now: NOW, lease: planner });
  await outbox.clear('doctor');
  expect(await connection.keys('*:doctor')).toEqual([`cm:{${TENANT}}:target:doctor`]);
  expect(await outbox.counts('nurse')).toEqual({ pending: 1, failing: 0 });
});

function retry(
  entry: OutboxEntry,
  changes: { dueAt?: number; parked?: boolean; about?: string } = {},
): OutboxSettlement {
  return { entry, kind: 'retry', error: 'server-error', dueAt: NOW, parked: false, ...changes };
}

/** Everything that Redis holds, as text. */
async function dump(connection: Redis): Promise<string> {
  const parts: string[] = [];
  for (const key of (await connection.keys('*')).sort()) {
    const type = await connection.type(key);
    const read = {
      hash: () => connection.hgetall(key),
      zset: () => connection.zrange(key, '0', '-1', 'WITHSCORES'),
      list: () => connection.lrange(key, 0, -1),
      string: () => connection.get(key),
    }[type];
    if (read === undefined) throw new Error(`a key of type ${type}`);
    parts.push(`${key} = ${JSON.stringify(await read())}`);
  }
  return parts.join('\n');
}

describe('an erasure of records', () => {
  const IDENTITY_KEY = Buffer.alloc(32, 7);

  const NOW = Date.parse('2026-06-15T10:00:00Z');

  const removal = (recordId: string, reason: PlannedChange['reason']): PlannedChange => ({
    recordId,
    reason,
    wanted: { want: 'absent', startAt: NOW, endAt: NOW },
    fields: [],
  });

  const linkOf = (recordId: string): Link => ({
    recordId,
    fingerprint: 'fingerprint',
    versionTag: null,
    startAt: NOW,
    endAt: NOW,
    idAttempt: 0,
    remoteId: null,
    drift: null,
  });

  let outbox: Outbox;

  let lease: Lease;

  beforeEach(async () => {
    const connection = redis.connect();
    const links = createLinkStore(connection, TENANT, Buffer.alloc(32, 7));
    const sealer = createSealer([{ id: 'k1', key: Buffer.alloc(32, 9) }], TENANT);
    outbox = createOutbox(connection, TENANT, { sealer, proofs: createProofSealer(IDENTITY_KEY, TENANT) }, links);
    const taken = await createLeases(connection, TENANT, 60_000).tryTake('plan');
    if (taken === null) throw new Error('the lease is taken');
    lease = taken;
    await createTargetStore(connection, TENANT, createProofSealer(Buffer.alloc(32, 7), TENANT)).write('doctor', {
      cursor: 'cursor-1',
    });
  });

  describe('an erasure in the outbox', () => {
    test.each([
      ['arrives while an older change is being sent', 'forgotten', []],
      ['is absent: another change arrives', 'cancelled', ['one']],
    ] as const)('%s: the record of the older change', async (_, reason, noted) => {
      const connection = redis.connect();
      await outbox.put('doctor', [removal('one', 'cancelled')], { now: NOW, lease, run: 'run-1' });
      const [entry] = await outbox.due('doctor', NOW, 10);
      if (entry === undefined) throw new Error('nothing is due');
      await outbox.put('doctor', [removal('one', reason)], { now: NOW, lease });
      await outbox.complete('doctor', [{ entry, kind: 'done', link: linkOf('one'), effect: 'updated' }], {
        now: NOW,
        lease,
      });
      expect(await connection.zrange(keys.unseen(TENANT, 'doctor'), '0', '-1')).toEqual(noted);
      const lines = await createJournal(connection, TENANT, IDENTITY_KEY).read('run-1');
      expect(lines.map(({ recordId }) => recordId)).toEqual(noted);
      expect(await outbox.pendingOf('doctor', 'one')).toMatchObject({ reason });
    });

    test('is not given up when its record leaves the window; others are', async () => {
      await outbox.put('doctor', [removal('one', 'forgotten'), removal('two', 'vanished')], { now: NOW, lease });
      await outbox.abandon('doctor', ['one', 'two', 'three'], lease);
      expect([...(await outbox.pending('doctor')).keys()]).toEqual(['one']);
    });
  });
});
