import type { Appointment, Invoice, Patient } from '../model/records.ts';
import { DAY_MS, type Instant } from '../model/time.ts';
import { type AbsenceEvidence, goneShareOf } from './guard.ts';

/** What reading absent records of one stream alone told. */
export interface Confirmation<Source> {
  /** They are there after all; the list did not show them. */
  found: Source[];
  /** They are there and can't be used. */
  unusable: Set<string>;
  /** They are gone: 404 or 410 for the record itself, by two readings; by one where a person approved the removal. */
  vanished: Set<string>;
  /** They are gone for the first time: believed when a later reading finds the same. */
  missedOnce: Set<string>;
  /** A hold keeps them wherever they are missing: nothing new is said of them. */
  kept: Set<string>;
  /** Asked for by chance, and answered: they tell of those that nobody asked for. */
  sampled: Set<string>;
  /** Absent records that nothing can be done about yet: missed once, unusable, or not asked for. */
  unconfirmed: number;
}

/** What reading absent records alone told, by stream. */
export interface Confirmations {
  appointments: Confirmation<Appointment>;
  patients: Confirmation<Patient>;
  invoices: Confirmation<Invoice>;
}

/** What is known of absent records from the readings before. */
export interface Misses {
  /** Records that were gone when they were read alone: when the first reading began that missed them. */
  known: ReadonlyMap<string, Instant>;
  /** When the reading began that misses them now. */
  readAt: Instant;
}

/** A first miss that is older is dropped: what is missed then is missed again. */
const MISS_LIFE_MS = 7 * DAY_MS;

/** Nothing was missing. */
export function nothingMissing<Source>(): Confirmation<Source> {
  const none = () => new Set<string>();
  const sets = { unusable: none(), vanished: none(), missedOnce: none(), kept: none(), sampled: none() };
  return { found: [], ...sets, unconfirmed: 0 };
}

/**
 * Tells, for one target, what its absent records are.
 * @param isWritten whether the target is known to hold the record: what only may have been written is taken back at the first miss, so
 *   that nothing is written of it meanwhile
 */
export function evidenceOf(
  { vanished, missedOnce, kept, sampled }: Confirmation<unknown>,
  missing: readonly string[],
  isWritten: (recordId: string) => boolean,
): AbsenceEvidence {
  const isGone = (id: string) => vanished.has(id) || missedOnce.has(id);
  const asked = missing.filter((id) => sampled.has(id));
  return {
    isProven: (id) => vanished.has(id) || (missedOnce.has(id) && !isWritten(id)),
    isUnknown: (id) => !isGone(id) && !kept.has(id),
    goneShare: goneShareOf(asked.length, asked.filter(isGone).length),
  };
}

/**
 * The misses that the next cycle should know. One that was seen, or is there, is no miss any more.
 * @param isSeen whether the reading shows a row of it
 */
export function missesAfter(
  { known, readAt }: Misses,
  { found, unusable, missedOnce }: Confirmation<{ id: string }>,
  isSeen: (recordId: string) => boolean,
): Map<string, Instant> {
  const isThere = new Set([...found.map(({ id }) => id), ...unusable]);
  const lasting = [...known].filter(
    ([id, missedAt]) => !isSeen(id) && !isThere.has(id) && missedAt > readAt - MISS_LIFE_MS,
  );
  const next = new Map(lasting);
  for (const id of missedOnce) if (!next.has(id)) next.set(id, readAt);
  return next;
}
