import type { Hold, PlannedChange } from '../model/plan.ts';
import { HOUR_MS, type Instant, SECOND_MS, type TimeWindow } from '../model/time.ts';
import type { CycleInput, TargetSetup } from './cycle-input.ts';
import { absentCandidates, type PushedState } from './diff.ts';

/** How a reading stands to what targets hold. */
export interface ReadingFacts {
  /** Records of the targets that the reading should show. */
  ids: number;
  /** Those of them that it does not show. */
  unlisted: number;
  /** Records that the targets have nothing of. */
  added: number;
  /** Known records that it shows and that would be written with another time or other essentials, or are no longer the target's. */
  rewritten: number;
}

/** The same by ids of records, so that one that several targets hold counts once. */
export interface ReadingRecords extends Readonly<Record<Exclude<keyof ReadingFacts, 'ids'>, ReadonlySet<string>>> {
  /** Gathered when it is asked for: few readings raise the question. */
  ids(): Iterable<string>;
  /** Where contents can't be compared: by how many milliseconds known records begin later than they did; 0 for one without such a time. */
  shifts: ReadonlyMap<string, number>;
}

/** Nearly everything. */
const SHARE = 0.75;
/** Below so many records a day's work may replace all of them. */
const IDS_FROM = 5;
const CONTENTS_FROM = 10;

/**
 * Whether the reading is another tenant's, as it seems: by ids or by contents.
 * @param all of one target, or of all targets of a tenant: calendars too small for a verdict of their own have one in common
 */
export function replacesNearlyAll(all: readonly ReadingRecords[]): boolean {
  const idsOf = (name: 'unlisted' | 'added' | 'rewritten') => new Set(all.flatMap((records) => [...records[name]]));
  const moved = movedApart(new Map(all.flatMap(({ shifts }) => [...shifts])));
  const unlisted = idsOf('unlisted').size;
  const rewritten = new Set([...idsOf('rewritten'), ...moved]).size;
  const facts: ReadingFacts = {
    unlisted,
    rewritten,
    get ids() {
      return distinctIn(all, unlisted + Math.max(unlisted, rewritten) / SHARE + 1);
    },
    get added() {
      return idsOf('added').size;
    },
  };
  return replacesIds(facts) || replacesContents(facts);
}

/** How many records are known, counted up to a number above which nearly everything is not replaced, whatever else is. */
function distinctIn(all: readonly ReadingRecords[], enough: number): number {
  const ids = new Set<string>();
  for (const each of all) {
    for (const id of each.ids()) {
      ids.add(id);
      if (ids.size >= enough) return ids.size;
    }
  }
  return ids.size;
}

/**
 * What a setting, such as the zone, does to when records begin: it moves many by the same time, in summer and in winter perhaps by another,
 * and most that moved by one of these; zones are at most 26 hours apart (UTC−12 to UTC+14).
 */
const SETTING_SHIFT = { share: 0.3, count: 3, longestMs: 26 * HOUR_MS };

/** Records that moved, each by a time of its own, so that no setting did it. */
export function movedApart(shifts: ReadonlyMap<string, number>): ReadonlySet<string> {
  // Links tell seconds.
  const moved = [...shifts].filter(([, shiftMs]) => Math.abs(shiftMs) >= SECOND_MS);
  const counts = new Map<number, number>();
  for (const [, shiftMs] of moved) counts.set(shiftMs, (counts.get(shiftMs) ?? 0) + 1);
  const many = Math.max(SETTING_SHIFT.count, moved.length * SETTING_SHIFT.share);
  const own = moved.filter(
    ([, shiftMs]) => (counts.get(shiftMs) ?? 0) < many || Math.abs(shiftMs) > SETTING_SHIFT.longestMs,
  );
  const isOfSetting = moved.length - own.length >= moved.length * SHARE;
  return new Set((isOfSetting ? own : moved).map(([recordId]) => recordId));
}

/** Whether known ids are gone while others came in their place, as with the rows of another tenant. */
export function replacesIds(facts: ReadingFacts): boolean {
  const { unlisted } = facts;
  if (unlisted < IDS_FROM) return false;
  const { added, ids } = facts;
  if (added < IDS_FROM) return false;
  const shown = ids - unlisted;
  return unlisted >= ids * SHARE && added >= (added + shown) * SHARE;
}

/** Whether the records that the target knows are other ones, under the same ids. */
export function replacesContents(facts: ReadingFacts): boolean {
  const { rewritten, unlisted } = facts;
  return rewritten >= CONTENTS_FROM && rewritten >= (facts.ids - unlisted) * SHARE;
}

/**
 * Whether a change makes another thing of a record, beyond its texts: catalogues are renamed, and all texts change at once.
 * @param essentials names of the fields that tell it; null: any does
 */
export function rewrites({ reason, fields }: PlannedChange, essentials: readonly string[] | null): boolean {
  if (reason === 'excluded') return true;
  return reason === 'content-changed' && (essentials === null || essentials.some((name) => fields.includes(name)));
}

/** What the verdict on a whole reading goes by. */
interface ReadingFor {
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
  configVersion: CycleInput['configVersion'];
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
  { changes, state, window, isListed, startOf, comparableUnder, holds, configVersion }: ReadingFor,
): ReadingCheck {
  const { number, isOurs } = configVersion;
  const isReconfigured = comparableUnder !== null && !(isOurs && comparableUnder === number);
  const isNew = ({ recordId, reason }: PlannedChange) =>
    reason === 'new' && !state.links.has(recordId) && !state.pending.has(recordId);
  const isComparable = comparableUnder !== null && !isReconfigured && !isComputed(target);
  const isRewritten = (change: PlannedChange) =>
    isComparable && isListed(change.recordId) && rewrites(change, essentialsOf(target));
  const idsOf = (some: readonly PlannedChange[]) => new Set(some.map(({ recordId }) => recordId));
  const recordsInWindow = () => absentCandidates(state, window, () => false);
  const records: ReadingRecords = {
    ids: recordsInWindow,
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
