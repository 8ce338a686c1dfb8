import type { FieldChange } from './field-changes.ts';
import type { ReadingRemark } from './reading-remarks.ts';
import type { Instant } from './time.ts';

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
  verdict: 'go' | 'held' | 'refused';
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
  snapshot: { completeness: string; reason: string | null; records: number; setAside: number };
  /** What the reading showed of the profile without a loss; absent where there is nothing. */
  remarks?: readonly ReadingRemark[];
  /** Absent records that could not be read alone: nothing would be done about them. */
  unconfirmed: number;
  targets: TargetPlanView[];
  /** Targets that could not be looked at, with the code of the reason. */
  left: readonly { target: string; code: string }[];
}

/** A plan that is kept, so that exactly it can be applied. */
export interface StoredPlan extends PlanView {
  /** A digest of the lines and of what they were made of. */
  id: string;
  keptAt: Instant;
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
