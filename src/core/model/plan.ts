import type { Item } from './items.ts';
import type { ReasonCode } from './operations.ts';
import type { Instant, TimeSpan } from './time.ts';

/** Wanted content of a target for one record: an item or none. */
export type Wanted =
  | ({ want: 'present'; item: Item; fingerprint: string } & TimeSpan)
  | ({ want: 'absent' } & TimeSpan);

/** Difference between the wanted content and the last write. */
export interface PlannedChange {
  recordId: string;
  reason: ReasonCode;
  wanted: Wanted;
  /** Names of the differing fields, if known; never values. */
  fields: readonly string[];
  /** With reason `rescheduled`: the removed record whose event had additions of users. */
  replaces?: string;
}

/** A queued change, without content. */
export interface PendingChange extends TimeSpan {
  recordId: string;
  reason: ReasonCode;
  want: 'present' | 'absent';
  /** Fingerprint of the wanted item; null for a deletion. */
  fingerprint: string | null;
  attempts: number;
  /** Code of the last failure; null before the first. */
  lastError: string | null;
  /** Subject of the failure: names of fields, rules and permissions, never values. */
  about?: string;
  /** Sent before, so the target possibly holds an object without a link. */
  sent: boolean;
  /** Waits for newer content or an operator, with a daily attempt. */
  parked: boolean;
  enqueuedAt: Instant;
  dueAt: Instant;
}

/** An event of a calendar that was created or removed in the last hours. */
export interface RecentObject {
  /** When its creation was planned, or when it was removed. */
  at: Instant;
  /** Present for a removed event: what users had added to it, in the connector's form, and the fingerprint of its last write. */
  removed?: { additions: string; fingerprint: string };
}

/** The guard counts these two classes of deletion separately. */
export type DeletionClass = 'cancelled' | 'vanished';

/**
 * Changes that a hold keeps back: deletions of one class; a target's first run; a fetch that replaces nearly everything; writes of
 * patients while the list of forgotten patients is unknown; or the restoration of many objects that were removed by hand.
 */
export type TargetHoldKind = DeletionClass | 'first-run' | 'replaced' | 'people' | 'manual-changes';
/** Ordered as in plans. */
export const TARGET_HOLD_KINDS = [
  'first-run',
  'replaced',
  'people',
  'manual-changes',
  'cancelled',
  'vanished',
] as const satisfies readonly TargetHoldKind[];
/** Adds `corrections`, which keeps back messages that correct an appointment for patients. */
export const HOLD_KINDS = [...TARGET_HOLD_KINDS, 'corrections'] as const;
export type HoldKind = (typeof HOLD_KINDS)[number];

/** Changes that the guard keeps back until an operator decides or the hold expires. */
export interface Hold {
  /** Short id for the command line. */
  id: string;
  /** Id of the original hold after a decision on a part; absent for a whole hold. */
  partOf?: string;
  /** Id of the target, or the name of the reminders. */
  target: string;
  kind: HoldKind;
  state: 'open' | 'approved' | 'rejected';
  recordIds: readonly string[];
  /** Links of the target, or appointments in sent messages, at the time of the hold. The share is computed from this count. */
  linkCount: number;
  /** Another target whose limit was exceeded by the same read; absent or null: the target itself. */
  exceededIn?: string | null;
  /** Digest of the held messages; absent if the records suffice for the decision. */
  content?: string;
  createdAt: Instant;
  decidedAt: Instant | null;
  /** After this time an open hold is rejected, and a decision is dropped. */
  expiresAt: Instant;
}
