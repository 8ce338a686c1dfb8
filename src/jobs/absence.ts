import { asMirrorError } from '../model/errors.ts';
import type { Hold } from '../model/plan.ts';
import type { Lookup } from '../model/snapshots.ts';
import type { Instant } from '../model/time.ts';
import { type Confirmation, type Misses, nothingMissing } from '../sync/absence.ts';
import type { OpenTenant } from './tenant.ts';

/** Absent records of a stream that are read alone in one cycle; more wait for the next. */
const CONFIRMATIONS_PER_CYCLE = 200;
/** As many of these at most are second looks while others were not looked at once. */
const SECOND_LOOKS_PER_CYCLE = 100;
/** Records in holds that are read alone all the same, and more for as long as any is there: those leave the hold. */
const HELD_LOOKS_PER_CYCLE = 20;
/** After so many failures one after the other the clinic is not asked on: changes must not wait for its time limits. */
const FAILURES_IN_TURN = 3;

/** Asks the clinic for one record. */
export type ReadAlone<Source> = (recordId: string, signal: AbortSignal) => Promise<Lookup<Source>>;

/** How records of a stream are read alone, and what that says of the list. */
export interface SingleReads<Source> {
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
  { missing, misses: { known, readAt } }: { missing: ReadonlyMap<string, readonly string[]>; misses: Misses },
  { readAlone, belongsOnList }: SingleReads<Source>,
  signal: AbortSignal,
): Promise<Confirmation<Source>> {
  const candidates = new Set([...missing.values()].flat());
  const confirmation = nothingMissing<Source>();
  if (candidates.size === 0) return confirmation;
  const { kept, approved } = await decidedWhereverMissing(tenant, missing);
  const isDue = (id: string) => approved.has(id) || isLongAgo(known.get(id));
  const isLongAgo = (missedAt: Instant | undefined) =>
    missedAt !== undefined && tenant.elapsedBetween(missedAt, readAt) >= tenant.missedForMs;
  const unkept = [...candidates].filter((id) => !kept.has(id));
  const second = shuffled(unkept.filter(isDue), tenant.random);
  const first = inTurn(missing, (id) => !kept.has(id) && !known.has(id) && !isDue(id), tenant.random);
  const early = second.slice(0, Math.max(SECOND_LOOKS_PER_CYCLE, CONFIRMATIONS_PER_CYCLE - first.length));
  const byChance = new Set(first.slice(0, CONFIRMATIONS_PER_CYCLE - early.length));
  const ask = asker(tenant, readAlone, signal);
  for (const id of unkept) if (known.has(id) && !isDue(id)) confirmation.missedOnce.add(id);
  for (const id of [...early, ...byChance]) {
    const answer = await ask(id);
    if (answer === null) continue;
    if (byChance.has(id)) confirmation.sampled.add(id);
    if ('found' in answer) confirmation.found.push(answer.found);
    else if ('setAside' in answer) confirmation.unusable.add(id);
    else (isDue(id) ? confirmation.vanished : confirmation.missedOnce).add(id);
  }
  confirmation.kept = await lookAtHeld(shuffled([...kept], tenant.random), ask, confirmation.found);
  confirmation.unlisted = confirmation.found.filter(belongsOnList).length;
  if (confirmation.unlisted > 0) retainUnapproved(confirmation, approved);
  const { found, vanished } = confirmation;
  confirmation.unconfirmed = candidates.size - found.length - vanished.size - confirmation.kept.size;
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
    kept: everywhere(({ kind, state }) => kind === 'vanished' && state !== 'approved'),
    approved: everywhere(({ kind, state }) => kind === 'vanished' && state === 'approved'),
  };
}

/** Each record once: one of each target after the other, those of a target in a random order. */
function inTurn(
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
