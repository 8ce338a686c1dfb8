import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { asMirrorError } from '../../../src/core/model/errors.ts';
import { HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { auditTarget } from '../../../src/engine/audit-target.ts';
import type { MemoryEngine } from '../../../src/engine/memory/engine.ts';
import { laneLease } from '../../../src/engine/store.ts';
import { type Crash, CrashPlan } from './crashes.ts';
import { type MemoryWorld, planIn, recordOf, STREAM, settledWorld, TARGET, turn } from './world.ts';

const NEVER = new AbortController().signal;

function audited(engine: MemoryEngine) {
  const target = engine.targets.get(TARGET);
  if (target === undefined) throw new Error('there is no target');
  return auditTarget(engine, target, NEVER, { whole: true });
}

/** Titles of the objects, by record. */
async function titlesIn({ connector, state: { links } }: MemoryWorld, engine: MemoryEngine) {
  const { identity } = engine.targets.get(TARGET) ?? {};
  const written = [...(await links.read(TARGET)).values()];
  return new Map(
    written.map(({ recordId, idAttempt }) => {
      const item = connector.objects.get(identity?.key(recordId, idAttempt) ?? '')?.item;
      return [recordId, item !== undefined && 'title' in item ? item.title : null];
    }),
  );
}

/** Keys of the objects, in the order of their creation. */
const keysIn = ({ connector }: MemoryWorld) => [...connector.objects.keys()];

describe('an audit', () => {
  test('of an untouched target checks every object, and no plan has work', async () => {
    const { world, engine } = await settledWorld(10);
    expect(await audited(engine)).toMatchObject({ checked: 10, edited: 0, removed: 0, unlinked: 0 });
    expect(planIn(await turn(world, engine)).permitted).toEqual([]);
  });

  test('finds edited and removed objects, and the next cycle restores them', async () => {
    const { world, engine } = await settledWorld(10);
    const before = await titlesIn(world, engine);
    const [edited = '', removed = ''] = keysIn(world);
    world.connector.edit(edited, 'other');
    world.connector.remove(removed);
    expect(await audited(engine)).toMatchObject({ edited: 1, removed: 1 });
    await turn(world, engine);
    expect(await titlesIn(world, engine)).toEqual(before);
    expect(await audited(engine)).toMatchObject({ edited: 0, removed: 0 });
  });

  test('leaves what users changed if the target only reports it', async () => {
    const { world, engine } = await settledWorld(10, { audit: { drift: 'report', rewritesPerDay: 3 } });
    const [edited = ''] = keysIn(world);
    world.connector.edit(edited, 'other');
    expect(await audited(engine)).toMatchObject({ edited: 1 });
    await turn(world, engine);
    expect([...(await titlesIn(world, engine)).values()]).toContain('other');
  });

  test('restores an object that is edited again and again as often as the target allows in a day', async () => {
    const { world, engine } = await settledWorld(10);
    const [edited = ''] = keysIn(world);
    const edits = [];
    for (let time = 0; time < 6; time += 1) {
      world.connector.edit(edited, `other ${time}`);
      const report = await audited(engine);
      await turn(world, engine);
      edits.push([report?.churning, [...(await titlesIn(world, engine)).values()].includes(`other ${time}`)]);
    }
    expect(edits.slice(0, 3)).toEqual(Array.from({ length: 3 }, () => [0, false]));
    expect(edits.at(-1)).toEqual([1, true]);
  });

  test('does nothing while another process writes to the target', async () => {
    const { engine } = await settledWorld(2);
    const lane = await engine.leases.tryTake(laneLease(TARGET));
    expect(await audited(engine)).toBeNull();
    await lane?.release();
    expect(await audited(engine)).toMatchObject({ checked: 2 });
  });

  test('that a failing target does not answer records the failure, and removes nothing', async () => {
    const { world, engine } = await settledWorld(5);
    world.connector.faults.failing = asMirrorError(new Error('no answer'));
    expect(await audited(engine)).toBeNull();
    expect((await engine.targetStore.read(TARGET)).failure).not.toBeNull();
    world.connector.faults.failing = null;
    // The target rests after a failure.
    world.clock.now += HOUR_MS;
    await turn(world, engine);
    expect(await titlesIn(world, engine)).toEqual(await titlesIn(world, world.open()));
    expect(keysIn(world)).toHaveLength(5);
  });
});

/** An audit, restorations and a cycle with a change, each again in a new process if its process failed. */
async function run(crash: Crash | null) {
  const { world } = await settledWorld(8);
  const [edited = '', removed = ''] = keysIn(world);
  world.connector.edit(edited, 'other');
  world.connector.remove(removed);
  const plan = new CrashPlan(crash);
  const steps = [(engine: MemoryEngine) => audited(engine), (engine: MemoryEngine) => turn(world, engine)];
  for (const step of [...steps, ...steps]) {
    for (let isDone = false; !isDone; world.clock.now += 5 * MINUTE_MS) {
      const { engine, hung } = plan.watch(world.open());
      const work = step(engine).then(
        () => true,
        () => false,
      );
      isDone = await Promise.race([work, hung.then(() => false)]);
    }
    world.source.stream(STREAM).records.set('new', recordOf('new'));
  }
  const engine = world.open();
  for (let cycles = 0; cycles < 2; cycles += 1) await turn(world, engine);
  await audited(engine);
  await turn(world, engine);
  return { calls: plan.calls, titles: await titlesIn(world, engine), count: keysIn(world).length };
}

test('a crash at any call of an audit, and of the cycle after it, changes nothing in the end', async () => {
  const whole = await run(null);
  expect(whole.count).toBe(9);
  expect([...whole.titles.values()]).not.toContain('other');
  const crash = fc.record({
    at: fc.integer({ min: 1, max: whole.calls }),
    when: fc.constantFrom<Crash['when']>('before', 'after'),
    how: fc.constantFrom<Crash['how']>('hangs', 'throws'),
  });
  const holds = fc.asyncProperty(crash, async (one) => {
    const { titles, count } = await run(one);
    expect({ titles, count }).toEqual({ titles: whole.titles, count: whole.count });
  });
  await fc.assert(holds, { numRuns: 60 });
});
