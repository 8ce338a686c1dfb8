import type { ReadingRemark } from './snapshots.ts';
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

/** One line of a plan: ids, codes, field names, and values that tell nothing of the patient; no other content. */
export interface PlanLine {
  /** Id of the appointment, patient or invoice. */
  record: string;
  operation: 'create' | 'update' | 'delete';
  reason: string;
  fields: readonly string[];
  /** Null for a patient. */
  startAt: Instant | null;
  /** What the calendar would show; null where the policy has titles that tell of the patient, and where nothing is written. */
  title: string | null;
  /** `go`: would be written; `held` for a person; `refused` by one. */
  decision: 'go' | 'held' | 'refused';
  /** Keyed hash of what would be written: the same for the same content. Null for a deletion. */
  fingerprint: string | null;
}

/** The same with what of each field would change, as the target's policy allows it to be told. */
export interface PlanLineView extends PlanLine {
  fieldChanges: readonly FieldChange[];
}

/** What a cycle would do to one target now. */
export interface TargetPlanView {
  target: string;
  /** The calendar by the name that we give it, or the id in its settings; null for a CRM, and one that is named by an address. */
  calendar: string | null;
  links: number;
  /** Records that are as they should be: nothing waits for them, and nothing failed. */
  unchanged: number;
  /** Changes from before that fail, the deletions among them; `health` names them. */
  failing: number;
  /** Changes from before that wait for their turn. */
  waiting: number;
  released: number;
  /**
   * Before the first write to a CRM: contacts there that are not ours, and patients who look like one; or the code of why they can't be read.
   * Null where that is no question.
   */
  existing: { contacts: number; alike: number } | { unread: string } | null;
  lines: PlanLineView[];
}

/** What a cycle would do now. */
export interface PlanView {
  tenant: string;
  asOf: Instant;
  snapshot: { completeness: string; reason: string | null; records: number; unusable: number };
  /** What the reading showed of the profile without a loss; absent where there is nothing. */
  remarks?: readonly ReadingRemark[];
  /** Absent records that could not be read alone: nothing would be done about them. */
  unconfirmed: number;
  targets: TargetPlanView[];
  /** Targets that could not be looked at, with the code of the reason. */
  skippedTargets: readonly { target: string; code: string }[];
}

/** A plan that is kept, so that exactly it can be applied. */
export interface StoredPlan extends PlanView {
  /** A digest of the lines and of what they were made of. */
  id: string;
  storedAt: Instant;
  expiresAt: Instant;
  madeOf: {
    /** Number of the tenant's configuration. */
    configuration: number;
    /** Version of each table of links, and how much waited in each outbox. */
    targets: readonly { target: string; links: string | null; waiting: number }[];
  };
  /** Records that rules leave out, with the rule's code; of calendars they are counted only. */
  excluded: readonly {
    target: string;
    counts: Readonly<Record<string, number>>;
    records: readonly { record: string; why: string }[];
  }[];
}
