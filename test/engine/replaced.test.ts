import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { Hold, PlannedChange } from '../../src/core/model/plan.ts';
import { HOUR_MS } from '../../src/core/model/time.ts';
import {
  checkReading,
  mostShownIfReplaced,
  movedApart,
  type ReadingFacts,
  type ReadingRecords,
  replacesContents,
  replacesIds,
  replacesNearlyAll,
  rewrites,
} from '../../src/engine/replaced.ts';

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

test('no read replaces nearly all if it shows more known records than the limit for its changes', () => {
  fc.assert(
    fc.property(facts, (one) => {
      const isReplaced = replacesIds(one) || replacesContents(one);
      if (isReplaced) expect(one.ids - one.unlisted).toBeLessThanOrEqual(mostShownIfReplaced(one));
    }),
  );
  expect(mostShownIfReplaced({ added: 4, rewritten: 9 })).toBe(-1);
  expect(mostShownIfReplaced({ added: 75, rewritten: 9 })).toBe(25);
  expect(mostShownIfReplaced({ added: 4, rewritten: 12 })).toBe(16);
});

describe('several targets are evaluated together', () => {
  const idsFrom = (first: number, count: number) => Array.from({ length: count }, (_, index) => `r${first + index}`);
  const recordsOf = ({
    ids = [],
    unlisted = new Set<string>(),
    ...given
  }: Partial<Omit<ReadingRecords, 'ids' | 'lacks'>> & {
    ids?: Iterable<string>;
    unlisted?: ReadonlySet<string>;
  }): ReadingRecords => ({
    ids: () => ids,
    lacks: (id) => unlisted.has(id),
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
          return {
            ...{ ids, unlisted: new Set(ids.slice(0, unlisted)), rewritten: new Set(ids.slice(-rewritten)) },
            added: new Set(idsFrom(100 + 10 * index, added)),
          };
        });
        const sizeOf = (name: 'ids' | 'unlisted' | 'added' | 'rewritten') => union(all.map((one) => one[name])).size;
        const whole = {
          ...{ ids: sizeOf('ids'), unlisted: sizeOf('unlisted') },
          ...{ added: sizeOf('added'), rewritten: sizeOf('rewritten') },
        };
        expect(replacesNearlyAll(all.map(recordsOf))).toBe(replacesIds(whole) || replacesContents(whole));
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

test('no more records are counted than the decision needs, and enough for it', () => {
  const rewritten = new Set(Array.from({ length: 12 }, (_, index) => `r${index}`));
  let counted = 0;
  function* ids(): Iterable<string> {
    for (; counted < 1_000; counted += 1) yield `r${counted}`;
  }
  const records = { ids, lacks: () => false, added: new Set<string>(), rewritten, shifts: new Map() };
  expect(replacesNearlyAll([records])).toBe(false);
  expect(counted).toBeLessThan(20);
  expect(replacesNearlyAll([{ ...records, rewritten: new Set() }])).toBe(false);
  expect(counted).toBeLessThan(20);
});

test('a read that shows as many known records as the limit, and no more, replaces nearly all', () => {
  const ids = Array.from({ length: 17 }, (_, index) => `r${index}`);
  const rewritten = new Set(ids.slice(0, 12));
  const rest = { lacks: () => false, added: new Set<string>(), rewritten, shifts: new Map() };
  const isReplaced = (count: number) => replacesNearlyAll([{ ...rest, ids: () => ids.slice(0, count) }]);
  expect([16, 17].map(isReplaced)).toEqual([true, false]);
});

test.each([
  [20, false],
  [90, true],
])(
  'lookups grow with the records of all targets, not with records times targets: %i of 100 rewritten',
  (count, isReplaced) => {
    let lookups = 0;
    const targets = Array.from({ length: 300 }, (_, target): ReadingRecords => {
      const ids = Array.from({ length: 100 }, (_, index) => `${target}/${index}`);
      const lacks = () => {
        lookups += 1;
        return false;
      };
      return { ids: () => ids, lacks, added: new Set(), rewritten: new Set(ids.slice(0, count)), shifts: new Map() };
    });
    expect(replacesNearlyAll(targets)).toBe(isReplaced);
    expect(lookups).toBeLessThan(300 * 100 + 11_000);
  },
);

const WINDOW = { fromAt: 0, toAt: 1_000 * HOUR_MS };
const AT_TEN = { startAt: 10 * HOUR_MS, endAt: 11 * HOUR_MS };
type ReadingInput = Parameters<typeof checkReading>[1];

const changeOf = (recordId: string, reason: PlannedChange['reason'], ...fields: string[]) =>
  ({ recordId, reason, fields }) as unknown as PlannedChange;
const stateOf = (linked: readonly string[], pending: Readonly<Record<string, object>> = {}) =>
  ({
    links: new Map(linked.map((recordId) => [recordId, { recordId, ...AT_TEN }])),
    pending: new Map(
      Object.entries(pending).map(([recordId, changes]) => [
        recordId,
        { recordId, want: 'present', ...AT_TEN, ...changes },
      ]),
    ),
  }) as unknown as ReadingInput['state'];

/** Checks a read in which each record is listed at its time, and that is comparable. */
function checked(input: Partial<ReadingInput> = {}, isComputed = false) {
  return checkReading(
    { essentials: ['time'], isComputed },
    {
      ...{ changes: [], state: stateOf([]), window: WINDOW, isListed: () => true, startOf: () => 10 * HOUR_MS },
      ...{ comparableUnder: 1, holds: [], configVersion: { number: 1, isOurs: true }, ...input },
    },
  );
}

describe('a read is compared with what was written', () => {
  test.each([
    {
      what: 'under the same configuration',
      comparableUnder: 1,
      number: 1,
      isOurs: true,
      found: ['added', 'rewritten'],
    },
    { what: 'after a change of the configuration', comparableUnder: 1, number: 2, isOurs: true, found: ['shifts'] },
    {
      what: 'under a configuration of another process',
      comparableUnder: 1,
      number: 1,
      isOurs: false,
      found: ['shifts'],
    },
    { what: 'after links were rebuilt', comparableUnder: null, number: 2, isOurs: true, found: ['added', 'shifts'] },
    {
      what: 'if contents are computed',
      comparableUnder: 1,
      number: 1,
      isOurs: true,
      isComputed: true,
      found: ['added', 'shifts'],
    },
  ])('$what: by $found', ({ comparableUnder, number, isOurs, isComputed, found }) => {
    const changes = [changeOf('new', 'new'), changeOf('known', 'content-changed', 'time')];
    const input = { changes, state: stateOf(['known']), comparableUnder, configVersion: { number, isOurs } };
    const { added, rewritten, shifts } = checked(input, isComputed).records;
    const all = Object.entries({ added, rewritten, shifts });
    expect(all.filter(([, ids]) => ids.size > 0).map(([name]) => name)).toEqual(found);
  });

  test('a record is new if the target has neither an object nor a pending write of it', () => {
    const changes = [...['a', 'linked', 'waiting'].map((id) => changeOf(id, 'new')), changeOf('b', 'content-changed')];
    expect(checked({ changes, state: stateOf(['linked'], { waiting: {} }) }).records.added).toEqual(new Set(['a']));
  });

  test('a record is rewritten if the read shows it with other essentials', () => {
    const changes = [
      ...['time', 'unlisted'].map((id) => changeOf(id, 'content-changed', 'time')),
      changeOf('text', 'content-changed', 'title'),
    ];
    const { rewritten } = checked({ changes, isListed: (id) => id !== 'unlisted' }).records;
    expect(rewritten).toEqual(new Set(['time']));
  });

  test('every record of the window counts, and those that the read does not show', () => {
    const { records } = checked({ state: stateOf(['a', 'b']), isListed: (id) => id !== 'b' });
    const ids = [...records.ids()];
    expect([ids, ids.filter(records.lacks), records.lacks('unknown')]).toEqual([['a', 'b'], ['b'], false]);
  });

  test('a start is compared with the newest write; a record without a time did not move', () => {
    const state = stateOf(['linked', 'pending', 'timeless'], {
      pending: { startAt: 12 * HOUR_MS, endAt: 13 * HOUR_MS },
    });
    const startOf = (id: string) => (id === 'timeless' ? null : 15 * HOUR_MS);
    const { shifts } = checked({ state, startOf, comparableUnder: null }).records;
    expect([...shifts]).toEqual([
      ['linked', 5 * HOUR_MS],
      ['pending', 3 * HOUR_MS],
      ['timeless', 0],
    ]);
  });
});

describe('a decision on a read', () => {
  const ids = (count: number) => Array.from({ length: count }, (_, index) => `r${index}`);
  type Short = [kind: Hold['kind'], state: Hold['state'], recordIds: string[]];
  const decided = (changes: string[], ...holds: Short[]) =>
    checked({
      changes: changes.map((id) => changeOf(id, 'new')),
      holds: holds.map(([kind, state, recordIds]) => ({ kind, state, recordIds }) as unknown as Hold),
    }).decided;

  test.each<[what: string, changes: number, holds: Short[], expected: ReturnType<typeof decided>]>([
    ['without a hold, and without changes, there is none', 0, [], null],
    ['an approval of three of four changes counts', 4, [['replaced', 'approved', ids(3)]], 'approved'],
    ['an approval of two of four changes does not', 4, [['replaced', 'approved', ids(2)]], null],
    ['an approval of more than the changes counts', 1, [['replaced', 'approved', ids(9)]], 'approved'],
    ['a rejection counts', 4, [['replaced', 'rejected', ids(4)]], 'rejected'],
    ['a hold that waits counts', 4, [['replaced', 'open', ids(4)]], 'open'],
    ['a hold that waits counts while three of four of its records change', 3, [['replaced', 'open', ids(4)]], 'open'],
    ['a hold that waits does not keep a few changes after the read', 3, [['replaced', 'open', ids(5)]], null],
    [
      'an approval precedes a hold that waits',
      4,
      [
        ['replaced', 'open', ids(4)],
        ['replaced', 'approved', ids(4)],
      ],
      'approved',
    ],
    ['a decision about removals does not count', 4, [['vanished', 'approved', ids(4)]], null],
  ])('%s', (_, changes, holds, expected) => {
    expect(decided(ids(changes), ...holds)).toBe(expected);
  });
});
