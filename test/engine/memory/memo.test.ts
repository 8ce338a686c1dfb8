import fc from 'fast-check';
import { expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import type { TargetPlan } from '../../../src/engine/target-plan.ts';
import { changesIn, look, type MemoryWorld, openMemoryWorld, planIn, recordOf, STREAM, turn } from './world.ts';

const IDS = ['a', 'b', 'c', 'd', 'e', 'f'];

/** A change of the source, or time that passes. */
const step = fc.oneof(
  fc.record({
    kind: fc.constant('put' as const),
    id: fc.constantFrom(...IDS),
    inHours: fc.integer({ min: -800, max: 1_600 }),
  }),
  fc.record({ kind: fc.constantFrom('drop' as const, 'cancel' as const), id: fc.constantFrom(...IDS) }),
  fc.record({ kind: fc.constant('wait' as const), hours: fc.integer({ min: 0, max: 400 }) }),
);
type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

function carryOut({ source, clock }: MemoryWorld, one: Step): void {
  const { records } = source.stream(STREAM);
  if (one.kind === 'wait') clock.now += one.hours * HOUR_MS;
  else if (one.kind === 'put') records.set(one.id, recordOf(one.id, { inHours: one.inHours }));
  else if (one.kind === 'drop') records.delete(one.id);
  else records.set(one.id, recordOf(one.id, { isCancelled: true }));
}

/** What a plan does and says. */
function essence(plan: TargetPlan) {
  const { held, postponed, released, timed, abandoned, unchanged, linkCount, omitted } = plan;
  const heldCount = Object.values(held).flat().length;
  return {
    permitted: changesIn(plan),
    heldCount,
    postponed,
    released,
    timed,
    abandoned,
    unchanged,
    linkCount,
    omitted,
  };
}

test('a process that remembers plans as one that does not', async () => {
  let remembered = 0;
  const plansEqually = fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 20 }), async (steps) => {
    const world = openMemoryWorld();
    for (const id of IDS) world.source.stream(STREAM).records.set(id, recordOf(id));
    const engine = world.open();
    for (const one of steps) {
      carryOut(world, one);
      for (let cycles = 0; cycles < 2; cycles += 1) {
        await engine.holds.expire(world.clock.now, world.clock.now + 168 * HOUR_MS);
        const afresh = await look(world.open());
        const cycle = await turn(world, engine);
        expect(essence(planIn(cycle))).toEqual(essence(planIn(afresh)));
        remembered += cycle.doneTargets.length;
      }
    }
  });
  await fc.assert(plansEqually, { numRuns: 40 });
  expect(remembered).toBeGreaterThan(0);
});
