import type { Pieces } from '../model/pieces.ts';
import type { Hold, PendingChange, PlannedChange, TargetHoldKind } from '../model/plan.ts';
import { DAY_MS, hasPassed, type Instant, type TimeWindow } from '../model/time.ts';
import { type Confirmation, type Confirmations, evidenceOf } from './absence.ts';
import type { Contacts } from './crm-rules.ts';
import type { CycleInput, Planning, TargetInput, TargetSetup } from './cycle-input.ts';
import { type Diff, type PushedState, restoring } from './diff.ts';
import { deletionClass, guard } from './guard.ts';
import { beginningIn, listedIn, snapshotOf, tombstonesIn, windowOf, windowRead } from './mapping-sources.ts';
import { replacedBy } from './moves.ts';
import {
  auditRules,
  type JudgedByPolicy,
  judgeByPolicy,
  POLICY_CODES,
  type WithheldByPolicy,
  withoutForbidden,
} from './policy.ts';
import { checkReading, type ReadingCheck, replacesNearlyAll } from './replaced.ts';
import { weighRestorations } from './restorations.ts';
import { NONE_HELD, type TargetPlan } from './target-plan.ts';
import { type TargetView, viewOf } from './views.ts';

/**
 * Plans one target: the differences, without the changes that the guard withholds.
 * @param contacts targets of contacts by id, for activities and deals
 */
export function* planTarget(
  input: TargetInput,
  cycle: Planning,
  contacts: ReadonlyMap<string, Contacts>,
): Pieces<TargetPlan> {
  const { target, state, stored, pinned } = input;
  const { clinicReading, confirmations } = cycle;
  const window = windowOf(target, clinicReading.startedAt);
  const view = yield* viewOf(input, cycle, contacts);
  const absent = absentOf(input, cycle);
  const compared = yield* compare(input, cycle, { view, absent, window });
  const { difference, stopped, judged, ...omitted } = compared;
  const { permitted } = judged;
  const holds = cycle.holds.filter((hold) => hold.target === target.id);
  // A read of two days proves nothing about later days.
  const isWhole = clinicReading.reach === 'whole';
  const base = {
    target,
    openHolds: new Set(holds.filter(({ state }) => state === 'open').map(({ kind }) => kind)),
    released: isWhole ? difference.released : [],
    timed: difference.timed,
    abandoned: [
      ...(isWhole ? findAbandoned(state.pending.values(), knowledgeOf(input, cycle, view)) : []),
      ...stopped,
      ...judged.abandoned,
    ],
    withheld: judged.withheld,
    reach: clinicReading.reach,
    waiting: state.pending.size,
    outlived: target.stream === 'appointments' ? outlivedOf(confirmations, pinned, window) : [],
    hasPins: pinned.size > 0,
    ...omitted,
    unusable: view.unusable,
    unchanged: difference.unchanged,
    unsettled: difference.unsettled,
    backlog: countOtherPending(withoutForbidden(target.configuration.policy, state), permitted),
    linkCount: state.links.size,
    reading: null,
  };
  if (target.configuration.firstRun === 'plan' && stored.firstRunApprovedAt === null) {
    const refused = holds.some(({ kind, state }) => kind === 'first-run' && state === 'rejected');
    return { ...base, ...withheldWhole('first-run', permitted, refused) };
  }
  const reading = readingOf(input, cycle, { changes: difference.changes, holds });
  if (reading.decided !== 'approved' && replacesNearlyAll([reading.records])) {
    const isRefused = reading.decided === 'rejected';
    const withheld = withheldWhole('replaced', permitted, isRefused);
    return withholdPeople(input, cycle, holds, { ...base, ...withheld, replaced: true, reading });
  }
  const off = new Set(tombstonesOf(target, cycle));
  const speaksOf = (recordId: string) => view.shows(recordId) || absent.has(recordId) || off.has(recordId);
  const guardResult = guarded(input, cycle, { difference: { ...difference, changes: permitted }, holds, speaksOf });
  const abandoned = target.crm === null ? base.abandoned : [...base.abandoned, ...overtaken(guardResult, state)];
  return withholdPeople(input, cycle, holds, { ...base, ...guardResult, abandoned, reading });
}

function countOtherPending({ pending }: PushedState, changes: readonly PlannedChange[]): TargetPlan['backlog'] {
  const replaced = new Set(pending.size === 0 ? [] : changes.map(({ recordId }) => recordId));
  const counts = { waiting: 0, failing: 0 };
  for (const { recordId, lastError } of pending.values()) {
    if (!replaced.has(recordId)) counts[lastError === null ? 'waiting' : 'failing'] += 1;
  }
  return counts;
}

interface Compared extends Pick<TargetPlan, 'omitted' | 'omittedRecords'> {
  difference: Diff;
  /** Records whose pending writes must be abandoned. */
  stopped: string[];
  judged: JudgedByPolicy;
}

function* compare(
  input: TargetInput,
  cycle: CycleInput,
  { view, absent, window }: { view: TargetView; absent: ReadonlySet<string>; window: TimeWindow },
): Pieces<Compared> {
  const { target, state, restorations } = input;
  const excluded: Record<string, number> = {};
  const excludedRecords = new Map<string, string>();
  const stopped: string[] = [];
  const { policy } = target.configuration;
  const difference = yield* view.compare({
    vanished: absent,
    tombstones: tombstonesOf(target, cycle),
    window,
    restores: restoring(auditRules(target.configuration), restorations),
    ...(target.crm === null ? { replaced: replacedBy(input, cycle) } : {}),
    identity: target.identity,
    state: withoutForbidden(policy, withoutWaitingPeople(target, cycle, state)),
    onOmitted(recordId, code) {
      excluded[code] = (excluded[code] ?? 0) + 1;
      const isWritten = state.links.has(recordId) || state.pending.has(recordId);
      if (target.crm !== null || isWritten) excludedRecords.set(recordId, code);
    },
    onStopped: (recordId) => stopped.push(recordId),
  });
  const passedOver = view.countPassedOver(window);
  if (passedOver > 0) excluded.agenda = (excluded.agenda ?? 0) + passedOver;
  const judged = judgeByPolicy(policy, difference.changes, state);
  countWithheld(judged.withheld, excluded, excludedRecords);
  return { difference, stopped, judged, omitted: excluded, omittedRecords: excludedRecords };
}

/** Counts records with a withheld change as omitted. */
function countWithheld(withheld: WithheldByPolicy, counts: Record<string, number>, records: Map<string, string>): void {
  for (const name of ['notRemoved', 'notUpdated'] as const) {
    const ids = withheld[name];
    if (ids.length > 0) counts[POLICY_CODES[name]] = ids.length;
    for (const recordId of ids) records.set(recordId, POLICY_CODES[name]);
  }
}

/** Returns records of the target's stream that a list reports only as cancelled or deleted. */
function tombstonesOf(target: TargetInput['target'], { clinicReading }: CycleInput): string[] {
  const snapshot = snapshotOf(clinicReading, target);
  return snapshot === null ? [] : tombstonesIn(snapshot);
}

/** Returns the known facts about records with pending changes. */
function knowledgeOf({ target, state, missing }: TargetInput, cycle: CycleInput, view: TargetView) {
  const { vanished, present, missedOnce } = cycle.confirmations[target.stream];
  const isMissing = new Set(missing);
  const off = new Set(tombstonesOf(target, cycle));
  return {
    window: windowOf(target, cycle.clinicReading.startedAt),
    now: cycle.now,
    speaksOf: (id: string) =>
      view.shows(id) ||
      off.has(id) ||
      vanished.has(id) ||
      present.has(id) ||
      (missedOnce.has(id) && !state.links.has(id)),
    isMissing: (id: string) => isMissing.has(id),
  };
}

/** Compares the read with the target's state. */
function readingOf(
  { target, state, stored }: TargetInput,
  { clinicReading, configVersion }: CycleInput,
  { changes, holds }: { changes: readonly PlannedChange[]; holds: readonly Hold[] },
): ReadingCheck {
  const snapshot = snapshotOf(clinicReading, target);
  const { comparableUnder, withheldBefore } = stored;
  // Objects that an earlier plan left outdated say nothing about this read.
  const shows = snapshot === null ? () => false : listedIn(snapshot);
  const isListed = (id: string) => withheldBefore.has(id) || shows(id);
  const startOf = (id: string) => (withheldBefore.has(id) ? null : beginningIn(clinicReading, target, id));
  const window = windowRead(target, clinicReading);
  return checkReading(target, {
    changes: changes.filter(({ recordId }) => !withheldBefore.has(recordId)),
    state,
    window,
    isListed,
    startOf,
    comparableUnder,
    holds,
    configVersion,
  });
}

/** Withholds a complete plan until an administrator decides, or after a rejection. */
function withheldWhole(kind: 'first-run' | 'replaced', changes: PlannedChange[], isRefused: boolean) {
  return {
    passed: [],
    held: { ...NONE_HELD, [kind]: isRefused ? [] : changes },
    refused: isRefused ? changes : [],
    postponed: [],
    replaced: false,
    distrustsReading: false,
    approved: new Set<string>(),
    restoring: new Set<string>(),
  };
}

/** Returns records whose removal waits for an administrator or was rejected. Their pending writes must not be sent. */
function overtaken({ held, refused }: Pick<TargetPlan, 'held' | 'refused'>, { pending }: PushedState): string[] {
  const withheldIds = [...held.cancelled, ...held.vanished, ...refused].map(({ recordId }) => recordId);
  return withheldIds.filter((recordId) => pending.get(recordId)?.want === 'present');
}

function outlivedOf({ appointments }: Confirmations, pinned: ReadonlySet<string>, window: TimeWindow): string[] {
  return appointments.found.filter(({ id, time }) => pinned.has(id) && hasPassed(time, window)).map(({ id }) => id);
}

/**
 * Returns records whose removal is planned and requires proof: records missing from the list and not found individually, and gone records
 * in any position.
 */
function absentOf({ target, absent, missing }: TargetInput, { confirmations }: CycleInput): Set<string> {
  const { found, unusable, vanished, missedOnce }: Confirmation<{ id: string }> = confirmations[target.stream];
  const isThere = new Set([...found.map((one) => one.id), ...unusable]);
  const gone = missing.filter((recordId) => missedOnce.has(recordId));
  return new Set([...vanished, ...gone, ...absent.filter((recordId) => !isThere.has(recordId))]);
}

interface Weighed {
  difference: Diff;
  /** Holds of the target. */
  holds: readonly Hold[];
  /** Whether this cycle found the record, or found it absent. */
  speaksOf(recordId: string): boolean;
}

function guarded(input: TargetInput, { confirmations }: CycleInput, { difference, speaksOf, ...weighed }: Weighed) {
  const { target, state } = input;
  // A distrusted read proves nothing about changes of another read.
  const holds = weighed.holds.filter(
    ({ kind, state }) =>
      kind !== 'people' && kind !== 'manual-changes' && (kind !== 'replaced' || state === 'approved'),
  );
  const released = new Set(difference.released);
  const { policy } = target.configuration;
  const stillHeld = judgeByPolicy(policy, heldRemovals(holds, state), state).permitted.filter(
    ({ recordId }) => !speaksOf(recordId) && !released.has(recordId),
  );
  const decided = (wanted: Hold['state']) =>
    new Set(holds.filter((hold) => hold.state === wanted).flatMap((hold) => hold.recordIds));
  const approved = decided('approved');
  const restorations = weighRestorations({
    ...{ changes: difference.changes, state, holds: weighed.holds },
    ...{ restoredBefore: input.gone.hour.restored, limit: target.configuration.guard.vanished },
  });
  const guardResult = guard({
    changes: [...restorations.passed, ...stillHeld],
    linkCount: state.links.size,
    gone: input.gone,
    absence: evidenceOf(confirmations[target.stream], input.absent, (id) => state.links.has(id)),
    limits: target.configuration.guard,
    approved,
    waiting: decided('open'),
    rejected: decided('rejected'),
  });
  const heldBefore = new Set(stillHeld);
  const held = {
    ...{ ...NONE_HELD, 'manual-changes': restorations.held },
    ...{ cancelled: [...guardResult.held.cancelled], vanished: [...guardResult.held.vanished] },
  };
  for (const change of guardResult.passed.filter((each) => heldBefore.has(each)))
    held[deletionClass(change) ?? 'vanished'].push(change);
  const passed = guardResult.passed.filter((change) => !heldBefore.has(change));
  const refused = [...guardResult.refused, ...restorations.refused];
  return { ...guardResult, passed, held, refused, approved, restoring: restorations.restoring, replaced: false };
}

/** Returns removals that wait for an administrator, as planned. */
function heldRemovals(holds: readonly Hold[], { links }: PushedState): PlannedChange[] {
  return holds
    .filter(({ state, kind }) => state === 'open' && kind !== 'first-run')
    .flatMap(({ kind, recordIds }) =>
      recordIds.flatMap((recordId): PlannedChange[] => {
        const link = links.get(recordId);
        const reason = kind === 'cancelled' ? 'cancelled' : 'vanished';
        return link === undefined
          ? []
          : [{ recordId, reason, wanted: { want: 'absent', startAt: link.startAt, endAt: link.endAt }, fields: [] }];
      }),
    );
}

type Doubtable = Pick<CycleInput, 'isUncertain' | 'clinicReading' | 'confirmations'>;

/** Changes of a target's plan. */
interface Parts {
  passed: PlannedChange[];
  held: Readonly<Record<TargetHoldKind, PlannedChange[]>>;
  refused: PlannedChange[];
  abandoned: string[];
}

/**
 * Withholds writes with patient data while the list of erased patients may be incomplete: creates, updates and pending writes. Blocked
 * time, and removals that the guard permits, continue.
 * @param holds holds of the target
 */
function withholdPeople<Plan extends Parts>(
  { target, state: { pending } }: Pick<TargetInput, 'target' | 'state'>,
  cycle: Doubtable,
  holds: readonly Hold[],
  plan: Plan,
): Plan {
  if (!cycle.isUncertain) return plan;
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

/**
 * Returns the state for the comparison. If erased patients are uncertain, pending writes of patients are left out, so that they are planned
 * again and withheld.
 */
function withoutWaitingPeople(target: TargetSetup, cycle: Doubtable, state: PushedState): PushedState {
  if (!cycle.isUncertain) return state;
  const isOfPerson = personsIn(target, cycle);
  const stays = [...state.pending].filter(([recordId, { want }]) => want === 'absent' || !isOfPerson(recordId));
  return { ...state, pending: new Map(stays) };
}

/** A record is treated as a patient's record unless it is known to have no patient. */
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

/** An older change is not written if the plan has no information about its record. */
const DOUBTFUL_AFTER_MS = DAY_MS;

/** Known facts about records with pending changes. */
export interface Knowledge {
  window: TimeWindow;
  now: Instant;
  /** Whether this cycle found the record. */
  speaksOf(recordId: string): boolean;
  /** Whether the record is missing from a complete list and an individual fetch did not find it. */
  isMissing(recordId: string): boolean;
}

/**
 * Returns pending changes of records without information in this plan, if the change left the window or is old. They are not sent. No
 * change is lost: a record that appears again is compared and planned again.
 */
export function findAbandoned(
  pending: Iterable<PendingChange>,
  { window, now, speaksOf, isMissing }: Knowledge,
): string[] {
  const isDoubtful = (waiting: PendingChange) => {
    const isOld = waiting.enqueuedAt <= now - DOUBTFUL_AFTER_MS;
    if (hasPassed(waiting, window)) return isOld || waiting.parked;
    // Removals were proven at planning time. A write that may have been sent must be completed.
    return waiting.want === 'present' && !waiting.sent && (isOld || isMissing(waiting.recordId));
  };
  return [...pending]
    .filter((waiting) => !speaksOf(waiting.recordId) && isDoubtful(waiting))
    .map(({ recordId }) => recordId);
}
