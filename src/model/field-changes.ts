import type { Instant } from './time.ts';

/**
 * What a field holds, as far as it may be told to whoever looks after the daemon:
 * - `none`: nothing;
 * - `time`: instants, which are the same for what has a start alone; `days`: dates, the end exclusive, `YYYY-MM-DD`;
 * - `text`: one that tells nothing of a patient; `busy`, `free`, `yes` and `no` stand for what they say;
 * - `withheld`: one that may tell of a patient;
 * - `unread`: the target was not asked, or what stands there can't be read.
 */
export type FieldValue =
  | { kind: 'none' | 'withheld' | 'unread' }
  | { kind: 'time'; startAt: Instant; endAt: Instant }
  | { kind: 'days'; startDate: string; endDate: string }
  | { kind: 'text'; text: string };

/** A field of an object before and after a change, by its name in fingerprints, or a CRM's. */
export interface FieldChange {
  field: string;
  before: FieldValue;
  after: FieldValue;
}

/** There is nothing. */
export const NOTHING_THERE: FieldValue = { kind: 'none' };
/** It may tell of a patient. */
export const WITHHELD: FieldValue = { kind: 'withheld' };
/** It was not asked for, or can't be read. */
export const UNREAD: FieldValue = { kind: 'unread' };
