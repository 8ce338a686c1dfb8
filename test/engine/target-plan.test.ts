import { expect, test } from 'vitest';
import type { PlannedChange } from '../../src/core/model/plan.ts';
import { isDecided, NONE_HELD, NOTHING_PLANNED, type TargetPlan } from '../../src/engine/target-plan.ts';

const CHANGE = { recordId: '1' } as PlannedChange;
const decided = (changes: Partial<TargetPlan>) => isDecided({ ...NOTHING_PLANNED, ...changes } as TargetPlan);

test('a plan that passes, refuses or abandons is decided', () => {
  expect(decided({})).toBe(true);
  expect(decided({ permitted: [CHANGE], refused: [CHANGE], abandoned: ['1'], released: ['2'] })).toBe(true);
});

test.each([
  ['any kind is held', Object.keys(NONE_HELD).map((kind) => ({ held: { ...NONE_HELD, [kind]: [CHANGE] } }))],
  ['a removal is postponed', [{ postponed: [CHANGE] }]],
  ['the reading replaces nearly everything', [{ replacesAll: true }]],
  ['the scan is distrusted', [{ distrustsReading: true }]],
])('a plan is not decided where %s', (_, plans) => {
  for (const plan of plans) expect(decided(plan), JSON.stringify(plan)).toBe(false);
});
