import { z } from 'zod';
import type { ReadingRemark } from './run-schemas.ts';
import { instant } from './schemas.ts';
import type { Instant } from './time.ts';
import type { WritePolicyView } from './write-policy.ts';

/**
 * Value of a field, as far as an administrator may see it:
 * - `none`: empty;
 * - `time`: instants, equal if only a start exists; `days`: dates `YYYY-MM-DD`, end exclusive;
 * - `text`: without patient data; `busy`, `free`, `yes` and `no` are literal;
 * - `withheld`: possibly patient data;
 * - `unread`: not fetched, or unreadable.
 */
export const fieldValue = z
  .discriminatedUnion('kind', [
    z.object({ kind: z.enum(['none', 'withheld', 'unread']) }),
    z.object({ kind: z.literal('time'), startAt: instant, endAt: instant }),
    z.object({ kind: z.literal('days'), startDate: z.string(), endDate: z.string() }),
    z.object({ kind: z.literal('text'), text: z.string() }),
  ])
  .describe(
    '`withheld`: the value can contain patient data; `unread`: the target was not read, or the value is not readable',
  );
export type FieldValue = z.infer<typeof fieldValue>;

/** An object's field before and after a change, by its name in fingerprints or in the CRM. */
export const fieldChange = z.object({ field: z.string(), before: fieldValue, after: fieldValue });
export type FieldChange = z.infer<typeof fieldChange>;

export const NOTHING_THERE: FieldValue = { kind: 'none' };
/** Possibly patient data. */
export const WITHHELD: FieldValue = { kind: 'withheld' };
/** Not fetched, or unreadable. */
export const UNREAD: FieldValue = { kind: 'unread' };

/** One change of a plan: ids, codes, field names, and values without patient data. */
export interface PlanLine {
  /** Id of the appointment, patient or invoice. */
  record: string;
  operation: 'create' | 'update' | 'delete';
  reason: string;
  fields: readonly string[];
  /** Null for a patient. */
  startAt: Instant | null;
  /** Title in the calendar; null without a write, or if the policy's titles reveal the patient. */
  title: string | null;
  /** `go`: to be written. `held`: waits for approval. `refused`: rejected by an operator. */
  decision: 'write' | 'on-hold' | 'refused';
  /** Keyed hash of the content, equal for equal content. Null for a deletion. */
  fingerprint: string | null;
}

/** A plan line with its field changes, as far as the target's policy permits. */
export interface PlanLineView extends PlanLine {
  /** Name or id of the agenda in the clinic; null for a record that the clinic's list lacks, and for a patient or invoice. */
  agenda: string | null;
  fieldChanges: readonly FieldChange[];
}

/** Planned changes of one target. */
export interface TargetPlanView {
  target: string;
  /** The calendar's name by clinic-mirror, or its configured id; null for a CRM, and for a calendar configured by URL. */
  calendar: string | null;
  links: number;
  /** Records without pending or failed changes. */
  unchanged: number;
  /** Earlier failing changes, deletions included; `health` lists the changes. */
  failing: number;
  /** Earlier changes in the queue. */
  waiting: number;
  released: number;
  /** Absent for `sync`. */
  writePolicy?: WritePolicyView;
  /** Before the first write to a CRM: foreign contacts, and patients that resemble one, or the code of a failed fetch. Otherwise null. */
  existing: { contacts: number; alike: number } | { unread: string } | null;
  lines: PlanLineView[];
}

export const skippedTarget = z.object({ target: z.string(), code: z.string() });
/** A target without a plan: unreadable or paused by its vendor, with the reason. */
export type SkippedTarget = z.infer<typeof skippedTarget>;

/** Planned changes of a cycle. */
export interface PlanView {
  tenant: string;
  asOf: Instant;
  snapshot: { completeness: string; reason: string | null; records: number; unusable: number };
  /** Remarks on the profile without data loss; absent for none. */
  remarks?: readonly ReadingRemark[];
  /** Absent records whose single-record request failed. A cycle leaves them unchanged. */
  unconfirmed: number;
  targets: TargetPlanView[];
  skippedTargets: readonly SkippedTarget[];
}

/** A stored plan that can be applied exactly. */
export interface StoredPlan extends PlanView {
  /** Digest of the lines and their inputs. */
  id: string;
  storedAt: Instant;
  expiresAt: Instant;
  madeOf: {
    /** Number of the tenant's configuration. */
    configuration: number;
    /** Version of each link table, and size of each outbox. */
    targets: readonly { target: string; links: string | null; waiting: number }[];
  };
  /** Records that rules exclude, with the rule's code; for calendars only a count. */
  excluded: readonly {
    target: string;
    counts: Readonly<Record<string, number>>;
    records: readonly { record: string; why: string }[];
  }[];
}
