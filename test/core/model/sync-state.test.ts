import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SyncState } from '../../../src/core/model/schemas.ts';
import { syncWords, worstOf } from '../../../src/core/model/sync-state.ts';

const IN_SYNC: SyncState = {
  sync: 'in-sync',
  health: 'ok',
  inSyncAsOf: 100,
  firstSync: null,
  pending: 0,
  failing: 0,
  held: 0,
};
const state = (changes: Partial<SyncState> = {}): SyncState => ({ ...IN_SYNC, ...changes });
const firstSync = (written: number, of: number | null) => state({ sync: 'behind', firstSync: { written, of } });

describe('the combined state of targets', () => {
  test.each([
    ['on-hold', 'unknown'],
    ['unknown', 'behind'],
    ['behind', 'in-sync'],
  ] as const)('is %s if one is and another is %s', (worse, better) => {
    for (const order of [
      [worse, better],
      [better, worse],
    ] as const) {
      expect(worstOf(order.map((sync) => state({ sync }))).sync).toBe(worse);
    }
  });

  test.each([
    ['action-required', 'retrying'],
    ['retrying', 'ok'],
  ] as const)('has the worst health: %s before %s', (worse, better) => {
    for (const order of [
      [worse, better],
      [better, worse],
    ] as const) {
      expect(worstOf(order.map((health) => state({ health }))).health).toBe(worse);
    }
  });

  test('are in sync as of the earliest time, and never where one never was', () => {
    expect(worstOf([state({ inSyncAsOf: 7 }), state({ inSyncAsOf: 5 })]).inSyncAsOf).toBe(5);
    expect(worstOf([state({ inSyncAsOf: 7 }), state({ inSyncAsOf: null })]).inSyncAsOf).toBeNull();
  });

  test('have the changes of all', () => {
    const counts = fc.record({ pending: fc.nat(99), failing: fc.nat(99), held: fc.nat(99) });
    fc.assert(
      fc.property(fc.array(counts, { minLength: 1, maxLength: 5 }), (all) => {
        const together = worstOf(all.map((each) => state(each)));
        for (const name of ['pending', 'failing', 'held'] as const) {
          expect(together[name]).toBe(all.reduce((sum, each) => sum + each[name], 0));
        }
      }),
    );
  });

  test('has the progress of the first sync when each state has one', () => {
    expect(worstOf([firstSync(2, 5), firstSync(3, 9)]).firstSync).toEqual({ written: 5, of: 14 });
    expect(worstOf([firstSync(2, 5), firstSync(0, null)]).firstSync).toEqual({ written: 2, of: null });
    expect(worstOf([firstSync(2, 5), state({ sync: 'on-hold' })]).firstSync).toBeNull();
  });

  test('without one nothing is known, and nothing waits', () => {
    expect(worstOf([])).toEqual(state({ sync: 'unknown', inSyncAsOf: null }));
  });
});

test('known progress of a first sync is shown in both languages', () => {
  expect(syncWords(firstSync(2, 5), 'en')).toBe('behind, first sync: 2 of 5 written');
  expect(syncWords(firstSync(2, 5), 'it')).toBe('non aggiornato, prima sincronizzazione: 2 di 5 scritti');
  expect(syncWords(firstSync(0, null), 'en')).toBe('behind');
  expect(syncWords(state({ sync: 'behind' }), 'it')).toBe('non aggiornato');
});
