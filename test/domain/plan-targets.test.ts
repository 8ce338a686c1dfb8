import fc from 'fast-check';
import { expect, test } from 'vitest';
import { MirrorError } from '../../src/core/model/errors.ts';
import { atOnce, type Pieces } from '../../src/core/model/pieces.ts';
import type { CycleInput } from '../../src/domain/cycle-input.ts';
import { type PlannedTargets, planTargets } from '../../src/domain/plan-targets.ts';
import { FingerprintMemory } from '../../src/engine/identity.ts';
import { patientOf } from '../tenant/world.ts';
import { appointmentOf } from './arbitraries.ts';
import { type CycleChoice, cycleChoices, cycleInputOf, invoiceOf, quiet } from './cycle-input.ts';

/** PLANS=2000 looks longer. */
const PLANS = Number(process.env.PLANS ?? 20);

/** Freezes a value deeply, except functions and caches. */
function frozen<Value>(value: Value): Value {
  if (typeof value !== 'object' || value === null || Object.isFrozen(value)) return value;
  if (value instanceof FingerprintMemory || value instanceof MirrorError) return value;
  if (value instanceof Map || value instanceof Set) {
    const refuse = () => {
      throw new TypeError('the input of a plan was changed');
    };
    Object.assign(value, { set: refuse, add: refuse, delete: refuse, clear: refuse });
    for (const entry of [...value.entries()].flat()) frozen(entry);
  }
  for (const part of Object.values(value)) frozen(part);
  return Object.freeze(value);
}

/** What a plan says, without the setting of its target. */
function told({ plans, failed, gone }: PlannedTargets) {
  return {
    plans: plans.map(({ target, reading, ...plan }) => {
      const { ids, lacks, ...records } = reading?.records ?? { ids: () => [], lacks: () => false };
      const asked = [...ids()].map((id) => [id, lacks(id)]);
      return { ...plan, target: target.id, reading: reading && { ...reading, records: { ...records, asked } } };
    }),
    failed: [...failed.keys()],
    gone: [...gone].map(([id, patients]) => [id, [...patients]]),
  };
}

/** Runs two computations alternately, one piece each. @returns the result of the first */
function byTurns<Result>(first: Pieces<Result>, other: Pieces<Result>): Result {
  const results = new Map<Pieces<Result>, Result>();
  const waiting = [first, other];
  for (let work = waiting.shift(); work !== undefined; work = waiting.shift()) {
    const step = work.next();
    if (step.done === true) results.set(work, step.value);
    else waiting.push(work);
  }
  return results.get(first) as Result;
}

function withFreshMemory(input: CycleInput): CycleInput {
  const fresh = input.targets.map((one) => ({
    ...one,
    target: { ...one.target, fingerprints: new FingerprintMemory() },
  }));
  return { ...input, targets: fresh };
}

test('the same input gives the same plan, at once and in pieces next to another plan, without changing the input', () => {
  fc.assert(
    fc.property(cycleChoices, cycleChoices, (choice, other) => {
      const [input, beside] = [frozen(cycleInputOf(choice)), frozen(cycleInputOf(other))];
      const plan = told(atOnce(planTargets(input)));
      expect(told(byTurns(planTargets(input), planTargets(beside)))).toEqual(plan);
      expect(told(byTurns(planTargets(input), planTargets(input)))).toEqual(plan);
      // Cached fingerprints and reused input do not change the plan.
      expect(told(atOnce(planTargets(withFreshMemory(input))))).toEqual(plan);
      expect(told(atOnce(planTargets(cycleInputOf(choice))))).toEqual(plan);
    }),
    { numRuns: PLANS },
  );
});

/** What a plan would do, by target: records with their reasons. */
function planned(choice: CycleChoice, order = (targets: CycleInput['targets']) => targets) {
  const input = cycleInputOf(choice);
  const { plans, failed, gone } = atOnce(planTargets(frozen({ ...input, targets: order(input.targets) })));
  const told = plans.map(({ target, permitted }) => [
    target.id,
    permitted.map(({ recordId, reason }) => `${recordId} ${reason}`),
  ]);
  return { changes: Object.fromEntries(told), failed: [...failed.keys()], gone: [...(gone.get('contacts') ?? [])] };
}

const NOTHING = { doctor: [], clinic: [], contacts: [], activities: [], worked: [], deals: [] };

test('an unchanged world gives an empty plan', () => {
  expect(planned(quiet())).toEqual({ changes: NOTHING, failed: [], gone: ['departed'] });
});

test('dependent objects are planned with their contact, in any order of targets, and only for patients with an existing or new contact', () => {
  const now = quiet().now;
  const more = {
    appointments: [...now.appointments, appointmentOf('3', { patientId: '3', agendaId: 'a2' })],
    patients: [...now.patients, patientOf('3')],
    invoices: [...now.invoices, invoiceOf({ id: '3', patientId: '3', number: '3' })],
  };
  const all = ['3 new'];
  const theirs = { contacts: all, activities: all, worked: all, deals: all };
  for (const order of [undefined, (targets: CycleInput['targets']) => targets.toReversed()]) {
    expect(planned(quiet({ now: more }), order).changes).toEqual({ ...NOTHING, clinic: all, ...theirs });
  }
  // No contact is written in the meantime.
  const { contacts: _, ...others } = NOTHING;
  expect(planned(quiet({ now: more, isResting: true })).changes).toEqual({ ...others, clinic: all });
});

test('a patient missing from a new list is planned as vanished, and dependent objects are removed', () => {
  const { patients, ...rest } = quiet().now;
  const now = { ...rest, patients: patients.slice(1) };
  const theirs = ['1 excluded'];
  const { changes, gone } = planned(quiet({ now, alone: ['vanished'] }));
  expect(changes).toEqual({ ...NOTHING, contacts: ['1 vanished'], activities: theirs, worked: theirs, deals: theirs });
  expect(gone).toEqual(['departed', '1']);
});

test('a target whose mapping fails is unchanged, and does not block the plans of others', () => {
  const { appointments, ...rest } = quiet().now;
  const now = { ...rest, appointments: [...appointments, appointmentOf('3', { patientId: '1' })] };
  const { changes, failed } = planned(quiet({ now, isUnworked: true }));
  const all = ['3 new'];
  const { worked: _, ...others } = NOTHING;
  expect(changes).toEqual({ ...others, doctor: all, clinic: all, activities: all });
  expect(failed).toEqual(['worked']);
});
