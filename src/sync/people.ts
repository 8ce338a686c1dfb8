import type { Hold, PlannedChange, TargetHoldKind } from '../model/plan.ts';
import type { CycleInput, TargetInput, TargetSetup } from './cycle-input.ts';
import type { GivenState } from './diff.ts';

type Doubtable = Pick<CycleInput, 'isDoubted' | 'clinicReading' | 'confirmations'>;

/** What of a target's plan this decides. */
interface Parts {
  passed: PlannedChange[];
  held: Readonly<Record<TargetHoldKind, PlannedChange[]>>;
  refused: PlannedChange[];
  abandoned: string[];
}

/**
 * Keeps back what would be written of people while it is not known who was forgotten: creates and updates alike, and what waits from
 * before. Blocked time goes on, and so do removals as the guard lets them.
 * @param holds of the target
 */
export function keepBackPeople<Plan extends Parts>(
  { target, state: { pending } }: Pick<TargetInput, 'target' | 'state'>,
  cycle: Doubtable,
  holds: readonly Hold[],
  plan: Plan,
): Plan {
  if (!cycle.isDoubted) return plan;
  const isOfPerson = personsIn(target, cycle);
  const writes = ({ recordId, wanted }: PlannedChange) => wanted.want === 'present' && isOfPerson(recordId);
  const rejected = new Set(
    holds.filter(({ kind, state }) => kind === 'people' && state === 'rejected').flatMap(({ recordIds }) => recordIds),
  );
  const ofPeople = plan.passed.filter(writes);
  const waiting = [...pending.values()].filter(({ want, recordId }) => want === 'present' && isOfPerson(recordId));
  return {
    ...plan,
    passed: plan.passed.filter((change) => !writes(change)),
    held: { ...plan.held, people: ofPeople.filter(({ recordId }) => !rejected.has(recordId)) },
    refused: [...plan.refused, ...ofPeople.filter(({ recordId }) => rejected.has(recordId))],
    abandoned: [...plan.abandoned, ...waiting.map(({ recordId }) => recordId)],
  };
}

/** What a target is compared with: in doubt without what waits of people, so that it is planned again, and kept back. */
export function withoutWaitingPeople(target: TargetSetup, cycle: Doubtable, state: GivenState): GivenState {
  if (!cycle.isDoubted) return state;
  const isOfPerson = personsIn(target, cycle);
  const stays = [...state.pending].filter(([recordId, { want }]) => want === 'absent' || !isOfPerson(recordId));
  return { ...state, pending: new Map(stays) };
}

/** Whoever is not known to be nobody is a person. */
function personsIn(
  { stream }: TargetSetup,
  { clinicReading, confirmations }: Doubtable,
): (recordId: string) => boolean {
  const found = new Map(confirmations.appointments.found.map((one) => [one.id, one]));
  return (recordId) => {
    if (stream !== 'appointments') return true;
    return (clinicReading.snapshot.records.get(recordId) ?? found.get(recordId))?.patientId !== null;
  };
}
