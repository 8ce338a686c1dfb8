import type { Snapshot } from '../model/snapshots.ts';
import type { Instant } from '../model/time.ts';
import type { ClinicShown, TargetSetup } from './cycle-input.ts';
import { absentCandidates, type TargetState } from './diff.ts';
import { type Windowed, windowRead } from './windows.ts';

type Shown = Pick<ClinicShown, 'snapshot' | 'streams'>;

/** What was read of the stream that a target follows; null when nothing was. */
export function snapshotOf(
  { snapshot, streams }: Shown,
  { stream }: Pick<TargetSetup, 'stream'>,
): Snapshot<{ id: string }> | null {
  return stream === 'appointments' ? snapshot : (streams[stream]?.snapshot ?? null);
}

/** Tells whether a reading shows a row of a record, one that can't be used included. */
export function listedIn({ records, setAside }: Snapshot<{ id: string }>): (recordId: string) => boolean {
  const unusable = new Set(setAside.map(({ recordId }) => recordId));
  return (id) => records.has(id) || unusable.has(id);
}

/**
 * Ids that a complete snapshot did not show although the target has, or is about to have, something for them.
 * @param pinned records that a person put back: their agendas may feed no target, so that no list shows them
 */
export function missingFrom(
  survey: ClinicShown,
  target: Windowed,
  state: TargetState,
  pinned: ReadonlySet<string>,
): string[] {
  const snapshot = snapshotOf(survey, target);
  if (snapshot?.completeness !== 'complete') return [];
  const seen = listedIn(snapshot);
  const absent = new Set(absentCandidates(state, windowRead(target, survey), seen));
  for (const id of pinned) if (!seen(id)) absent.add(id);
  return [...absent];
}

/** When a record of the target's stream begins; null for one that was not listed, or has no time. */
export function beginningIn(
  { snapshot }: Shown,
  { stream }: Pick<TargetSetup, 'stream'>,
  recordId: string,
): Instant | null {
  return stream === 'appointments' ? (snapshot.records.get(recordId)?.time.startAt ?? null) : null;
}
