import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asMirrorError } from '../../../src/core/model/errors.ts';
import { DAY_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { type Crash, CrashPlan } from './crashes.ts';
import { fill, type MemoryWorld, openMemoryWorld, recordOf, runCycle, STREAM, settle, TARGET, turn } from './world.ts';

/** Changes of the world before each cycle: new, changed, cancelled, missing and held records, and a decision. */
const CHANGES: readonly ((world: MemoryWorld) => unknown)[] = [
  (world) => fill(world, 10),
  (world) => {
    const { records } = world.source.stream(STREAM);
    records.set('r00', recordOf('r00', { title: 'other' }));
    records.set('r01', recordOf('r01', { inHours: 25, isCancelled: true }));
    records.set('new', recordOf('new'));
    records.delete('r02');
  },
  (world) => {
    for (const id of ['r03', 'r04', 'r05', 'r06', 'r07', 'r08']) world.source.stream(STREAM).records.delete(id);
  },
  approveAll,
];

/** Cycles after each change: a failed target is planned in the next cycle, and a missing record is removed after two reads. */
const CYCLES = 3;

async function approveAll({ state: { holds }, clock: { now } }: MemoryWorld): Promise<void> {
  for (const { id } of await holds.list()) await holds.decide(id, { state: 'approved', now, expiresAt: now + DAY_MS });
}

/** Runs all cycles, each again in a new process if its process failed. */
async function run(crash: Crash | null) {
  const world = openMemoryWorld();
  const plan = new CrashPlan(crash);
  for (const change of CHANGES) {
    await change(world);
    for (let done = 0; done < CYCLES; world.clock.now += 5 * MINUTE_MS) {
      const { engine, hung } = plan.watch(world.open());
      const work = runCycle(engine).then(() => settle(engine));
      if (await Promise.race([work.then(() => true, isFailed), hung.then(() => false)])) done += 1;
    }
  }
  for (let done = 0; done < CYCLES; done += 1) await turn(world, world.open());
  return { calls: plan.calls, end: await stateOf(world) };
}

/** Only the planned failure may happen, or a lease whose taking was not answered is still held. */
function isFailed(error: unknown): boolean {
  expect(['unavailable', 'lease-busy']).toContain(asMirrorError(error).code);
  return false;
}

/** State for later cycles, without times, counters, and misses of records that are gone from the target. */
async function stateOf({ connector, state: { links, outbox, holds, targetStore } }: MemoryWorld) {
  const record = await targetStore.read(TARGET);
  const written = await links.read(TARGET);
  const { container, failure, gaps, unconfirmed, plannedUnder, comparableUnder, plannedAsOf, idleAsOf } = record;
  return {
    objects: [...connector.objects.values()].map(({ key, item }) => [key, item]).sort(),
    links: [...written.values()].map(({ recordId, fingerprint }) => [recordId, fingerprint]).sort(),
    pending: [...(await outbox.pending(TARGET)).values()].map(({ recordId, want }) => [recordId, want]).sort(),
    holds: (await holds.list()).map(({ kind, state, recordIds }) => [kind, state, recordIds.toSorted()]),
    misses: [...(await targetStore.misses(STREAM)).keys()].filter((recordId) => written.has(recordId)),
    record: { container, failure, gaps, unconfirmed, plannedUnder, comparableUnder },
    isInSync: plannedAsOf !== null && plannedAsOf === idleAsOf,
  };
}

describe('a crash at any call', () => {
  test('changes nothing in the end', async () => {
    const whole = await run(null);
    expect(whole.end.links.map(([recordId]) => recordId)).toEqual(['new', 'r00', 'r09']);
    expect(whole.end).toMatchObject({ pending: [], isInSync: true });
    const crash = fc.record({
      at: fc.integer({ min: 1, max: whole.calls }),
      when: fc.constantFrom<Crash['when']>('before', 'after'),
      how: fc.constantFrom<Crash['how']>('hangs', 'throws'),
    });
    const holds = fc.asyncProperty(crash, async (one) => {
      expect((await run(one)).end).toEqual(whole.end);
    });
    await fc.assert(holds, { numRuns: 300 });
  });
});
