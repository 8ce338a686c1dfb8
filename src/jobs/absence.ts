import { asMirrorError } from '../model/errors.ts';
import type { StreamName } from '../model/items.ts';
import type { Hold } from '../model/plan.ts';
import type { Lookup, Snapshot } from '../model/snapshots.ts';
import type { Instant } from '../model/time.ts';
import type { TargetStore } from '../state/targets.ts';
import {
  belongsOnList,
  type Confirmation,
  type Confirmations,
  invoiceBelongsOnList,
  type Misses,
  missesAfter,
  nothingMissing,
  patientBelongsOnList,
} from '../sync/absence.ts';
import { outlying, type PushedState } from '../sync/diff.ts';
import { listedIn, snapshotOf, windowOf } from '../sync/mapping-sources.ts';
import type { ClinicReading } from './clinic-reading.ts';
import type { Cycle } from './cycle.ts';
import type { OpenTarget, OpenTenant } from './tenant.ts';

/** Absent records of a stream that are read alone in one cycle; more wait for the next. */
const CONFIRMATIONS_PER_CYCLE = 200;
/** As many of these at most are second looks while others were not looked at once. */
const SECOND_LOOKS_PER_CYCLE = 100;
/** Records in holds that are read alone all the same, and more for as long as any is there: those leave the hold. */
const HELD_LOOKS_PER_CYCLE = 20;
/** After so many failures one after the other the clinic is not asked on: changes must not wait for its time limits. */
const FAILURES_IN_TURN = 3;

/** Asks the clinic for one record. */
type ReadAlone<Source> = (recordId: string, signal: AbortSignal) => Promise<Lookup<Source>>;

/** How records of a stream are read alone, and what that says of the list. */
interface SingleReads<Source> {
  readAlone: ReadAlone<Source>;
  /** Returns whether a complete list must show a record that was found alone. */
  belongsOnList(record: Source): boolean;
}

/** What the questions need of a tenant. */
export type Questioner = Pick<OpenTenant, 'log' | 'random' | 'missedForMs' | 'elapsedBetween'> & {
  holds: Pick<OpenTenant['holds'], 'list'>;
};

/**
 * Reads records alone that a complete snapshot should have shown and did not. One that is gone is believed to be gone when a reading
 * that began at least `missedForMs` earlier missed it as well, and if no record that is found alone proves the list incomplete. Of what a hold keeps in every target that misses it a few are
 * asked for; the rest in an order of chance, target by target in turn, so that each gets its turn.
 * @param missing absent records by target; all of one stream
 */
export async function confirmAbsence<Source extends { id: string }>(
  tenant: Questioner,
  { missing, misses: { missedSince, readAt } }: { missing: ReadonlyMap<string, readonly string[]>; misses: Misses },
  { readAlone, belongsOnList }: SingleReads<Source>,
  signal: AbortSignal,
): Promise<Confirmation<Source>> {
  const candidates = new Set([...missing.values()].flat());
  const confirmation = nothingMissing<Source>();
  if (candidates.size === 0) return confirmation;
  const { present, approved } = await decidedWhereverMissing(tenant, missing);
  const isDue = (id: string) => approved.has(id) || isLongAgo(missedSince.get(id));
  const isLongAgo = (missedAt: Instant | undefined) =>
    missedAt !== undefined && tenant.elapsedBetween(missedAt, readAt) >= tenant.missedForMs;
  const unkept = [...candidates].filter((id) => !present.has(id));
  const second = shuffled(unkept.filter(isDue), tenant.random);
  const first = roundRobin(missing, (id) => !present.has(id) && !missedSince.has(id) && !isDue(id), tenant.random);
  const early = second.slice(0, Math.max(SECOND_LOOKS_PER_CYCLE, CONFIRMATIONS_PER_CYCLE - first.length));
  const byChance = new Set(first.slice(0, CONFIRMATIONS_PER_CYCLE - early.length));
  const ask = asker(tenant, readAlone, signal);
  for (const id of unkept) if (missedSince.has(id) && !isDue(id)) confirmation.missedOnce.add(id);
  for (const id of [...early, ...byChance]) {
    const answer = await ask(id);
    if (answer === null) continue;
    if (byChance.has(id)) confirmation.sampled.add(id);
    if ('found' in answer) confirmation.found.push(answer.found);
    else if ('unusable' in answer) confirmation.unusable.add(id);
    else (isDue(id) ? confirmation.vanished : confirmation.missedOnce).add(id);
  }
  confirmation.present = await lookAtHeld(shuffled([...present], tenant.random), ask, confirmation.found);
  confirmation.unlisted = confirmation.found.filter(belongsOnList).length;
  if (confirmation.unlisted > 0) retainUnapproved(confirmation, approved);
  const { found, vanished } = confirmation;
  confirmation.unconfirmed = candidates.size - found.length - vanished.size - confirmation.present.size;
  return confirmation;
}

/** Only a complete list may remove records: of an incomplete one, removals wait unless an administrator approved them. */
function retainUnapproved({ vanished, missedOnce }: Confirmation<unknown>, approved: ReadonlySet<string>): void {
  for (const id of [...vanished]) {
    if (approved.has(id)) continue;
    vanished.delete(id);
    missedOnce.add(id);
  }
}

/** Asks until the clinic fails too often in turn; null: no answer. */
function asker<Source>(
  tenant: Questioner,
  readAlone: ReadAlone<Source>,
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
      tenant.log.warn({ code: asMirrorError(error).code }, 'an absent record could not be read alone');
      failedInTurn += 1;
      return null;
    }
  };
}

/** @returns what stays kept: those that are there are put to the found ones */
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
 * Absent records that an open or rejected hold keeps in each target that misses them, and those whose removal was approved in each. A
 * hold speaks for its own target only: another one would lose its object without anybody having looked.
 */
async function decidedWhereverMissing(tenant: Questioner, missing: ReadonlyMap<string, readonly string[]>) {
  const holds = await tenant.holds.list();
  const everywhere = (speaks: (hold: Hold) => boolean) => {
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

/** Each record once: one of each target after the other, those of a target in a random order. */
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

/** Fisher and Yates. */
function shuffled<Entry>(list: Entry[], random: () => number): Entry[] {
  for (let index = list.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [list[index], list[other]] = [list[other] as Entry, list[index] as Entry];
  }
  return list;
}

/** Records that lists lack, and what was known of them before. */
interface Absences {
  /** Ids by target. */
  missing: ReadonlyMap<string, readonly string[]>;
  /** Returns when an appointment began, as far as targets and reminders know. */
  startsBefore(recordId: string): readonly Instant[];
}

/** Reads absent records of each stream alone. */
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
    return confirmAbsence(tenant, { missing: new Map(asked), misses: before }, reads, signal);
  }
  const withDoctors = usesDoctors(targets.values());
  const readInvoice = (id: string, reading: AbortSignal) => clinic.readInvoice(id, { withDoctors }, reading);
  return {
    appointments: await confirm('appointments', clinic.readAppointment, (one, readAt) =>
      belongsOnList(one, clinicReading.snapshot, { startsBefore: startsBefore(one.id), readAt }),
    ),
    patients: await confirm('patients', clinic.readPatient, patientBelongsOnList),
    invoices: await confirm('invoices', readInvoice, invoiceBelongsOnList),
  };
}

/** Returns the reading with each list marked as partial that lacks records which the clinic still has. */
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

async function missesBefore(
  targetStore: Pick<TargetStore, 'misses'>,
  { streams, startedAt }: ClinicReading,
  stream: StreamName,
): Promise<Misses> {
  const readAt = stream === 'appointments' ? startedAt : (streams[stream]?.readAt ?? startedAt);
  return { missedSince: await targetStore.misses(stream), readAt };
}

/** What this cycle missed for the first time, for the next one to know; what it saw again is forgotten. */
export async function recordMisses(
  targetStore: Pick<TargetStore, 'misses' | 'storeMisses'>,
  { clinicReading, confirmations }: Pick<Cycle, 'clinicReading' | 'confirmations'>,
): Promise<void> {
  for (const stream of ['appointments', 'patients', 'invoices'] as const) {
    const snapshot = stream === 'appointments' ? clinicReading.snapshot : clinicReading.streams[stream]?.snapshot;
    if (snapshot === undefined) continue;
    const misses = await missesBefore(targetStore, clinicReading, stream);
    const next = missesAfter(misses, confirmations[stream], listedIn(snapshot));
    if (misses.missedSince.size + next.size > 0) await targetStore.storeMisses(stream, next);
  }
}

function usesDoctors(targets: Iterable<OpenTarget>): boolean {
  return [...targets].some(({ crm }) => crm?.mapping.needs.doctors === true);
}

/** Records outside the windows that are read alone in one cycle, over all targets of a tenant; they must leave room for absent ones. */
const LOOKS_PER_CYCLE = 20;

/**
 * Records of a target that no list shows by their time, to be read alone with this cycle: what was moved beyond the window, or lies there
 * since the window was made smaller, and what waits to be written outside it. A few at a time, one after the other.
 * @param cycle.note whether the next cycle is to go on behind them
 * @param absent records that are read alone already
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

/** The ids that come next in order, from the first one again after the last. */
export function inTurn(ids: readonly string[], after: string | null, count: number): string[] {
  const ordered = [...new Set(ids)].sort();
  const from = Math.max(
    0,
    ordered.findIndex((id) => id > (after ?? '')),
  );
  return [...ordered.slice(from), ...ordered.slice(0, from)].slice(0, count);
}
