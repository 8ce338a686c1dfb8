import { DAY_MS, HOUR_MS, type Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { compareAndSet, type LocatedValue } from './script.ts';
import { openSealed, type Sealer } from './sealing.ts';

/** Why a record left a target; `released`: by the passing of time, its object stays. */
export type GoneReason = 'cancelled' | 'excluded' | 'vanished' | 'released';

/** By what it is decided where a target is written to, and what may be taken out of it. */
export interface TargetProof {
  container: string | null;
  firstRunApprovedAt: Instant | null;
  /** What left it in the last seven days, of removals those that nobody approved: `<reason>:<whole hours since 1970>`. */
  gone: Readonly<Record<string, number>>;
  /** Names what is pinned in it (`pins.ts`); null for nothing. Absent: what was pinned under a former id of the target still counts. */
  pins?: string | null;
}

/** Another value of the same tenant that changes in the same step; null for none. */
export interface ExtraValue {
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
  setAside(target: string): Promise<boolean>;
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
    async setAside(target) {
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
