import { describe, expect, test } from 'vitest';
import type { PlannedChange } from '../../../src/core/model/plan.ts';
import { itemAt } from '../../../src/engine/memory/items.ts';
import { createMemoryState } from '../../../src/engine/memory/store.ts';
import type { OutboxSettlement } from '../../../src/engine/store.ts';
import type { LinkStore } from '../../../src/state/links.ts';
import type { Outbox } from '../../../src/state/outbox.ts';
import { START as NOW, TARGET } from './world.ts';

const TIME = { startAt: NOW, endAt: NOW + 1 };

function write(recordId: string, fingerprint = 'f'): PlannedChange {
  const wanted = { want: 'present', item: itemAt(recordId, TIME), fingerprint, ...TIME } as const;
  return { recordId, reason: 'new', wanted, fields: [] };
}

function removal(recordId: string, reason: PlannedChange['reason'] = 'vanished'): PlannedChange {
  return { recordId, reason, wanted: { want: 'absent', ...TIME }, fields: [] };
}

const linkOf = (recordId: string) => ({
  ...{ recordId, fingerprint: 'f', ...TIME, versionTag: null, idAttempt: 0, remoteId: null, drift: null },
});

async function open(...changes: PlannedChange[]) {
  const state = createMemoryState(() => NOW);
  const { outbox, leases } = state;
  const lease = await leases.tryTake('lane');
  if (lease === null) throw new Error('the lease is busy');
  await outbox.put(TARGET, changes, { now: NOW, lease, run: 'run' });
  const complete = (...settlements: OutboxSettlement[]) => outbox.complete(TARGET, settlements, { now: NOW, lease });
  const first = async () => (await outbox.due(TARGET, NOW, 1))[0] ?? expect.fail('nothing is due');
  return { ...state, lease, complete, first };
}

test('the lane can use the tables in place of those in Redis', () => {
  const { outbox, links } = createMemoryState(() => NOW);
  const forLane: Pick<
    Outbox,
    | 'abandon'
    | 'clear'
    | 'complete'
    | 'counts'
    | 'due'
    | 'hurry'
    | 'markSent'
    | 'markUnsent'
    | 'nextDueAt'
    | 'pending'
    | 'pendingOf'
    | 'pendingOfSome'
    | 'postpone'
    | 'put'
    | 'raiseRevision'
    | 'takeBack'
    | 'takenOut'
  > = outbox;
  const linksForLane: Pick<LinkStore, 'readSome' | 'recordSeen' | 'unseen'> = links;
  expect([forLane, linksForLane]).toEqual([outbox, links]);
});

describe('a change', () => {
  test('is due by time and id, and inherits whether an older one was sent', async () => {
    const { outbox, lease } = await open(write('b'), write('a'), removal('c'));
    const [a, b] = await outbox.due(TARGET, NOW, 2);
    expect([a?.recordId, a?.revision, b?.recordId, b?.revision]).toEqual(['a', 2, 'b', 1]);
    await outbox.markSent(TARGET, a === undefined ? [] : [a], NOW, lease);
    await outbox.put(TARGET, [write('a', 'g')], { now: NOW, lease });
    expect(await outbox.pendingOf(TARGET, 'a')).toMatchObject({ sent: true, fingerprint: 'g', dueAt: NOW });
    await outbox.markUnsent(TARGET, a === undefined ? [] : [a], lease);
    expect(await outbox.pendingOf(TARGET, 'a')).toMatchObject({ sent: false });
    await outbox.postpone(
      TARGET,
      new Map([
        ['a', NOW + 5],
        ['b', NOW + 3],
        ['c', NOW + 9],
      ]),
      lease,
    );
    expect([await outbox.nextDueAt(TARGET), await outbox.due(TARGET, NOW, 9)]).toEqual([NOW + 3, []]);
    expect(await outbox.hurry(TARGET, NOW)).toBe(3);
    expect(await outbox.nextDueAt(TARGET)).toBe(NOW);
  });

  test('that is done leaves a link; a newer change of the record stays, unsent', async () => {
    const { outbox, links, lease, complete, first } = await open(write('a'));
    const entry = await first();
    await outbox.markSent(TARGET, [entry], NOW, lease);
    await outbox.put(TARGET, [write('a', 'g')], { now: NOW, lease });
    await complete({ entry, kind: 'done', link: linkOf('a') });
    expect(await outbox.pendingOf(TARGET, 'a')).toMatchObject({ fingerprint: 'g', sent: false });
    await complete({ entry: await first(), kind: 'done', link: linkOf('a') });
    expect(await outbox.counts(TARGET)).toEqual({ pending: 0, failing: 0 });
    expect([...(await links.readSome(TARGET, ['a', 'b'])).keys()]).toEqual(['a']);
    expect(links.versionOf(TARGET)).toBe('2');
  });

  test('that failed waits with its code, and only some codes are hurried', async () => {
    const { outbox, complete, first } = await open(write('a'));
    const entry = await first();
    await complete({ entry, kind: 'retry', error: 'timeout', about: 'title', dueAt: NOW + 9, parked: true });
    expect(await outbox.pendingOf(TARGET, 'a')).toMatchObject({
      attempts: 1,
      lastError: 'timeout',
      about: 'title',
      parked: true,
    });
    expect(await outbox.counts(TARGET)).toEqual({ pending: 1, failing: 1 });
    expect(await outbox.hurry(TARGET, NOW, new Set(['other']))).toBe(0);
    expect(await outbox.hurry(TARGET, NOW, new Set(['timeout']))).toBe(1);
    await complete({ entry: await first(), kind: 'retry', error: 'x', dueAt: NOW + 9, parked: false, isAsked: true });
    expect(await outbox.hurry(TARGET, NOW)).toBe(0);
    await complete({ entry, kind: 'next-epoch' });
    expect(await first()).toMatchObject({ idAttempt: 1, attempts: 0 });
  });

  test('that a later write overtook is dropped, and revisions continue above it', async () => {
    const { outbox, targetStore, lease, complete, first } = await open(write('a'));
    await complete({ entry: await first(), kind: 'superseded', link: null, found: 7 });
    expect(await targetStore.read(TARGET)).toMatchObject({ overtaken: 1, plannedAsOf: null });
    await outbox.put(TARGET, [write('b')], { now: NOW, lease });
    expect((await first()).revision).toBe(8);
  });

  test('is abandoned, unless it is an erasure', async () => {
    const { outbox, lease } = await open(write('a'), removal('b', 'forgotten'));
    await outbox.abandon(TARGET, ['a', 'b'], lease);
    expect([...(await outbox.pending(TARGET)).keys()]).toEqual(['b']);
    await outbox.clear(TARGET);
    expect(await outbox.counts(TARGET)).toEqual({ pending: 0, failing: 0 });
  });

  test('of a clock that ran ahead is taken back', async () => {
    const { outbox, lease } = await open();
    await outbox.put(TARGET, [write('a')], { now: NOW + 100, lease });
    await outbox.takeBack(TARGET, NOW, 200);
    expect(await outbox.nextDueAt(TARGET)).toBe(NOW + 100);
    await outbox.takeBack(TARGET, NOW, 10);
    expect(await outbox.pendingOf(TARGET, 'a')).toMatchObject({ dueAt: NOW, enqueuedAt: NOW });
  });
});

test('the time of the last write is that of a confirmed write, not of a failed one', async () => {
  const { targetStore, complete, first } = await open(write('a'));
  const writtenAt = async () => (await targetStore.read(TARGET)).lastWrittenAt;
  await complete({ entry: await first(), kind: 'retry', error: 'timeout', dueAt: NOW, parked: false });
  expect(await writtenAt()).toBeNull();
  await complete({ entry: await first(), kind: 'done', link: linkOf('a') });
  expect(await writtenAt()).toBe(NOW);
});

test('removed objects, and writes while a feed is followed, are remembered', async () => {
  const { outbox, links, targetStore, lease, first } = await open(removal('a'));
  await targetStore.write(TARGET, { cursor: 'c' });
  const by = { now: NOW, lease, recordTakenOut: true };
  await outbox.complete(TARGET, [{ entry: await first(), kind: 'done', link: null }], by);
  expect(await outbox.takenOut(TARGET, ['a', 'b'])).toEqual(new Set(['a']));
  expect(await links.unseen(TARGET)).toEqual(new Map([['a', NOW]]));
  await links.recordSeen(TARGET, ['a']);
  await outbox.put(TARGET, [write('a')], by);
  await outbox.complete(TARGET, [{ entry: await first(), kind: 'done', link: linkOf('a') }], by);
  expect(await outbox.takenOut(TARGET, ['a'])).toEqual(new Set());
});
