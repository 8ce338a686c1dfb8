import type { Hold, PlannedChange } from '../core/model/plan.ts';
import { HOUR_MS, type Instant, SECOND_MS, type TimeWindow } from '../core/model/time.ts';
import { heldIn, isHeldIn, type PushedState } from './diff.ts';

/** Comparison of a read with the targets' records. */
export interface ReadingFacts {
  /** Number of the targets' records that the read should show. */
  ids: number;
  /** Number of `ids` that the read does not show. */
  unlisted: number;
  /** Number of records new to the targets. */
  added: number;
  /** Number of known records in the read that change their time or other essential fields, or leave the target. */
  rewritten: number;
}

/** Record ids instead of numbers: a record in several targets is counted once. */
export interface ReadingRecords {
  readonly added: ReadonlySet<string>;
  readonly rewritten: ReadonlySet<string>;
  /** Records of the target that the read should show. Computed on demand, because most reads need few of them. */
  ids(): Iterable<string>;
  /** Whether the read does not show one of {@link ids}. */
  lacks(recordId: string): boolean;
  /** If contents are not comparable: by how many milliseconds the start of known records moved; 0 for a record without a time. */
  shifts: ReadonlyMap<string, number>;
}

/** Share that means nearly everything. */
const SHARE = 0.75;
/** With fewer records, a day's normal work may replace each record. */
const IDS_FROM = 5;
const CONTENTS_FROM = 10;

/**
 * Returns whether the read seems to come from another tenant, by ids or by contents.
 * @param all records of one target, or of all targets of a tenant: small targets are judged together
 */
export function replacesNearlyAll(all: readonly ReadingRecords[]): boolean {
  const moved = movedApart(new Map(all.flatMap(({ shifts }) => [...shifts])));
  const added = new Set(all.flatMap((records) => [...records.added])).size;
  const rewritten = new Set([...all.flatMap((records) => [...records.rewritten]), ...moved]).size;
  if (showsMoreThan(mostShownIfReplaced({ added, rewritten }), all)) return false;
  const [ids, unlisted] = [new Set<string>(), new Set<string>()];
  for (const each of all) {
    for (const id of each.ids()) {
      ids.add(id);
      if (each.lacks(id)) unlisted.add(id);
    }
  }
  const facts = { added, rewritten, unlisted: unlisted.size, ids: ids.size };
  return replacesIds(facts) || replacesContents(facts);
}

/** Returns the most known records that a read can show if {@link replacesIds} or {@link replacesContents} holds; −1 if neither can. */
export function mostShownIfReplaced({ added, rewritten }: Pick<ReadingFacts, 'added' | 'rewritten'>): number {
  const byIds = added < IDS_FROM ? -1 : (added * (1 - SHARE)) / SHARE;
  const byContents = rewritten < CONTENTS_FROM ? -1 : rewritten / SHARE;
  return Math.max(byIds, byContents);
}

/** Each record is looked up in each target. With more lookups, counting all records costs less. */
const MOST_LOOKUPS = 10_000;

/**
 * Looks at known records until more than `most` are shown: an ordinary read of thousands needs few lookups. False also if
 * {@link MOST_LOOKUPS} decide nothing.
 */
function showsMoreThan(most: number, all: readonly ReadingRecords[]): boolean {
  if (most < 0) return true;
  const shown = new Set<string>();
  let lookups = 0;
  for (const each of all) {
    for (const id of each.ids()) {
      lookups += all.length;
      if (lookups > MOST_LOOKUPS) return false;
      if (!all.some((records) => records.lacks(id))) shown.add(id);
      if (shown.size > most) return true;
    }
  }
  return false;
}

/**
 * Effect of a setting, such as the zone, on the start of records. Many records move by one duration, in summer and winter perhaps by two.
 * Most moved records have one of these durations. Zones differ by at most 26 hours (UTC−12 to UTC+14).
 */
const SETTING_SHIFT = { share: 0.3, count: 3, longestMs: 26 * HOUR_MS };

/** Returns records that moved by individual durations, which no setting causes. */
export function movedApart(shifts: ReadonlyMap<string, number>): ReadonlySet<string> {
  // Links have a precision of one second.
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

/** Returns whether known ids disappeared and new ids appeared, as in data of another tenant. */
export function replacesIds(facts: ReadingFacts): boolean {
  const { unlisted } = facts;
  if (unlisted < IDS_FROM) return false;
  const { added, ids } = facts;
  if (added < IDS_FROM) return false;
  const shown = ids - unlisted;
  return unlisted >= ids * SHARE && added >= (added + shown) * SHARE;
}

/** Returns whether the target's known ids now have other contents. */
export function replacesContents(facts: ReadingFacts): boolean {
  const { rewritten, unlisted } = facts;
  return rewritten >= CONTENTS_FROM && rewritten >= (facts.ids - unlisted) * SHARE;
}

/**
 * Returns whether a change replaces a record, not only its texts. Renaming a catalogue changes all texts at once.
 * @param essentials names of decisive fields; null: every field
 */
export function rewrites({ reason, fields }: PlannedChange, essentials: readonly string[] | null): boolean {
  if (reason === 'excluded') return true;
  return reason === 'content-changed' && (essentials === null || essentials.some((name) => fields.includes(name)));
}

/** Input for the check of a read. */
interface ReadingFor {
  changes: readonly PlannedChange[];
  state: PushedState;
  window: TimeWindow;
  /** Whether the read shows the record. */
  isListed: (recordId: string) => boolean;
  /** Start of a record in the read; null for a record without a time or not shown. */
  startOf: (recordId: string) => Instant | null;
  /** Number of the configuration under which contents were last comparable; null if links were rebuilt since. */
  comparableUnder: number | null;
  /** Holds of the target. */
  holds: readonly Hold[];
  configVersion: ConfigurationInUse;
}

/** Facts of a target's contents about a read. */
export interface Comparability {
  /** Fields that only the source determines, whatever the settings; null: every field. */
  essentials: readonly string[] | null;
  /** Whether contents change without a change of their record. */
  isComputed: boolean;
}

/** The newest configuration. */
export interface ConfigurationInUse {
  number: number;
  /** Whether this cycle plans under it. */
  isOurs: boolean;
}

/** Result of checking a read for one target. */
export interface ReadingCheck {
  records: ReadingRecords;
  /**
   * An administrator's decision about such a read, if it covers three of four changes. `open`: a hold waits for a decision, even if other
   * targets have one. Null without a hold.
   */
  decided: 'approved' | 'rejected' | 'open' | null;
}

/**
 * Checks a read against a target's state. A read that replaces nearly everything waits for an administrator, with creates and updates. The
 * limit applies to one target, and to all targets of the tenant's stream. After a configuration change or a rebuild of links, contents
 * differ for other reasons. Then only the start of records is compared, because the start comes only from the source.
 */
export function checkReading(
  { essentials, isComputed }: Comparability,
  { changes, state, window, isListed, startOf, comparableUnder, holds, configVersion }: ReadingFor,
): ReadingCheck {
  const { number, isOurs } = configVersion;
  const isReconfigured = comparableUnder !== null && !(isOurs && comparableUnder === number);
  const isNew = ({ recordId, reason }: PlannedChange) =>
    reason === 'new' && !state.links.has(recordId) && !state.pending.has(recordId);
  const isComparable = comparableUnder !== null && !isReconfigured && !isComputed;
  const isRewritten = (change: PlannedChange) =>
    isComparable && isListed(change.recordId) && rewrites(change, essentials);
  const idsOf = (some: readonly PlannedChange[]) => new Set(some.map(({ recordId }) => recordId));
  const records: ReadingRecords = {
    ids: () => heldIn(state, window),
    lacks: (id) => isHeldIn(state, window, id) && !isListed(id),
    added: isReconfigured ? new Set<string>() : idsOf(changes.filter(isNew)),
    rewritten: idsOf(changes.filter(isRewritten)),
    shifts: new Map(isComparable ? [] : [...heldIn(state, window)].map((id) => [id, shiftOf(id, state, startOf)])),
  };
  return { records, decided: decisionOn(holds, changes) };
}

/** Returns by how many milliseconds a record's start moved; 0 for a record without a time or not shown. */
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
    // An open hold may retain a single change after the read.
    if (isThat && (wanted !== 'open' || named * 4 >= ids.size * 3)) return wanted;
  }
  return null;
}
