import type { DeletionClass } from '../core/model/plan.ts';
import type { DeletionLimit } from './guard.ts';
import type { TargetIdentity } from './identity.ts';

/** Changes that may be written to a target. */
export type WritePolicy = 'sync' | 'upsert-only' | 'create-only';

/** How changes of users to a target's objects are handled. */
export interface AuditRules {
  /** `repair` restores an object, `keep` leaves the change until the record changes, `report` only reports the change. */
  drift: 'repair' | 'keep' | 'report';
  /** Highest number of restorations of one object a day. */
  rewritesPerDay: number;
}

/** Settings of a target that the engine obeys. */
export interface TargetRules {
  policy: WritePolicy;
  /** `plan`: the first run waits for an approval. */
  firstRun: 'apply' | 'plan';
  guard: Readonly<Record<DeletionClass, DeletionLimit>> & {
    /** Time after which an undecided hold is rejected. */
    holdExpiresAfterHours: number;
  };
  audit: AuditRules;
}

/** A configured target, as far as a plan uses it. */
export interface PlannableTarget {
  id: string;
  /** Name of the records that the target shows. */
  stream: string;
  configuration: TargetRules;
  identity: TargetIdentity;
}

/** Extent of a read: all that targets show, or a part of it in which everything else is unknown. */
export type Reach = 'whole' | 'near';
