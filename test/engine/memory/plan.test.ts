import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { heldIn, idsOf, leavingOf, planOf, recordsOf, type Situation, waitingOf } from './planning.ts';
import {
  changesIn,
  decide,
  fill,
  openMemoryWorld,
  planIn,
  recordOf,
  runCycle,
  START,
  STREAM,
  settle,
  settledWorld,
  TARGET,
  turn,
} from './world.ts';

const allIds = (records: readonly { id: string }[]) => records.map(({ id }) => id);
/** A record that ended before the window begins. */
const past = (id: string) => recordOf(id, { inHours: -31 * 24 });
const YESTERDAY = { enqueuedAt: START - DAY_MS };

describe('as time passes, a plan', () => {
  test('releases the object of a record before the window', () => {
    const plan = planOf({ written: [past('old'), recordOf('a')], listed: [recordOf('a')] });
    expect([plan.released, plan.permitted, plan.unchanged]).toEqual([['old'], [], 1]);
  });

  test('releases nothing, and abandons nothing, in a partial read', () => {
    const situation: Situation = { written: [past('old')], pending: [waitingOf(recordOf('unknown'), YESTERDAY)] };
    const [whole, part] = [planOf(situation), planOf({ ...situation, cycle: { reach: 'near' } })];
    expect([whole.reach, whole.released, whole.abandoned]).toEqual(['whole', ['old'], ['unknown']]);
    expect([part.reach, part.released, part.abandoned]).toEqual(['near', [], []]);
  });

  test('ends the pin of a record that was found before the window', () => {
    const plan = planOf({ pinned: ['pinned'], confirmation: { found: [past('pinned'), past('other')] } });
    expect([plan.outlived, plan.hasPins]).toEqual([['pinned'], true]);
    expect(planOf({}).hasPins).toBe(false);
  });

  test('stops a write that was not sent before its record left the window', () => {
    const plan = planOf({ listed: [past('left')], pending: [waitingOf(past('left'))] });
    expect([plan.abandoned, plan.permitted]).toEqual([['left'], []]);
  });
});

describe('a write of yesterday', () => {
  const a = recordOf('a');
  test.each<[what: string, situation: Situation, abandoned: string[]]>([
    ['about whose record nothing is known is abandoned', {}, ['a']],
    ['of a listed record is kept', { listed: [a] }, []],
    ['of a record reported as deleted is replaced by the removal', { tombstones: ['a'] }, []],
    ['of a record that is gone is replaced by the removal', { confirmation: { vanished: new Set(['a']) } }, []],
    ['of a record that a hold keeps stays', { confirmation: { held: new Set(['a']) } }, []],
    [
      'of a record that was missed once is replaced by the removal',
      { confirmation: { missedOnce: new Set(['a']) } },
      [],
    ],
    [
      'of a record with an object is abandoned at the first miss',
      { written: [a], confirmation: { missedOnce: new Set(['a']) } },
      ['a'],
    ],
  ])('%s', (_, situation, abandoned) => {
    expect(planOf({ pending: [waitingOf(a, YESTERDAY)], ...situation }).abandoned).toEqual(abandoned);
  });
});

test('a fresh write is abandoned only if its record was fetched individually without a result', () => {
  const pending = ['asked', 'other'].map((id) => waitingOf(recordOf(id)));
  expect(planOf({ pending, input: { toConfirm: ['asked'] } }).abandoned).toEqual(['asked']);
});

describe('a first run that waits for an approval', () => {
  const rules = { firstRun: 'plan' } as const;
  const listed = recordsOf('r', 2);
  const recordIds = allIds(listed);

  test.each<[what: string, holds: Situation['holds'], held: object, refused: string[]]>([
    ['is held whole', [], { 'first-run': recordIds }, []],
    ['stays held', [{ kind: 'first-run', state: 'open', recordIds }], { 'first-run': recordIds }, []],
    ['stays away after a rejection', [{ kind: 'first-run', state: 'rejected', recordIds }], {}, recordIds],
    [
      'is held after a rejection of something else',
      [{ kind: 'vanished', state: 'rejected', recordIds }],
      { 'first-run': recordIds },
      [],
    ],
    [
      'is held after a rejection in another target',
      [{ kind: 'first-run', state: 'rejected', recordIds, target: 'other' }],
      { 'first-run': recordIds },
      [],
    ],
  ])('%s', (_, holds, held, refused) => {
    const plan = planOf({ rules, listed, ...(holds === undefined ? {} : { holds }) });
    expect([plan.permitted, heldIn(plan), idsOf(plan.refused)]).toEqual([[], held, refused]);
  });

  test('says nothing against the read, and postpones nothing', () => {
    const whole = { postponed: [], replacesAll: false, distrustsReading: false, abandoned: [], reading: null };
    expect(planOf({ rules, listed })).toMatchObject(whole);
  });

  test('is written after the approval', () => {
    const plan = planOf({ rules, listed, stored: { firstRunApprovedAt: START } });
    expect(idsOf(plan.permitted)).toEqual(recordIds);
  });
});

describe('a read that replaces nearly everything', () => {
  const [written, listed] = [recordsOf('own', 12), recordsOf('foreign', 12)];
  const recordIds = allIds(listed);
  const foreign = (state: 'open' | 'approved' | 'rejected') =>
    planOf({ written, listed, holds: [{ kind: 'replaced', state, recordIds }] });

  test.each([
    { state: 'open', permitted: [], held: { replaced: recordIds }, refused: [], replacesAll: true },
    { state: 'approved', permitted: recordIds, held: {}, refused: [], replacesAll: false },
    { state: 'rejected', permitted: [], held: {}, refused: recordIds, replacesAll: true },
  ] as const)(
    'is $state: it is treated as an administrator decided',
    ({ state, permitted, held, refused, replacesAll }) => {
      const plan = foreign(state);
      expect([idsOf(plan.permitted), heldIn(plan), idsOf(plan.refused)]).toEqual([permitted, held, refused]);
      expect([plan.replacesAll, plan.reading?.decided]).toEqual([replacesAll, state]);
      expect([plan.postponed, plan.distrustsReading]).toEqual([[], false]);
    },
  );

  const moved = written.map((record, index) => ({ ...record, startAt: START + (index + 1) ** 2 * HOUR_MS }));
  test.each<[what: string, situation: Situation]>([
    ['new ids', { listed }],
    ['other contents under known ids', { listed: moved }],
    ['other starts under known ids, after links were rebuilt', { listed: moved, stored: { comparableUnder: null } }],
  ])('is recognized by %s, except of objects that the policy left outdated', (_, { stored, ...situation }) => {
    const of = (withheldBefore: readonly string[]) =>
      planOf({ written, ...situation, stored: { ...stored, withheldBefore: new Set(withheldBefore) } }).replacesAll;
    expect([of([]), of(allIds(written))]).toEqual([true, false]);
  });
});

describe('records that are absent', () => {
  test('are removed only after proof: those found or unusable stay, and those not fetched wait', () => {
    const written = ['found', 'unusable', 'unknown', 'gone', ...allIds(recordsOf('r', 40))].map((id) => recordOf(id));
    const plan = planOf({
      written,
      listed: written.slice(4),
      input: { absent: ['found', 'unusable', 'unknown', 'gone'] },
      confirmation: {
        ...{ found: [recordOf('found')], unusable: new Set(['unusable']), vanished: new Set(['gone']) },
        sampled: new Set(['found', 'unusable', 'gone']),
      },
    });
    expect([changesIn(plan), idsOf(plan.postponed), plan.unchanged]).toEqual([
      ['absent gone vanished'],
      ['unknown'],
      41,
    ]);
  });

  test('stay if one was found alone, and the rules decide nothing about it', () => {
    const plan = planOf({
      ...{ written: [recordOf('a')], undecided: ['a'], input: { absent: ['a'] } },
      confirmation: { found: [recordOf('a')] },
    });
    expect([plan.permitted, plan.postponed, plan.omitted]).toEqual([[], [], { undecided: 1 }]);
  });

  test('after the window are planned as removals when they were missed, and left when they were not', () => {
    const written = ['missed', 'asked'].map((id) => recordOf(id, { inHours: 70 * 24 }));
    const plan = planOf({
      written,
      input: { toConfirm: ['missed', 'asked'] },
      confirmation: { missedOnce: new Set(['missed']) },
    });
    expect([plan.permitted, idsOf(plan.postponed)]).toEqual([[], ['missed']]);
  });
});

describe('a decision about a removal', () => {
  const removal = (hold: NonNullable<Situation['holds']>[number]) =>
    planOf({ written: recordsOf('a', 1), tombstones: ['a0'], holds: [hold] });
  const recordIds = ['a0'];

  test.each([
    { kind: 'cancelled', state: 'open', permitted: [], held: { cancelled: ['a0'] }, refused: [], approved: [] },
    { kind: 'cancelled', state: 'rejected', permitted: [], held: {}, refused: ['a0'], approved: [] },
    { kind: 'cancelled', state: 'approved', permitted: ['a0'], held: {}, refused: [], approved: ['a0'] },
    { kind: 'replaced', state: 'approved', permitted: ['a0'], held: {}, refused: [], approved: ['a0'] },
    { kind: 'replaced', state: 'open', permitted: ['a0'], held: {}, refused: [], approved: [] },
    { kind: 'replaced', state: 'rejected', permitted: ['a0'], held: {}, refused: [], approved: [] },
    { kind: 'people', state: 'open', permitted: ['a0'], held: {}, refused: [], approved: [] },
    { kind: 'people', state: 'approved', permitted: ['a0'], held: {}, refused: [], approved: [] },
    { kind: 'manual-changes', state: 'rejected', permitted: ['a0'], held: {}, refused: [], approved: [] },
  ] as const)('$kind, $state', ({ kind, state, permitted, held, refused, approved }) => {
    const plan = removal({ kind, state, recordIds });
    expect([idsOf(plan.permitted), heldIn(plan), idsOf(plan.refused)]).toEqual([permitted, held, refused]);
    expect([...plan.approved]).toEqual(approved);
  });

  test('in another target says nothing here', () => {
    const plan = removal({ kind: 'cancelled', state: 'rejected', recordIds, target: 'other' });
    expect([idsOf(plan.permitted), plan.refused, plan.openHolds.size]).toEqual([['a0'], [], 0]);
  });

  test('is open until it is made', () => {
    const plan = planOf({
      holds: [
        { kind: 'vanished', state: 'open', recordIds: [] },
        { kind: 'cancelled', state: 'rejected', recordIds: [] },
      ],
    });
    expect([...plan.openHolds]).toEqual(['vanished']);
  });
});

describe('a removal that waits for a decision', () => {
  const a = recordOf('a');
  const hold = (kind: 'vanished' | 'cancelled' | 'first-run', state: 'open' | 'approved' | 'rejected') => ({
    ...{ kind, state, recordIds: ['a'] },
  });
  const near = { reach: 'near' } as const;

  test.each<[what: string, situation: Situation, held: object]>([
    ['stays held while nothing is known of its record', {}, { vanished: ['a'] }],
    ['stays held once if its record is absent', { input: { absent: ['a'] } }, { vanished: ['a'] }],
    ['stays held once if its record is reported as deleted', { tombstones: ['a'] }, { cancelled: ['a'] }],
    ['ends if its record is shown', { listed: [a] }, {}],
    ['ends if its record left the window', { written: [past('a')] }, {}],
    ['ends without an object', { written: [] }, {}],
    ['ends if the policy permits no removals', { rules: { policy: 'upsert-only' } }, {}],
  ])('%s', (_, situation, held) => {
    const plan = planOf({ written: [a], cycle: near, holds: [hold('vanished', 'open')], ...situation });
    expect([plan.permitted, heldIn(plan), plan.refused]).toEqual([[], held, []]);
  });

  test.each([
    { kind: 'vanished', state: 'rejected' },
    { kind: 'vanished', state: 'approved' },
    { kind: 'first-run', state: 'open' },
  ] as const)('is not planned by a hold of kind $kind, $state', ({ kind, state }) => {
    const plan = planOf({ written: [a], cycle: near, holds: [hold(kind, state)] });
    expect([plan.permitted, heldIn(plan), plan.refused, plan.postponed]).toEqual([[], {}, [], []]);
  });

  test.each(['vanished', 'cancelled'] as const)('keeps its reason and time: %s', (kind) => {
    const { held } = planOf({ written: [a], cycle: near, holds: [hold(kind, 'open')] });
    const wanted = { want: 'absent', startAt: a.startAt, endAt: START + 25 * HOUR_MS };
    expect(held[kind]).toEqual([{ recordId: 'a', reason: kind, wanted, fields: [] }]);
  });

  test('is not carried out by an approval while nothing is known of its record', () => {
    const plan = planOf({
      written: [a],
      cycle: near,
      holds: [hold('cancelled', 'open'), hold('cancelled', 'approved')],
    });
    expect([plan.permitted, heldIn(plan)]).toEqual([[], { cancelled: ['a'] }]);
  });

  describe('and a pending write of the same record', () => {
    const ids = ['cancelled', 'vanished', 'rejected', 'leaving', 'free', 'unwritten'];
    const written = ids.map((id) => recordOf(id));
    const situation: Situation = {
      ...{ written, cycle: near, tombstones: ['cancelled', 'rejected', 'free'] },
      pending: [
        ...['cancelled', 'vanished', 'rejected', 'free'].map((id) => waitingOf(recordOf(id))),
        leavingOf(recordOf('leaving')),
      ],
      holds: [
        { kind: 'cancelled', state: 'open', recordIds: ['cancelled'] },
        { kind: 'vanished', state: 'open', recordIds: ['vanished', 'leaving', 'unwritten'] },
        { kind: 'cancelled', state: 'rejected', recordIds: ['rejected'] },
      ],
    };

    test.each([
      { withdrawsHeld: true, abandoned: ['cancelled', 'vanished', 'rejected'] },
      { withdrawsHeld: false, abandoned: [] },
    ])('withdraw the write only if the contents require it: $withdrawsHeld', ({ withdrawsHeld, abandoned }) => {
      const plan = planOf({ ...situation, projection: { withdrawsHeld } });
      expect(plan.abandoned).toEqual(abandoned);
      expect(heldIn(plan)).toEqual({ cancelled: ['cancelled'], vanished: ['vanished', 'leaving', 'unwritten'] });
    });
  });
});

test('pending changes are counted by their last attempt, without those that the plan replaces', () => {
  const pending = [
    ...['a', 'b'].map((id) => waitingOf(recordOf(id))),
    ...['c', 'd', 'e'].map((id) => waitingOf(recordOf(id), { lastError: 'refused' })),
    waitingOf(recordOf('replaced', { title: 'earlier' })),
  ];
  const plan = planOf({ pending, listed: ['a', 'b', 'c', 'd', 'e', 'replaced'].map((id) => recordOf(id)) });
  expect([idsOf(plan.permitted), plan.waiting, plan.unsettled]).toEqual([['replaced'], 6, 5]);
  expect(plan.backlog).toEqual({ waiting: 2, failing: 3 });
});

describe('records that the rules exclude', () => {
  const excluded = { linked: 'private', pending: 'private', neither: 'blocked' };
  const situation: Situation = {
    ...{ excluded, listed: Object.keys(excluded).map((id) => recordOf(id)) },
    ...{ written: [recordOf('linked')], pending: [waitingOf(recordOf('pending'))] },
  };

  test.each([
    { namesExcluded: true, named: ['linked', 'pending', 'neither'] },
    { namesExcluded: false, named: ['linked', 'pending'] },
  ])(
    'are counted by code, and named if they were written or the contents name all: $namesExcluded',
    ({ namesExcluded, named }) => {
      const plan = planOf({ ...situation, projection: { namesExcluded } });
      expect(plan.omitted).toEqual({ private: 2, blocked: 1 });
      expect([...plan.omittedRecords]).toEqual(named.map((id) => [id, excluded[id as keyof typeof excluded]]));
      expect(changesIn(plan)).toEqual(['absent linked excluded', 'absent pending excluded']);
    },
  );

  test('are counted together with those that the comparison skips', () => {
    const { omitted } = planOf({ ...situation, passedOver: { private: 5, unused: 0, other: 2 } });
    expect(omitted).toEqual({ private: 7, blocked: 1, other: 2 });
  });
});

describe('changes that the policy withholds', () => {
  const written = recordsOf('r', 30);
  const listed = written.slice(0, -1).map((record, index) => (index === 0 ? { ...record, title: 'other' } : record));
  const gone: Situation = { tombstones: ['r29'] };

  test.each<[policy: 'sync' | 'upsert-only' | 'create-only', omitted: Record<string, string>]>([
    ['sync', {}],
    ['upsert-only', { r29: 'not-removed-by-policy' }],
    ['create-only', { r29: 'not-removed-by-policy', r0: 'not-updated-by-policy' }],
  ])('are counted and named as omitted: %s', (policy, omitted) => {
    const plan = planOf({ written, listed, ...gone, rules: { policy } });
    expect(Object.fromEntries(plan.omittedRecords)).toEqual(omitted);
    expect(plan.omitted).toEqual(Object.fromEntries(Object.values(omitted).map((code) => [code, 1])));
  });

  test('withdraw what waits for the same record', () => {
    const plan = planOf({
      written,
      listed: written.slice(0, -1),
      ...gone,
      pending: [waitingOf(recordOf('r29'))],
      rules: { policy: 'upsert-only' },
    });
    expect([plan.permitted, plan.abandoned]).toEqual([[], ['r29']]);
  });
});

describe('while the list of erased persons may be incomplete', () => {
  const person = (id: string) => recordOf(id, { subjectId: 'p' });
  const recordIds = ['person'];
  const uncertain = (situation: Situation) => planOf({ cycle: { isUncertain: true }, ...situation });

  test.each<[what: string, holds: NonNullable<Situation['holds']>, held: string[], refused: string[]]>([
    ['waits for a decision', [], recordIds, []],
    ['waits while the decision is open', [{ kind: 'people', state: 'open', recordIds }], recordIds, []],
    ['is refused after a rejection', [{ kind: 'people', state: 'rejected', recordIds }], [], recordIds],
    ['waits after a rejection of something else', [{ kind: 'cancelled', state: 'rejected', recordIds }], recordIds, []],
    ['waits after a rejection of others', [{ kind: 'people', state: 'rejected', recordIds: ['other'] }], recordIds, []],
  ])('a write about a person %s, and other writes continue', (_, holds, held, refused) => {
    const plan = uncertain({ listed: [person('person'), recordOf('thing')], holds });
    expect([idsOf(plan.permitted), idsOf(plan.held.people), idsOf(plan.refused)]).toEqual([['thing'], held, refused]);
  });

  test('a person is removed nevertheless', () => {
    const plan = uncertain({ written: [person('person')], tombstones: recordIds });
    expect([changesIn(plan), heldIn(plan)]).toEqual([['absent person cancelled'], {}]);
  });

  test('a rejected removal stays refused', () => {
    const holds = [{ kind: 'cancelled', state: 'rejected', recordIds }] as const;
    expect(idsOf(uncertain({ written: [person('person')], tombstones: recordIds, holds }).refused)).toEqual(recordIds);
  });

  test('a pending write about a person is withdrawn and held, and other pending changes stay', () => {
    const listed = [person('person'), recordOf('thing')];
    const pending = [...listed.map((record) => waitingOf(record)), leavingOf(person('leaving'))];
    const situation: Situation = { listed, pending, written: [person('leaving')], tombstones: ['leaving'] };
    const doubtful = uncertain(situation);
    expect([doubtful.abandoned, heldIn(doubtful), doubtful.permitted]).toEqual([
      ['person'],
      { people: ['person'] },
      [],
    ]);
    expect(doubtful.unsettled).toBe(1);
    const certain = planOf(situation);
    expect([certain.abandoned, heldIn(certain), certain.permitted, certain.unsettled]).toEqual([[], {}, [], 2]);
  });

  test('other reasons to abandon a change still apply', () => {
    const plan = uncertain({
      pending: [waitingOf(recordOf('unknown'), YESTERDAY)],
      projection: { isOfPerson: () => false },
    });
    expect(plan.abandoned).toEqual(['unknown']);
  });
});

describe('over several cycles', () => {
  /** Plans of the next cycles, in short. */
  async function planned({ world, engine }: Awaited<ReturnType<typeof settledWorld>>, cycles: number) {
    const plans = [];
    for (let count = 0; count < cycles; count += 1) plans.push(planIn(await turn(world, engine)));
    return plans.map((plan) => [changesIn(plan).length, Object.keys(heldIn(plan)), plan.refused.length]);
  }

  async function rejectedFirstRun() {
    const world = openMemoryWorld({ firstRun: 'plan' });
    fill(world, 3);
    const engine = world.open();
    await turn(world, engine);
    await decide(engine, 'rejected');
    return { world, engine };
  }

  test('a rejected first run is refused, and not held again', async () => {
    const opened = await rejectedFirstRun();
    expect(await planned(opened, 2)).toEqual([
      [0, [], 3],
      [0, [], 3],
    ]);
    expect(opened.world.connector.objects.size).toBe(0);
  });

  async function foreignReading(state: 'approved' | 'rejected') {
    const opened = await settledWorld(12);
    const { world, engine } = opened;
    const { faults } = world.source.stream(STREAM);
    const foreign = new Map(recordsOf('x', 12).map((record) => [record.id, record]));
    world.source.stream(STREAM).faults = { ...faults, foreign };
    expect(await planned(opened, 1)).toEqual([[0, ['replaced'], 0]]);
    await decide(engine, state);
    return opened;
  }

  test('an approved reading of other data is written', async () => {
    const opened = await foreignReading('approved');
    expect((await planned(opened, 2))[0]).toEqual([24, [], 0]);
    expect([...(await opened.engine.links.read(TARGET)).keys()].sort()).toEqual(allIds(recordsOf('x', 12)).sort());
  });

  test('a rejected reading of other data stays away', async () => {
    const opened = await foreignReading('rejected');
    const before = [...opened.world.connector.objects];
    expect(await planned(opened, 2)).toEqual([
      [0, [], 24],
      [0, [], 24],
    ]);
    expect([...opened.world.connector.objects]).toEqual(before);
  });

  test('a record before the window is released, and its object stays', async () => {
    const { world, engine } = await settledWorld(3);
    world.clock.now += 31 * DAY_MS + HOUR_MS;
    world.source.stream(STREAM).records.delete('r00');
    expect(planIn(await turn(world, engine))).toMatchObject({ permitted: [], postponed: [], released: ['r00'] });
    expect([await engine.links.count(TARGET), world.connector.objects.size]).toEqual([2, 3]);
  });

  test('a reading of the next days changes what it shows, and says nothing of later records', async () => {
    const { world, engine } = await settledWorld(0, {}, { hasParts: true });
    const { records } = world.source.stream(STREAM);
    for (const record of [recordOf('near'), recordOf('same'), recordOf('far', { inHours: 30 * 24 })])
      records.set(record.id, record);
    await turn(world, engine);
    records.delete('far');
    records.set('near', recordOf('near', { title: 'other' }));
    const plan = planIn(await runCycle(engine, { pacedAt: world.clock.now }));
    await settle(engine);
    expect([plan.reach, changesIn(plan)]).toEqual(['near', ['present near content-changed']]);
    expect(await engine.links.count(TARGET)).toBe(3);
  });
});
