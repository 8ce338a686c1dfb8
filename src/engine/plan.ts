import type { Pieces } from '../core/model/pieces.ts';
import type { Hold, PendingChange, PlannedChange, TargetHoldKind } from '../core/model/plan.ts';
import { DAY_MS, hasPassed, type Instant, type TimeWindow } from '../core/model/time.ts';
import { evidenceOf } from './absence.ts';
import { type Diff, type PushedState, restoring } from './diff.ts';
import { deletionClass, guard } from './guard.ts';
import {
  auditRules,
  type JudgedByPolicy,
  judgeByPolicy,
  POLICY_CODES,
  type WithheldByPolicy,
  withoutForbidden,
} from './policy.ts';
import type { CycleInput, Projection, TargetInput, TargetView } from './ports.ts';
import { checkReading, type ReadingCheck, replacesNearlyAll } from './replaced.ts';
import { weighRestorations } from './restorations.ts';
import { NONE_HELD, type TargetPlan } from './target-plan.ts';

/** Parts of one target's plan. */
interface Planning {
  input: TargetInput;
  cycle: CycleInput;
  projection: Projection;
  /** Holds of the target. */
  holds: readonly Hold[];
}

/** Plans one target: the differences, without the changes that the guard withholds. */
export function* planTarget<Input extends TargetInput>(
  input: Input,
  cycle: CycleInput,
  projection: Projection,
): Pieces<TargetPlan<Input['target']>> {
  const { target, state, stored, pinned } = input;
  const { configuration } = target;
  const holds = cycle.holds.filter((hold) => hold.target === target.id);
  const planning: Planning = { input, cycle, projection, holds };
  const view = yield* projection.view();
  const absent = removalsToProve(input, projection);
  const compared = yield* compare(planning, view, absent);
  const { difference, stopped, judged, ...omitted } = compared;
  const { permitted } = judged;
  // A partial read proves nothing about the rest.
  const isWhole = cycle.reach === 'whole';
  const base = {
    target,
    openHolds: new Set(holds.filter(({ state }) => state === 'open').map(({ kind }) => kind)),
    released: isWhole ? difference.released : [],
    timed: difference.timed,
    abandoned: [
      ...(isWhole ? findAbandoned(state.pending.values(), knowledgeOf(planning, view)) : []),
      ...stopped,
      ...judged.abandoned,
    ],
    withheld: judged.withheld,
    reach: cycle.reach,
    waiting: state.pending.size,
    outlived: projection.beforeWindow.filter((recordId) => pinned.has(recordId)),
    hasPins: pinned.size > 0,
    ...omitted,
    unusable: view.unusable,
    unchanged: difference.unchanged,
    unsettled: difference.unsettled,
    backlog: countOtherPending(withoutForbidden(configuration.policy, state), permitted),
    linkCount: state.links.size,
    reading: null,
  };
  if (configuration.firstRun === 'plan' && stored.firstRunApprovedAt === null) {
    const refused = holds.some(({ kind, state }) => kind === 'first-run' && state === 'rejected');
    return { ...base, ...withheldWhole('first-run', permitted, refused) };
  }
  const reading = readingOf(planning, difference.changes);
  if (reading.decided !== 'approved' && replacesNearlyAll([reading.records])) {
    const isRefused = reading.decided === 'rejected';
    const withheld = withheldWhole('replaced', permitted, isRefused);
    return withholdPeople(planning, { ...base, ...withheld, replacesAll: true, reading });
  }
  const off = new Set(projection.tombstones);
  const speaksOf = (recordId: string) => view.shows(recordId) || absent.has(recordId) || off.has(recordId);
  const guardResult = guarded(planning, { ...difference, changes: permitted }, speaksOf);
  const abandoned = [...base.abandoned, ...(projection.withdrawsHeld ? overtaken(guardResult, state) : [])];
  return withholdPeople(planning, { ...base, ...guardResult, abandoned, reading });
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
  { input, cycle, projection }: Planning,
  view: TargetView,
  absent: ReadonlySet<string>,
): Pieces<Compared> {
  const { target, state, restorations } = input;
  const { window } = projection;
  const excluded: Record<string, number> = {};
  const excludedRecords = new Map<string, string>();
  const stopped: string[] = [];
  const { policy } = target.configuration;
  const difference = yield* view.compare({
    vanished: absent,
    tombstones: projection.tombstones,
    window,
    restores: restoring(auditRules(target.configuration), restorations),
    predecessors: projection.predecessors,
    identity: target.identity,
    state: withoutForbidden(policy, withoutWaitingPeople(cycle, projection, state)),
    onOmitted(recordId, code) {
      excluded[code] = (excluded[code] ?? 0) + 1;
      const isWritten = state.links.has(recordId) || state.pending.has(recordId);
      if (projection.namesExcluded || isWritten) excludedRecords.set(recordId, code);
    },
    onStopped: (recordId) => stopped.push(recordId),
  });
  for (const [code, count] of Object.entries(view.countPassedOver(window)))
    if (count > 0) excluded[code] = (excluded[code] ?? 0) + count;
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

/** Returns the known facts about records with pending changes. */
function knowledgeOf({ input: { state, toConfirm }, cycle, projection }: Planning, view: TargetView): Knowledge {
  const { vanished, held, missedOnce } = projection.confirmation;
  const isMissing = new Set(toConfirm);
  const off = new Set(projection.tombstones);
  return {
    window: projection.window,
    now: cycle.now,
    speaksOf: (id: string) =>
      view.shows(id) || off.has(id) || vanished.has(id) || held.has(id) || (missedOnce.has(id) && !state.links.has(id)),
    isMissing: (id: string) => isMissing.has(id),
  };
}

/** Compares the read with the target's state. */
function readingOf(
  { input: { state, stored }, cycle: { configVersion }, projection, holds }: Planning,
  changes: readonly PlannedChange[],
): ReadingCheck {
  const { comparableUnder, withheldBefore } = stored;
  // Objects that an earlier plan left outdated say nothing about this read.
  return checkReading(projection, {
    changes: changes.filter(({ recordId }) => !withheldBefore.has(recordId)),
    state,
    window: projection.windowRead,
    isListed: (id) => withheldBefore.has(id) || projection.isListed(id),
    startOf: (id) => (withheldBefore.has(id) ? null : projection.startOf(id)),
    comparableUnder,
    holds,
    configVersion,
  });
}

/** Withholds a complete plan until an administrator decides, or after a rejection. */
function withheldWhole(kind: 'first-run' | 'replaced', changes: PlannedChange[], isRefused: boolean) {
  return {
    permitted: [],
    held: { ...NONE_HELD, [kind]: isRefused ? [] : changes },
    refused: isRefused ? changes : [],
    postponed: [],
    replacesAll: false,
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

/**
 * Returns records whose removal is planned and requires proof: records missing from the list and not found individually, and gone records
 * in any position.
 */
function removalsToProve({ absent, toConfirm }: TargetInput, { confirmation }: Projection): Set<string> {
  const { found, unusable, vanished, missedOnce } = confirmation;
  const isThere = new Set([...found.map((one) => one.id), ...unusable]);
  const gone = toConfirm.filter((recordId) => missedOnce.has(recordId));
  return new Set([...vanished, ...gone, ...absent.filter((recordId) => !isThere.has(recordId))]);
}

/** @param speaksOf whether this cycle found the record, or found it absent */
function guarded(
  { input, projection, holds: all }: Planning,
  difference: Diff,
  speaksOf: (recordId: string) => boolean,
) {
  const { target, state } = input;
  // A distrusted read proves nothing about changes of another read.
  const holds = all.filter(
    ({ kind, state }) =>
      kind !== 'people' && kind !== 'manual-changes' && (kind !== 'replaced' || state === 'approved'),
  );
  const released = new Set(difference.released);
  const { policy, guard: limits } = target.configuration;
  const stillHeld = judgeByPolicy(policy, heldRemovals(holds, state), state).permitted.filter(
    ({ recordId }) => !speaksOf(recordId) && !released.has(recordId),
  );
  const decided = (wanted: Hold['state']) =>
    new Set(holds.filter((hold) => hold.state === wanted).flatMap((hold) => hold.recordIds));
  const approved = decided('approved');
  const restorations = weighRestorations({
    ...{ changes: difference.changes, state, holds: all },
    ...{ restoredBefore: input.gone.hour.restored, limit: limits.vanished },
  });
  const guardResult = guard({
    changes: [...restorations.permitted, ...stillHeld],
    linkCount: state.links.size,
    gone: input.gone,
    absence: evidenceOf(projection.confirmation, input.absent, (id) => state.links.has(id)),
    limits,
    approved,
    waiting: decided('open'),
    rejected: decided('rejected'),
  });
  const heldBefore = new Set(stillHeld);
  const held = {
    ...{ ...NONE_HELD, 'manual-changes': restorations.held },
    ...{ cancelled: [...guardResult.held.cancelled], vanished: [...guardResult.held.vanished] },
  };
  for (const change of guardResult.permitted.filter((each) => heldBefore.has(each)))
    held[deletionClass(change) ?? 'vanished'].push(change);
  const permitted = guardResult.permitted.filter((change) => !heldBefore.has(change));
  const refused = [...guardResult.refused, ...restorations.refused];
  return { ...guardResult, permitted, held, refused, approved, restoring: restorations.restoring, replacesAll: false };
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

/** Changes of a target's plan. */
interface Parts {
  permitted: PlannedChange[];
  held: Readonly<Record<TargetHoldKind, PlannedChange[]>>;
  refused: PlannedChange[];
  abandoned: string[];
}

/**
 * Withholds writes about people while the list of erased people may be incomplete: creates, updates and pending writes. Records without a
 * person, and removals that the guard permits, continue.
 */
function withholdPeople<Plan extends Parts>({ input, cycle, projection, holds }: Planning, plan: Plan): Plan {
  if (!cycle.isUncertain) return plan;
  const { isOfPerson } = projection;
  const writes = ({ recordId, wanted }: PlannedChange) => wanted.want === 'present' && isOfPerson(recordId);
  const rejected = new Set(
    holds.filter(({ kind, state }) => kind === 'people' && state === 'rejected').flatMap(({ recordIds }) => recordIds),
  );
  const ofPeople = plan.permitted.filter(writes);
  const waiting = [...input.state.pending.values()].filter(
    ({ want, recordId }) => want === 'present' && isOfPerson(recordId),
  );
  return {
    ...plan,
    permitted: plan.permitted.filter((change) => !writes(change)),
    held: { ...plan.held, people: ofPeople.filter(({ recordId }) => !rejected.has(recordId)) },
    refused: [...plan.refused, ...ofPeople.filter(({ recordId }) => rejected.has(recordId))],
    abandoned: [...plan.abandoned, ...waiting.map(({ recordId }) => recordId)],
  };
}

/**
 * Returns the state for the comparison. If erased people are uncertain, pending writes about people are left out, so that they are planned
 * again and withheld.
 */
function withoutWaitingPeople(
  { isUncertain }: CycleInput,
  { isOfPerson }: Projection,
  state: PushedState,
): PushedState {
  if (!isUncertain) return state;
  const stays = [...state.pending].filter(([recordId, { want }]) => want === 'absent' || !isOfPerson(recordId));
  return { ...state, pending: new Map(stays) };
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
