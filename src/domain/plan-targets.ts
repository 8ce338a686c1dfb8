import { lazily } from '../core/model/cache.ts';
import type { MirrorError } from '../core/model/errors.ts';
import { FactSearch } from '../core/model/patient-facts.ts';
import type { Pieces } from '../core/model/pieces.ts';
import { hasPassed, type TimeWindow } from '../core/model/time.ts';
import { planTargets as planAll } from '../engine/plan-targets.ts';
import type { Projection, Projections } from '../engine/ports.ts';
import type { TargetPlan as PlanOf } from '../engine/target-plan.ts';
import type { Confirmations } from './absence.ts';
import { type Contacts, contactsAfter, contactsBefore } from './crm-rules.ts';
import type { CycleInput, Planning, TargetInput, TargetSetup } from './cycle-input.ts';
import {
  beginningIn,
  computesFromHistory,
  listedFor,
  snapshotOf,
  tombstonesIn,
  windowOf,
  windowRead,
} from './mapping-sources.ts';
import { replacedBy } from './moves.ts';
import { viewOf } from './views.ts';

/** One cycle's plan for one target. */
export type TargetPlan = PlanOf<TargetSetup>;

/** Plans of one cycle's targets. */
export interface PlannedTargets {
  /** In the order of the input. */
  plans: TargetPlan[];
  /** By id: targets without a plan because of an error, such as a mapping that fails. They remain unchanged. */
  failed: ReadonlyMap<string, MirrorError>;
  /** By target of contacts: patients found gone since the list of patients was read, earlier ones included. */
  gone: ReadonlyMap<string, ReadonlySet<string>>;
}

/** Plans every target of a cycle. Pure: equal input gives equal plans, in pieces or at once, and the input is unchanged. */
export function* planTargets(input: CycleInput): Pieces<PlannedTargets> {
  const projections = projectionsOf(input);
  const planned = yield* planAll({ ...input, reach: input.clinicReading.reach }, projections);
  return { ...planned, gone: projections.gone() };
}

/** What targets show of a clinic, with what planning found out about patients. */
export interface ClinicProjections extends Projections<TargetInput> {
  /** Returns, by target of contacts, patients found gone since the list of patients was read, earlier ones included. */
  gone(): ReadonlyMap<string, ReadonlySet<string>>;
}

/** Returns what targets show of a clinic. Contacts come first, because activities and deals depend on them. */
export function projectionsOf(input: CycleInput): ClinicProjections {
  const cycle: Planning = { ...input, facts: new FactSearch() };
  const contacts = contactsBefore(cycle);
  const isOfContacts = ({ target }: TargetInput) => target.stream === 'patients';
  return {
    groups: (targets) => [targets.filter(isOfContacts), targets.filter((input) => !isOfContacts(input))],
    of: (input) => projectionOf(input, cycle, contacts),
    computesFrom: (target) => (computesFromHistory(target) ? ['appointments'] : []),
    planned(plan) {
      const before = contacts.get(plan.target.id);
      if (before !== undefined) contacts.set(plan.target.id, contactsAfter(before, plan));
    },
    gone: () => new Map([...contacts].map(([id, { gone }]) => [id, gone])),
  };
}

function projectionOf(input: TargetInput, cycle: Planning, contacts: ReadonlyMap<string, Contacts>): Projection {
  const { target } = input;
  const { clinicReading, confirmations } = cycle;
  const { stream, crm } = target;
  const snapshot = snapshotOf(clinicReading, target);
  const window = windowOf(target, clinicReading.startedAt);
  const tombstones = lazily(() => (snapshot === null ? [] : tombstonesIn(snapshot)));
  const predecessors = lazily(() => (crm === null ? replacedBy(input, cycle) : new Map<string, string>()));
  return {
    ...{ window, windowRead: windowRead(target, clinicReading) },
    get tombstones() {
      return tombstones();
    },
    confirmation: confirmations[stream],
    beforeWindow: stream === 'appointments' ? passedIn(confirmations, window) : [],
    get predecessors() {
      return predecessors();
    },
    essentials: crm === null ? ['time'] : stream === 'patients' ? null : ['start'],
    // Properties computed from the past change for all patients at midnight.
    isComputed: crm !== null && (crm.mapping.needs.history || crm.mapping.needs.invoices),
    // A calendar shows a part of the appointments; a CRM nearly all records.
    ...{ namesExcluded: crm !== null, withdrawsHeld: crm !== null },
    isListed: snapshot === null ? () => false : listedFor(target, snapshot, cycle.byAgenda),
    startOf: (recordId) => beginningIn(clinicReading, target, recordId),
    isOfPerson: personsIn(target, cycle),
    view: () => viewOf(input, cycle, contacts),
  };
}

/** Returns individually fetched appointments that left the window. Pinned ones would be fetched for weeks. */
function passedIn({ appointments }: Confirmations, window: TimeWindow): string[] {
  return appointments.found.filter(({ time }) => hasPassed(time, window)).map(({ id }) => id);
}

/** A record is treated as a patient's record unless it is known to have no patient. */
function personsIn(
  { stream }: TargetSetup,
  { clinicReading, confirmations }: Pick<CycleInput, 'clinicReading' | 'confirmations'>,
): (recordId: string) => boolean {
  if (stream !== 'appointments') return () => true;
  const found = lazily(() => new Map(confirmations.appointments.found.map((one) => [one.id, one])));
  return (recordId) => (clinicReading.snapshot.records.get(recordId) ?? found().get(recordId))?.patientId !== null;
}
