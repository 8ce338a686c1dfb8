import { hasPassed, type TimeWindow } from '../../core/model/time.ts';
import { nothingMissing } from '../absence.ts';
import { type Decision, diff } from '../diff.ts';
import type { CycleFacts, Projection, TargetInput, TargetView } from '../ports.ts';
import type { PlannableTarget } from '../target.ts';
import { describeRecord, itemOf, type MemoryRecord, spanOf } from './items.ts';

/** A target that shows records of a stream. */
export interface MemoryShown extends PlannableTarget {
  /** Returns why the target does not show a record; null if it does. */
  exclusionOf(record: MemoryRecord): string | null;
}

/** What a reading shows of one stream. */
export interface StreamShown {
  window: TimeWindow;
  windowRead: TimeWindow;
  records: ReadonlyMap<string, MemoryRecord>;
  /** Records reported as deleted. */
  tombstones: readonly string[];
}

/** Returns what a target shows of a stream: the records themselves, with title and time. */
export function projectionOf(
  input: TargetInput<MemoryShown>,
  facts: Pick<CycleFacts, 'confirmations' | 'isForgotten'>,
  { window, windowRead, records: listed, tombstones }: StreamShown,
): Projection {
  const confirmation = facts.confirmations[input.target.stream] ?? nothingMissing();
  const found = confirmation.found as MemoryRecord[];
  const records = new Map(listed);
  for (const record of found) records.set(record.id, record);
  const deleted = new Set(tombstones);
  return {
    ...{ window, windowRead, tombstones, confirmation },
    beforeWindow: found.filter((record) => hasPassed(spanOf(record), window)).map(({ id }) => id),
    predecessors: new Map(),
    ...{ essentials: ['time'], isComputed: false, namesExcluded: true, withdrawsHeld: false },
    isListed: (recordId) => listed.has(recordId) || deleted.has(recordId),
    startOf: (recordId) => listed.get(recordId)?.startAt ?? null,
    isOfPerson: (recordId) => !records.has(recordId) || records.get(recordId)?.subjectId !== undefined,
    *view() {
      yield;
      return viewOf(records, input, facts);
    },
  };
}

function viewOf(
  records: ReadonlyMap<string, MemoryRecord>,
  { target, pinned }: TargetInput<MemoryShown>,
  { isForgotten }: Pick<CycleFacts, 'isForgotten'>,
): TargetView {
  /** Pinned records are shown whatever the rules say, unless the source cancelled them. */
  function rule(record: MemoryRecord): Decision {
    if (record.subjectId !== undefined && isForgotten(record.subjectId)) return { exclude: 'forgotten' };
    if (record.isCancelled === true) return { exclude: 'cancelled' };
    const exclude = pinned.has(record.id) ? null : target.exclusionOf(record);
    return exclude === null ? { item: itemOf(record) } : { exclude };
  }
  return {
    unusable: {},
    shows: (recordId) => records.has(recordId),
    countPassedOver: () => ({}),
    compare: (common) => diff({ ...common, records: records.values(), describe: describeRecord, rule }),
  };
}
