import { asMirrorError } from '../model/errors.ts';
import type { Lookup } from '../model/snapshots.ts';
import type { OpenTenant } from './tenant.ts';

/** What reading absent records of one stream alone told. */
export interface Confirmation<Source> {
  /** They are there after all; the list did not show them. */
  found: Source[];
  /** They are gone: 404 or 410 for the record itself. */
  vanished: Set<string>;
  /** They could not be asked for now: nothing is said of them. */
  unconfirmed: number;
}

/** Nothing was missing. */
export function nothingMissing(): Confirmation<never> {
  return { found: [], vanished: new Set(), unconfirmed: 0 };
}

/** Absent records of a stream that are read alone in one cycle; more wait for the next. */
const CONFIRMATIONS_PER_CYCLE = 200;
/** After so many failures one after the other the clinic is not asked on: changes must not wait for its time limits. */
const FAILURES_IN_TURN = 3;

/**
 * Reads records alone that a complete snapshot should have shown and did not. Those that a hold keeps in every target that misses
 * them are not read while nobody decides; the rest is asked for in an order of chance, so that each gets its turn.
 * @param missing absent records by target; all of one stream
 */
export async function confirmAbsence<Source>(
  tenant: OpenTenant,
  missing: ReadonlyMap<string, readonly string[]>,
  readAlone: (recordId: string, signal: AbortSignal) => Promise<Lookup<Source>>,
  signal: AbortSignal,
): Promise<Confirmation<Source>> {
  const candidates = new Set([...missing.values()].flat());
  if (candidates.size === 0) return nothingMissing();
  const heldBack = await heldWhereverMissing(tenant, missing);
  const vanished = new Set([...candidates].filter((recordId) => heldBack.has(recordId)));
  const toAsk = shuffled(
    [...candidates].filter((recordId) => !heldBack.has(recordId)),
    tenant.random,
  );
  const asked = toAsk.slice(0, CONFIRMATIONS_PER_CYCLE);
  const confirmation: Confirmation<Source> = { found: [], vanished, unconfirmed: toAsk.length - asked.length };
  let failedInTurn = 0;
  for (const recordId of asked) {
    if (failedInTurn === FAILURES_IN_TURN) {
      confirmation.unconfirmed += 1;
      continue;
    }
    try {
      const answer = await readAlone(recordId, signal);
      failedInTurn = 0;
      if ('found' in answer) confirmation.found.push(answer.found);
      else if ('absent' in answer) confirmation.vanished.add(recordId);
      else confirmation.unconfirmed += 1;
    } catch (error) {
      signal.throwIfAborted();
      tenant.log.warn({ code: asMirrorError(error).code }, 'an absent record could not be read alone');
      confirmation.unconfirmed += 1;
      failedInTurn += 1;
    }
  }
  return confirmation;
}

/**
 * Absent records that an open or rejected hold keeps in each target that misses them. A hold speaks for its own target only:
 * another one would lose its object without anybody having looked.
 */
async function heldWhereverMissing(
  tenant: OpenTenant,
  missing: ReadonlyMap<string, readonly string[]>,
): Promise<Set<string>> {
  const holds = (await tenant.holds.list()).filter(({ kind, state }) => kind === 'vanished' && state !== 'approved');
  const kept = new Set<string>();
  const unkept = new Set<string>();
  for (const [target, recordIds] of missing) {
    const heldHere = new Set(holds.filter((hold) => hold.target === target).flatMap((hold) => hold.recordIds));
    for (const recordId of recordIds) (heldHere.has(recordId) ? kept : unkept).add(recordId);
  }
  for (const recordId of unkept) kept.delete(recordId);
  return kept;
}

/** Fisher and Yates. */
function shuffled<Entry>(list: Entry[], random: () => number): Entry[] {
  for (let index = list.length - 1; index > 0; index -= 1) {
    const other = Math.floor(random() * (index + 1));
    [list[index], list[other]] = [list[other] as Entry, list[index] as Entry];
  }
  return list;
}
