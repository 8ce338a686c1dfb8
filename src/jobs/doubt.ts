import { DAY_MS, type Instant } from '../model/time.ts';

/**
 * A whole list that is shorter than the one before by more than this share and this count is doubted: more likely a list that lies than
 * a day's work. As with the guard of deletions, of which this is the counterpart for what is computed.
 */
const SUSPECT_SHARE = 0.2;
const SUSPECT_COUNT = 10;
/** What the clinic has shown for so long is so. */
const SUSPECT_FOR_MS = DAY_MS;

/** The size of a list that is read again and again. */
export interface ListSize {
  /** Rows of the last reading that was believed; null before the first. */
  count: number | null;
  /** Since when readings have not been believed. */
  sinceAt: Instant | null;
}

/** Nothing was read yet: the first reading is believed. */
export function createListSize(): ListSize {
  return { count: null, sinceAt: null };
}

/** Takes the size of another whole reading in. @returns false for one that must not be believed yet */
export function isBelievable(listSize: ListSize, count: number, now: Instant): boolean {
  const lost = (listSize.count ?? 0) - count;
  const isDoubtful = lost > SUSPECT_COUNT && lost > (listSize.count ?? 0) * SUSPECT_SHARE;
  listSize.sinceAt = isDoubtful ? (listSize.sinceAt ?? now) : null;
  if (listSize.sinceAt !== null && now - listSize.sinceAt < SUSPECT_FOR_MS) return false;
  listSize.count = count;
  listSize.sinceAt = null;
  return true;
}
