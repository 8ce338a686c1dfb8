import { type Confirmation, evidenceOf } from '../jobs/absence.ts';
import type { Basis } from '../jobs/basis.ts';
import { inPieces } from '../jobs/in-pieces.ts';
import { restoring } from '../jobs/marks.ts';
import { type Reach, type Survey, windowOf, windowRead } from '../jobs/survey.ts';
import type { OpenTarget, OpenTenant } from '../jobs/tenant.ts';
import { HOLD_KINDS, type Hold, type PlannedChange } from '../model/plan.ts';
import type { Snapshot } from '../model/snapshots.ts';
import { HOUR_MS, hasLeft, type Instant, type TimeWindow } from '../model/time.ts';
import type { Lease } from '../state/leases.ts';
import type { Doubt } from '../state/protection.ts';
import type { TargetGap } from '../state/target-gaps.ts';
import { absentCandidates, type Diff, type TargetState, type TimedLink } from './diff.ts';
import { givenUp } from './given-up.ts';
import { deletionClass, type GoneReason, guard } from './guard.ts';
import { keepBackPeople, withoutWaitingPeople } from './people.ts';
import { type ReadingVerdict, readingVerdict } from './reading-verdict.ts';
import { replacesNearlyAll } from './replaced.ts';
import { type Confirmations, type Known, viewOf } from './views.ts';

/** What one cycle means to do to one target. */
export interface TargetPlan {
  target: OpenTarget;
  /** Goes to the outbox. */
  passed: PlannedChange[];
  /** Kinds of which a hold was open when it was planned. */
  openHolds: ReadonlySet<Hold['kind']>;
  /** Kept back until a person decides, by kind of hold. */
  held: Readonly<Record<Hold['kind'], PlannedChange[]>>;
  /** Deletions that a person rejected. */
  refused: PlannedChange[];
  /** Removals of absent records of which too little is known yet. */
  postponed: PlannedChange[];
  /** The reading replaces nearly everything: no target of the stream is given anything of it. */
  replaced: boolean;
  /** How the reading stands to what the target holds; null when it is not judged. */
  reading: ReadingVerdict | null;
  /** So much is absent that every target of the stream keeps what it has. */
  doubtsReading: boolean;
  /** Deletions that a person approved; the guard does not count them. */
  approved: ReadonlySet<string>;
  released: string[];
  /** Links whose records' times are to be noted; nothing is written to the target. */
  timed: TimedLink[];
  /** Records whose changes are not written any more: they left the window, are doubtful, or must not be written. */
  abandoned: string[];
  /** What it was planned by. */
  reach: Reach;
  /** Changes that waited before. */
  waiting: number;
  /** Pinned records that left the window: they would be read alone for weeks. */
  outlived: string[];
  /** A person put records back that the rules leave out. */
  hasPins: boolean;
  unchanged: number;
  /** Records that the rules leave out or as they are, by the rule's code. */
  leftOut: Readonly<Record<string, number>>;
  /** The same by record, for targets in CRMs. */
  leftOutRecords: ReadonlyMap<string, string>;
  /** Values that had to be left empty, by property. */
  unusable: Readonly<Record<string, number>>;
  linkCount: number;
}

/** What a cycle found and decided, before or after it was carried into the state. */
export interface Cycle {
  survey: Survey;
  confirmations: Confirmations;
  plans: TargetPlan[];
  /** Absent records of each target. */
  missing: ReadonlyMap<string, readonly string[]>;
  /** Those for which nothing was planned because the same was before; their plans are among the others. */
  settled: readonly OpenTarget[];
  /** What was known before the states of targets were opened. */
  basis: Basis;
  /** Targets that could not be read, or asked to be left alone: nothing is planned for them. */
  left: readonly { target: string; code: string }[];
  /** By target, and by rule of reminders: what of it could not be read or is not known. */
  gaps: ReadonlyMap<string, readonly TargetGap[]>;
  /** Why it is not known who must not be written of; null when it is. */
  doubt: Doubt | null;
  /** Whether it leaves no question open: nothing of calendars is absent, held or in doubt. */
  isPlain: boolean;
}

/**
 * Ids that a complete snapshot did not show although the target has, or is about to have, something for them.
 * @param pinned records that a person put back: their agendas may feed no target, so that no list shows them
 */
export function missingFrom(
  survey: Survey,
  target: OpenTarget,
  state: TargetState,
  pinned: ReadonlySet<string>,
): string[] {
  const snapshot = snapshotOf(survey, target);
  if (snapshot?.completeness !== 'complete') return [];
  const seen = listedIn(snapshot);
  const absent = new Set(absentCandidates(state, windowRead(target, survey), seen));
  for (const id of pinned) if (!seen(id)) absent.add(id);
  return [...absent];
}

/** Tells whether a reading shows a row of a record, one that can't be used included. */
export function listedIn({ records, setAside }: Snapshot<{ id: string }>): (recordId: string) => boolean {
  const unusable = new Set(setAside.map(({ recordId }) => recordId));
  return (id) => records.has(id) || unusable.has(id);
}

/** What was read of the stream that a target follows; null when nothing was. */
export function snapshotOf({ snapshot, streams }: Survey, { stream }: OpenTarget): Snapshot<{ id: string }> | null {
  return stream === 'appointments' ? snapshot : (streams[stream]?.snapshot ?? null);
}

/** When a record of the target's stream begins; null for one that was not listed, or has no time. */
function beginningIn({ snapshot }: Survey, { stream }: OpenTarget, recordId: string): Instant | null {
  return stream === 'appointments' ? (snapshot.records.get(recordId)?.time.startAt ?? null) : null;
}

/** Plans one target: what differs, less what the guard keeps back. Writes nothing. */
export async function planTarget(
  tenant: OpenTenant,
  target: OpenTarget,
  known: Known,
  state: TargetState,
  signal: AbortSignal,
): Promise<TargetPlan> {
  const { survey, confirmations } = known;
  const pinned = await tenant.journal.pinned(target.id, tenant.clock());
  const window = windowOf(target, survey.startedAt);
  const view = await viewOf(tenant, target, known, pinned, signal);
  const absent = absentOf(target, known);
  const speaksOf = (recordId: string) => view.shows(recordId) || absent.has(recordId);
  const leftOut: Record<string, number> = {};
  const leftOutRecords = new Map<string, string>();
  const stopped: string[] = [];
  const work = view.compare({
    vanished: absent,
    window,
    restores: await restoring(tenant, target),
    identity: target.identity,
    state: withoutWaitingPeople(target, known, state),
    onLeftOut(recordId, code) {
      leftOut[code] = (leftOut[code] ?? 0) + 1;
      if (target.crm !== null) leftOutRecords.set(recordId, code);
    },
    onStopped: (recordId) => stopped.push(recordId),
  });
  const difference = await inPieces(work, signal);
  const passedOver = view.countPassedOver(window);
  if (passedOver > 0) leftOut.agenda = (leftOut.agenda ?? 0) + passedOver;
  const missing = new Set(known.missing.get(target.id));
  const { vanished, kept, missedOnce } = confirmations[target.stream];
  const knowledge = {
    window,
    now: tenant.clock(),
    speaksOf: (id: string) =>
      view.shows(id) || vanished.has(id) || kept.has(id) || (missedOnce.has(id) && !state.links.has(id)),
    isMissing: (id: string) => missing.has(id),
  };
  const record = await tenant.records.read(target.id);
  const holds = known.holds.filter((hold) => hold.target === target.id);
  // Two days say nothing of what lies beyond them.
  const isWhole = survey.reach === 'whole';
  const base = {
    target,
    openHolds: new Set(holds.filter(({ state }) => state === 'open').map(({ kind }) => kind)),
    released: isWhole ? difference.released : [],
    timed: difference.timed,
    abandoned: isWhole ? [...givenUp(state.pending.values(), knowledge), ...stopped] : stopped,
    reach: survey.reach,
    waiting: state.pending.size,
    outlived: target.stream === 'appointments' ? outlivedOf(confirmations, pinned, window) : [],
    hasPins: pinned.size > 0,
    leftOut,
    leftOutRecords,
    unusable: view.unusable,
    unchanged: difference.unchanged,
    linkCount: state.links.size,
    reading: null,
  };
  if (target.configuration.firstRun === 'plan' && record.firstRunApprovedAt === null) {
    const refused = holds.some(({ kind, state }) => kind === 'first-run' && state === 'rejected');
    return { ...base, ...withheldWhole('first-run', difference.changes, refused) };
  }
  const snapshot = snapshotOf(survey, target);
  const isListed = snapshot === null ? () => false : listedIn(snapshot);
  const { changes } = difference;
  const { generation } = known;
  const startOf = (id: string) => beginningIn(survey, target, id);
  const judged = { changes, state, window: windowRead(target, survey), isListed, startOf, record, holds, generation };
  const reading = readingVerdict(target, judged);
  if (reading.decided !== 'approved' && replacesNearlyAll([reading.records])) {
    const isRefused = reading.decided === 'rejected';
    const withheld = { ...base, ...withheldWhole('replaced', changes, isRefused), replaced: true, reading };
    return keepBackPeople(target, known, state, holds, withheld);
  }
  const verdict = await guarded(tenant, target, { difference, state, known, holds, speaksOf });
  const abandoned = target.crm === null ? base.abandoned : [...base.abandoned, ...overtaken(verdict, state)];
  return keepBackPeople(target, known, state, holds, {
    ...base,
    ...verdict,
    abandoned,
    reading,
  });
}

/** Nothing of a plan goes: it waits for a person, or one said no. */
function withheldWhole(kind: 'first-run' | 'replaced', changes: PlannedChange[], isRefused: boolean) {
  return {
    passed: [],
    held: { ...NONE_HELD, [kind]: isRefused ? [] : changes },
    refused: isRefused ? changes : [],
    postponed: [],
    replaced: false,
    doubtsReading: false,
    approved: new Set<string>(),
  };
}

const NONE_HELD = { 'first-run': [], replaced: [], people: [], cancelled: [], vanished: [] };

/** A plan that does nothing. */
export const NOTHING_PLANNED = {
  ...{ openHolds: new Set<Hold['kind']>(), approved: new Set<string>(), held: NONE_HELD, reading: null },
  ...{ passed: [], refused: [], postponed: [], released: [], timed: [], abandoned: [], outlived: [] },
  ...{
    reach: 'whole' as const,
    waiting: 0,
    hasPins: false,
    replaced: false,
    doubtsReading: false,
    leftOut: {},
    leftOutRecords: new Map(),
    unusable: {},
  },
} satisfies Partial<TargetPlan>;

/** Records whose removal waits for a person, or was refused: what waited before to be written of them must not go out meanwhile. */
function overtaken({ held, refused }: Pick<TargetPlan, 'held' | 'refused'>, { pending }: TargetState): string[] {
  const kept = [...held.cancelled, ...held.vanished, ...refused].map(({ recordId }) => recordId);
  return kept.filter((recordId) => pending.get(recordId)?.want === 'present');
}

function outlivedOf({ appointments }: Confirmations, pinned: ReadonlySet<string>, window: TimeWindow): string[] {
  return appointments.found.filter(({ id, time }) => pinned.has(id) && hasLeft(time, window)).map(({ id }) => id);
}

/**
 * Records whose removal is planned, and goes only once it is proven: those that the list should have shown and that were not found alone
 * either, and, wherever they lie, those that are gone.
 */
function absentOf({ id, stream }: OpenTarget, { confirmations, absent, missing }: Known): Set<string> {
  const { found, unusable, vanished, missedOnce }: Confirmation<{ id: string }> = confirmations[stream];
  const isThere = new Set([...found.map((one) => one.id), ...unusable]);
  const gone = (missing.get(id) ?? []).filter((recordId) => missedOnce.has(recordId));
  return new Set([...vanished, ...gone, ...(absent.get(id) ?? []).filter((recordId) => !isThere.has(recordId))]);
}

interface Weighed {
  difference: Diff;
  state: TargetState;
  known: Known;
  /** Of the target. */
  holds: readonly Hold[];
  /** Whether this cycle learned of a record where it stands, or that it is absent. */
  speaksOf(recordId: string): boolean;
}

async function guarded(tenant: OpenTenant, target: OpenTarget, weighed: Weighed) {
  const { difference, state, known, speaksOf } = weighed;
  // A reading that was not believed says nothing of what another one tells.
  const holds = weighed.holds.filter(
    ({ kind, state }) => kind !== 'people' && (kind !== 'replaced' || state === 'approved'),
  );
  const released = new Set(difference.released);
  const stillHeld = heldRemovals(holds, state).filter(({ recordId }) => !speaksOf(recordId) && !released.has(recordId));
  const decided = (wanted: Hold['state']) =>
    new Set(holds.filter((hold) => hold.state === wanted).flatMap((hold) => hold.recordIds));
  const approved = decided('approved');
  const verdict = guard({
    changes: [...difference.changes, ...stillHeld],
    linkCount: state.links.size,
    gone: await tenant.records.gone(target.id, tenant.clock()),
    absence: evidenceOf(known.confirmations[target.stream], known.absent.get(target.id) ?? [], (id) =>
      state.links.has(id),
    ),
    limits: target.configuration.guard,
    approved,
    waiting: decided('open'),
    rejected: decided('rejected'),
  });
  const keep = new Set(stillHeld);
  const held = { ...NONE_HELD, cancelled: [...verdict.held.cancelled], vanished: [...verdict.held.vanished] };
  for (const change of verdict.passed.filter((each) => keep.has(each)))
    held[deletionClass(change) ?? 'vanished'].push(change);
  const passed = verdict.passed.filter((change) => !keep.has(change));
  return { ...verdict, passed, held, approved, replaced: false };
}

/** Removals that wait for a person's decision, as they were planned. */
function heldRemovals(holds: readonly Hold[], { links }: TargetState): PlannedChange[] {
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

/** Carries a plan into the state: outbox, holds, released links, what the guard counts. */
export async function commitPlan(tenant: OpenTenant, plan: TargetPlan, lease: Lease, run: string): Promise<void> {
  const now = tenant.clock();
  const { id, configuration } = plan.target;
  for (const kind of HOLD_KINDS) {
    const recordIds = plan.held[kind].map(({ recordId }) => recordId);
    if (recordIds.length === 0 && !plan.openHolds.has(kind)) continue;
    const expiresAt = now + configuration.guard.holdExpiresAfterHours * HOUR_MS;
    await tenant.holds.cover(id, kind, recordIds, { linkCount: plan.linkCount, now, expiresAt });
  }
  await tenant.records.noteGone(id, goneBy(plan), now);
  await tenant.outbox.put(id, plan.passed, now, lease, run);
  const plannedUnder = await tenant.generation.join();
  // What is not written of people yet still differs as it did when the links were rebuilt.
  const compared = plan.held.people.length > 0 ? {} : { comparableUnder: plannedUnder };
  if (plan.reach === 'whole') await tenant.records.write(id, { lastPlannedAt: now, plannedUnder, ...compared });
  // Of what waited before two days tell too little.
  else if (plan.waiting === 0) await tenant.records.write(id, { lastPlannedAt: now });
  await tenant.outbox.abandon(id, plan.abandoned, lease);
  await tenant.links.release(id, plan.released, lease);
  await tenant.links.noteTimes(id, plan.timed, lease);
  const vanished = plan.passed.filter(({ reason }) => reason === 'vanished').map(({ recordId }) => recordId);
  await tenant.journal.unpin(id, [...vanished, ...plan.outlived]);
}

/** What leaves the target by this plan without a person's approval. Each removal counts, also of a record that comes and goes. */
function goneBy({ passed, approved, released }: TargetPlan): Record<GoneReason, number> {
  const counts = { cancelled: 0, excluded: 0, vanished: 0, released: released.length };
  for (const change of passed) {
    if (deletionClass(change) === null || approved.has(change.recordId)) continue;
    counts[change.reason === 'cancelled' || change.reason === 'vanished' ? change.reason : 'excluded'] += 1;
  }
  return counts;
}
