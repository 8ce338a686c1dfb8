import type { Hold, PlannedChange } from '../model/plan.ts';
import type { Instant, TimeWindow } from '../model/time.ts';
import type { CycleInput, TargetSetup } from './cycle-input.ts';
import { absentCandidates, type PushedState } from './diff.ts';
import { type ReadingRecords, rewrites } from './replaced.ts';

/** What the verdict on a whole reading goes by. */
export interface ReadingFor {
  changes: readonly PlannedChange[];
  state: PushedState;
  window: TimeWindow;
  /** Whether the reading shows a row of a record. */
  isListed: (recordId: string) => boolean;
  /** When a record begins by the reading; null for one that it does not show, or that has no time. */
  startOf: (recordId: string) => Instant | null;
  /** Number of the configuration under which contents were last comparable; null when links were rebuilt since. */
  comparableUnder: number | null;
  /** Of the target. */
  holds: readonly Hold[];
  /** The configurations of the tenant, as of the cycle. */
  generation: CycleInput['generation'];
}

type TargetForm = Pick<TargetSetup, 'stream' | 'crm'>;

/** How a reading stands to one target. */
export interface ReadingCheck {
  records: ReadingRecords;
  /**
   * What a person decided of such a reading: of three in four of these changes. `open`: it is the one that waits for that, whatever was
   * decided for other targets meanwhile. Null when there is none.
   */
  decided: 'approved' | 'rejected' | 'open' | null;
}

/**
 * How a reading stands to what a target holds. One that replaces nearly everything, of the target or of all targets of the tenant that
 * follow the stream, is not written before a person decides, creates and updates included. Right after the configuration was changed it
 * is the operator who changes everything, and links that were rebuilt tell of other contents for many reasons: then it goes by when
 * records begin, which is the clinic's alone.
 */
export function checkReading(
  target: TargetForm,
  { changes, state, window, isListed, startOf, comparableUnder, holds, generation }: ReadingFor,
): ReadingCheck {
  const { number, isOurs } = generation;
  const isReconfigured = comparableUnder !== null && !(isOurs && comparableUnder === number);
  const isNew = ({ recordId, reason }: PlannedChange) =>
    reason === 'new' && !state.links.has(recordId) && !state.pending.has(recordId);
  const isComparable = comparableUnder !== null && !isReconfigured && !isComputed(target);
  const isRewritten = (change: PlannedChange) =>
    isComparable && isListed(change.recordId) && rewrites(change, essentialsOf(target));
  const idsOf = (some: readonly PlannedChange[]) => new Set(some.map(({ recordId }) => recordId));
  const recordsInWindow = () => absentCandidates(state, window, () => false);
  const records: ReadingRecords = {
    known: recordsInWindow,
    unlisted: new Set(absentCandidates(state, window, isListed)),
    added: isReconfigured ? new Set<string>() : idsOf(changes.filter(isNew)),
    rewritten: idsOf(changes.filter(isRewritten)),
    shifts: new Map(isComparable ? [] : recordsInWindow().map((id) => [id, shiftOf(id, state, startOf)])),
  };
  return { records, decided: decisionOn(holds, changes) };
}

/** By how much a record begins later than it did; 0 for one that the reading does not show, or that has no time. */
function shiftOf(recordId: string, { links, pending }: PushedState, startOf: ReadingFor['startOf']): number {
  const [before, now] = [pending.get(recordId) ?? links.get(recordId), startOf(recordId)];
  return before === undefined || now === null ? 0 : now - before.startAt;
}

function decisionOn(holds: readonly Hold[], changes: readonly PlannedChange[]): ReadingCheck['decided'] {
  const ofReadings = holds.filter(({ kind }) => kind === 'replaced');
  for (const wanted of ['approved', 'rejected', 'open'] as const) {
    const ids = new Set(ofReadings.filter(({ state }) => state === wanted).flatMap(({ recordIds }) => recordIds));
    const named = changes.filter(({ recordId }) => ids.has(recordId)).length;
    const isThat = ids.size > 0 && named * 4 >= changes.length * 3;
    // Of what waits a single change may remain when the reading is over.
    if (isThat && (wanted !== 'open' || named * 4 >= ids.size * 3)) return wanted;
  }
  return null;
}

function essentialsOf({ crm, stream }: TargetForm): string[] | null {
  if (crm === null) return ['time'];
  return stream === 'patients' ? null : ['start'];
}

/** What is computed from the past changes for everybody with a day. */
function isComputed({ crm }: TargetForm): boolean {
  return crm !== null && (crm.mapping.needs.history || crm.mapping.needs.invoices || !crm.mapping.isPlain);
}
