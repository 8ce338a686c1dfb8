import type { StoredError } from '../core/model/errors.ts';
import type { Item, RefusedThere } from '../core/model/items.ts';
import type { ItemKey, Link } from '../core/model/operations.ts';
import type { Hold, HoldKind, PendingChange, PlannedChange, RecentObject } from '../core/model/plan.ts';
import type { DriftReport, TargetGap } from '../core/model/run-schemas.ts';
import type { ReadBack, StorageUse, Uncertainty } from '../core/model/state-schemas.ts';
import type { Instant, TimeSpan } from '../core/model/time.ts';
import type { TimedLink } from './diff.ts';
import type { GoneCounts, GuardInput } from './guard.ts';
import type { ConfigurationInUse } from './replaced.ts';

/** Code of a process with an older configuration, which must not write. */
export const SUPERSEDED = 'configuration-superseded';

/** Code of a state that was written under another identity key. */
export const IDENTITY_KEY_CHANGED = 'identity-key-changed';

/** Returns the name of the lease under which one target is written. */
export function laneLease(target: string): string {
  return `lane-${target}`;
}

/** Exclusive right for a limited time. Protected writes check `token` in the same step. */
export interface Lease {
  readonly name: string;
  /** Name of the stored token while the lease is held. */
  readonly key: string;
  /** `<fencing number>:<owner>`: the number grows with each holder, which identifies late holders. */
  readonly token: string;
  /**
   * Aborted when the lease is lost. Also aborted before a different process can take the lease, if renewal fails or this process cannot
   * send its beat. Read the property again before each external call: the getter checks the time, even if no timer could fire in a stopped
   * process.
   */
  readonly signal: AbortSignal;
  /** Never throws. A lease that cannot be released expires. */
  release(): Promise<void>;
}

/** Gives leases. */
export interface LeaseTable {
  /**
   * Tries once.
   * @param comesAgainAs name of work that retries within a few seconds, in any process, and keeps its place until then
   * @returns null if the lease is held, or an earlier waiter is next
   */
  tryTake(name: string, comesAgainAs?: string): Promise<Lease | null>;
}

/** Last writes of each target, by record. Writes are fenced by the given lease. */
export interface LinkTable {
  /** Returns all links of a target by record id. Returns an identical map until a change. */
  read(target: string): Promise<ReadonlyMap<string, Link>>;
  /** Returns the existing links of the given records. */
  readSome(target: string, recordIds: readonly string[]): Promise<Map<string, Link>>;
  /**
   * Returns records that were written while a change feed was followed and have not appeared in a fetch since, with the time of the write.
   */
  unseen(target: string): Promise<Map<string, Instant>>;
  recordSeen(target: string, recordIds: Iterable<string>): Promise<void>;
  count(target: string): Promise<number>;
  /** Returns links with drift, whose objects users changed. */
  drifted(target: string): Promise<Link[]>;
  /** Adds records to the index of drift before their links are written, so that no drift is missed. */
  nameDrifted(target: string, recordIds: ReadonlySet<string>): Promise<void>;
  /** Writes links in bulk, for adoption. */
  writeAll(target: string, links: readonly Link[], lease: Lease): Promise<void>;
  /** Stores the times of unchanged objects, in links with an equal fingerprint. */
  recordTimes(target: string, links: readonly TimedLink[], lease: Lease): Promise<void>;
  /** Removes links of records outside the window. */
  release(target: string, recordIds: readonly string[], lease: Lease): Promise<void>;
  /** Removes all links of a target after its container was replaced. */
  clear(target: string, lease: Lease): Promise<void>;
  /** Returns whether the expected number of links would crowd the table. */
  isCrowded(target: string, expected: number): Promise<boolean>;
  /** Lays out a crowded table for the expected number of links; both writers must be excluded meanwhile. */
  fit(target: string, expected: number, lease: Lease): Promise<void>;
}

/** Outbox change with the decrypted wanted item, as used by the lane. */
export interface OutboxEntry extends PendingChange {
  revision: number;
  item: Item | null;
  /** Last sending of this or the replaced change; null if never. */
  sentAt: Instant | null;
  /** Epoch of the next key; above the link's epoch if the target burnt the last key. */
  idAttempt: number;
  /** Run with the decision, or null. */
  run: string | null;
  /** As of the planned change. */
  replaces?: string;
}

/** Result of one change in the lane. */
export type OutboxSettlement =
  /**
   * Done, with the current link (null if the object is deleted). The change is removed from the outbox unless a newer change arrived.
   * `effect`, for an update or deletion of an existing object, is recorded in the journal of the run, with the time of the object `before`.
   */
  | { entry: OutboxEntry; kind: 'done'; link: Link | null; effect?: 'updated' | 'deleted'; before?: TimeSpan }
  /**
   * Retried at `dueAt`, or `parked` if only a change or an operator helps. `about`: subjects of the error. `isAsked`: the vendor requested
   * the time.
   */
  | {
      entry: OutboxEntry;
      kind: 'retry';
      error: string;
      about?: string;
      dueAt: Instant;
      parked: boolean;
      isAsked?: boolean;
    }
  /** The key is burnt: retried immediately with the next epoch. */
  | { entry: OutboxEntry; kind: 'next-epoch' }
  /**
   * The object has a later revision, `found`, so the change is dropped. The link records the found state, and revisions continue above. The
   * next plan decides again.
   */
  | { entry: OutboxEntry; kind: 'superseded'; link: Link | null; found: number };

/** Time of a write, and the lease that fences the write. */
export interface OutboxWrite {
  now: Instant;
  lease: Lease;
}

/** Planned and unacknowledged changes. A newer change replaces an older change of the record. */
export interface ChangeTable {
  /** Returns all waiting changes without content. */
  pending(target: string): Promise<Map<string, PendingChange>>;
  counts(target: string): Promise<{ pending: number; failing: number }>;
  /** Adds the changes of a run, and replaces older changes of these records. Fenced by the planner's lease. */
  put(
    target: string,
    changes: readonly PlannedChange[],
    by: { now: Instant; lease: Lease; run?: string | null },
  ): Promise<void>;
  /** Removes changes that are not written any more. Erasures stay. Fenced by the planner's lease. */
  abandon(target: string, recordIds: readonly string[], lease: Lease): Promise<void>;
  /** Raises the next revisions above the revision of an object. Fenced by the lane's lease. */
  raiseRevision(target: string, found: number, lease: Lease): Promise<void>;
  /** Empties the outbox of a target after its container was replaced. */
  clear(target: string): Promise<void>;
  /**
   * Makes parked and waiting changes due now, except for waits that the vendor requested.
   * @param codes only changes whose last attempt failed with one of these codes
   * @returns the number of changes
   */
  hurry(target: string, now: Instant, codes?: ReadonlySet<string>): Promise<number>;
  /** Returns at most `limit` due changes, oldest first. */
  due(target: string, now: Instant, limit: number): Promise<OutboxEntry[]>;
  /** Records before the call that the changes are being sent. Fenced by the lane's lease. */
  markSent(target: string, entries: readonly OutboxEntry[], now: Instant, lease: Lease): Promise<void>;
  /** Reverts `markSent` for changes without any write. Fenced by the lane's lease. */
  markUnsent(target: string, entries: readonly OutboxEntry[], lease: Lease): Promise<void>;
  /** Postpones changes without counting a failure. Fenced by the lane's lease. */
  postpone(target: string, times: ReadonlyMap<string, Instant>, lease: Lease): Promise<void>;
  /**
   * Applies results to links and outbox in one atomic step. Fenced by the lane's lease.
   * @param by.recordTakenOut whether to remember removed objects until they are created again
   */
  complete(
    target: string,
    settlements: readonly OutboxSettlement[],
    by: OutboxWrite & { recordTakenOut?: boolean },
  ): Promise<void>;
  /** Returns the given records whose objects were removed and not created again. */
  takenOut(target: string, recordIds: readonly string[]): Promise<Set<string>>;
  /** Returns the waiting change of a record, or null. */
  pendingOf(target: string, recordId: string): Promise<PendingChange | null>;
  /** Returns when the next change is due, or null. */
  nextDueAt(target: string): Promise<Instant | null>;
  /** Makes changes due now that a fast clock planned or sent at a future time. @param toleranceMs allowed difference */
  takeBack(target: string, now: Instant, toleranceMs: number): Promise<void>;
}

/** Reason why a target is blocked, in words for every interface. */
export interface TargetFailure extends StoredError {
  sinceAt: Instant;
  /** Whether the vendor requested the wait. */
  isAskedToWait?: boolean;
}

/** State of a target, without links and outbox. */
export interface StoredTarget {
  /** Where the target's objects are; null until preparation. */
  container: string | null;
  /** Last fetch of own objects for rebuilding links; null: links may be incomplete. */
  adoptedAt: Instant | null;
  /** Last loss of state at that time; null if never. Writes from the lost period have no links. */
  wentBackAt: Instant | null;
  /** Fetch start of the newest complete, planned snapshot. */
  plannedAsOf: Instant | null;
  /** Fetch start of the newest planned snapshot of only the next two days; null before the first. */
  soonAsOf: Instant | null;
  /** Newest `plannedAsOf` without pending, failing or held changes. */
  idleAsOf: Instant | null;
  /**
   * End of the first sync: first time without waiting changes in the current container. Null before, or if `idleAsOf` contains the
   * information.
   */
  writtenOnceAt: Instant | null;
  /** Last time when the target confirmed a write into its present container; null before the first. */
  lastWrittenAt: Instant | null;
  /** Last time when a plan was stored in the outbox, under the configuration at that time. */
  lastPlannedAt: Instant | null;
  /** Configuration generation of this plan; null without a plan under a numbered configuration. */
  plannedUnder: number | null;
  /** Configuration generation of this plan; null if links were rebuilt since, or held changes about people still differ as at that time. */
  comparableUnder: number | null;
  firstRunApprovedAt: Instant | null;
  /** Last replacement of a deleted container by a new one; null if never. */
  replacedAt: Instant | null;
  failure: TargetFailure | null;
  /** Records that the last complete list lacked without confirmation: the target may contain obsolete objects. */
  unconfirmed: number;
  /** Data that the last cycle could not read or does not know; null for none. */
  gaps: readonly TargetGap[] | null;
  /** Null before the first audit. */
  drift: DriftReport | null;
  /** Position in the target's change feed; null if the next fetch must be complete. */
  cursor: string | null;
  /** Last complete fetch of the target; null before the first. */
  readWholeAt: Instant | null;
  /** Last checked record outside the window; the next cycle continues in order. */
  lookedOutsideTo: string | null;
  /** End of the pause that the target requested. */
  pausedUntil: Instant | null;
  /** Start of the pause; null without a pause. */
  pausedAt: Instant | null;
  /** Host whose outage blocks the target or changes in its outbox; null for none. */
  outage: string | null;
  created: number;
  updated: number;
  deleted: number;
  adopted: number;
  /** Number of times the target differed from the plan. */
  overtaken: number;
  /** Objects with the owner tag that match no record for certain, at the last complete fetch. */
  ambiguous: number;
  /** Ids of records with a second object at that time, for example a user's copy; at most a thousand. */
  copies: readonly string[];
  /** Ids of records whose objects remain, or are not updated, because of the target's policy at the last plan. */
  notRemovedByPolicy: readonly string[];
  notUpdatedByPolicy: readonly string[];
  /** Records whose objects refuse something in the target itself, at that time. */
  refusedThere: RefusedThere;
  /** First write to the present container, as read back; null before, and for a target that checks its key itself. */
  readBack: ReadBack | null;
}

export type TargetCounter = 'created' | 'updated' | 'deleted' | 'adopted' | 'overtaken';

/** State of a target at one moment. */
export interface TargetSummary {
  record: StoredTarget;
  /** Version of the link table; null before the first. */
  linksVersion: string | null;
  /** Changes in the outbox. */
  pending: number;
}

/** Result of a plan for targets without changes. */
export interface IdleRecord {
  plannedAt: Instant;
  /** Number of the configuration. */
  plannedUnder: number;
  /** Start of the read; null for an incomplete read, which proves no freshness. */
  asOf: Instant | null;
  /** Time between the start of the read and this record, in ms. */
  tookMs: number;
}

/** States of targets, without links and outbox. */
export interface TargetTable {
  read(target: string): Promise<StoredTarget>;
  /** Returns the states of targets by id, read together. */
  summarize(targets: readonly string[]): Promise<Map<string, TargetSummary>>;
  /** Sets the given fields; null clears a field. */
  write(target: string, fields: Partial<Omit<StoredTarget, TargetCounter>>): Promise<void>;
  /**
   * Records that targets have no changes. Skips targets whose links, outbox or failure changed concurrently. Fenced by the planner's lease.
   * @param looked targets with the version of their links; null before the first
   */
  recordIdle(looked: ReadonlyMap<string, string | null>, idleRecord: IdleRecord, lease: Lease): Promise<void>;
  /**
   * Records the freshness of a target, unless the target was overtaken since the start of the plan.
   * @param overtaken counter before the plan
   * @param fresh.tookMs time between the start of the read and this record, in ms
   * @param fresh.isIdle whether no changes were pending, failing or held
   */
  recordFreshness(
    target: string,
    overtaken: number,
    fresh: { plannedAsOf: Instant; tookMs: number; isIdle: boolean },
  ): Promise<void>;
  /** Counts changes, in total and for the day of `now`. */
  count(target: string, counters: Partial<Record<TargetCounter, number>>, now: Instant): Promise<void>;
  /** Records how many records left the target, by reason, without approved removals. */
  recordGone(target: string, counts: GoneCounts, now: Instant): Promise<void>;
  /** Counts departures in the last hour and in the last seven days; either period may be up to an hour longer. */
  gone(target: string, now: Instant): Promise<GuardInput['gone']>;
  /** Records that the target differs from the plan: the plan, and plans that started earlier, no longer prove freshness. */
  recordOvertaken(target: string): Promise<void>;
  /** Counts one more restoration today for each object. */
  countRestorations(target: string, recordIds: readonly string[], now: Instant): Promise<void>;
  /** Returns today's restorations of each object. */
  restorations(target: string, now: Instant): Promise<ReadonlyMap<string, number>>;
  /** Returns records of a stream that were missing in an individual fetch, with the start of the read that missed them first. */
  misses(stream: string): Promise<Map<string, Instant>>;
  /** Replaces the missing records. */
  storeMisses(stream: string, misses: ReadonlyMap<string, Instant>): Promise<void>;
}

/** Changes that wait for an operator. */
export interface HoldTable {
  list(): Promise<Hold[]>;
  /** Updates the open hold of a target and kind to cover exactly these records; an empty list closes the hold. */
  cover(
    target: string,
    kind: HoldKind,
    recordIds: readonly string[],
    context: Pick<Hold, 'linkCount' | 'expiresAt' | 'exceededIn' | 'content'> & { now: Instant },
  ): Promise<unknown>;
  /** Rejects expired holds without a decision, and drops expired decisions. @returns the expired holds */
  expire(now: Instant, rejectedUntilAt: Instant): Promise<Hold[]>;
}

/** Records that an operator restored: they stay in a target against its rules. */
export interface PinTable {
  pinned(target: string, now: Instant): Promise<ReadonlySet<string>>;
  /** Returns the pins of those targets that have any. */
  pinnedByTarget(targets: readonly string[], now: Instant): Promise<ReadonlyMap<string, ReadonlySet<string>>>;
  /** Returns a target's pins for the planner, and removes expired and damaged ones. */
  confirmPins(target: string, now: Instant): Promise<ReadonlySet<string>>;
  unpin(target: string, recordIds: readonly string[]): Promise<void>;
}

/** Objects that were created or removed recently, with additions of users to them. */
export interface RecentObjects {
  /** Returns the objects of a target by record. */
  read(target: string, now: Instant): Promise<ReadonlyMap<string, RecentObject>>;
  /** Returns additions of users to a record's removed object; null for nothing. */
  additionsOf(target: string, recordId: string): Promise<string | null>;
  /** Records planned creations. A removed object of the same record stays recorded. */
  recordCreated(target: string, recordIds: readonly string[], now: Instant): Promise<void>;
  /** Records a removed object before its removal is acknowledged. */
  recordRemoved(
    target: string,
    recordId: string,
    removed: NonNullable<RecentObject['removed']>,
    now: Instant,
  ): Promise<void>;
  /** Removes a record's removed object: another one took over what users had added. */
  remove(target: string, recordId: string): Promise<void>;
}

/**
 * Keys of unanswered writes, by target: a write may arrive late, even after the object was deleted. Each key is checked again at its time.
 * Keys are keyed hashes and reveal no record.
 */
export interface UnansweredKeys {
  /** Records keys for a check; the latest time of a key applies. */
  record(target: string, times: ReadonlyMap<ItemKey, Instant>): Promise<void>;
  /** Returns at most `limit` due keys. */
  due(target: string, now: Instant, limit: number): Promise<ItemKey[]>;
  done(target: string, keys: readonly ItemKey[]): Promise<void>;
  /** Time of the next due key, or null. */
  nextAt(target: string): Promise<Instant | null>;
}

/** Completeness of the list of erased people. After a loss, no personal data is written until an operator decides. */
export interface Safeguard {
  /**
   * @param options.lookOnly the caller needs no memory in this state, and a new tenant stays new
   * @param options.whole compares each record, as in the first check of a process; otherwise records are only counted
   * @returns null if the list is complete, as in a new state
   */
  uncertainty(options?: { lookOnly?: boolean; whole?: boolean }): Promise<Uncertainty | null>;
  /** Records a write to a target before the write is sent, so that a loss of the record is detected. */
  recordWriting(): Promise<void>;
  /** Last time when the state had lost decisions or writes; null if never. */
  wentBackAt(): Promise<Instant | null>;
  /** Copies the list. Call only without uncertainty. */
  copyOut(): Promise<void>;
  /** Records that own objects exist that this state does not know: an earlier state existed, unless this state has seen all its targets. */
  foundObjects(): Promise<void>;
  /**
   * Records that a cycle used state and targets, so that the state now belongs to this identity key. If all targets were seen, own objects
   * found later do not mean a loss. A loss after the cycle's start stays unresolved.
   * @param options.startedAt start of the cycle's reading
   */
  cycleEnded(options: { allSeen: boolean; startedAt: Instant }): Promise<void>;
}

/** Persons whose erasure was requested. */
export interface ErasedPersons {
  (personId: string): boolean;
  /** Constant for an equal set of people. */
  version: string;
}

/** All that the engine stores. */
export interface Store {
  links: LinkTable;
  outbox: ChangeTable;
  targetStore: TargetTable;
  holds: HoldTable;
  journal: PinTable;
  leases: LeaseTable;
  recentObjects: RecentObjects;
  unanswered: UnansweredKeys;
  /** Reports of cycles, newest first. */
  runs: { list(limit: number): Promise<readonly { startedAt: Instant }[]> };
  protection: Safeguard;
  tombstones: { load(): Promise<ErasedPersons> };
  /** Memory of the tenant. */
  storage: {
    read(): Promise<StorageUse>;
    add(bytes: number): Promise<void>;
    count(now: Instant): Promise<void>;
  };
  configVersion: {
    /** Registers this process's configuration. @returns its number */
    join(): Promise<number>;
    newest(): Promise<ConfigurationInUse>;
  };
}
