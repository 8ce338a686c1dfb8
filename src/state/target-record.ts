import { z } from 'zod';
import { drift, type TargetGap } from '../core/model/run-schemas.ts';
import { readBack } from '../core/model/state-schemas.ts';
import { storable, storedJson } from '../core/model/stored-limits.ts';
import { DAY_MS, HOUR_MS, type Instant, localDate } from '../core/model/time.ts';
import type { StoredTarget, TargetCounter, TargetFailure } from '../engine/store.ts';
import { openNumber, openPlain, reportDamaged } from './damaged.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { compareAndSet, type LocatedValue } from './script.ts';
import { openSealed, type Sealer } from './sealing.ts';

/** Reason why a record left a target; `released`: outdated, the object stays; `restored`: removed by hand and created again. */
export type GoneReason = 'cancelled' | 'excluded' | 'vanished' | 'released' | 'restored';

/** Proved facts for decisions about a target's destination and removals. */
interface TargetProof {
  container: string | null;
  firstRunApprovedAt: Instant | null;
  /**
   * Records that left in the last thirty days, without approved removals: `<reason>:<whole hours since 1970>`. A day before the last seven
   * has one count, at noon UTC.
   */
  gone: Readonly<Record<string, number>>;
  /** Name of the pins (`pins.ts`); null for no pins. Absent: pins under a former id of the target still apply. */
  pins?: string | null;
}

/** Additional value of the tenant that changes in one step with the proof. */
interface ExtraValue {
  key: string;
  /** Value as read. */
  before: string | null;
  value: string | null;
}

/** Field of the proof in a target's record. */
const FIELD = 'proof';

/** Stored fields of a target's record. */
export type StoredFields = Readonly<Record<string, string>>;

/** Proved facts of one tenant's targets, encrypted in one field of each record, so that no part can be changed or removed separately. */
export interface TargetProofs {
  /** @param fields stored fields. @returns null if there are none, or they are damaged */
  of(target: string, fields: StoredFields): TargetProof | null;
  /**
   * Changes proved facts and other fields in one step. Unreadable facts are replaced.
   * @param others null clears a field
   * @returns false without a change, if the additional value was changed concurrently
   */
  change(
    target: string,
    change: (before: TargetProof) => TargetProof,
    others?: Readonly<Record<string, string | number | null>>,
    extra?: ExtraValue,
  ): Promise<boolean>;
}

const NOTHING: TargetProof = { container: null, firstRunApprovedAt: null, gone: {} };
/** Period that the guard judges, in whole hours. */
const GUARD_PERIOD_MS = 7 * DAY_MS;
/** Days for which departures are counted. */
const GONE_DAYS = 30;
const DAY_HOURS = DAY_MS / HOUR_MS;

/** Opens the proved facts of a tenant's targets. @param proofs encrypts with the identity key */
export function openTargetProofs(redis: RedisClient, tenant: string, proofs: Sealer): TargetProofs {
  const contextOf = (target: string) => `target/${target}`;
  const read = (target: string, sealed: string | null) =>
    sealed === null ? null : openSealed<TargetProof>(proofs, sealed, contextOf(target), 'targets');
  return {
    of(target, fields) {
      // A container was fetched, but its name was removed.
      if (fields[FIELD] === undefined && fields.adoptedAt !== undefined) reportDamaged(tenant, 'targets');
      return read(target, fields[FIELD] ?? null);
    },
    async change(target, change, others = {}, extra) {
      const key = keys.target(tenant, target);
      const [expected, written]: [LocatedValue[], LocatedValue[]] = [[], []];
      if (extra !== undefined) {
        expected.push({ key: extra.key, value: extra.before });
        written.push({ key: extra.key, value: extra.value });
      }
      for (const [field, value] of Object.entries(others)) written.push({ key, field, value });
      for (;;) {
        const sealed = (await redis.hget(key, FIELD)) ?? null;
        const value = proofs.seal(JSON.stringify(change(read(target, sealed) ?? NOTHING)), contextOf(target));
        const location = { key, field: FIELD };
        const changed = await compareAndSet(
          redis,
          [{ ...location, value: sealed }, ...expected],
          [{ ...location, value }, ...written],
        );
        // The proof itself changed: lane, planner and operator may write concurrently.
        if (changed !== 0) return changed === null;
      }
    },
  };
}

/** Departures of a target on one local day, `YYYY-MM-DD`. `counts` is null for a day before the first known one. */
export interface GoneDay {
  date: string;
  counts: Record<GoneReason, number> | null;
}

/** Adds departures to a target's history, joins the hours of days before the last seven, and removes expired days. */
export function withGone(
  before: TargetProof['gone'],
  counts: Readonly<Record<GoneReason, number>>,
  now: Instant,
): Record<string, number> {
  const gone: Record<string, number> = {};
  const add = (reason: string, hour: number, count: number) => {
    const field = `${reason}:${hour}`;
    gone[field] = (gone[field] ?? 0) + count;
  };
  const expiredBefore = hoursAt(now - GONE_DAYS * DAY_MS);
  const firstOfGuard = dayStartOf(hoursAt(now - GUARD_PERIOD_MS));
  for (const [field, count] of Object.entries(before)) {
    const hour = hourOf(field);
    if (hour < expiredBefore) continue;
    add(reasonOf(field), hour < firstOfGuard ? dayStartOf(hour) + DAY_HOURS / 2 : hour, count);
  }
  for (const [reason, count] of Object.entries(counts)) if (count > 0) add(reason, hoursAt(now), count);
  return gone;
}

/** Counts departures in the last hour and in the last seven days; either period may be up to an hour longer. */
export function goneSince(
  gone: TargetProof['gone'],
  now: Instant,
): Record<'hour' | 'week', Record<GoneReason, number>> {
  const since = (fromAt: Instant) => {
    const sums = nothingGone();
    for (const [field, count] of Object.entries(gone))
      if (hourOf(field) >= hoursAt(fromAt)) sums[reasonOf(field)] += count;
    return sums;
  };
  return { hour: since(now - HOUR_MS), week: since(now - GUARD_PERIOD_MS) };
}

/**
 * Counts departures on each of the last thirty local days, oldest first, today last.
 * @param when.countedFromAt start of the counts, for example when the target was first read; null if only the departures themselves are known
 */
export function goneOnDates(
  gone: TargetProof['gone'],
  { now, zone, countedFromAt }: { now: Instant; zone: string; countedFromAt: Instant | null },
): GoneDay[] {
  const today = Date.parse(localDate(zone, now));
  const earliest = Math.min(countedFromAt ?? now, ...Object.keys(gone).map((field) => hourOf(field) * HOUR_MS));
  const firstCounted = localDate(zone, earliest);
  const days = new Map<string, GoneDay>();
  for (let before = GONE_DAYS - 1; before >= 0; before -= 1) {
    const date = new Date(today - before * DAY_MS).toISOString().slice(0, 10);
    days.set(date, { date, counts: date < firstCounted ? null : nothingGone() });
  }
  for (const [field, count] of Object.entries(gone)) {
    const counts = days.get(localDate(zone, hourOf(field) * HOUR_MS))?.counts;
    if (counts) counts[reasonOf(field)] += count;
  }
  return [...days.values()];
}

function nothingGone(): Record<GoneReason, number> {
  return { cancelled: 0, excluded: 0, vanished: 0, released: 0, restored: 0 };
}

/** Whole hours since 1970. */
function hoursAt(at: Instant): number {
  return Math.floor(at / HOUR_MS);
}

/** First hour of the UTC day of an hour. */
function dayStartOf(hour: number): number {
  return hour - (hour % DAY_HOURS);
}

function hourOf(field: string): number {
  return Number(field.split(':')[1]);
}

function reasonOf(field: string): GoneReason {
  return field.split(':')[0] as GoneReason;
}

/** Fields with texts that are shown and sent, each encrypted under its target and name. */
type SealedField = 'failure' | 'gaps' | 'outage';
const SEALED_FIELDS: ReadonlySet<string> = new Set<SealedField>(['failure', 'gaps', 'outage']);

const COUNTERS: readonly TargetCounter[] = ['created', 'updated', 'deleted', 'adopted', 'overtaken'];

const NUMBERS = [
  ...(['wentBackAt', 'plannedAsOf', 'soonAsOf', 'idleAsOf', 'lastPlannedAt', 'plannedUnder'] as const),
  ...([
    'comparableUnder',
    'replacedAt',
    'writtenOnceAt',
    'lastWrittenAt',
    'pausedUntil',
    'pausedAt',
    'readWholeAt',
  ] as const),
];
type NumberName = (typeof NUMBERS)[number];

/** Names of the fields with a list of records. */
export const RECORD_LISTS = ['copies', 'notRemovedByPolicy', 'notUpdatedByPolicy'] as const;
type RecordList = (typeof RECORD_LISTS)[number];

const texts = z.array(z.string());
const refusedThere = z.record(z.string(), texts);
/** Returns the stored form of a value; null for none. @param context target and sealer */
export function fieldOf(name: string, value: unknown, context: FieldContext): string | number | null {
  if (value === null) return null;
  if (SEALED_FIELDS.has(name)) return context.sealer.seal(storedJson(value), contextOf(context.target, name));
  if (name === 'cursor') return storable('cursor', value as string);
  return typeof value === 'object' ? storedJson(value) : (value as string | number);
}

interface FieldContext {
  target: string;
  /** Seals with the identity key. */
  sealer: Sealer;
}

function contextOf(target: string, name: string): string {
  return `target/${target}/${name}`;
}

/**
 * Returns the record of stored fields. A damaged field may have been the reason why the target is not in sync, so the plan proves nothing.
 * @returns also the names of damaged fields
 */
export function recordOf(
  fields: StoredFields,
  proof: TargetProof | null,
  context: FieldContext,
): { record: StoredTarget; damaged: string[] } {
  const origin = { owner: context.sealer.owner, kind: 'targets' } as const;
  const damaged: string[] = [];
  function opened<Value>(name: string, open: (stored: string) => Value | null): Value | null {
    const stored = fields[name];
    const value = stored === undefined ? null : open(stored);
    if (stored !== undefined && value === null) damaged.push(name);
    return value;
  }
  const number = (name: string) => opened(name, (stored) => openNumber(stored, origin));
  const sealed = <Value>(name: SealedField) =>
    opened(name, (stored) => openSealed<Value>(context.sealer, stored, contextOf(context.target, name), 'targets'));
  const { container, firstRunApprovedAt } = proof ?? NOTHING;
  const numbers = Object.fromEntries(NUMBERS.map((name) => [name, number(name)])) as Record<NumberName, number | null>;
  const counters = Object.fromEntries(COUNTERS.map((name) => [name, number(name) ?? 0]));
  const failure = sealed<TargetFailure>('failure');
  const lists = RECORD_LISTS.map((name) => [name, opened(name, (stored) => openPlain(stored, origin, texts)) ?? []]);
  // An attempt reveals the reason of the wait.
  const isReasonLost = failure === null && fields.failure !== undefined;
  if (isReasonLost) damaged.push('pausedUntil');
  const record: StoredTarget = {
    container,
    firstRunApprovedAt,
    ...numbers,
    // Without its container, the target was not fetched.
    adoptedAt: container === null ? null : number('adoptedAt'),
    pausedUntil: isReasonLost ? null : numbers.pausedUntil,
    drift: opened('drift', (stored) => openPlain(stored, origin, drift)),
    cursor: fields.cursor ?? null,
    readBack: opened('readBack', (stored) => openPlain(stored, origin, readBack)),
    outage: sealed<string>('outage'),
    lookedOutsideTo: fields.lookedOutsideTo ?? null,
    failure,
    gaps: sealed<TargetGap[]>('gaps'),
    unconfirmed: number('unconfirmed') ?? 0,
    ambiguous: number('ambiguous') ?? 0,
    ...(Object.fromEntries(lists) as Record<RecordList, string[]>),
    refusedThere: opened('refusedThere', (stored) => openPlain(stored, origin, refusedThere)) ?? {},
    ...(counters as Record<TargetCounter, number>),
  };
  return { record: damaged.length === 0 ? record : { ...record, plannedAsOf: null }, damaged };
}
