import { beforeEach, describe, expect, test } from 'vitest';
import type { Link } from '../../src/model/operations.ts';
import type { PlannedChange } from '../../src/model/plan.ts';
import { createHoldStore } from '../../src/state/holds.ts';
import { createJournal, journalLine, openPins } from '../../src/state/journal.ts';
import { keys } from '../../src/state/keys.ts';
import { createLeases, type Lease } from '../../src/state/leases.ts';
import { createLinkStore } from '../../src/state/links.ts';
import { createOutbox, type Outbox } from '../../src/state/outbox.ts';
import { createProofSealer, createSealer } from '../../src/state/sealing.ts';
import { createTargetStore } from '../../src/state/targets.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';
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
    ['comes while an older change is being sent', 'forgotten', []],
    ['is not what came: another change did', 'cancelled', ['one']],
  ] as const)('%s: what is noted of that one', async (_, reason, noted) => {
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

describe('records are taken', () => {
  test('out of journals and pins under the ids of today and of before, each target by its own records', async () => {
    const connection = redis.connect();
    const formerly = { tenant: 'rossi', target: () => 'old-doctor' };
    const journal = createJournal(connection, TENANT, IDENTITY_KEY, { formerly });
    for (const tenant of [TENANT, 'rossi']) {
      const proofs = createProofSealer(IDENTITY_KEY, tenant);
      for (const field of ['doctor\tone', 'old-doctor\tone', 'contacts\tone', 'doctor\ttwo']) {
        const [target = '', recordId = ''] = field.split('\t');
        const place = { run: 'run-1', target, recordId };
        const line = journalLine(proofs, place, { effect: 'deleted', reason: 'vanished', at: NOW });
        await connection.hset(keys.journal(tenant, 'run-1'), field, line);
      }
      await connection.zadd(keys.journals(tenant), NOW, 'run-1');
      const pins = new Map([
        ['one', NOW + 1],
        ['two', NOW + 1],
      ]);
      await openPins(connection, tenant, IDENTITY_KEY).change('old-doctor', () => pins);
    }
    const recordsOf = (target: string) => new Set(target.endsWith('doctor') ? ['one'] : []);
    expect(await journal.erase(recordsOf)).toEqual({ lines: 4, pins: 2 });
    expect((await journal.read('run-1')).map(({ target, recordId }) => `${target} ${recordId}`).sort()).toEqual([
      'contacts one',
      'doctor two',
    ]);
    expect([...(await journal.pinned('doctor', NOW))]).toEqual(['two']);
    expect(await journal.erase(recordsOf)).toEqual({ lines: 0, pins: 0 });
  });

  test('out of holds of their target, also while a person decides; an empty one ends', async () => {
    const holds = createHoldStore(
      redis.connect(),
      TENANT,
      createSealer([{ id: 'k1', key: Buffer.alloc(32, 9) }], TENANT),
    );
    const context = { linkCount: 9, now: NOW, expiresAt: NOW + 1_000 };
    const hold = await holds.cover('doctor', 'vanished', ['one', 'two'], context);
    await holds.cover('doctor', 'cancelled', ['one'], context);
    await holds.cover('contacts', 'vanished', ['one'], context);
    const decided = holds.decide(hold?.id ?? '', { state: 'approved', now: NOW, expiresAt: NOW + 1_000 });
    expect(await holds.erase('doctor', new Set(['one']))).toBe(2);
    await decided;
    const left = (await holds.list()).map(({ target, kind, recordIds }) => [target, kind, recordIds]);
    expect(left.sort()).toEqual([
      ['contacts', 'vanished', ['one']],
      ['doctor', 'vanished', ['two']],
    ]);
    expect((await holds.list()).find(({ id }) => id === hold?.id)?.state).toBe('approved');
  });
});
