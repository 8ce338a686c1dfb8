import type { StoredError } from '../model/errors.ts';
import type { RefusedThere } from '../model/items.ts';
import { DAY_MS, HOUR_MS, type Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { compareAndSet, type LocatedValue } from './script.ts';
import { FORGED, openSealed, type Sealer } from './sealing.ts';

/** Why a record left a target; `released`: by the passing of time, its object stays. */
export type GoneReason = 'cancelled' | 'excluded' | 'vanished' | 'released';

/** By what it is decided where a target is written to, and what may be taken out of it. */
interface TargetProof {
  container: string | null;
  firstRunApprovedAt: Instant | null;
  /** What left it in the last seven days, of removals those that nobody approved: `<reason>:<whole hours since 1970>`. */
  gone: Readonly<Record<string, number>>;
  /** Names what is pinned in it (`pins.ts`); null for nothing. Absent: what was pinned under a former id of the target still counts. */
  pins?: string | null;
}

/** Another value of the same tenant that changes in the same step; null for none. */
interface ExtraValue {
  key: string;
  /** As it was read. */
  before: string | null;
  value: string | null;
}

/** The field of a target in which its proof stands. */
const FIELD = 'proof';

/** Fields of a target's record as they lie in Redis. */
export type StoredFields = Readonly<Record<string, string>>;

/**
 * What is proved of the targets of one tenant: sealed in one field of each record, so that no part of it is changed or taken away alone.
 */
export interface TargetProofs {
  /** @param fields as they lie in Redis. @returns `forged`: what there is was not written by this version as it is */
  of(target: string, fields: StoredFields): TargetProof | 'forged' | null;
  /**
   * Changes what is proved and, in the same step, other fields. What does not open is replaced.
   * @param others null clears one
   * @returns false: the value beside is another one by now, and nothing was changed
   */
  change(
    target: string,
    change: (before: TargetProof) => TargetProof,
    others?: Readonly<Record<string, string | number | null>>,
    extra?: ExtraValue,
  ): Promise<boolean>;
  /**
   * Takes out what is not as we wrote it, and counts it. What somebody proved meanwhile stays.
   * @returns whether anything was taken out
   */
  invalidate(target: string): Promise<boolean>;
}

const NOTHING: TargetProof = { container: null, firstRunApprovedAt: null, gone: {} };
const GONE_RETENTION_MS = 7 * DAY_MS;

/** The proof, and what is only written of a target that has one. They go when a record is not as clinic-mirror wrote it: the target is then read anew. */
const PROVED_FIELDS: readonly string[] = [FIELD, 'adoptedAt'];

/** Opens what is proved of a tenant's targets. @param proofs seals with the identity key */
export function openTargetProofs(redis: RedisClient, tenant: string, proofs: Sealer): TargetProofs {
  const contextOf = (target: string) => `target/${target}`;
  const read = (target: string, sealed: string | null) =>
    sealed === null ? null : openSealed<TargetProof>(proofs, sealed, contextOf(target));
  const proofOf = (target: string, fields: StoredFields) => {
    const proof = read(target, fields[FIELD] ?? null);
    if (proof !== null) return proof;
    return PROVED_FIELDS.some((name) => fields[name] !== undefined) ? 'forged' : null;
  };
  return {
    of: proofOf,
    async invalidate(target) {
      const key = keys.target(tenant, target);
      for (;;) {
        const fields = await redis.hgetall(key);
        if (proofOf(target, fields) !== 'forged') return false;
        const gone = PROVED_FIELDS.map((field) => ({ key, field, value: null }));
        if ((await compareAndSet(redis, [{ key, field: FIELD, value: fields[FIELD] ?? null }], gone)) !== null)
          continue;
        await redis.hincrby(key, 'forged', 1);
        return true;
      }
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
        // The proof itself: lane, planner and a person may come at once.
        if (changed !== 0) return changed === null;
      }
    },
  };
}

/** What left a target, with what leaves it now and without what is too old to count. */
export function withGone(
  before: TargetProof['gone'],
  counts: Readonly<Record<GoneReason, number>>,
  now: Instant,
): Record<string, number> {
  const gone = Object.fromEntries(
    Object.entries(before).filter(([field]) => hourOf(field) >= hoursAt(now - GONE_RETENTION_MS)),
  );
  for (const [reason, count] of Object.entries(counts)) {
    const field = `${reason}:${hoursAt(now)}`;
    if (count > 0) gone[field] = (gone[field] ?? 0) + count;
  }
  return gone;
}

/** What left a target in the last hour and in the last seven days; either may be longer by an hour at most. */
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
  return { hour: since(now - HOUR_MS), week: since(now - GONE_RETENTION_MS) };
}

/** The same for each of the last seven days of 24 hours, the newest first. */
export function goneOnDays(gone: TargetProof['gone'], now: Instant): Record<GoneReason, number>[] {
  const days = Array.from({ length: GONE_RETENTION_MS / DAY_MS }, nothingGone);
  for (const [field, count] of Object.entries(gone)) {
    const day = days[Math.floor((hoursAt(now) - hourOf(field)) / (DAY_MS / HOUR_MS))];
    if (day !== undefined) day[reasonOf(field)] += count;
  }
  return days;
}

function nothingGone(): Record<GoneReason, number> {
  return { cancelled: 0, excluded: 0, vanished: 0, released: 0 };
}

/** Whole hours since 1970. */
function hoursAt(at: Instant): number {
  return Math.floor(at / HOUR_MS);
}

function hourOf(field: string): number {
  return Number(field.split(':')[1]);
}

function reasonOf(field: string): GoneReason {
  return field.split(':')[0] as GoneReason;
}

/** Why a target stands still, in words that every surface repeats. */
export interface TargetFailure extends StoredError {
  sinceAt: Instant;
  /** The other side said how long to wait. */
  isAskedToWait?: boolean;
}

/** What is known of a target beside its links and outbox. */
export interface StoredTarget {
  /** The calendar that the connector works in; null until it was prepared. */
  container: string | null;
  /** When its own objects were last read to rebuild links; null: links can't be trusted to be all. */
  adoptedAt: Instant | null;
  /** When the state had last gone back by then; null when it never had. What was written in the time that it lost has no links. */
  wentBackAt: Instant | null;
  /** When reading began of the newest complete snapshot that was planned. */
  plannedAsOf: Instant | null;
  /** When reading began of the newest reading of the next two days alone that was planned; null before the first. */
  soonAsOf: Instant | null;
  /** The newest time of `plannedAsOf` at which nothing was pending, failing or held. */
  idleAsOf: Instant | null;
  /** When nothing waited for the first time since its calendar is the one that it is: its first sync is over. Null before, and where `idleAsOf` told it. */
  writtenOnceAt: Instant | null;
  /** When a plan was last carried into the outbox, under the configuration of then. */
  lastPlannedAt: Instant | null;
  /** Number of that configuration; null when no plan was made since configurations have numbers. */
  plannedUnder: number | null;
  /** The same number; null when links were rebuilt since, or what is held of people still differs as it did then. */
  comparableUnder: number | null;
  firstRunApprovedAt: Instant | null;
  /** When another calendar last took the place of the one that was written to, which was gone; null for never. */
  replacedAt: Instant | null;
  failure: TargetFailure | null;
  /** Records that the last complete list lacked and that were not confirmed either way: the target may hold them for nothing. */
  unconfirmed: number;
  /** What of it the last cycle could not read or does not know; null for nothing. */
  gaps: readonly TargetGap[] | null;
  /** Null before the first audit. */
  drift: DriftReport | null;
  /** Where the target's change feed goes on; null when the next reading has to be whole. */
  cursor: string | null;
  /** When everything was last read back; null before the first time. */
  readWholeAt: Instant | null;
  /** The record outside the window that was looked at last; the next ones in order follow with the next cycle. */
  lookedOutsideTo: string | null;
  /** The target asked to be left alone until then. */
  pausedUntil: Instant | null;
  /** When that began; null where it did not. */
  pausedAt: Instant | null;
  /** The host whose outage keeps it, or entries of its outbox, from going on; null for none. */
  outage: string | null;
  created: number;
  updated: number;
  deleted: number;
  adopted: number;
  /** What of it was not as we wrote it, its record or entries of its outbox; nothing was done by any of it. */
  forged: number;
  /** How often it turned out to hold something else than was planned. */
  overtaken: number;
  /** What stands there is not as we wrote it: neither calendar nor approval is believed, and the target counts as never read. */
  isForged: boolean;
  /** Objects with our owner tag that match no record for certain, as of the last reading of everything. */
  ambiguous: number;
  /** Ids of records of which a second object was shown then, as when a person copies one; a thousand at most. */
  copies: readonly string[];
  /** Whom somebody made refuse in the CRM itself, as of then. */
  refusedThere: RefusedThere;
}

/** What is known, as of the last audit, to be done to our objects by hand. */
export interface DriftReport {
  checkedAt: Instant;
  /** Links that the reading speaks for: those compared, and with a change feed those that it doesn't name. */
  checked: number;
  /** Objects that a person edited and that are not as we wrote them yet. */
  edited: number;
  /** Objects that a person deleted and that are not there again yet. */
  removed: number;
  /** Objects of ours that no link told of; they are planned like any other now. */
  unlinked: number;
  /** Edited objects by the field that differs; a field is counted for each object. */
  fields: Record<string, number>;
  /** Objects that are no longer restored, since they were too often today. */
  churning: number;
  /** Fields in which those diverge. */
  churningFields: readonly string[];
  /** Objects that held another write of ours than the last one; they are planned again, whatever the policy. Absent for none. */
  overwritten?: number;
  /** Second objects of a record that were removed. Absent for none. */
  duplicatesRemoved?: number;
  /** The calendar was another one than before: nothing was compared, the next cycle fills it. */
  calendarReplaced?: boolean;
}

/** Counters of a target. */
export type TargetCounter = 'created' | 'updated' | 'deleted' | 'adopted' | 'forged' | 'overtaken';

/** Fields with texts that are shown and sent: each is sealed at its place. */
type SealedField = 'failure' | 'gaps' | 'outage';
const SEALED_FIELDS: ReadonlySet<string> = new Set<SealedField>(['failure', 'gaps', 'outage']);

const NOT_PROVED = { container: null, firstRunApprovedAt: null };

const COUNTERS: readonly TargetCounter[] = ['created', 'updated', 'deleted', 'adopted', 'forged', 'overtaken'];

const NUMBERS = [
  ...(['wentBackAt', 'plannedAsOf', 'soonAsOf', 'idleAsOf', 'lastPlannedAt', 'plannedUnder'] as const),
  ...(['comparableUnder', 'replacedAt', 'writtenOnceAt', 'pausedUntil', 'pausedAt', 'readWholeAt'] as const),
];
type NumberName = (typeof NUMBERS)[number];

/** A value as its field holds it; null for none. @param context the target, and what seals */
export function fieldOf(name: string, value: unknown, context: FieldContext): string | number | null {
  if (value === null) return null;
  if (SEALED_FIELDS.has(name)) return context.sealer.seal(JSON.stringify(value), contextOf(context.target, name));
  return typeof value === 'object' ? JSON.stringify(value) : (value as string | number);
}

/** Where a field stands. */
interface FieldContext {
  target: string;
  /** Seals with the identity key. */
  sealer: Sealer;
}

function contextOf(target: string, name: string): string {
  return `target/${target}/${name}`;
}

/** The record that fields hold. */
export function recordOf(
  fields: StoredFields,
  proof: TargetProof | 'forged' | null,
  context: FieldContext,
): StoredTarget {
  const { container, firstRunApprovedAt } = proof === null || proof === 'forged' ? NOT_PROVED : proof;
  const number = (name: string) => (fields[name] === undefined ? null : Number(fields[name]));
  const numbers = Object.fromEntries(NUMBERS.map((name) => [name, number(name)])) as Record<NumberName, number | null>;
  const counters = Object.fromEntries(COUNTERS.map((name) => [name, Number(fields[name] ?? 0)]));
  function sealed<Value>(name: SealedField): Value | 'forged' | null {
    const stored = fields[name];
    return stored === undefined
      ? null
      : (openSealed<Value>(context.sealer, stored, contextOf(context.target, name)) ?? 'forged');
  }
  const [failure, gaps, outage] = [
    sealed<TargetFailure>('failure'),
    sealed<TargetGap[]>('gaps'),
    sealed<string>('outage'),
  ];
  const isUnknown = failure === 'forged';
  return {
    container,
    firstRunApprovedAt,
    isForged: proof === 'forged',
    ...numbers,
    // Without its calendar nothing was read of it.
    adoptedAt: container === null ? null : number('adoptedAt'),
    // Why it waits is not known: it is tried, which tells.
    pausedUntil: isUnknown ? null : numbers.pausedUntil,
    drift: fields.drift === undefined ? null : (JSON.parse(fields.drift) as DriftReport),
    cursor: fields.cursor ?? null,
    outage: outage === 'forged' ? null : outage,
    lookedOutsideTo: fields.lookedOutsideTo ?? null,
    failure: isUnknown ? { ...FORGED, sinceAt: numbers.pausedAt ?? 0 } : failure,
    gaps: gaps === 'forged' ? [{ code: FORGED.code, count: 0, what: [], soon: [] }] : gaps,
    unconfirmed: number('unconfirmed') ?? 0,
    ambiguous: number('ambiguous') ?? 0,
    ...recordListsIn(fields),
    ...(counters as Record<TargetCounter, number>),
  };
}

/** The lists of records that a target's fields hold. */
export function recordListsIn(fields: StoredFields): Pick<StoredTarget, 'copies' | 'refusedThere'> {
  return {
    copies: fields.copies === undefined ? [] : (JSON.parse(fields.copies) as string[]),
    refusedThere: fields.refusedThere === undefined ? {} : (JSON.parse(fields.refusedThere) as RefusedThere),
  };
}

/**
 * What of a target the last cycle could not read, or does not know. As long as there is any, its clock stands still:
 * - `rows-unread`: rows that may belong to it could not become records;
 * - `records-unlisted`: the clinic's list lacks records that the clinic shows when each is read alone, so the list is not complete;
 * - `agenda-unknown`, `treatment-unknown`: the clinic has no such id as its configuration names;
 * - `egress-stopped`: what would have been written told more of a patient than it may;
 * - `record-forged`: what Redis has of it is not as this version wrote it, and the next cycle tells;
 * - `agenda-unconfirmed`, `treatment-unconfirmed`: it can't be told, since the catalogue may not be read and no row carries the id.
 */
export interface TargetGap {
  code:
    | 'rows-unread'
    | 'record-forged'
    | 'records-unlisted'
    | 'egress-stopped'
    | 'agenda-unknown'
    | 'treatment-unknown'
    | 'agenda-unconfirmed'
    | 'treatment-unconfirmed';
  /** Rows, or ids. */
  count: number;
  /** Codes of the rows, or the ids, or codes of what would have been told. */
  what: readonly string[];
  /** Ids with names that may be meant. */
  soon: readonly string[];
}
