import type { Pieces } from '../model/pieces.ts';
import type { Hold } from '../model/plan.ts';
import type { Instant, TimeWindow } from '../model/time.ts';
import type { Confirmation } from './absence.ts';
import type { Diff, DiffInput, PushedState } from './diff.ts';
import type { GuardInput } from './guard.ts';
import type { Comparability, ConfigurationInUse } from './replaced.ts';
import type { PlannableTarget, Reach } from './target.ts';
import type { TargetPlan } from './target-plan.ts';

/** One target to be planned. Record ids are the source's. */
export interface TargetInput<Target extends PlannableTarget = PlannableTarget> {
  target: Target;
  state: PushedState;
  /** Records that an operator restored: the target's rules do not remove them. */
  pinned: ReadonlySet<string>;
  /** Records missing from a complete list. */
  absent: readonly string[];
  /** Records of `absent`, and some records outside the window: the engine fetched each of them individually. */
  missing: readonly string[];
  stored: {
    firstRunApprovedAt: Instant | null;
    /** Number of the configuration under which contents were last comparable; null if links were rebuilt since. */
    comparableUnder: number | null;
    /** Records with a change that the policy withheld in the last plan. */
    withheldBefore: ReadonlySet<string>;
  };
  /** Recent removals from the target. */
  gone: GuardInput['gone'];
  /** Restorations of each object today, by record. */
  restorations: ReadonlyMap<string, number>;
}

/**
 * Input of a cycle's plan, loaded beforehand: planning sends no requests and changes nothing here. Instants are epoch milliseconds.
 */
export interface CycleInput<Input extends TargetInput = TargetInput> {
  /** Time of loading. */
  now: Instant;
  reach: Reach;
  /** Whether the list of erased persons may be incomplete. */
  isUncertain: boolean;
  configVersion: ConfigurationInUse;
  /** Holds of all targets. Later decisions apply in the next cycle. */
  holds: readonly Hold[];
  /** Targets to be planned. Plans have the same order. */
  targets: readonly Input[];
}

/** The records of a target in one cycle, after the target's rules. */
export interface TargetView {
  /** Number of values left empty because they are unusable, by field. Counted during the comparison. */
  unusable: Readonly<Record<string, number>>;
  /** Whether this cycle saw the record, listed or fetched individually. */
  shows(recordId: string): boolean;
  /** Number of records in a window that the comparison skips because no rule can show them, by the rule's code. */
  countPassedOver(window: TimeWindow): Readonly<Record<string, number>>;
  /** Compares each record with its object. */
  compare(common: Omit<DiffInput, 'records' | 'describe' | 'rule' | 'fingerprints'>): Pieces<Diff>;
}

/** What one target shows of the source in one cycle: all that a plan knows of contents. */
export interface Projection extends Comparability {
  /** The target's window at the start of the reading. */
  window: TimeWindow;
  /** The part of the window that the reading covers. */
  windowRead: TimeWindow;
  /** Records that the list reports only as cancelled or deleted. */
  tombstones: readonly string[];
  /** Individual fetches of absent records of the target's stream. */
  confirmation: Confirmation<{ id: string }>;
  /** Individually fetched records whose time is before the window. */
  passed: readonly string[];
  /** Removed records by the record that replaces each: its object takes over what users added. */
  replaced: ReadonlyMap<string, string>;
  /** Whether a plan names each excluded record, not only those with an object or a pending change. */
  namesExcluded: boolean;
  /** Whether a pending write of a record is withdrawn while the record's removal waits for a decision. */
  withdrawsHeld: boolean;
  /** Whether the list shows the record, unusable records included. */
  isListed(recordId: string): boolean;
  /** Start of a listed record; null for a record without a time or not listed. */
  startOf(recordId: string): Instant | null;
  /** Whether the record is about a person; true if unknown. */
  isOfPerson(recordId: string): boolean;
  view(): Pieces<TargetView>;
}

/** Shows the source's records as the objects of targets. Created for one cycle. */
export interface Projections<Input extends TargetInput = TargetInput> {
  /** Targets in groups: the plans of a group may depend on those of earlier groups. */
  groups(targets: readonly Input[]): readonly (readonly Input[])[];
  of(input: Input): Projection;
  /** Streams, besides the own, whose records determine a target's contents. */
  computesFrom(target: Input['target']): readonly string[];
  /** Receives each plan before the next group is planned. */
  planned(plan: TargetPlan<Input['target']>): void;
}
