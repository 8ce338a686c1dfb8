import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { atOnce } from '../../src/core/model/pieces.ts';
import type { TargetInput } from '../../src/domain/cycle-input.ts';
import { projectionsOf } from '../../src/domain/plan-targets.ts';
import { planTargets } from '../../src/engine/plan-targets.ts';
import type { Projections } from '../../src/engine/ports.ts';
import { appointmentOf } from '../domain/arbitraries.ts';
import { type CycleChoice, cycleInputOf, quiet } from '../domain/cycle-input.ts';
import { patientOf } from '../tenant/world.ts';

const COUNT = 20;

function planned(choice: CycleChoice, changes: Partial<Projections<TargetInput>> = {}) {
  const input = cycleInputOf(choice);
  const projections = { ...projectionsOf(input), ...changes };
  const { plans, failed } = atOnce(planTargets({ ...input, reach: choice.reach }, projections));
  return { plans: new Map(plans.map((plan) => [plan.target.id, plan])), failed };
}

test('targets are planned in groups, each after the plans of the earlier groups; plans keep the order of the input', () => {
  const input = cycleInputOf(quiet());
  const order: string[] = [];
  const projections = projectionsOf(input);
  const { plans } = planned(quiet(), {
    of: (one) => {
      order.push(`plan ${one.target.id}`);
      return projections.of(one);
    },
    groups: (targets) => targets.toReversed().map((one) => [one]),
    planned: ({ target }) => void order.push(`planned ${target.id}`),
  });
  const ids = input.targets.map(({ target }) => target.id);
  expect(order).toEqual(ids.toReversed().flatMap((id) => [`plan ${id}`, `planned ${id}`]));
  expect([...plans.keys()]).toEqual(ids);
});

test('a target whose contents cannot be computed is left out, with its error', () => {
  const error = new MirrorError('x', { actor: 'remote', code: 'mapping-failed', retry: 'later' });
  const projections = projectionsOf(cycleInputOf(quiet()));
  const { plans, failed } = planned(quiet(), {
    of(one) {
      if (one.target.id === 'clinic') throw error;
      return projections.of(one);
    },
  });
  expect([...failed]).toEqual([['clinic', error]]);
  expect([...plans.keys()]).toEqual(['doctor', 'contacts', 'activities', 'worked', 'deals']);
});

describe('a reading that replaces nearly all records of a stream', () => {
  const world = (prefix: string) => ({
    ...quiet().now,
    appointments: Array.from({ length: COUNT }, (_, index) => appointmentOf(`${prefix}${index}`, { patientId: '1' })),
  });
  const foreign = () => {
    const { patients, ...now } = world('foreign');
    return quiet({ before: world('own'), now: { ...now, patients: [...patients, patientOf('3')] } });
  };
  const changes = (computesFrom: Projections<TargetInput>['computesFrom']) =>
    [...planned(foreign(), { computesFrom }).plans].map(([id, plan]) => [id, plan.replacesAll, plan.permitted.length]);

  test('changes no target of the stream, and targets of other streams are planned', () => {
    expect(changes(() => [])).toEqual([
      ['doctor', true, 0],
      ['clinic', true, 0],
      ['contacts', false, 1],
      ['activities', true, 0],
      ['worked', true, 0],
      ['deals', false, 0],
    ]);
  });

  test('changes no target that computes contents from the stream', () => {
    const contacts = changes(({ stream }) => (stream === 'patients' ? ['appointments'] : [])).find(
      ([id]) => id === 'contacts',
    );
    expect(contacts).toEqual(['contacts', true, 0]);
  });
});
