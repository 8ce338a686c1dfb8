import type { Hold, PlannedChange, TargetHoldKind } from '../model/plan.ts';
import type { Reach, TargetSetup } from './cycle-input.ts';
import type { TimedLink } from './diff.ts';
import type { ReadingCheck } from './replaced.ts';

/** What one cycle means to do to one target. */
export interface TargetPlan {
  target: TargetSetup;
  /** Goes to the outbox. */
  passed: PlannedChange[];
  /** Kinds of which a hold was open when it was planned. */
  openHolds: ReadonlySet<Hold['kind']>;
  /** Kept back until a person decides, by kind of hold. */
  held: Readonly<Record<TargetHoldKind, PlannedChange[]>>;
  /** Deletions that a person rejected. */
  refused: PlannedChange[];
  /** Removals of absent records of which too little is known yet. */
  postponed: PlannedChange[];
  /** The reading replaces nearly everything: no target of the stream is given anything of it. */
  replaced: boolean;
  /** How the reading stands to what the target holds; null when it is not judged. */
  reading: ReadingCheck | null;
  /** So much is absent that every target of the stream keeps what it has. */
  distrustsReading: boolean;
  /** Deletions that a person approved; the guard does not count them. */
  approved: ReadonlySet<string>;
  released: string[];
  /** Links whose records' times are to be noted; nothing is written to the target. */
  timed: TimedLink[];
  /** Records whose changes are not written any more: they left the window, are doubtful, or must not be written. */
  abandoned: string[];
  /** What it was planned by. */
  reach: Reach;
  /** Changes that waited before. */
  waiting: number;
  /** Pinned records that left the window: they would be read alone for weeks. */
  outlived: string[];
  /** A person put records back that the rules leave out. */
  hasPins: boolean;
  unchanged: number;
  /** Of these, records whose change waits, or failed. */
  unsettled: number;
  /** Changes from before that nothing newer takes the place of: those that have not failed, and those whose last try did. */
  backlog: { waiting: number; failing: number };
  /** Records that the rules leave out or as they are, by the rule's code. */
  omitted: Readonly<Record<string, number>>;
  /** The same by record, for targets in CRMs. */
  omittedRecords: ReadonlyMap<string, string>;
  /** Values that had to be left empty, by property. */
  unusable: Readonly<Record<string, number>>;
  linkCount: number;
}

/** Nothing is kept back. */
export const NONE_HELD = { 'first-run': [], replaced: [], people: [], cancelled: [], vanished: [] };

/** A plan that does nothing. */
export const NOTHING_PLANNED = {
  ...{ openHolds: new Set<Hold['kind']>(), approved: new Set<string>(), held: NONE_HELD, reading: null },
  ...{ passed: [], refused: [], postponed: [], released: [], timed: [], abandoned: [], outlived: [] },
  ...{
    reach: 'whole' as const,
    ...{ waiting: 0, unsettled: 0, backlog: { waiting: 0, failing: 0 } },
    hasPins: false,
    replaced: false,
    distrustsReading: false,
    omitted: {},
    omittedRecords: new Map(),
    unusable: {},
  },
} satisfies Partial<TargetPlan>;

/** Whether a plan leaves nothing to a person or to another reading. */
export function isDecided({ held, postponed, replaced, distrustsReading }: TargetPlan): boolean {
  return !replaced && !distrustsReading && [...Object.values(held), postponed].every((list) => list.length === 0);
}
