import type { StreamName } from '../model/items.ts';
import type { Snapshot } from '../model/snapshots.ts';
import { DAY_MS, HOUR_MS, type Instant, type TimeWindow } from '../model/time.ts';
import type { ClinicShown, Reach } from './cycle-input.ts';
import { absentCandidates, type PushedState } from './diff.ts';
import type { Mapping } from './mapping/contract.ts';

/** A stream that is not read with each cycle, but by a job of its own. */
export type SlowStream = 'patients' | 'invoices' | 'history';

/** What says which streams a target needs. */
export interface Follower {
  stream: StreamName;
  /** Null for a calendar. */
  crm: { mapping: Pick<Mapping, 'needs'> } | null;
}

/** The streams that a target follows or computes with. */
export function streamsOf({ stream, crm }: Follower): SlowStream[] {
  if (crm === null) return [];
  const { history, invoices } = crm.mapping.needs;
  const names: SlowStream[] = ['patients'];
  if (stream === 'invoices' || invoices) names.push('invoices');
  if (history) names.push('history');
  return names;
}

/** Those without which nothing can be said of a target's records. What contacts are computed from besides keeps them as they are. */
export function neededBy(target: Follower): SlowStream[] {
  return target.stream === 'patients' && target.crm !== null ? ['patients'] : streamsOf(target);
}

/** Whether a target's properties tell of appointments of the past and of those to come. */
export function computesFromHistory(target: Follower): boolean {
  return streamsOf(target).includes('history');
}

/** What says how far a target reaches. */
export interface Windowed {
  stream: StreamName;
  configuration: { window: { pastDays: number; futureDays: number } };
}

/** Today, however late it is, and the next two days. */
const NEXT_48H = { backMs: 12 * HOUR_MS, aheadMs: 48 * HOUR_MS };

/** What has no time of its own lies in it: all of it that a date can tell. */
const ALWAYS: TimeWindow = { fromAt: 0, toAt: 8.64e15 };

/** A target's window at a time: whole days before and after; for patients, all of it. */
export function windowOf(target: Windowed, now: Instant): TimeWindow {
  if (target.stream === 'patients') return ALWAYS;
  const { pastDays, futureDays } = target.configuration.window;
  return { fromAt: now - pastDays * DAY_MS, toAt: now + futureDays * DAY_MS };
}

/** The next two days as they are read alone; in one list call wherever one may be of four days. */
export function next48hWindow(now: Instant): TimeWindow {
  return { fromAt: now - NEXT_48H.backMs, toAt: now + NEXT_48H.aheadMs };
}

/** The part of a target's window that a reading speaks of; empty where it does not reach. */
export function windowRead(target: Windowed, { reach, startedAt }: { reach: Reach; startedAt: Instant }): TimeWindow {
  const window = windowOf(target, startedAt);
  return reach === 'whole' ? window : commonWindow(window, next48hWindow(startedAt));
}

/** What two windows have in common; empty where that is nothing. */
export function commonWindow(one: TimeWindow, other: TimeWindow): TimeWindow {
  return { fromAt: Math.max(one.fromAt, other.fromAt), toAt: Math.min(one.toAt, other.toAt) };
}

/** What was read of the stream that a target follows; null when nothing was. */
export function snapshotOf(
  { snapshot, streams }: Pick<ClinicShown, 'snapshot' | 'streams'>,
  { stream }: Pick<Windowed, 'stream'>,
): Snapshot<{ id: string }> | null {
  return stream === 'appointments' ? snapshot : (streams[stream]?.snapshot ?? null);
}

/** Tells whether a reading shows a row of a record, one that can't be used included. */
export function listedIn({ records, unusable }: Snapshot<{ id: string }>): (recordId: string) => boolean {
  const unusableIds = new Set(unusable.map(({ recordId }) => recordId));
  return (id) => records.has(id) || unusableIds.has(id);
}

/** Ids of rows that are there and can't be used. */
export function unusableIn({ unusable }: Pick<Snapshot<unknown>, 'unusable'>): Set<string> {
  return new Set(unusable.flatMap(({ recordId, isTombstone }) => (isTombstone === true ? [] : (recordId ?? []))));
}

/** Ids of rows that say no more than that their record is cancelled or deleted. */
export function tombstonesIn({ unusable }: Pick<Snapshot<unknown>, 'unusable'>): string[] {
  return unusable.flatMap(({ recordId, isTombstone }) => (isTombstone === true && recordId !== null ? [recordId] : []));
}

/**
 * Ids that a complete snapshot did not show although the target has, or is about to have, something for them.
 * @param pinned records that a person put back: their agendas may feed no target, so that no list shows them
 */
export function missingFrom(
  clinicReading: ClinicShown,
  target: Windowed,
  state: PushedState,
  pinned: ReadonlySet<string>,
): string[] {
  const snapshot = snapshotOf(clinicReading, target);
  if (snapshot?.completeness !== 'complete') return [];
  const seen = listedIn(snapshot);
  const absent = new Set(absentCandidates(state, windowRead(target, clinicReading), seen));
  for (const id of pinned) if (!seen(id)) absent.add(id);
  return [...absent];
}

/** When a record of the target's stream begins; null for one that was not listed, or has no time. */
export function beginningIn(
  { snapshot }: Pick<ClinicShown, 'snapshot'>,
  { stream }: Pick<Windowed, 'stream'>,
  recordId: string,
): Instant | null {
  return stream === 'appointments' ? (snapshot.records.get(recordId)?.time.startAt ?? null) : null;
}

/** Every record that is known to be there: those of the list, and those that were read alone. */
export function* shownOf<Source>(
  list: { snapshot: { records: ReadonlyMap<string, Source> } } | null,
  found: Iterable<Source>,
): Generator<Source> {
  if (list !== null) yield* list.snapshot.records.values();
  yield* found;
}
