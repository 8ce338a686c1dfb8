import { asMirrorError } from '../core/model/errors.ts';
import type { Hold } from '../core/model/plan.ts';
import type { TargetGap } from '../core/model/run-schemas.ts';
import type { Lookup } from '../core/model/snapshots.ts';
import type { Instant } from '../core/model/time.ts';
import { type Confirmation, type Misses, missesAfter, nothingMissing } from './absence.ts';
import { absentCandidates, outlying, type PushedState } from './diff.ts';
import type { Confirmations, Engine, EngineTarget, Reading, SingleReads } from './ports.ts';

/** Maximum absent records of a stream fetched individually in one cycle; the next cycle fetches more. */
const CONFIRMATIONS_PER_CYCLE = 200;
/** Maximum second fetches while other records were not fetched yet. */
const SECOND_LOOKS_PER_CYCLE = 100;
/** Held records fetched individually, and more as long as any record exists: existing records leave the hold. */
const HELD_LOOKS_PER_CYCLE = 20;
/** After this number of consecutive failures the daemon stops the fetches: changes must not wait for the source's time limits. */
const FAILURES_IN_TURN = 3;

/** What the fetches use. */
export type Questioner = Pick<Engine, 'log' | 'random' | 'missedForMs' | 'elapsedBetween'> & {
  holds: Pick<Engine['holds'], 'list'>;
};

/** Requests one record from the source. */
type ReadAlone<Source> = (recordId: string, signal: AbortSignal) => Promise<Lookup<Source>>;

/** Records of a target that a hold or its policy decides about. */
type Decided = Pick<Hold, 'target' | 'kind' | 'state' | 'recordIds'>;

/** Absent records by target, all of one stream. */
interface Missed {
  toConfirm: ReadonlyMap<string, readonly string[]>;
  misses: Misses;
  /** Records whose objects remain because of the policies of targets. */
  notRemoved?: readonly Decided[];
}

/**
 * Fetches records missing from a complete snapshot individually. A gone record is confirmed if a read at least `missedForMs` earlier missed
 * the record too, and if no fetched record proves the list incomplete. Only a few records held in every affected target are fetched. The
 * other records are fetched in random order, target by target, so that every target progresses.
 */
export async function confirmAbsence<Source extends { id: string }>(
  tenant: Questioner,
  { toConfirm, misses: { missedSince, readAt }, notRemoved = [] }: Missed,
  { readAlone, belongsOnList }: { readAlone: ReadAlone<Source>; belongsOnList(record: Source): boolean },
  signal: AbortSignal,
): Promise<Confirmation<Source>> {
  const candidates = new Set([...toConfirm.values()].flat());
  const confirmation = nothingMissing<Source>();
  if (candidates.size === 0) return confirmation;
  const { held, approved } = await decidedWhereverMissing(toConfirm, [...(await tenant.holds.list()), ...notRemoved]);
  const isDue = (id: string) => approved.has(id) || isLongAgo(missedSince.get(id));
  const isLongAgo = (missedAt: Instant | undefined) =>
    missedAt !== undefined && tenant.elapsedBetween(missedAt, readAt) >= tenant.missedForMs;
  const unkept = [...candidates].filter((id) => !held.has(id));
  const second = shuffled(unkept.filter(isDue), tenant.random);
  const first = roundRobin(toConfirm, (id) => !held.has(id) && !missedSince.has(id) && !isDue(id), tenant.random);
  const early = second.slice(0, Math.max(SECOND_LOOKS_PER_CYCLE, CONFIRMATIONS_PER_CYCLE - first.length));
  const byChance = new Set(first.slice(0, CONFIRMATIONS_PER_CYCLE - early.length));
  const faults = new Map<string, number>();
  const addFault = (fault: string) => void faults.set(fault, (faults.get(fault) ?? 0) + 1);
  confirmation.faults = faults;
  const ask = asker(tenant, readAlone, addFault, signal);
  for (const id of unkept) if (missedSince.has(id) && !isDue(id)) confirmation.missedOnce.add(id);
  for (const id of [...early, ...byChance]) {
    const answer = await ask(id);
    if (answer === null) continue;
    if (byChance.has(id)) confirmation.sampled.add(id);
    if ('found' in answer) confirmation.found.push(answer.found);
    else if ('unusable' in answer) {
      confirmation.unusable.add(id);
      addFault(`${answer.unusable.code} ${answer.unusable.field}`);
    } else (isDue(id) ? confirmation.vanished : confirmation.missedOnce).add(id);
  }
  confirmation.held = await lookAtHeld(shuffled([...held], tenant.random), ask, confirmation.found);
  confirmation.unlisted = confirmation.found.filter(belongsOnList).length;
  if (confirmation.unlisted > 0) retainUnapproved(confirmation, approved);
  const { found, vanished } = confirmation;
  confirmation.unconfirmed = candidates.size - found.length - vanished.size - confirmation.held.size;
  return confirmation;
}

/** Only a complete list may remove records. With an incomplete list, removals wait unless an administrator approved them. */
function retainUnapproved({ vanished, missedOnce }: Confirmation<unknown>, approved: ReadonlySet<string>): void {
  for (const id of [...vanished]) {
    if (approved.has(id)) continue;
    vanished.delete(id);
    missedOnce.add(id);
  }
}

/** Sends requests until too many consecutive failures; null means no answer. */
function asker<Source>(
  tenant: Questioner,
  readAlone: ReadAlone<Source>,
  addFault: (fault: string) => void,
  signal: AbortSignal,
): (recordId: string) => Promise<Lookup<Source> | null> {
  let failedInTurn = 0;
  return async (recordId) => {
    if (failedInTurn === FAILURES_IN_TURN) return null;
    try {
      const answer = await readAlone(recordId, signal);
      failedInTurn = 0;
      return answer;
    } catch (error) {
      signal.throwIfAborted();
      const { code } = asMirrorError(error);
      addFault(code === 'wrong-record' ? `${code} id` : code);
      tenant.log.warn({ code }, 'missing record could not be read individually');
      // A redirect answers for one record, such as a merged one: the source is available for the others.
      if (code !== 'redirected') failedInTurn += 1;
      return null;
    }
  };
}

/**
 * Fetches some held records.
 * @returns records that remain held; existing records are added to the found ones
 */
async function lookAtHeld<Source extends { id: string }>(
  heldIds: readonly string[],
  ask: (recordId: string) => Promise<Lookup<Source> | null>,
  found: Source[],
): Promise<Set<string>> {
  const staying = new Set(heldIds);
  let looks = HELD_LOOKS_PER_CYCLE;
  for (const [index, id] of heldIds.entries()) {
    if (index >= looks) break;
    const answer = await ask(id);
    if (answer === null || !('found' in answer)) continue;
    found.push(answer.found);
    staying.delete(id);
    looks = CONFIRMATIONS_PER_CYCLE;
  }
  return staying;
}

/**
 * Returns absent records held or rejected in each affected target, and records approved in each affected target. A hold applies only to its
 * own target; another target would lose its object without a check.
 */
function decidedWhereverMissing(toConfirm: Missed['toConfirm'], holds: readonly Decided[]) {
  const everywhere = (speaks: (hold: Decided) => boolean) => {
    const named = new Set<string>();
    const unnamed = new Set<string>();
    for (const [target, recordIds] of toConfirm) {
      const here = new Set(
        holds.filter((hold) => hold.target === target && speaks(hold)).flatMap((one) => one.recordIds),
      );
      for (const recordId of recordIds) (here.has(recordId) ? named : unnamed).add(recordId);
    }
    return new Set([...named].filter((id) => !unnamed.has(id)));
  };
  return {
    held: everywhere(({ kind, state }) => kind === 'vanished' && state !== 'approved'),
    approved: everywhere(({ kind, state }) => kind === 'vanished' && state === 'approved'),
  };
}

/** Returns each record once: one of each target after the other, in random order per target. */
function roundRobin(
  toConfirm: ReadonlyMap<string, readonly string[]>,
  isWanted: (recordId: string) => boolean,
  random: () => number,
): string[] {
  const queues = [...toConfirm.values()].map((recordIds) => shuffled(recordIds.filter(isWanted), random));
  const longest = Math.max(0, ...queues.map(({ length }) => length));
  const turns = new Set<string>();
  for (let turn = 0; turn < longest; turn += 1) {
    for (const queue of queues) {
      const recordId = queue[turn];
      if (recordId !== undefined) turns.add(recordId);
    }
  }
  return [...turns];
}

/** Fisher–Yates shuffle. */
function shuffled<Entry>(list: Entry[], random: () => number): Entry[] {
  for (let index = list.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [list[index], list[other]] = [list[other] as Entry, list[index] as Entry];
  }
  return list;
}

/** Records missing from lists, with earlier knowledge. */
interface Absences {
  /** Ids by target. */
  toConfirm: ReadonlyMap<string, readonly string[]>;
  /** Stream of each target and extension. */
  streamOf(target: string): string;
  /** Returns the start of a record as known to targets and extensions. */
  startsBefore(recordId: string): readonly Instant[];
}

/** Fetches absent records of each stream individually. */
export async function confirmAll(
  tenant: Questioner & Pick<Engine, 'targetStore' | 'targets'>,
  reading: Reading,
  { toConfirm, streamOf, startsBefore }: Absences,
  signal: AbortSignal,
): Promise<Confirmations> {
  const { targetStore, targets } = tenant;
  const confirm = async (stream: string): Promise<Confirmation<{ id: string }>> => {
    const asked = [...toConfirm].filter(([target, ids]) => ids.length > 0 && streamOf(target) === stream);
    if (asked.length === 0) return nothingMissing();
    const single = reading.single(stream);
    const misses = await missesBefore(targetStore, single, stream);
    const reads = {
      readAlone: single.readAlone,
      belongsOnList: (record: { id: string }) => single.belongsOnList(record, startsBefore(record.id)),
    };
    const asking = asked.flatMap(([target]) => targets.get(target) ?? []);
    const notRemoved = await Promise.all(asking.map((target) => notRemovedByPolicy(tenant, target)));
    return confirmAbsence(tenant, { toConfirm: new Map(asked), misses, notRemoved }, reads, signal);
  };
  const confirmations: Record<string, Confirmation<{ id: string }>> = {};
  for (const stream of reading.streamNames) confirmations[stream] = await confirm(stream);
  return confirmations;
}

/** A record that left, but is kept by the target's policy, is fetched as seldom as one whose removal an operator rejected. */
async function notRemovedByPolicy(
  { targetStore }: Pick<Engine, 'targetStore'>,
  target: EngineTarget,
): Promise<Decided> {
  const recordIds =
    target.configuration.policy === 'sync' ? [] : (await targetStore.read(target.id)).notRemovedByPolicy;
  return { target: target.id, kind: 'vanished', state: 'rejected', recordIds };
}

/**
 * Returns in how many consecutive cycles absent records could not be read individually.
 * @param before the number after the previous cycle, from its report: the next cycle may run in another process
 */
export function unconfirmableAfter(confirmations: Confirmations, before: number): number {
  return Object.values(confirmations).some(({ faults }) => faults.size > 0) ? before + 1 : 0;
}

async function missesBefore(
  targetStore: Pick<Engine['targetStore'], 'misses'>,
  { readAt }: Pick<SingleReads, 'readAt'>,
  stream: string,
): Promise<Misses> {
  return { missedSince: await targetStore.misses(stream), readAt };
}

/** Stores first misses for the next cycle, and deletes misses of records seen again. */
export async function recordMisses(
  targetStore: Pick<Engine['targetStore'], 'misses' | 'storeMisses'>,
  reading: Reading,
  confirmations: Confirmations,
): Promise<void> {
  for (const stream of reading.streamNames) {
    const listing = reading.listing(stream);
    if (listing === null) continue;
    const misses = await missesBefore(targetStore, reading.single(stream), stream);
    const next = missesAfter(misses, confirmations[stream] ?? nothingMissing(), listing.isListed);
    if (misses.missedSince.size + next.size > 0) await targetStore.storeMisses(stream, next);
  }
}

/**
 * Returns ids missing from a complete list although the target has an object or a pending change for them. An incomplete list has none.
 * Records outside the window are on no list; {@link nextOutside} chooses them for single reads.
 * @param pinned records that an operator restored: no list may contain them
 */
export function missingFrom(
  reading: Reading,
  target: EngineTarget,
  state: PushedState,
  pinned: ReadonlySet<string>,
): string[] {
  const listing = reading.listingOf(target);
  if (listing === null || !listing.isComplete) return [];
  const absent = new Set(absentCandidates(state, reading.windowReadOf(target), listing.isListed));
  for (const id of pinned) if (!listing.isListed(id)) absent.add(id);
  return [...absent];
}

/** Number of cycles after which unreadable absent records are a problem: shorter faults are temporary. Our choice. */
const PROBLEM_AFTER_CYCLES = 3;
/** Maximum codes in a report. */
const MOST_REPORTED = 5;

/** Adds missing listed records, and lastingly unreadable absent ones, to each target's gaps: every target may be affected. */
export function gapsConfirmed(
  reading: Reading,
  targets: readonly EngineTarget[],
  confirmations: Confirmations,
  unconfirmableBefore: number,
): ReadonlyMap<string, readonly TargetGap[]> {
  const all = new Map(reading.gaps());
  for (const target of targets) {
    const found = reading.streamsOf(target).flatMap((stream) => confirmations[stream] ?? []);
    const unlisted = found.reduce((sum, one) => sum + one.unlisted, 0);
    const faults = unconfirmableBefore + 1 < PROBLEM_AFTER_CYCLES ? [] : found.flatMap((one) => [...one.faults]);
    const unconfirmable = faults.reduce((sum, [, times]) => sum + times, 0);
    const what = [...new Set(faults.map(([fault]) => fault))].slice(0, MOST_REPORTED);
    const gaps = [
      { code: 'records-unlisted', count: unlisted, what: [], soon: [] },
      { code: 'records-unconfirmable', count: unconfirmable, what, soon: [] },
    ] satisfies TargetGap[];
    const added = gaps.filter(({ count }) => count > 0);
    if (added.length > 0) all.set(target.id, [...(all.get(target.id) ?? []), ...added]);
  }
  return all;
}

/**
 * Records outside the windows fetched individually in one cycle, over all targets of a tenant. The limit leaves capacity for absent
 * records.
 */
const LOOKS_PER_CYCLE = 20;

/**
 * Returns a target's records that no list can show, for individual fetches in this cycle: records moved outside the window, records left
 * outside a reduced window, and pending writes outside the window. Each cycle continues after the previous cycle's last record.
 * @param cycle.isRecorded whether the next cycle continues after these records
 * @param absent records that this cycle already fetches individually
 */
export async function nextOutside(
  targetStore: Pick<Engine['targetStore'], 'read' | 'write'>,
  target: EngineTarget,
  cycle: { reading: Reading; state: PushedState; targets: number; isRecorded: boolean },
  absent: readonly string[],
): Promise<string[]> {
  const { reading, state, targets, isRecorded } = cycle;
  const listing = reading.listingOf(target);
  if (listing === null) return [];
  const asked = new Set(absent);
  const all = outlying(state, reading.windowOf(target));
  const ids = all.filter((id) => !listing.isListed(id) && !asked.has(id));
  if (ids.length === 0) return [];
  const { lookedOutsideTo } = await targetStore.read(target.id);
  const next = inTurn(ids, lookedOutsideTo, Math.ceil(LOOKS_PER_CYCLE / targets));
  if (isRecorded) await targetStore.write(target.id, { lookedOutsideTo: next.at(-1) ?? null });
  return next;
}

/** Returns the next ids in order, from the first id again after the last. */
export function inTurn(ids: readonly string[], after: string | null, count: number): string[] {
  const ordered = [...new Set(ids)].sort();
  const from = Math.max(
    0,
    ordered.findIndex((id) => id > (after ?? '')),
  );
  return [...ordered.slice(from), ...ordered.slice(0, from)].slice(0, count);
}
