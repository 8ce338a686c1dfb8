import type { Item } from '../model/items.ts';
import type { ItemKey, Link, ReasonCode } from '../model/operations.ts';
import { eachInPieces, type Pieces } from '../model/pieces.ts';
import type { PendingChange, PlannedChange } from '../model/plan.ts';
import { hasPassed, overlaps, SECOND_MS, type TimeSpan, type TimeWindow } from '../model/time.ts';
import type { TargetConfiguration } from '../settings/configuration.ts';
import type { CachedFingerprints } from './identity.ts';
import { isSameContent, type TargetIdentity } from './identity.ts';

/** What the target was last given, and what is on its way to it. */
export interface PushedState {
  links: ReadonlyMap<string, Link>;
  pending: ReadonlyMap<string, PendingChange>;
}

/** A record of any stream, as far as the comparison needs it: what has no time takes up all of it. */
export interface SourceRecord extends TimeSpan {
  id: string;
  /** The clinic itself says that it is off. */
  isCancelled: boolean;
}

/**
 * What a target's rules say of a record: what it should hold, that it should hold nothing, or that it stays as it is for now.
 * `stopsWriting`: what waits to be written must not be written any more either.
 */
export type Decision = { item: Item } | { exclude: string } | { retain: string; stopsWriting?: boolean };

/** What the clinic shows, for one target. */
export interface DiffInput<Source = SourceRecord> {
  /** Every record that is known to exist, those confirmed by reading them alone included. */
  records: Iterable<Source>;
  describe(record: Source): SourceRecord;
  /** @param key tells the record's key for this target, of the epoch that its object carries: computing one costs more than the rest */
  rule(record: Source, key: () => ItemKey): Decision;
  /** Of records whose decision is an item; absent where none are kept. */
  fingerprints?: CachedFingerprints<Source>;
  /** Told of each record in the window that is left out or kept as it is, with the rule's code. */
  onOmitted?(recordId: string, code: string): void;
  /** Told of each record whose waiting write is to be given up. */
  onStopped?(recordId: string): void;
  /** Records that were absent from a complete snapshot and confirmed gone by reading them alone. */
  vanished: ReadonlySet<string>;
  /** Records of which the clinic says that they are off, and nothing else. */
  tombstones: Iterable<string>;
  window: TimeWindow;
  /** Whether what a person did to the record's object is to be undone; else it stays until the record changes. */
  restores(recordId: string): boolean;
  identity: TargetIdentity;
  state: PushedState;
}

/** The difference between what should be and what the target was last given. */
export interface Diff {
  changes: PlannedChange[];
  /** Links that left the window by the passing of time: dropped, their objects stay. */
  released: string[];
  /** Links whose objects are as they should be, with the time of today: what was written may not have told its end. */
  timed: TimedLink[];
  unchanged: number;
  /** Of the unchanged, records whose change waits, or failed: they are as they should be once it is through. */
  unsettled: number;
}

/** A link by what it tells of, and its record's time. */
export type TimedLink = Pick<Link, 'recordId' | 'fingerprint' | 'startAt' | 'endAt'>;

const NO_FIELDS: readonly string[] = [];

/** What a record's object is, or is about to be. */
interface Effective extends TimeSpan {
  fingerprint: string;
  drift: Link['drift'];
  observedFingerprint?: string;
}

/**
 * Tells whether what a person did to a record's object is undone: under `repair`, unless the object had to be restored too often today.
 * Two programs fight over such a one; tomorrow it is tried again.
 * @param restorations how often today, by record
 */
export function restoring(
  { drift, rewritesPerDay }: Pick<TargetConfiguration['audit'], 'drift' | 'rewritesPerDay'>,
  restorations: ReadonlyMap<string, number>,
): (recordId: string) => boolean {
  return (recordId) => drift === 'repair' && (restorations.get(recordId) ?? 0) <= rewritesPerDay;
}

/**
 * Record ids that a complete snapshot should have shown and did not: they must be read alone before anything is deleted.
 * @param seen ids in the snapshot, rows that were set aside included
 */
export function absentCandidates(
  state: PushedState,
  window: TimeWindow,
  seen: (recordId: string) => boolean,
): string[] {
  const candidates: string[] = [];
  const consider = (one: TimeSpan & { recordId: string }) => {
    if (overlaps(one, window) && !seen(one.recordId)) candidates.push(one.recordId);
  };
  for (const link of state.links.values()) {
    if (state.pending.get(link.recordId)?.want !== 'absent') consider(link);
  }
  for (const pending of state.pending.values()) {
    if (pending.want === 'present' && !state.links.has(pending.recordId)) consider(pending);
  }
  return candidates;
}

/**
 * Record ids of which no list of the window tells although the target has, or is about to have, something for them: what lies beyond its
 * far end, and what waits to be written outside it. They are read alone, some at a time.
 */
export function outlying({ links, pending }: PushedState, window: TimeWindow): string[] {
  const beyond = [...links.values()].filter((link) => link.startAt >= window.toAt && !pending.has(link.recordId));
  const waiting = [...pending.values()].filter((entry) => entry.reason !== 'forgotten' && !overlaps(entry, window));
  return [...beyond, ...waiting].map(({ recordId }) => recordId);
}

/** Compares. Pure: the same input gives the same plan, and a plan that was carried out gives an empty one. */
export function* diff<Source>(input: DiffInput<Source>): Pieces<Diff> {
  const result: Diff = { changes: [], released: [], timed: [], unchanged: 0, unsettled: 0 };
  const handled = new Set<string>();
  yield* eachInPieces(input.records, (record) => {
    const described = input.describe(record);
    const change = compare(record, described, input, result);
    if (change === 'leave') return;
    handled.add(described.id);
    if (change !== null) result.changes.push(change);
  });
  const takeOut = (recordId: string, reason: ReasonCode) => {
    const effective = effectiveOf(recordId, input.state);
    if (effective !== null && !handled.has(recordId)) result.changes.push(absent(recordId, reason, effective));
    handled.add(recordId);
  };
  for (const recordId of input.tombstones) takeOut(recordId, 'cancelled');
  for (const recordId of input.vanished) takeOut(recordId, 'vanished');
  for (const link of input.state.links.values()) {
    const isOutside = hasPassed(link, input.window) && !handled.has(link.recordId);
    if (isOutside && !input.state.pending.has(link.recordId)) result.released.push(link.recordId);
  }
  return result;
}

/** What the comparison of one record needs, whatever its source is. */
type Comparison = Omit<
  DiffInput<unknown>,
  'records' | 'describe' | 'rule' | 'fingerprints' | 'vanished' | 'tombstones'
>;

/** `leave`: this record says nothing about the target; null: it is as it should be. */
function compare<Source>(
  source: Source,
  record: SourceRecord,
  input: DiffInput<Source>,
  result: Diff,
): PlannedChange | null | 'leave' {
  const { id } = record;
  const effective = effectiveOf(id, input.state);
  if (!overlaps(record, input.window)) {
    const outside = outsideWindow(record, effective, input);
    if (outside !== 'compare') return outside;
  }
  const idAttempt = input.state.links.get(id)?.idAttempt ?? 0;
  const asItIs = () => {
    result.unchanged += 1;
    if (input.state.pending.has(id)) result.unsettled += 1;
    recordTime(record, input.state, result);
    return null;
  };
  const cachedFingerprint = input.fingerprints?.get(source, idAttempt) ?? null;
  if (cachedFingerprint !== null && writableDifference(differenceOf(effective, cachedFingerprint), id, input) === null)
    return asItIs();
  const decision = input.rule(source, () => input.identity.key(id, idAttempt));
  if (!('item' in decision)) return withoutItem(record, decision, effective, input);
  const fingerprint = input.identity.fingerprint(decision.item);
  input.fingerprints?.record(source, idAttempt, fingerprint);
  const difference = writableDifference(differenceOf(effective, fingerprint), id, input);
  if (difference === null) return asItIs();
  const { reason, from } = difference;
  return {
    recordId: id,
    reason,
    wanted: { want: 'present', item: decision.item, fingerprint, startAt: record.startAt, endAt: record.endAt },
    fields: from === null ? NO_FIELDS : input.identity.differingFields(from, fingerprint),
  };
}

/**
 * A record outside the window is compared while the target shows it there, or something waits for its object. What was not written
 * before it left is not begun any more.
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

/** How an object differs from what it should be. */
interface Difference {
  reason: ReasonCode;
  /** Fingerprint of what it is, empty when it can't be read; null where there is none. */
  from: string | null;
}

/** Null when the object is, or is about to be, as it should be. */
function differenceOf(effective: Effective | null, fingerprint: string): Difference | null {
  if (effective === null) return { reason: 'new', from: null };
  if (!isSameContent(effective.fingerprint, fingerprint)) {
    return { reason: 'content-changed', from: effective.fingerprint };
  }
  if (effective.drift === null) return null;
  if (effective.drift === 'removed') return { reason: 'removed-by-hand', from: null };
  return { reason: 'edited-by-hand', from: effective.observedFingerprint ?? '' };
}

/** A difference that is to be written: what a person did stays where nothing restores it. */
function writableDifference(
  difference: Difference | null,
  recordId: string,
  { restores }: Comparison,
): Difference | null {
  const isByHand = difference?.reason === 'edited-by-hand' || difference?.reason === 'removed-by-hand';
  return isByHand && !restores(recordId) ? null : difference;
}

/** What waits in the outbox is newer than the link; null when there is, and will be, nothing. */
function effectiveOf(recordId: string, state: PushedState): Effective | null {
  const pending = state.pending.get(recordId);
  if (pending === undefined) return state.links.get(recordId) ?? null;
  const { fingerprint, startAt, endAt } = pending;
  return fingerprint === null ? null : { fingerprint, startAt, endAt, drift: null };
}

/** What is about to be written brings its own time. */
function recordTime({ id, startAt, endAt }: SourceRecord, { links, pending }: PushedState, { timed }: Diff): void {
  const link = links.get(id);
  if (link === undefined || pending.has(id)) return;
  const differs = Math.abs(link.startAt - startAt) >= SECOND_MS || Math.abs(link.endAt - endAt) >= SECOND_MS;
  if (differs) timed.push({ recordId: id, fingerprint: link.fingerprint, startAt, endAt });
}

function absent(recordId: string, reason: ReasonCode, { startAt, endAt }: TimeSpan): PlannedChange {
  return { recordId, reason, wanted: { want: 'absent', startAt, endAt }, fields: NO_FIELDS };
}
