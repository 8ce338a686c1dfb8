import type { Logger, Spans } from '../core/log/logger.ts';
import type { MirrorError } from '../core/model/errors.ts';
import type { Item, RefusedThere } from '../core/model/items.ts';
import type { ItemKey, Link, Operation, Outcome, RemoteItem, Update } from '../core/model/operations.ts';
import type { Pieces } from '../core/model/pieces.ts';
import type { Hold, RecentObject } from '../core/model/plan.ts';
import type { TargetGap } from '../core/model/run-schemas.ts';
import type { Lookup } from '../core/model/snapshots.ts';
import type { Progress } from '../core/model/tasks.ts';
import type { Clock, ElapsedBetween, Instant, TimeSpan, TimeWindow } from '../core/model/time.ts';
import type { Confirmation } from './absence.ts';
import type { Diff, DiffInput, PushedState } from './diff.ts';
import type { GuardInput } from './guard.ts';
import type { Comparability, ConfigurationInUse } from './replaced.ts';
import type { ErasedPersons, Store } from './store.ts';
import type { PlannableTarget, Reach, TargetRules } from './target.ts';
import type { TargetPlan } from './target-plan.ts';

/**
 * What the engine asks of others. A source says what exists, a projection says what a target shows of it, a target keeps the objects, an
 * extension follows what was learned, and the store remembers (`store.ts`). Record ids are the source's; instants are epoch milliseconds.
 */

/** One target to be planned. */
export interface TargetInput<Target extends PlannableTarget = PlannableTarget> {
  target: Target;
  state: PushedState;
  /** Records that an operator restored: the target's rules do not remove them. */
  pinned: ReadonlySet<string>;
  /** Records missing from a complete list. */
  absent: readonly string[];
  /** Records fetched individually: those of `absent`, and some outside the window. */
  toConfirm: readonly string[];
  stored: {
    firstRunApprovedAt: Instant | null;
    /** Number of the configuration under which contents were last comparable; null if links were rebuilt since. */
    comparableUnder: number | null;
    /** Records whose objects refuse something in the target itself. */
    refusedThere: RefusedThere;
    /** Records with a change that the policy withheld in the last plan. */
    withheldBefore: ReadonlySet<string>;
  };
  /** Recent removals from the target. */
  gone: GuardInput['gone'];
  /** Restorations of each object today, by record. */
  restorations: ReadonlyMap<string, number>;
  /** Objects that were created or removed recently, by record. */
  recent: ReadonlyMap<string, RecentObject>;
}

/** A target that is not planned in this cycle, but on which objects of planned targets depend. */
export type OtherTarget<Target extends PlannableTarget = PlannableTarget> = Pick<
  TargetInput<Target>,
  'target' | 'state' | 'pinned'
>;

/** Results of fetching absent records individually, by stream. */
export type Confirmations = Readonly<Record<string, Confirmation<{ id: string }>>>;

/** Input of a cycle's plan, loaded beforehand: planning sends no requests and changes nothing here. */
export interface CycleInput<Input extends TargetInput = TargetInput> {
  /** Time of loading. */
  now: Instant;
  reach: Reach;
  /** Whether the list of erased people may be incomplete. */
  isUncertain: boolean;
  configVersion: ConfigurationInUse;
  /** Holds of all targets. Later decisions apply in the next cycle. */
  holds: readonly Hold[];
  /** Targets to be planned. Plans have the same order. */
  targets: readonly Input[];
}

/** Input of a cycle's plan, with what projections need. */
export interface CycleFacts<Input extends TargetInput = TargetInput> extends CycleInput<Input> {
  confirmations: Confirmations;
  isForgotten: ErasedPersons;
  /** By id. */
  others: ReadonlyMap<string, OtherTarget<Input['target']>>;
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

/** Contents of one target of the source in one cycle: all that a plan knows of contents. */
export interface Projection extends Comparability {
  /** The target's window at the beginning of the read. */
  window: TimeWindow;
  /** The part of the window that the reading covers. */
  windowRead: TimeWindow;
  /** Records that the list reports only as cancelled or deleted. */
  tombstones: readonly string[];
  /** Individual fetches of absent records of the target's stream. */
  confirmation: Confirmation<{ id: string }>;
  /** Individually fetched records whose time is before the window. */
  beforeWindow: readonly string[];
  /** Removed records by the record that replaces each: its object takes over what users added. */
  predecessors: ReadonlyMap<string, string>;
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
  /** Streams, in addition to the target's own, whose records determine a target's contents. */
  computesFrom(target: Input['target']): readonly string[];
  /** Receives each plan before the next group is planned. */
  planned(plan: TargetPlan<Input['target']>): void;
}

/** The list of one stream, as far as the reading contains it. */
export interface Listing {
  isComplete: boolean;
  /** Number of records. */
  count: number;
  recordIds(): Iterable<string>;
  /** Whether the list shows the record, unusable records included. */
  isListed(recordId: string): boolean;
}

/** How to fetch a stream's records individually, and how to judge the list with the result. */
export interface SingleReads<Record extends { id: string } = { id: string }> {
  /** Start of the list's read. */
  readAt: Instant;
  readAlone(recordId: string, signal: AbortSignal): Promise<Lookup<Record>>;
  /** Returns whether a complete list must show an individually fetched record. */
  belongsOnList(record: Record, startsBefore: readonly Instant[]): boolean;
}

/** What the source said in one cycle, with its completeness. */
export interface Reading<Target extends PlannableTarget = PlannableTarget> {
  reach: Reach;
  /** Start of the read. A plan describes this instant. */
  startedAt: Instant;
  /** Names of the streams with single reads. */
  streamNames: readonly string[];
  /** Whether the list that each cycle reads is complete, is known to be incomplete, or is an earlier list with changes. */
  completeness: 'complete' | 'partial' | 'changes';
  /** Code of why a target cannot be planned with this reading; null if it can. */
  unreadFor(target: Target): string | null;
  windowOf(target: Target): TimeWindow;
  windowReadOf(target: Target): TimeWindow;
  /** The list of a target's stream; null if it was not read. */
  listingOf(target: Target): Listing | null;
  /** The list of a stream for all of its users; null if it was not read. */
  listing(stream: string): Listing | null;
  /** The own stream and those that a target computes with, as far as single reads can complete them. */
  streamsOf(target: Target): readonly string[];
  /** Expected number of objects of a target. */
  expectedLinks(target: Target): number;
  /** Time of the oldest list that a target uses. */
  asOf(target: Target): Instant;
  /** Whether all lists that a target uses are complete. */
  isWhole(target: Target): boolean;
  /** Returns the name of the contents that a target may show; null if more than the target's records determines them. */
  contentKey(target: Target): (() => string) | null;
  /** Times of the records that a target may show, by record. */
  spansOf(target: Target): ReadonlyMap<string, TimeSpan>;
  /** Number of records that a comparison skips, by the rule's code. */
  passedOver(target: Target): Readonly<Record<string, number>>;
  /** Unreadable or unknown data, by target and by part of an extension. */
  gaps(): ReadonlyMap<string, readonly TargetGap[]>;
  single(stream: string): SingleReads;
  /** Returns the reading with lists marked as incomplete that single reads refuted, and learns from the records found alone. */
  confirmed(confirmations: Confirmations, signal: AbortSignal): Promise<this>;
  projections(facts: CycleFacts): Projections;
  /** Returns a cycle's results for extensions. @param provesNothing whether absent records prove nothing */
  learned(confirmations: Confirmations, provesNothing: boolean): unknown;
  /** Stores what planning found out, for the next cycle. */
  recordFound(projections: Projections): void;
}

/** Request for a reading. */
export interface ReadingRequest<Target extends PlannableTarget = PlannableTarget> {
  targets: readonly Target[];
  reach: Reach;
  /** Targets with more restored records than single reads can find. */
  restored: readonly Target[];
  /** Nothing will be written: slow lists are read too. */
  isLookOnly: boolean;
  /** The slow lists were just read. */
  justRead: boolean;
  progress: Progress;
}

/** The readings of one cycle. */
export interface Readings<R extends Reading = Reading> {
  /** Whether a part may be read, where that suffices. */
  mayBePart: boolean;
  /** Consecutive cycles before this one in which absent records could not be read individually. */
  unconfirmableCycles: number;
  read(request: ReadingRequest, signal: AbortSignal): Promise<R>;
}

/** Says what exists. */
export interface Source<R extends Reading = Reading> {
  /** Begins a cycle. @param pacedAt its start, if a part may suffice; null if everything is wanted */
  open(pacedAt: Instant | null): Promise<Readings<R>>;
  /** The next reading must contain everything, whatever the source reports as changed. */
  distrust(): void;
  /** Discards records in memory: after a failed cycle erased people must not remain. */
  invalidate(): void;
  /** Whether records in memory were discarded. */
  isInvalidated(): boolean;
  /** Receives the open questions of a full read, for the next read. */
  learn(confirmations: Confirmations, gaps: ReadonlyMap<string, readonly TargetGap[]>): void;
}

/**
 * How a vendor keeps one object per key. `enforced`: the vendor refuses a second object. `lookedUp`: clinic-mirror searches before it
 * creates an object. The search may miss writes that are younger than `lagMs` or still in transit.
 */
export type KeyPromise = 'enforced' | { lookedUp: { lagMs: number } };

/** What a target can do, as far as the engine uses it. */
export interface TargetSupports {
  /** Largest number of operations that a caller may pass to one `apply`. */
  batchSize: number;
  /** Concurrent `apply` calls allowed for one target. */
  concurrency: number;
  keys: KeyPromise;
  /** The servers of this vendor differ, and one may keep neither name nor marks: the first write is read back before the second. */
  mayLoseNames?: true;
  /** Whether an audit removes further objects with the marks of a record. */
  duplicatesAreOurs: boolean;
}

/** Changes in a container, or its whole content. */
export interface RemoteChanges<Wanted extends Item = Item> {
  /**
   * `whole`: `items` contains all own objects that overlap the window. `since`: objects that are not listed are unchanged since the cursor.
   */
  scope: 'whole' | 'since';
  /** Current state of own objects, each listed once. */
  items: RemoteItem<Wanted>[];
  /** With `since`: remote ids of deleted objects, possibly including foreign and unknown ids. */
  removed: string[];
  /** Opaque cursor for the next request. Null if the vendor has no feed, so that each fetch is complete. */
  cursor: string | null;
}

/** Where the objects are. A subset of a connector. */
export interface Target<Wanted extends Item = Item> {
  /**
   * Returns the container to write to.
   * @param storedId container id from an earlier call, null at first
   * @param choice.creates whether a missing container is created
   * @returns the container's id, which the caller stores; null only without `creates`, if the container does not exist
   */
  prepare(storedId: string | null, choice: { creates: boolean }, signal: AbortSignal): Promise<string | null>;
  /**
   * Carries out at most `supports.batchSize` operations on distinct records.
   * @returns one outcome per operation, in any order; throws only if no operation has an outcome
   */
  apply(container: string, operations: readonly Operation<Wanted>[], signal: AbortSignal): Promise<Outcome<Wanted>[]>;
  /** Fetches the changes since a cursor, or all objects without a cursor. */
  changes(
    container: string,
    query: { cursor: string | null; window: TimeWindow },
    signal: AbortSignal,
  ): Promise<RemoteChanges<Wanted>>;
  /** Fetches own objects in the container, in pages. */
  read(container: string, window: TimeWindow | null, signal: AbortSignal): AsyncIterable<RemoteItem<Wanted>[]>;
  /** Fetches the existing objects among the keys. @param remoteIds stored remote ids by key, null for a derived one */
  find(
    container: string,
    keys: readonly ItemKey[],
    signal: AbortSignal,
    remoteIds?: ReadonlyMap<ItemKey, string | null>,
  ): Promise<RemoteItem<Wanted>[]>;
}

/** Links and pending changes, to compare with a target's objects. */
export interface Written {
  links: ReadonlyMap<string, Link>;
  pending: ReadonlyMap<string, unknown>;
}

/** A target without changes in its last plan. With equal input there are still no changes, until time alters the result. */
export interface IdleTarget {
  /** Identifies all input of the plan except the time. */
  by: string;
  fromAt: Instant;
  /** From this instant, a record or link may enter or leave the window. */
  untilAt: Instant;
  /** Number of links, and of correct records. */
  links: number;
  unchanged: number;
  /** Excluded records by the rule's code, without those that the comparison skips. */
  omitted: Readonly<Record<string, number>>;
}

/** Objects on which the objects of a target depend. */
export interface Dependency {
  /** Id of the other target. */
  target: string;
  /** Code of a write that fails because the other object is missing. */
  missing: string;
  /** Key of the other object; empty for none. */
  keyOf(item: Item): ItemKey;
}

/** One configured target, opened. */
export interface EngineTarget extends PlannableTarget, TargetTraits {
  configuration: TargetRules & { paused: boolean; connection: string; connector: string };
  connector: Target;
  supports: TargetSupports;
  /** The container that this process verified; null before the first check and after a failure. */
  preparedContainer: string | null;
  /** Input of the last plan without changes, in this process. */
  idleTarget: IdleTarget | null;
}

/** How a target of this kind is treated: all that the engine knows of its objects' contents. */
export interface TargetTraits {
  /** Whether a limit of the vendor concerns all targets of the connection. */
  sharesLimits: boolean;
  /** Null if the objects stand alone. */
  dependsOn: Dependency | null;
  /** Whether objects of other targets may depend on these. */
  hasDependents: boolean;
  /** Whether objects of removed records are looked up for what users had added. */
  takesOver: boolean;
  /** Whether plans over a part of a reading are possible. */
  plansParts: boolean;
  /** Whether `prepare` without `creates` writes nothing. */
  findsContainer: boolean;
  /** Whether the first write must be read back, since `prepare` proves nothing about names. */
  readsBack: boolean;
  /** Whether further objects with the marks of a record are listed for an operator. */
  listsCopies: boolean;
  /** Code of a container that no longer exists. */
  containerGone: string;
  windowAt(now: Instant): TimeWindow;
  /** Forgets what is cached about discarded records. */
  invalidate(): void;
  /** Returns a waiting item without parts that must not be written any more. @param fingerprint of the item */
  writable(item: Item, link: Link | null, fingerprint: string): Item;
  /** Returns additional facts for an update of an object. */
  updateFacts(item: Item, link: Link): UpdateFacts;
  /** Returns the stored item, completed with expected parts that the target's answer omits. */
  completed(stored: Item, wanted: Item | null): Item;
  /** Returns what the objects refuse in the target itself. @param before earlier result, kept for objects not shown */
  refusedIn(objects: readonly RemoteItem<Item>[], written: Written, before: RefusedThere): Pieces<RefusedThere>;
  /** Error of a container that is gone although links name its objects. */
  containerMissing(): MirrorError;
  /** Error of a target that does not show its first write. */
  firstWriteMissing(tenant: string): MirrorError;
}

/** Facts about an object that only its connector understands. */
export type UpdateFacts = Omit<
  Update<Item>,
  'kind' | 'recordId' | 'key' | 'sealedRecordId' | 'item' | 'revision' | 'versionTag' | 'remoteId' | 'additions'
>;

/** A user of the source's records in each cycle, in addition to targets. */
export interface Extension<Learned = never> {
  /** Name among the names of targets; no target can have it. */
  name: string;
  stream: string;
  /** Repairs incomplete data after a crash, before a cycle. */
  resume(): Promise<void>;
  /**
   * Returns records that the extension waits for and that a complete list omitted, with their known start.
   * @param isSeen includes unusable records
   */
  absent(isSeen: (recordId: string) => boolean): Promise<ReadonlyMap<string, readonly Instant[]>>;
  /** Receives a cycle's results, of {@link Reading.learned}. Unseen records are not part of them. */
  follow(learned: Learned): Promise<void>;
}

/** Work that waits for an unreachable host. */
export interface HostOutages {
  /** Runs work, and records which hosts answered. */
  watch<Result>(work: () => Promise<Result>): Promise<Result>;
  /** Returns the host that caused an error for all of its clients, or null. */
  causeOf(error: MirrorError): string | null;
  /** Records that work waits for a host. @returns the longest delay before the next attempt; null for the work's own delay */
  wait(host: string, work: { tenant: string; target: string | null }, error: MirrorError): Promise<number | null>;
  /** Returns whether a host answered the current work without any failure. */
  hasAnswered(host: string): boolean;
  /** Restarts work that waits for a host. */
  end(host: string): Promise<void>;
  /** Returns the host that failed last in the current work, or null. */
  failed(): string | null;
}

/** One tenant, as the engine sees it: its source, targets, store and bounds. */
export interface Engine<T extends EngineTarget = EngineTarget, R extends Reading = Reading> extends Store {
  id: string;
  source: Source<R>;
  targets: ReadonlyMap<string, T>;
  followers: readonly Extension<ReturnType<R['learned']>>[];
  outages: HostOutages;
  log: Logger;
  spans: Spans;
  clock: Clock;
  /** Elapsed time by a monotonic clock, if known. */
  elapsedBetween: ElapsedBetween;
  /** Returns a time of this host by the clock of the store. */
  sharedTime(at: Instant): Promise<Instant>;
  /** 0 to below 1, for jitter. */
  random: () => number;
  /** Minimum time between the starts of two reads that prove a record gone. */
  missedForMs: number;
  /** Maximum age of a plan for writes: later, pending changes may be outdated. */
  planLifeMs: number;
  /** Limits of one time slice of a target's lane. */
  slice: { operations: number; durationMs: number };
}

/** Returns the targets that are not paused. */
export function activeTargets<T extends EngineTarget>({ targets }: { targets: ReadonlyMap<string, T> }): T[] {
  return [...targets.values()].filter(({ configuration }) => !configuration.paused);
}
