import type { Item } from './items.ts';
import type { ReasonCode } from './operations.ts';
import type { Instant, TimeSpan } from './time.ts';

/** What a target should come to hold for one record: this item, or nothing. */
export type Wanted =
  | ({ want: 'present'; item: Item; fingerprint: string } & TimeSpan)
  | ({ want: 'absent' } & TimeSpan);

/** One difference between what should be and what the target was last given. */
export interface PlannedChange {
  recordId: string;
  reason: ReasonCode;
  wanted: Wanted;
  /** Names of the item's fields that differ, as far as known; never their values. */
  fields: readonly string[];
}

/** A change that waits in the outbox, without its content. */
export interface PendingChange extends TimeSpan {
  recordId: string;
  reason: ReasonCode;
  want: 'present' | 'absent';
  /** Fingerprint of the wanted item; null when nothing is wanted. */
  fingerprint: string | null;
  attempts: number;
  /** Code of the last failure, null before the first. */
  lastError: string | null;
  /** What that failure is about: names of fields, rules and permissions, never values. */
  about?: string;
  /** It was sent before, so the target may hold something that no link tells of. */
  sent: boolean;
  /** It waits for newer content or a person, and is tried daily meanwhile. */
  parked: boolean;
  enqueuedAt: Instant;
  dueAt: Instant;
}

/** The two sorts of deletion that the guard counts apart. */
export type DeletionClass = 'cancelled' | 'vanished';

/**
 * What a hold keeps back of a target: deletions of one class; everything of a target's first run, or of a reading that replaces nearly all; or writes of people, while it is not known who was
 * forgotten.
 */
export type TargetHoldKind = DeletionClass | 'first-run' | 'replaced' | 'people';
/** Every such kind, in the order of plans. */
export const TARGET_HOLD_KINDS = [
  'first-run',
  'replaced',
  'people',
  'cancelled',
  'vanished',
] as const satisfies readonly TargetHoldKind[];
/** Every kind. `corrections` keeps back messages to patients: that an appointment is not what they were told. */
export const HOLD_KINDS = [...TARGET_HOLD_KINDS, 'corrections'] as const;
export type HoldKind = (typeof HOLD_KINDS)[number];

/** Operations kept back by the guard until a person decides or they expire. */
export interface Hold {
  /** Short id to name it by on the command line. */
  id: string;
  /** Of the hold that a person decided a part of: this one. Absent: it is whole. */
  partOf?: string;
  /** Id of the target, or the name of the reminders. */
  target: string;
  kind: HoldKind;
  state: 'open' | 'approved' | 'rejected';
  recordIds: readonly string[];
  /** Links of the target when it was held, or appointments that patients were told of: what the share was computed from. */
  linkCount: number;
  /** Digest of what held messages say; absent where the records alone tell what is decided. */
  content?: string;
  createdAt: Instant;
  decidedAt: Instant | null;
  /** After this an open hold is rejected, and a decision is dropped. */
  expiresAt: Instant;
}
