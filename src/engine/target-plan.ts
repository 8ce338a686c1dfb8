import type { Hold, PlannedChange, TargetHoldKind } from '../core/model/plan.ts';
import type { TimedLink } from './diff.ts';
import { NOTHING_WITHHELD, type WithheldByPolicy } from './policy.ts';
import type { ReadingCheck } from './replaced.ts';
import type { PlannableTarget, Reach } from './target.ts';

/** One cycle's plan for one target. */
export interface TargetPlan<Target extends PlannableTarget = PlannableTarget> {
  target: Target;
  /** Changes for the outbox. */
  permitted: PlannedChange[];
  /** Estimated size of these changes in Redis; absent before the check of the limit. */
  addedBytes?: number;
  /** Kinds of holds that were open at planning time. */
  openHolds: ReadonlySet<Hold['kind']>;
  /** Changes that wait for an administrator, by kind of hold. */
  held: Readonly<Record<TargetHoldKind, PlannedChange[]>>;
  /** Deletions that an administrator rejected. */
  refused: PlannedChange[];
  /** Changes that the target's policy withholds. */
  withheld: WithheldByPolicy;
  /** Removals of absent records without enough evidence. */
  postponed: PlannedChange[];
  /** The read replaces nearly everything: no target of the stream receives changes. */
  replacesAll: boolean;
  /** Result of checking the read, or null without a check. */
  reading: ReadingCheck | null;
  /** So many records are absent that every target of the stream keeps its records. */
  distrustsReading: boolean;
  /** Another target of the stream that exceeded its limits, so that this target keeps its records too. */
  exceededIn?: string;
  /** Deletions that an administrator approved; the guard ignores them. */
  approved: ReadonlySet<string>;
  /** Records whose object was removed by hand and is created again without an approval. */
  restoring: ReadonlySet<string>;
  released: string[];
  /** Links with new record times for the state; the target is not written. */
  timed: TimedLink[];
  /** Records with abandoned changes: outside the window, uncertain, or forbidden. */
  abandoned: string[];
  /** Extent of the read. */
  reach: Reach;
  /** Number of earlier pending changes. */
  waiting: number;
  /** Pinned records that left the window. Without this list, the daemon would fetch them individually for weeks. */
  outlived: string[];
  /** Whether an administrator restored records that the rules exclude. */
  hasPins: boolean;
  unchanged: number;
  /** Number of unchanged records with a pending or failed change. */
  unsettled: number;
  /** Earlier changes that no newer change replaces: those without a failure, and those whose last attempt failed. */
  backlog: { waiting: number; failing: number };
  /** Number of excluded or unchanged records, by the rule's code. */
  omitted: Readonly<Record<string, number>>;
  /** Rule's code by record; in some targets only of records with a link or a pending change. */
  omittedRecords: ReadonlyMap<string, string>;
  /** Number of values left empty, by property. */
  unusable: Readonly<Record<string, number>>;
  linkCount: number;
}

export const NONE_HELD = {
  'first-run': [],
  replaced: [],
  people: [],
  'manual-changes': [],
  cancelled: [],
  vanished: [],
};

export const NOTHING_PLANNED = {
  ...{
    openHolds: new Set<Hold['kind']>(),
    approved: new Set<string>(),
    restoring: new Set<string>(),
    held: NONE_HELD,
    withheld: NOTHING_WITHHELD,
    reading: null,
  },
  ...{ permitted: [], refused: [], postponed: [], released: [], timed: [], abandoned: [], outlived: [] },
  ...{
    reach: 'whole' as const,
    ...{ waiting: 0, unsettled: 0, backlog: { waiting: 0, failing: 0 } },
    hasPins: false,
    replacesAll: false,
    distrustsReading: false,
    omitted: {},
    omittedRecords: new Map(),
    unusable: {},
  },
} satisfies Partial<TargetPlan>;

/** Returns whether a plan needs no decision of an administrator and no other read. */
export function isDecided({ held, postponed, replacesAll, distrustsReading }: TargetPlan): boolean {
  return !replacesAll && !distrustsReading && [...Object.values(held), postponed].every((list) => list.length === 0);
}

/** Returns the number of records that the outgoing data check kept unchanged, by code. */
export function egressStopped(excluded: Readonly<Record<string, number>>): [code: string, count: number][] {
  return Object.entries(excluded).filter(([code]) => code.startsWith('egress-'));
}
