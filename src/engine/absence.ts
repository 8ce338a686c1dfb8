import { DAY_MS, type Instant } from '../core/model/time.ts';
import { type AbsenceEvidence, goneShareOf } from './guard.ts';

/** Result of fetching the absent records of one stream individually. */
export interface Confirmation<Source> {
  /** Records that exist although the list did not show them. */
  found: Source[];
  /** How many of `found` the list should have shown. If more than 0, the list is incomplete. */
  unlisted: number;
  /** Records that exist and are unusable. */
  unusable: Set<string>;
  /**
   * Records that are gone: the source said so in two fetches, the second in a complete read. One fetch is enough if an administrator
   * approved the removal.
   */
  vanished: Set<string>;
  /** Records found gone for the first time. A later read must confirm the miss. */
  missedOnce: Set<string>;
  /** Records that a hold keeps: no new result about them, however often they are missing. */
  held: Set<string>;
  /** Records that a random sample fetched successfully. They allow an estimate for records that were not fetched. */
  sampled: Set<string>;
  /** Number of individual fetches without a usable answer, by code and field. */
  faults: ReadonlyMap<string, number>;
  /** Absent records without a result yet: missed once, unusable, or not fetched. */
  unconfirmed: number;
}

/** Earlier misses of absent records. */
export interface Misses {
  /** Start of the first read that missed the record, by records that were gone when fetched individually. */
  missedSince: ReadonlyMap<string, Instant>;
  /** Start of the current read. */
  readAt: Instant;
}

/** An older first miss expires: the record then needs two new misses. */
const MISS_LIFE_MS = 7 * DAY_MS;

/** Returns the result for a stream without absent records. */
export function nothingMissing<Source>(): Confirmation<Source> {
  const none = () => new Set<string>();
  const sets = { unusable: none(), vanished: none(), missedOnce: none(), held: none(), sampled: none() };
  return { found: [], unlisted: 0, ...sets, faults: new Map(), unconfirmed: 0 };
}

/**
 * Returns, for one target, the evidence about its absent records.
 * @param isWritten whether the target is known to hold the record. A record that was perhaps written is withdrawn at the first miss, so that
 * no write happens meanwhile.
 */
export function evidenceOf(
  { vanished, missedOnce, held, sampled }: Confirmation<unknown>,
  missing: readonly string[],
  isWritten: (recordId: string) => boolean,
): AbsenceEvidence {
  const isGone = (id: string) => vanished.has(id) || missedOnce.has(id);
  const asked = missing.filter((id) => sampled.has(id));
  return {
    isProven: (id) => vanished.has(id) || (missedOnce.has(id) && !isWritten(id)),
    isUnknown: (id) => !isGone(id) && !held.has(id),
    goneShare: goneShareOf(asked.length, asked.filter(isGone).length),
  };
}

/**
 * Returns the misses for the next cycle, without records that were seen or exist.
 * @param isSeen whether the read shows the record
 */
export function missesAfter(
  { missedSince, readAt }: Misses,
  { found, unusable, missedOnce }: Confirmation<{ id: string }>,
  isSeen: (recordId: string) => boolean,
): Map<string, Instant> {
  const isThere = new Set([...found.map(({ id }) => id), ...unusable]);
  const remembered = [...missedSince].filter(
    ([id, missedAt]) => !isSeen(id) && !isThere.has(id) && missedAt > readAt - MISS_LIFE_MS,
  );
  const next = new Map(remembered);
  for (const id of missedOnce) if (!next.has(id)) next.set(id, readAt);
  return next;
}
