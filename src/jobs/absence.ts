import { belongsOnList, type Confirmations, invoiceBelongsOnList, patientBelongsOnList } from '../domain/absence.ts';
import { listedIn, snapshotOf, windowOf } from '../domain/mapping-sources.ts';
import { mergedIntoNobody, readThroughMerges, withName } from '../domain/read-alone.ts';
import { type Confirmation, type Misses, missesAfter, nothingMissing } from '../engine/absence.ts';
import { outlying, type PushedState } from '../engine/diff.ts';
import { asMirrorError } from '../model/errors.ts';
import type { StreamName } from '../model/items.ts';
import type { Hold } from '../model/plan.ts';
import type { Patient } from '../model/records.ts';
import type { Lookup, Snapshot } from '../model/snapshots.ts';
import type { Instant } from '../model/time.ts';
import type { TargetStore } from '../state/targets.ts';
import type { ClinicReading } from '../domain/clinic-reading.ts';
import type { Cycle } from './cycle.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Maximum absent records of a stream fetched individually in one cycle; the next cycle fetches more. */
const CONFIRMATIONS_PER_CYCLE = 200;
/** Maximum second fetches while other records were not fetched yet. */
const SECOND_LOOKS_PER_CYCLE = 100;
/** Held records fetched individually, and more as long as any record exists: existing records leave the hold. */
const HELD_LOOKS_PER_CYCLE = 20;
/** After this number of consecutive failures the daemon stops the fetches: changes must not wait for the clinic's time limits. */
const FAILURES_IN_TURN = 3;

/** Requests one record from the clinic. */
type ReadAlone<Source> = (recordId: string, signal: AbortSignal) => Promise<Lookup<Source>>;

/** How to fetch a stream's records individually, and how to judge the list with the result. */
interface SingleReads<Source> {
  readAlone: ReadAlone<Source>;
  /** Returns whether a complete list must show an individually fetched record. */
  belongsOnList(record: Source): boolean;
}

/** Members of a tenant that the fetches use. */
export type Questioner = Pick<OpenTenant, 'log' | 'random' | 'missedForMs' | 'elapsedBetween'> & {
  holds: Pick<OpenTenant['holds'], 'list'>;
};

/** Records of a target that a hold or its policy decides about. */
type Decided = Pick<Hold, 'target' | 'kind' | 'state' | 'recordIds'>;

/** Absent records by target, all of one stream. */
interface Missed {
  missing: ReadonlyMap<string, readonly string[]>;
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
  { missing, misses: { missedSince, readAt }, notRemoved = [] }: Missed,
  { readAlone, belongsOnList }: SingleReads<Source>,
  signal: AbortSignal,
): Promise<Confirmation<Source>> {
  const candidates = new Set([...missing.values()].flat());
  const confirmation = nothingMissing<Source>();
  if (candidates.size === 0) return confirmation;
  const { present, approved } = await decidedWhereverMissing(missing, [...(await tenant.holds.list()), ...notRemoved]);
  const isDue = (id: string) => approved.has(id) || isLongAgo(missedSince.get(id));
  const isLongAgo = (missedAt: Instant | undefined) =>
    missedAt !== undefined && tenant.elapsedBetween(missedAt, readAt) >= tenant.missedForMs;
  const unkept = [...candidates].filter((id) => !present.has(id));
  const second = shuffled(unkept.filter(isDue), tenant.random);
  const first = roundRobin(missing, (id) => !present.has(id) && !missedSince.has(id) && !isDue(id), tenant.random);
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
  confirmation.present = await lookAtHeld(shuffled([...present], tenant.random), ask, confirmation.found);
  confirmation.unlisted = confirmation.found.filter(belongsOnList).length;
  if (confirmation.unlisted > 0) retainUnapproved(confirmation, approved);
  const { found, vanished } = confirmation;
  confirmation.unconfirmed = candidates.size - found.length - vanished.size - confirmation.present.size;
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
      // A redirect answers for one record, such as a merged one: the clinic is available for the others.
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
function decidedWhereverMissing(missing: Missed['missing'], holds: readonly Decided[]) {
  const everywhere = (speaks: (hold: Decided) => boolean) => {
    const named = new Set<string>();
    const unnamed = new Set<string>();
    for (const [target, recordIds] of missing) {
      const here = new Set(
        holds.filter((hold) => hold.target === target && speaks(hold)).flatMap((one) => one.recordIds),
      );
      for (const recordId of recordIds) (here.has(recordId) ? named : unnamed).add(recordId);
    }
    return new Set([...named].filter((id) => !unnamed.has(id)));
  };
  return {
    present: everywhere(({ kind, state }) => kind === 'vanished' && state !== 'approved'),
    approved: everywhere(({ kind, state }) => kind === 'vanished' && state === 'approved'),
  };
}

/** Returns each record once: one of each target after the other, in random order per target. */
function roundRobin(
  missing: ReadonlyMap<string, readonly string[]>,
  isWanted: (recordId: string) => boolean,
  random: () => number,
): string[] {
  const queues = [...missing.values()].map((recordIds) => shuffled(recordIds.filter(isWanted), random));
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
  missing: ReadonlyMap<string, readonly string[]>;
  /** Returns the start of an appointment as known to targets and reminders. */
  startsBefore(recordId: string): readonly Instant[];
}

/** Fetches absent records of each stream individually. */
export async function confirmAll(
  tenant: Questioner & Pick<OpenTenant, 'clinic' | 'targetStore' | 'targets'>,
  clinicReading: ClinicReading,
  { missing, startsBefore }: Absences,
  signal: AbortSignal,
): Promise<Confirmations> {
  const { clinic, targetStore, targets } = tenant;
  const streamOf = (target: string) => targets.get(target)?.stream ?? 'appointments';
  async function confirm<Source extends { id: string }>(
    stream: StreamName,
    readAlone: SingleReads<Source>['readAlone'],
    belongs: (record: Source, readAt: Instant) => boolean,
  ) {
    const asked = [...missing].filter(([target, ids]) => ids.length > 0 && streamOf(target) === stream);
    if (asked.length === 0) return nothingMissing<Source>();
    const before = await missesBefore(targetStore, clinicReading, stream);
    const reads = { readAlone, belongsOnList: (record: Source) => belongs(record, before.readAt) };
    const asking = asked.flatMap(([target]) => targets.get(target) ?? []);
    const notRemoved = await Promise.all(asking.map((target) => notRemovedByPolicy(tenant, target)));
    return confirmAbsence(tenant, { missing: new Map(asked), misses: before, notRemoved }, reads, signal);
  }
  const withDoctors = usesDoctors(targets.values());
  const readInvoice = (id: string, reading: AbortSignal) => clinic.readInvoice(id, { withDoctors }, reading);
  const listed = clinicReading.streams.patients?.snapshot.records ?? new Map<string, Patient>();
  const readPatient = async (id: string, reading: AbortSignal): Promise<Lookup<Patient>> => {
    const { id: remaining, answer } = await readThroughMerges(async (one) => {
      const shown = listed.get(one);
      return shown === undefined ? withName(await clinic.readPatient(one, reading), listed.values()) : { found: shown };
    }, id);
    if (remaining === id) return answer;
    if (!('found' in answer)) return { unusable: mergedIntoNobody(id) };
    clinicReading.streams.patients?.merged.set(id, remaining);
    return { absent: true, mergedInto: remaining };
  };
  return {
    appointments: await confirm('appointments', clinic.readAppointment, (one, readAt) =>
      belongsOnList(one, clinicReading.snapshot, { startsBefore: startsBefore(one.id), readAt }),
    ),
    patients: await confirm('patients', readPatient, patientBelongsOnList),
    invoices: await confirm('invoices', readInvoice, invoiceBelongsOnList),
  };
}

/** A record that left, but is kept by the target's policy, is fetched as seldom as one whose removal an operator rejected. */
async function notRemovedByPolicy(
  { targetStore }: Pick<OpenTenant, 'targetStore'>,
  target: OpenTarget,
): Promise<Decided> {
  const recordIds =
    target.configuration.policy === 'sync' ? [] : (await targetStore.read(target.id)).notRemovedByPolicy;
  return { target: target.id, kind: 'vanished', state: 'rejected', recordIds };
}

/** Returns the read with incomplete lists marked as partial: the clinic still has records missing from the list. */
export function withProvedGaps(clinicReading: ClinicReading, confirmations: Confirmations): ClinicReading {
  const { snapshot, streams } = clinicReading;
  const { appointments, patients, invoices } = confirmations;
  const mark = <List extends Snapshot<unknown>>(list: List, { unlisted }: { unlisted: number }): List =>
    unlisted === 0 ? list : { ...list, completeness: 'partial', reason: 'records-unlisted' };
  const markStream = <Reading extends { snapshot: Snapshot<unknown> }>(
    reading: Reading | null,
    proof: { unlisted: number },
  ) => reading && { ...reading, snapshot: mark(reading.snapshot, proof) };
  return {
    ...clinicReading,
    snapshot: mark(snapshot, appointments),
    streams: {
      ...streams,
      patients: markStream(streams.patients, patients),
      invoices: markStream(streams.invoices, invoices),
    },
  };
}

/**
 * Returns in how many consecutive cycles absent records could not be read individually.
 * @param before the number after the previous cycle, from its report: the next cycle may run in another process
 */
export function unconfirmableAfter(confirmations: Confirmations, before: number): number {
  return Object.values(confirmations).some(({ faults }) => faults.size > 0) ? before + 1 : 0;
}

async function missesBefore(
  targetStore: Pick<TargetStore, 'misses'>,
  { streams, startedAt }: ClinicReading,
  stream: StreamName,
): Promise<Misses> {
  const readAt = stream === 'appointments' ? startedAt : (streams[stream]?.readAt ?? startedAt);
  return { missedSince: await targetStore.misses(stream), readAt };
}

/** Stores first misses for the next cycle, and deletes misses of records seen again. */
export async function recordMisses(
  targetStore: Pick<TargetStore, 'misses' | 'storeMisses'>,
  { clinicReading, confirmations }: Pick<Cycle, 'clinicReading' | 'confirmations'>,
): Promise<void> {
  for (const stream of ['appointments', 'patients', 'invoices'] as const) {
    const snapshot = snapshotOf(clinicReading, { stream, crm: 'any' });
    if (snapshot === null) continue;
    const misses = await missesBefore(targetStore, clinicReading, stream);
    const next = missesAfter(misses, confirmations[stream], listedIn(snapshot));
    if (misses.missedSince.size + next.size > 0) await targetStore.storeMisses(stream, next);
  }
}

function usesDoctors(targets: Iterable<OpenTarget>): boolean {
  return [...targets].some(({ crm }) => crm?.mapping.needs.doctors === true);
}

/**
 * Records outside the windows fetched individually in one cycle, over all targets of a tenant. The limit leaves capacity for absent
 * records.
 */
const LOOKS_PER_CYCLE = 20;

/**
 * Returns a target's records that no list can show, for individual fetches in this cycle: records moved outside the window, records left
 * outside a reduced window, and pending writes outside the window. Each cycle continues after the previous cycle's last record.
 * @param cycle.note whether the next cycle continues after these records
 * @param absent records that this cycle already fetches individually
 */
export async function nextOutside(
  targetStore: Pick<TargetStore, 'read' | 'write'>,
  target: OpenTarget,
  cycle: { clinicReading: ClinicReading; state: PushedState; targets: number; isRecorded: boolean },
  absent: readonly string[],
): Promise<string[]> {
  const { clinicReading, state, targets, isRecorded } = cycle;
  const snapshot = snapshotOf(clinicReading, target);
  if (snapshot === null) return [];
  const isListed = listedIn(snapshot);
  const asked = new Set(absent);
  const all = outlying(state, windowOf(target, clinicReading.startedAt));
  const ids = all.filter((id) => !isListed(id) && !asked.has(id));
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
