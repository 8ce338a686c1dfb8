import { describe, expect, test } from 'vitest';
import { NO_FAULTS } from '../../../src/engine/memory/source.ts';
import {
  changesIn,
  fill,
  openMemoryWorld,
  planIn,
  recordOf,
  runCycle,
  STREAM,
  settledWorld,
  TARGET,
  turn,
} from './world.ts';

describe('the first cycle', () => {
  test('creates an object for each record', async () => {
    const world = openMemoryWorld();
    fill(world, 3);
    const engine = world.open();
    expect(changesIn(planIn(await runCycle(engine)))).toEqual([
      'present r00 new',
      'present r01 new',
      'present r02 new',
    ]);
    expect([...(await engine.outbox.pending(TARGET)).keys()]).toEqual(['r00', 'r01', 'r02']);
  });

  test('plans nothing again while its changes wait', async () => {
    const world = openMemoryWorld();
    fill(world, 3);
    const engine = world.open();
    await runCycle(engine);
    expect(planIn(await runCycle(engine))).toMatchObject({ permitted: [], unchanged: 3, unsettled: 3 });
  });
});

describe('a later cycle', () => {
  test('plans nothing without a change', async () => {
    const { world, engine } = await settledWorld(3);
    expect(planIn(await turn(world, engine))).toMatchObject({ permitted: [], unchanged: 3, linkCount: 3 });
    const { idleAsOf } = await engine.targetStore.read(TARGET);
    expect(idleAsOf).toBe(world.clock.now - 5 * 60_000);
  });

  test('plans exactly what changed', async () => {
    const { world, engine } = await settledWorld(3);
    const { records, tombstones } = world.source.stream(STREAM);
    records.set('r00', recordOf('r00', { title: 'other' }));
    records.set('new', recordOf('new'));
    records.set('r01', recordOf('r01', { inHours: 25, isCancelled: true }));
    records.delete('r02');
    tombstones.add('r02');
    expect(changesIn(planIn(await turn(world, engine)))).toEqual([
      'absent r01 cancelled',
      'absent r02 cancelled',
      'present new new',
      'present r00 content-changed',
    ]);
  });

  test('removes a missing record only after two readings', async () => {
    const { world, engine } = await settledWorld(8);
    world.source.stream(STREAM).records.delete('r03');
    const first = planIn(await turn(world, engine));
    expect([changesIn(first), first.postponed.map(({ recordId }) => recordId)]).toEqual([[], ['r03']]);
    expect(changesIn(planIn(await turn(world, engine)))).toEqual(['absent r03 vanished']);
    expect(await engine.links.count(TARGET)).toBe(7);
  });

  test('removes nothing of an incomplete list', async () => {
    const { world, engine } = await settledWorld(8);
    world.source.stream(STREAM).faults = { ...NO_FAULTS, endsAfter: 2 };
    for (let cycles = 0; cycles < 3; cycles += 1) {
      expect(planIn(await turn(world, engine))).toMatchObject({ permitted: [], postponed: [], unchanged: 2 });
    }
    expect(await engine.links.count(TARGET)).toBe(8);
  });
});
