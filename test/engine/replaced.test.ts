import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  movedApart,
  type ReadingFacts,
  type ReadingRecords,
  replacesContents,
  replacesIds,
  replacesNearlyAll,
  rewrites,
} from '../../src/engine/replaced.ts';
import type { PlannedChange } from '../../src/model/plan.ts';

const factsOf = (given: Partial<ReadingFacts>): ReadingFacts => ({
  ids: 0,
  unlisted: 0,
  added: 0,
  rewritten: 0,
  ...given,
});

/** What a reading can be: it shows the rest of what is ids, and only what it shows is rewritten. */
const facts: fc.Arbitrary<ReadingFacts> = fc
  .record({ shown: fc.nat(300), unlisted: fc.nat(300), added: fc.nat(300), share: fc.nat(100) })
  .map(({ shown, unlisted, added, share }) => ({
    ids: shown + unlisted,
    unlisted,
    added,
    rewritten: Math.floor((shown * share) / 100),
  }));

describe('ids are replaced', () => {
  test.each<[ids: number, unlisted: number, added: number, isReplaced: boolean]>([
    [5, 5, 5, true],
    [5, 5, 4, false],
    [4, 4, 62, false],
    [62, 62, 62, true],
    [62, 62, 0, false],
    [62, 0, 62, false],
    // Three in four are gone, and three in four of what is shown are new.
    [8, 6, 6, true],
    [8, 5, 62, false],
    [8, 6, 5, false],
    [100, 75, 75, true],
    [100, 74, 300, false],
    [100, 75, 74, false],
  ])('%i ids, %i of them not shown, %i new: %o', (ids, unlisted, added, isReplaced) => {
    expect(replacesIds(factsOf({ ids, unlisted, added }))).toBe(isReplaced);
  });

  test('never by additions only, nor by removals only', () => {
    fc.assert(
      fc.property(facts, (one) => {
        expect(replacesIds({ ...one, unlisted: 0 })).toBe(false);
        expect(replacesIds({ ...one, added: 0 })).toBe(false);
      }),
    );
  });

  test('always when nothing ids is shown, and five or more others are', () => {
    fc.assert(
      fc.property(fc.integer({ min: 5, max: 100_000 }), fc.integer({ min: 5, max: 100_000 }), (ids, added) => {
        expect(replacesIds(factsOf({ ids, unlisted: ids, added }))).toBe(true);
      }),
    );
  });

  test('the more so, the more ids ones are missing and the more others come', () => {
    fc.assert(
      fc.property(facts, fc.nat(300), fc.nat(300), (one, fewer, more) => {
        fc.pre(replacesIds(one));
        const unlisted = Math.min(one.ids, one.unlisted + fewer);
        expect(replacesIds({ ...one, unlisted, added: one.added + more })).toBe(true);
      }),
    );
  });
});

describe('contents are replaced', () => {
  test.each<[ids: number, unlisted: number, rewritten: number, isReplaced: boolean]>([
    [10, 0, 10, true],
    [9, 0, 9, false],
    [12, 0, 9, false],
    [13, 0, 10, true],
    [14, 0, 10, false],
    [62, 0, 62, true],
    [400, 0, 300, true],
    [400, 0, 299, false],
    // Of those that it shows.
    [62, 50, 12, true],
    [62, 48, 10, false],
  ])('%i ids, %i of them not shown, %i rewritten: %o', (ids, unlisted, rewritten, isReplaced) => {
    expect(replacesContents(factsOf({ ids, unlisted, rewritten }))).toBe(isReplaced);
  });

  test('whatever else is new; and never where less than three in four, or less than ten, are rewritten', () => {
    fc.assert(
      fc.property(facts, fc.nat(300), (one, added) => {
        expect(replacesContents({ ...one, added })).toBe(replacesContents(one));
        const shown = one.ids - one.unlisted;
        if (one.rewritten < 10 || one.rewritten * 4 < shown * 3) expect(replacesContents(one)).toBe(false);
        else expect(replacesContents(one)).toBe(true);
      }),
    );
  });
});

describe('a change replaces the subject of a record', () => {
  const change = (reason: PlannedChange['reason'], ...fields: string[]) =>
    ({ reason, fields }) as unknown as PlannedChange;

  test('when it is no longer the target’s, or its essentials differ', () => {
    expect(rewrites(change('excluded'), ['time'])).toBe(true);
    expect(rewrites(change('excluded'), null)).toBe(true);
    expect(rewrites(change('content-changed', 'title', 'time'), ['time'])).toBe(true);
    expect(rewrites(change('content-changed', 'lastname'), null)).toBe(true);
    expect(rewrites(change('content-changed', 'time'), ['time', 'owner'])).toBe(true);
  });

  test('not if only texts differ, nor if a user changed the object, nor if it is new or gone', () => {
    expect(rewrites(change('content-changed', 'title', 'location'), ['time'])).toBe(false);
    expect(rewrites(change('content-changed'), ['time'])).toBe(false);
    for (const reason of ['new', 'cancelled', 'vanished', 'edited-by-hand', 'removed-by-hand'] as const)
      expect(rewrites(change(reason, 'time'), null)).toBe(false);
  });
});

describe('records that moved by different times', () => {
  const HOUR = 3_600_000;
  const apart = (hours: readonly number[]) =>
    movedApart(new Map(hours.map((shift, index) => [`r${index}`, shift * HOUR]))).size;
  const times = (count: number, hours: number) => Array.from({ length: count }, () => hours);

  test.each<[what: string, hours: readonly number[], count: number]>([
    ['nothing moved', times(20, 0), 0],
    ['less than a second, as links tell seconds', times(20, 0.9 / 3_600), 0],
    ['a second, each its own', [1 / 3_600, -1 / 3_600], 2],
    ['a zone as far off as zones are', times(20, 26), 0],
    ['a zone by three times, each of three in ten', [...times(3, 1), ...times(3, 2), ...times(3, 3), 90], 1],
    ['a zone: all by one time', times(20, -6), 0],
    ['a zone: by one time in summer, by another in winter', [...times(12, 5), ...times(8, 6)], 0],
    ['a zone, and meanwhile some appointments by hand', [...times(15, 2), 1, 30, 49, 100, -7], 5],
    ['all alike, but by more than zones are apart', times(20, 27), 20],
    ['two, by the same time', [3, 3], 2],
    ['each by a different time', [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], 10],
    // Another clinic's rows under ids ids: both begin on full hours, so that many are as far apart.
    ['many alike, and as many not', [...times(10, -1), 72, 5, 29, 31, 6, 4, 99, 53, 13, -145], 20],
  ])('%s', (_, hours, count) => {
    expect(apart(hours)).toBe(count);
  });

  test('are the same in any order, and include only moved records', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: -40, max: 40 }), { maxLength: 60 }), (hours) => {
        const told = apart(hours);
        expect(apart(hours.toReversed())).toBe(told);
        expect(told).toBeLessThanOrEqual(hours.filter((shift) => shift !== 0).length);
      }),
    );
  });
});

describe('several targets are evaluated together', () => {
  const idsFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => `r${first + index}`);
  const recordsOf = ({
    ids = [],
    ...given
  }: Partial<Omit<ReadingRecords, 'ids'>> & { ids?: Iterable<string> }): ReadingRecords => ({
    ids: () => ids,
    unlisted: new Set(),
    added: new Set(),
    rewritten: new Set(),
    shifts: new Map(),
    ...given,
  });
  const HOUR = 3_600_000;

  test('ids that are gone in each, with others in their place', () => {
    const one = recordsOf({
      ids: new Set(idsFrom(0, 3)),
      unlisted: new Set(idsFrom(0, 3)),
      added: new Set(['a', 'b']),
    });
    const other = recordsOf({
      ids: new Set(idsFrom(3, 3)),
      unlisted: new Set(idsFrom(3, 3)),
      added: new Set(['c', 'd', 'e']),
    });
    expect([replacesNearlyAll([one]), replacesNearlyAll([other]), replacesNearlyAll([one, other])]).toEqual([
      false,
      false,
      true,
    ]);
  });

  test('with the verdict that all of their records give, though no more are counted than it needs', () => {
    const held = fc.record({
      first: fc.nat(20),
      count: fc.nat(30),
      unlisted: fc.nat(30),
      rewritten: fc.nat(30),
      added: fc.nat(10),
    });
    const union = (lists: Iterable<string>[]) => new Set(lists.flatMap((list) => [...list]));
    fc.assert(
      fc.property(fc.array(held, { maxLength: 4 }), (targets) => {
        const all = targets.map(({ first, count, unlisted, rewritten, added }, index) => {
          const ids = idsFrom(first, count);
          return recordsOf({
            ...{ ids, unlisted: new Set(ids.slice(0, unlisted)), rewritten: new Set(ids.slice(-rewritten)) },
            added: new Set(idsFrom(100 + 10 * index, added)),
          });
        });
        const sizeOf = (name: 'unlisted' | 'added' | 'rewritten') => union(all.map((one) => one[name])).size;
        const ids = union(all.map((one) => one.ids())).size;
        const whole = { ids, unlisted: sizeOf('unlisted'), added: sizeOf('added'), rewritten: sizeOf('rewritten') };
        expect(replacesNearlyAll(all)).toBe(replacesIds(whole) || replacesContents(whole));
      }),
    );
  });

  test('a record in two targets is counted only once', () => {
    const ids = new Set(idsFrom(0, 6));
    const records = recordsOf({ ids, rewritten: ids });
    expect(replacesNearlyAll([records, records])).toBe(false);
    const others = new Set(idsFrom(6, 6));
    expect(replacesNearlyAll([records, recordsOf({ ids: others, rewritten: others })])).toBe(true);
  });

  test('rewritten in one, moved in the other: contents of the second could not be compared', () => {
    const [ids, others] = [idsFrom(0, 6), idsFrom(6, 6)];
    const shifts = new Map(others.map((id, index) => [id, (index + 1) * HOUR]));
    const all = [
      recordsOf({ ids: new Set(ids), rewritten: new Set(ids) }),
      recordsOf({ ids: new Set(others), shifts }),
    ];
    expect(all.map((records) => replacesNearlyAll([records]))).toEqual([false, false]);
    expect(replacesNearlyAll(all)).toBe(true);
  });

  test('shifts that are alike in one target and not in the others excuse nothing', () => {
    const [ids, others] = [idsFrom(0, 12), idsFrom(12, 14)];
    const alike = recordsOf({ ids: new Set(ids), shifts: new Map(ids.map((id) => [id, -HOUR])) });
    const apart = recordsOf({
      ids: new Set(others),
      shifts: new Map(others.map((id, index) => [id, index < 9 ? (index + 30) * HOUR : 0])),
    });
    expect([replacesNearlyAll([alike]), replacesNearlyAll([apart]), replacesNearlyAll([alike, apart])]).toEqual([
      false,
      false,
      true,
    ]);
  });
});
