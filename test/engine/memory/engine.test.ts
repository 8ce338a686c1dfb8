import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import type { MemoryEngine } from '../../../src/engine/memory/engine.ts';
import { NO_FAULTS } from '../../../src/engine/memory/source.ts';
import { SUPERSEDED } from '../../../src/engine/store.ts';
import {
  changesIn,
  decide,
  fill,
  type MemoryWorld,
  openMemoryWorld,
  planIn,
  recordOf,
  runCycle,
  STREAM,
  settle,
  settledWorld,
  TARGET,
  turn,
} from './world.ts';

const recordsOf = (world: MemoryWorld) => world.source.stream(STREAM).records;

/** The holds in short. */
async function holdsOf({ holds }: MemoryEngine) {
  return (await holds.list()).map(({ kind, state, recordIds }) => [kind, state, recordIds.length]);
}

/** Marks links as changed by users. */
async function changeByHand(engine: MemoryEngine, drift: 'edited' | 'removed', count: number) {
  const links = [...(await engine.links.read(TARGET)).values()].slice(0, count);
  const lease = await engine.leases.tryTake('audit');
  if (lease === null) throw new Error('the lease is busy');
  await engine.links.nameDrifted(TARGET, new Set(links.map(({ recordId }) => recordId)));
  await engine.links.writeAll(
    TARGET,
    links.map((link) => ({ ...link, drift })),
    lease,
  );
  await lease.release();
}

describe('too many removals', () => {
  async function tooMany() {
    const { world, engine } = await settledWorld(20);
    for (const id of [...recordsOf(world).keys()].slice(0, 12)) recordsOf(world).delete(id);
    recordsOf(world).set('new', recordOf('new'));
    const first = planIn(await turn(world, engine));
    return { world, engine, first };
  }

  test('are held, while other changes continue', async () => {
    const { engine, first } = await tooMany();
    expect(changesIn(first)).toEqual(['present new new']);
    expect(await holdsOf(engine)).toEqual([['vanished', 'open', 12]]);
    expect(await engine.links.count(TARGET)).toBe(21);
  });

  test('are carried out after an approval', async () => {
    const { world, engine } = await tooMany();
    await decide(engine, 'approved');
    for (let cycles = 0; cycles < 2; cycles += 1) await turn(world, engine);
    expect(await engine.links.count(TARGET)).toBe(9);
  });

  test('are not carried out after a rejection, and not held again', async () => {
    const { world, engine } = await tooMany();
    await decide(engine, 'rejected');
    for (let cycles = 0; cycles < 3; cycles += 1) await turn(world, engine);
    expect(await holdsOf(engine)).toEqual([['vanished', 'rejected', 12]]);
    expect(await engine.links.count(TARGET)).toBe(21);
  });

  test('without a decision are rejected in the end', async () => {
    const { world, engine } = await tooMany();
    world.clock.now += 169 * HOUR_MS;
    await turn(world, engine);
    expect(await holdsOf(engine)).toEqual([['vanished', 'rejected', expect.any(Number)]]);
  });
});

describe('data of another source', () => {
  test('is held as a whole, and the own data continues', async () => {
    const { world, engine } = await settledWorld(12);
    const { faults } = world.source.stream(STREAM);
    const foreign = new Map(Array.from({ length: 12 }, (_, index) => [`x${index}`, recordOf(`x${index}`)]));
    world.source.stream(STREAM).faults = { ...faults, foreign };
    const plan = planIn(await turn(world, engine));
    expect([plan.replacesAll, plan.permitted]).toEqual([true, []]);
    expect(await holdsOf(engine)).toEqual([['replaced', 'open', 24]]);
    world.source.stream(STREAM).faults = faults;
    expect(planIn(await turn(world, engine))).toMatchObject({ replacesAll: false, permitted: [], unchanged: 12 });
    expect(await holdsOf(engine)).toEqual([]);
  });
});

describe('a list that omits a record of the source', () => {
  test('removes nothing, and counts as incomplete', async () => {
    const { world, engine } = await settledWorld(8);
    world.source.stream(STREAM).faults = { ...NO_FAULTS, hidden: new Set(['r01']) };
    recordsOf(world).delete('r02');
    for (let cycles = 0; cycles < 3; cycles += 1) await turn(world, engine);
    expect(await engine.links.count(TARGET)).toBe(8);
    expect((await engine.targetStore.read(TARGET)).gaps).toMatchObject([{ code: 'records-unlisted', count: 1 }]);
  });

  test('removes nothing while no record can be read alone', async () => {
    const { world, engine } = await settledWorld(8);
    recordsOf(world).delete('r02');
    world.source.stream(STREAM).faults = { ...NO_FAULTS, failingAlone: new Set(['r02']) };
    for (let cycles = 0; cycles < 3; cycles += 1) await turn(world, engine);
    expect(await engine.targetStore.read(TARGET)).toMatchObject({
      unconfirmed: 1,
      gaps: [{ code: 'records-unconfirmable' }],
    });
  });
});

describe('a policy', () => {
  async function changed(policy: 'upsert-only' | 'create-only') {
    const { world, engine } = await settledWorld(8, { policy });
    recordsOf(world).set('r00', recordOf('r00', { title: 'other' }));
    recordsOf(world).delete('r01');
    recordsOf(world).set('new', recordOf('new'));
    const first = planIn(await turn(world, engine));
    const second = planIn(await turn(world, engine));
    return { permitted: [...changesIn(first), ...changesIn(second)], withheld: second.withheld, engine };
  }

  test('upsert-only removes nothing', async () => {
    const { permitted, withheld } = await changed('upsert-only');
    expect(permitted).toEqual(['present new new', 'present r00 content-changed']);
    expect(withheld).toEqual({ notRemoved: ['r01'], notUpdated: [] });
  });

  test('create-only changes nothing either', async () => {
    const { permitted, withheld, engine } = await changed('create-only');
    expect(permitted).toEqual(['present new new']);
    expect(withheld).toEqual({ notRemoved: ['r01'], notUpdated: ['r00'] });
    expect(await engine.targetStore.read(TARGET)).toMatchObject({ notRemovedByPolicy: ['r01'] });
  });
});

describe('objects that users removed', () => {
  test('are restored up to the limit, and held above it', async () => {
    const few = await settledWorld(12);
    await changeByHand(few.engine, 'removed', 2);
    expect(changesIn(planIn(await turn(few.world, few.engine)))).toEqual([
      'present r00 removed-by-hand',
      'present r01 removed-by-hand',
    ]);
    const many = await settledWorld(12);
    await changeByHand(many.engine, 'removed', 8);
    expect(planIn(await turn(many.world, many.engine)).permitted).toEqual([]);
    expect(await holdsOf(many.engine)).toEqual([['manual-changes', 'open', 8]]);
    await decide(many.engine, 'approved');
    expect(planIn(await turn(many.world, many.engine)).permitted).toHaveLength(8);
  });

  test('are not restored more often than the rules allow', async () => {
    const { world, engine } = await settledWorld(4);
    await changeByHand(engine, 'edited', 1);
    for (let times = 0; times < 4; times += 1)
      await engine.targetStore.countRestorations(TARGET, ['r00'], world.clock.now);
    expect(planIn(await turn(world, engine)).permitted).toEqual([]);
    world.clock.now += DAY_MS;
    expect(changesIn(planIn(await turn(world, engine)))).toEqual(['present r00 edited-by-hand']);
  });
});

test('a pinned record stays against the rules until its pin ends', async () => {
  const { world, engine } = await settledWorld(4, {
    exclusionOf: ({ title }) => (title === 'private' ? 'private' : null),
  });
  recordsOf(world).set('r00', recordOf('r00', { title: 'private' }));
  await engine.journal.pin(TARGET, ['r00'], world.clock.now + HOUR_MS);
  expect(changesIn(planIn(await turn(world, engine)))).toEqual(['present r00 content-changed']);
  world.clock.now += HOUR_MS;
  expect(changesIn(planIn(await turn(world, engine)))).toEqual(['absent r00 excluded']);
});

test('an uncertain list of erased persons withholds persons, and nothing else', async () => {
  const { world, engine } = await settledWorld(2);
  world.state.protection.lose('state-lost');
  recordsOf(world).set('person', recordOf('person', { subjectId: 'p1' }));
  recordsOf(world).set('thing', recordOf('thing'));
  expect(changesIn(planIn(await turn(world, engine)))).toEqual(['present thing new']);
  expect(await holdsOf(engine)).toEqual([['people', 'open', 1]]);
  world.state.protection.accept();
  expect(changesIn(planIn(await turn(world, engine)))).toEqual(['present person new']);
  world.state.erased.add('p1');
  expect(changesIn(planIn(await turn(world, engine)))).toEqual(['absent person forgotten']);
});

test('a first run waits for an approval if the rules say so', async () => {
  const world = openMemoryWorld({ firstRun: 'plan' });
  fill(world, 3);
  const engine = world.open();
  expect(planIn(await turn(world, engine)).permitted).toEqual([]);
  expect(await holdsOf(engine)).toEqual([['first-run', 'open', 3]]);
  await engine.targetStore.write(TARGET, { firstRunApprovedAt: world.clock.now });
  expect(planIn(await turn(world, engine)).permitted).toHaveLength(3);
});

test('a process with an older configuration plans and writes nothing', async () => {
  const { world, engine } = await settledWorld(3);
  const lease = await engine.leases.tryTake('plan');
  if (lease === null) throw new Error('the lease is busy');
  const newer = world.open({ configuration: 'second' });
  await turn(world, newer);
  expect(lease.signal.aborted).toBe(true);
  await expect(engine.outbox.put(TARGET, [{} as never], { now: 0, lease })).rejects.toMatchObject({
    code: 'lease-lost',
  });
  await expect(runCycle(engine)).rejects.toMatchObject({ code: SUPERSEDED });
  expect(await newer.configVersion.newest()).toEqual({ number: 2, isOurs: true });
  expect(await engine.configVersion.newest()).toEqual({ number: 2, isOurs: false });
});

test('links lost with the state are rebuilt from the objects of the target', async () => {
  const { world } = await settledWorld(0);
  const engine = world.open();
  fill(world, 2);
  await runCycle(engine);
  for (const { recordId, item, revision } of await engine.outbox.due(TARGET, world.clock.now, 9)) {
    const { identity } = engine.targets.get(TARGET) ?? {};
    if (item === null || identity === undefined) continue;
    const names = { key: identity.key(recordId, 0), sealedRecordId: identity.sealedRecordId(recordId) };
    await world.connector.apply('', [{ kind: 'create', recordId, ...names, item, revision }]);
  }
  await settle(engine);
  const lost = openMemoryWorld({ connector: world.connector });
  fill(lost, 2);
  const plan = planIn(await turn(lost, lost.open()));
  expect(plan).toMatchObject({ permitted: [], unchanged: 2, linkCount: 2 });
  expect((await lost.state.targetStore.read(TARGET)).adopted).toBe(2);
});
