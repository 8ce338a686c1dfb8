// Tier: quick. Pure functions.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Hold, PendingChange } from '../../../src/core/model/plan.ts';
import { countQueued, heldRecords, stateOfRecord } from '../../../src/operator/control/record-states.ts';

const someIds = fc.uniqueArray(fc.constantFrom('a', 'b', 'c', 'd', 'e'));

describe('a record', () => {
  test('is in exactly one state, and none that is on hold or pending is in sync', () => {
    fc.assert(
      fc.property(someIds, someIds, someIds, someIds, (linked, edited, waiting, heldIds) => {
        const links = new Map(linked.map((id) => [id, { drift: edited.includes(id) ? ('edited' as const) : null }]));
        const pending = new Map(waiting.map((id) => [id, { lastError: id < 'c' ? 'refused' : null }]));
        const held = new Set(heldIds);
        const all = new Set([...linked, ...waiting, ...heldIds]);
        const inSync = [...all].filter((id) => stateOfRecord(id, { links, pending, held }) === 'in-sync');
        for (const id of all) expect(stateOfRecord(id, { links, pending, held })).not.toBeNull();
        for (const id of inSync)
          expect([held.has(id), pending.has(id), links.get(id)?.drift]).toEqual([false, false, null]);
      }),
    );
  });

  test('is counted in the queue only if its state is pending or failed', async () => {
    await fc.assert(
      fc.asyncProperty(someIds, someIds, async (waiting, heldIds) => {
        const errorOf = (id: string) => (id < 'c' ? 'refused' : null);
        const pending = new Map(waiting.map((id) => [id, { lastError: errorOf(id) } as PendingChange]));
        const held = new Set(heldIds);
        const states = waiting.map((id) => stateOfRecord(id, { links: new Map(), pending, held }));
        const outbox = {
          counts: async () => ({ pending: pending.size, failing: waiting.filter((id) => errorOf(id) !== null).length }),
          pendingOfSome: async (_: string, ids: readonly string[]) =>
            new Map([...pending].filter(([id]) => ids.includes(id))),
        };
        const failing = states.filter((state) => state === 'failed').length;
        const queued = states.filter((state) => state === 'pending').length + failing;
        expect(await countQueued(outbox, 'doctor', heldIds)).toEqual({ pending: queued, failing });
      }),
    );
  });

  test('without stored data has no state', () => {
    expect(stateOfRecord('x', { links: new Map(), pending: new Map(), held: new Set() })).toBeNull();
  });

  test('in two holds is held once, by the older hold', () => {
    const hold = (id: string, createdAt: number, recordIds: string[], state = 'open') =>
      ({ id, target: 'doctor', kind: 'vanished', createdAt, recordIds, state }) as unknown as Hold;
    const holds = [hold('new', 2, ['a', 'b']), hold('old', 1, ['b', 'c']), hold('done', 0, ['d'], 'rejected')];
    const held = heldRecords(holds, 'doctor');
    expect([...held].map(([record, { id }]) => [record, id]).sort()).toEqual([
      ['a', 'new'],
      ['b', 'old'],
      ['c', 'old'],
    ]);
    expect(heldRecords(holds, 'room').size).toBe(0);
  });
});
