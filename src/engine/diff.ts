import type { Item } from '../core/model/items.ts';
import type { ItemKey, Link, ReasonCode } from '../core/model/operations.ts';
import { eachInPieces, type Pieces } from '../core/model/pieces.ts';
import type { PendingChange, PlannedChange } from '../core/model/plan.ts';
import { hasPassed, overlaps, SECOND_MS, type TimeSpan, type TimeWindow } from '../core/model/time.ts';
import { type CachedFingerprints, isSameContent, type TargetIdentity } from './identity.ts';
import type { AuditRules } from './target.ts';

/** Last writes to the target, and pending changes. */
export interface PushedState {
  links: ReadonlyMap<string, Link>;
  pending: ReadonlyMap<string, PendingChange>;
}

/** A record of any stream, as far as the comparison uses it. A record without a time fills all time. */
export interface SourceRecord extends TimeSpan {
  id: string;
  /** Whether the source cancelled the record. */
  isCancelled: boolean;
  /** Whom or what the record concerns, for the subject of a fingerprint; null or absent for none. */
  subjectId?: string | null;
}

/**
 * Decision of a target's rules about a record: an item to write, exclusion, or no change for now. `stopsWriting`: a pending write must not
 * be sent either.
 */
export type Decision = { item: Item } | { exclude: string } | { retain: string; stopsWriting?: boolean };

/** Source data for one target. */
export interface DiffInput<Source = SourceRecord> {
  /** Every known record, individually fetched ones included. */
  records: Iterable<Source>;
  describe(record: Source): SourceRecord;
  /**
   * Decides about a record.
   * @param key returns the record's key for this target, of the epoch stored in its object. Computing a key is the most expensive step.
   */
  rule(record: Source, key: () => ItemKey): Decision;
  /** Fingerprints of records with an item as decision; absent if none are cached. */
  fingerprints?: CachedFingerprints<Source>;
  /** Receives each record in the window that is excluded or unchanged, with the rule's code. */
  onOmitted?(recordId: string, code: string): void;
  /** Receives each record whose pending write must be abandoned. */
  onStopped?(recordId: string): void;
  /** Records that a complete snapshot omitted and an individual fetch confirmed as gone. */
  vanished: ReadonlySet<string>;
  /** Records that the source reports only as cancelled or deleted. */
  tombstones: readonly string[];
  window: TimeWindow;
  /** Removed records by the record that replaces each: its object takes over the additions of users. */
  predecessors?: ReadonlyMap<string, string>;
  /** Whether a manual change of the record's object is reverted. Otherwise the change remains until the record changes. */
  restores(recordId: string): boolean;
  identity: TargetIdentity;
  state: PushedState;
}

/** Difference between the expected state and the last writes to the target. */
export interface Diff {
  changes: PlannedChange[];
  /** Links that left the window as time passed: the links are dropped, and the objects remain. */
  released: string[];
  /** Links of correct objects, with the current time of their records: the written object may not contain its end. */
  timed: TimedLink[];
  unchanged: number;
  /** Unchanged records with a pending or failed change: they are correct after the change succeeds. */
  unsettled: number;
}

/** A link's content and its record's time. */
export type TimedLink = Pick<Link, 'recordId' | 'fingerprint' | 'startAt' | 'endAt'>;

const NO_FIELDS: readonly string[] = [];

/** Current or pending content of a record's object. */
interface Effective extends TimeSpan {
  fingerprint: string;
  drift: Link['drift'];
  observedFingerprint?: string;
}

/**
 * Returns a predicate: whether a manual change of a record's object is reverted. With `repair` it is, unless the object was restored too
 * often today: two programs then overwrite each other, and the daemon retries tomorrow.
 * @param restorations restorations today, by record
 */
export function restoring(
  { drift, rewritesPerDay }: AuditRules,
  restorations: ReadonlyMap<string, number>,
): (recordId: string) => boolean {
  return (recordId) => drift === 'repair' && (restorations.get(recordId) ?? 0) <= rewritesPerDay;
}

/**
 * Returns record ids missing from a complete snapshot: each must be fetched individually before a deletion.
 * @param seen ids in the snapshot, skipped rows included
 */
export function absentCandidates(
  state: PushedState,
  window: TimeWindow,
  seen: (recordId: string) => boolean,
): string[] {
  const candidates: string[] = [];
  for (const recordId of heldIn(state, window)) if (!seen(recordId)) candidates.push(recordId);
  return candidates;
}

/** Returns the ids of the records that the target has or is to have in a window. A complete snapshot of the window shows each. */
export function* heldIn({ links, pending }: PushedState, window: TimeWindow): Generator<string> {
  for (const link of links.values()) {
    if (overlaps(link, window) && pending.get(link.recordId)?.want !== 'absent') yield link.recordId;
  }
  for (const entry of pending.values()) {
    if (entry.want === 'present' && !links.has(entry.recordId) && overlaps(entry, window)) yield entry.recordId;
  }
}

/** Returns whether {@link heldIn} names a record. */
export function isHeldIn({ links, pending }: PushedState, window: TimeWindow, recordId: string): boolean {
  const entry = pending.get(recordId);
  const span = links.get(recordId) ?? entry;
  return span !== undefined && entry?.want !== 'absent' && overlaps(span, window);
}

/**
 * Returns record ids that no list of the window can contain although the target has an object or a pending change: records after the
 * window, and pending writes outside the window. The daemon fetches a few of them individually in each cycle.
 */
export function outlying({ links, pending }: PushedState, window: TimeWindow): string[] {
  const beyond = [...links.values()].filter((link) => link.startAt >= window.toAt && !pending.has(link.recordId));
  const waiting = [...pending.values()].filter((entry) => entry.reason !== 'forgotten' && !overlaps(entry, window));
  return [...beyond, ...waiting].map(({ recordId }) => recordId);
}

/** Compares the expected state with the target. Pure: equal input gives an equal plan, and a completed plan gives an empty plan. */
export function* diff<Source>(input: DiffInput<Source>): Pieces<Diff> {
  const result: Diff = { changes: [], released: [], timed: [], unchanged: 0, unsettled: 0 };
  const { links, pending } = input.state;
  const passed = [...links.values()].filter((link) => hasPassed(link, input.window)).map(({ recordId }) => recordId);
  const withoutRecord = new Set([...input.tombstones, ...input.vanished, ...passed]);
  yield* eachInPieces(input.records, (record) => {
    const described = input.describe(record);
    const change = compare(record, described, input, result);
    if (change === 'leave') return;
    withoutRecord.delete(described.id);
    if (change !== null) result.changes.push(change);
  });
  const takeOut = (recordId: string, reason: ReasonCode) => {
    if (!withoutRecord.delete(recordId)) return;
    const effective = effectiveOf(links.get(recordId), pending.get(recordId));
    if (effective !== null) result.changes.push(absent(recordId, reason, effective));
  };
  for (const recordId of input.tombstones) takeOut(recordId, 'cancelled');
  for (const recordId of input.vanished) takeOut(recordId, 'vanished');
  for (const recordId of passed) {
    if (withoutRecord.has(recordId) && !pending.has(recordId)) result.released.push(recordId);
  }
  return result;
}

/** Input for the comparison of one record from any source. */
type Comparison = Omit<
  DiffInput<unknown>,
  'records' | 'describe' | 'rule' | 'fingerprints' | 'vanished' | 'tombstones'
>;

/** Compares one record. `leave`: the record has no effect on the target; null: the object is correct. */
function compare<Source>(
  source: Source,
  record: SourceRecord,
  input: DiffInput<Source>,
  result: Diff,
): PlannedChange | null | 'leave' {
  const { id } = record;
  const link = input.state.links.get(id);
  const pending = input.state.pending.get(id);
  const effective = effectiveOf(link, pending);
  if (!overlaps(record, input.window)) {
    const outside = outsideWindow(record, effective, input);
    if (outside !== 'compare') return outside;
  }
  const idAttempt = link?.idAttempt ?? 0;
  const asItIs = () => {
    result.unchanged += 1;
    // A pending write contains its own time.
    if (pending !== undefined) result.unsettled += 1;
    else if (link !== undefined) recordTime(record, link, result);
    return null;
  };
  const cachedFingerprint = input.fingerprints?.get(source, idAttempt) ?? null;
  const replaces = input.predecessors?.get(id);
  const isAsCached =
    cachedFingerprint !== null && writableDifference(differenceOf(effective, cachedFingerprint), id, input) === null;
  if (isAsCached && replaces === undefined) return asItIs();
  const decision = input.rule(source, () => input.identity.key(id, idAttempt));
  if (!('item' in decision)) return withoutItem(record, decision, effective, input);
  const fingerprint = input.identity.fingerprint(decision.item, record.subjectId);
  input.fingerprints?.record(source, idAttempt, fingerprint);
  const difference = writableDifference(differenceOf(effective, fingerprint), id, input);
  if (difference === null && replaces === undefined) return asItIs();
  const { reason, from } = difference ?? { reason: 'rescheduled', from: fingerprint };
  return {
    recordId: id,
    reason,
    wanted: { want: 'present', item: decision.item, fingerprint, startAt: record.startAt, endAt: record.endAt },
    fields: from === null ? NO_FIELDS : input.identity.differingFields(from, fingerprint),
    ...(replaces === undefined ? {} : { replaces }),
  };
}

/**
 * Decides about a record outside the window. It is compared while the target shows its object there, or a change is pending. A write that
 * did not start before the record left the window is not started.
 */
function outsideWindow({ id }: SourceRecord, effective: Effective | null, input: Comparison): 'compare' | 'leave' {
  const { links, pending } = input.state;
  const waiting = pending.get(id);
  if (waiting === undefined) return effective === null || hasPassed(effective, input.window) ? 'leave' : 'compare';
  if (links.has(id) || waiting.sent || overlaps(waiting, input.window)) return 'compare';
  if (waiting.want === 'present') input.onStopped?.(id);
  return 'leave';
}

function withoutItem(
  { id, isCancelled }: SourceRecord,
  decision: Exclude<Decision, { item: Item }>,
  effective: Effective | null,
  { onOmitted, onStopped, state }: Comparison,
): PlannedChange | 'leave' {
  const isRetained = 'retain' in decision;
  onOmitted?.(id, isRetained ? decision.retain : decision.exclude);
  if (isRetained && decision.stopsWriting === true && state.pending.get(id)?.want === 'present') onStopped?.(id);
  if (effective === null || isRetained) return 'leave';
  if (decision.exclude === 'forgotten') return absent(id, 'forgotten', effective);
  return absent(id, isCancelled ? 'cancelled' : 'excluded', effective);
}

/** Difference between an object and its expected content. */
interface Difference {
  reason: ReasonCode;
  /** Fingerprint of the current content: empty if unreadable, null without an object. */
  from: string | null;
}

/** Returns null if the current or pending content is correct. */
function differenceOf(effective: Effective | null, fingerprint: string): Difference | null {
  if (effective === null) return { reason: 'new', from: null };
  if (!isSameContent(effective.fingerprint, fingerprint)) {
    return { reason: 'content-changed', from: effective.fingerprint };
  }
  if (effective.drift === null) return null;
  if (effective.drift === 'removed') return { reason: 'removed-by-hand', from: null };
  return { reason: 'edited-by-hand', from: effective.observedFingerprint ?? '' };
}

/** Returns the difference if it must be written. A manual change remains unless the settings restore it. */
function writableDifference(
  difference: Difference | null,
  recordId: string,
  { restores }: Comparison,
): Difference | null {
  const isByHand = difference?.reason === 'edited-by-hand' || difference?.reason === 'removed-by-hand';
  return isByHand && !restores(recordId) ? null : difference;
}

/** Returns the content after pending changes, which are newer than the link; null without an object. */
function effectiveOf(link: Link | undefined, pending: PendingChange | undefined): Effective | null {
  if (pending === undefined) return link ?? null;
  const { fingerprint, startAt, endAt } = pending;
  return fingerprint === null ? null : { fingerprint, startAt, endAt, drift: null };
}

function recordTime({ id, startAt, endAt }: SourceRecord, link: Link, { timed }: Diff): void {
  const differs = Math.abs(link.startAt - startAt) >= SECOND_MS || Math.abs(link.endAt - endAt) >= SECOND_MS;
  if (differs || link.isRebuilt === true) timed.push({ recordId: id, fingerprint: link.fingerprint, startAt, endAt });
}

function absent(recordId: string, reason: ReasonCode, { startAt, endAt }: TimeSpan): PlannedChange {
  return { recordId, reason, wanted: { want: 'absent', startAt, endAt }, fields: NO_FIELDS };
}
