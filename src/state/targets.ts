import type { StreamName } from '../model/items.ts';
import { slices } from '../model/pieces.ts';
import { DAY_MS, type Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { Lease } from './leases.ts';
import type { RedisClient } from './redis.ts';
import { compareAndSet, fencedScript, pairsOf, redisScript } from './script.ts';
import type { Sealer } from './sealing.ts';
import { sealedTable } from './sealing.ts';
import {
  fieldOf,
  type GoneReason,
  goneOnDays,
  goneSince,
  openTargetProofs,
  recordListsIn,
  recordOf,
  type StoredFields,
  type StoredTarget,
  type TargetCounter,
  type TargetProofs,
  withGone,
} from './target-record.ts';

const scripts = {
  confirm: fencedScript<number>(import.meta.url, 'target-confirm'),
  recordFreshness: redisScript<number>(import.meta.url, 'target-record-freshness'),
  summarize: redisScript<[fields: string[], linksVersion: string | null, pending: number][]>(
    import.meta.url,
    'target-summarize',
  ),
};

export type { DriftReport, StoredTarget, TargetCounter, TargetFailure } from './target-record.ts';

/** A target as it stands in the state at a moment. */
export interface TargetSummary {
  record: StoredTarget;
  /** Version of its table of links; null before the first. */
  linksVersion: string | null;
  /** Entries in its outbox. */
  pending: number;
}

/** What a plan notes of targets for which it had nothing to do. */
export interface IdleRecord {
  plannedAt: Instant;
  /** Number of the configuration. */
  plannedUnder: number;
  /** When the reading began; null when it was not whole, so that it tells of no freshness. */
  asOf: Instant | null;
}

/** The target records of one tenant. */
export interface TargetStore {
  read(target: string): Promise<StoredTarget>;
  /** Targets as they stand, by id, in one go. */
  summarize(targets: readonly string[]): Promise<Map<string, TargetSummary>>;
  /**
   * Notes that targets have nothing to do; one whose links, outbox or failure are not as they were looked at is left as it is, in the same
   * step. Fenced by the planner's lease.
   * @param looked targets with the version of their links
   * @throws MirrorError `conflict`, code `lease-lost`
   */
  recordIdle(looked: ReadonlyMap<string, string>, idleRecord: IdleRecord, lease: Lease): Promise<void>;
  /** Sets the given fields; null clears one. */
  write(target: string, fields: Partial<Omit<StoredTarget, TargetCounter | 'isForged'>>): Promise<void>;
  /**
   * Takes out what is not as we wrote it, and counts it: the next cycle finds the calendar and reads it anew. What was written since somebody
   * looked, such as an approval, stays.
   * @returns whether anything was taken out
   */
  invalidate(target: string): Promise<boolean>;
  /** The target holds something else than was planned: nothing is as fresh as that, nor by a plan that began before. */
  recordOvertaken(target: string): Promise<void>;
  /**
   * Notes as of when the target was planned, unless it was overtaken since a plan began.
   * @param overtaken how often it was before that
   * @param isIdle whether nothing was pending, failing or held
   */
  recordFreshness(target: string, overtaken: number, fresh: { plannedAsOf: Instant; isIdle: boolean }): Promise<void>;
  count(target: string, counters: Partial<Record<TargetCounter, number>>): Promise<void>;
  /** Notes how many records left the target, of removals those that nobody approved, by reason. */
  recordGone(target: string, counts: Readonly<Record<GoneReason, number>>, now: Instant): Promise<void>;
  /** What left the target in the last hour and in the last seven days; either may be longer by an hour at most. */
  gone(target: string, now: Instant): Promise<Record<'hour' | 'week', Record<GoneReason, number>>>;
  /** The same for each of the last seven days of 24 hours, the newest first. */
  goneByDay(target: string, now: Instant): Promise<Record<GoneReason, number>[]>;
  /** Records of a stream that were gone when they were read alone: when the reading began that missed them first. */
  misses(stream: StreamName): Promise<Map<string, Instant>>;
  /** Replaces them. */
  storeMisses(stream: StreamName, misses: ReadonlyMap<string, Instant>): Promise<void>;
  /** Counts one more restoration of each object for today. */
  countRestorations(target: string, recordIds: readonly string[], now: Instant): Promise<void>;
  /** How often each object was restored today. */
  restorations(target: string, now: Instant): Promise<Map<string, number>>;
  /** Takes records out of what is noted of misses, restorations, copies and refusals. @returns how many notes there were */
  erase(target: string, recordIds: readonly string[], now: Instant): Promise<number>;
}

const STREAMS: readonly StreamName[] = ['appointments', 'patients', 'invoices'];
const MISSES_RETENTION_MS = 7 * DAY_MS;

/** Targets in one script: each takes some tens of microseconds. */
const TARGETS_AT_ONCE = 100;

/** Opens the target records of a tenant. @param sealer seals with the identity key what is decided by */
export function createTargetStore(redis: RedisClient, tenant: string, sealer: Sealer): TargetStore {
  const proofs = openTargetProofs(redis, tenant, sealer);
  return {
    ...openRecords(redis, tenant, proofs, sealer),
    ...openGone(redis, tenant, proofs),
    ...openTallies(redis, tenant, sealer),
  };
}

type Gone = Pick<TargetStore, 'recordGone' | 'gone' | 'goneByDay'>;
type Tallies = Pick<TargetStore, 'misses' | 'storeMisses' | 'countRestorations' | 'restorations' | 'erase'>;

/** What is known of each target. */
function openRecords(
  redis: RedisClient,
  tenant: string,
  proofs: TargetProofs,
  sealer: Sealer,
): Omit<TargetStore, keyof Gone | keyof Tallies> {
  const read = (target: string, fields: StoredFields) =>
    recordOf(fields, proofs.of(target, fields), { target, sealer });
  const targetKeysOf = (target: string) => [
    keys.target(tenant, target),
    keys.linksMeta(tenant, target),
    keys.outbox(tenant, target),
  ];
  return {
    async read(target) {
      return read(target, await redis.hgetall(keys.target(tenant, target)));
    },
    async summarize(targets) {
      const summaries = new Map<string, TargetSummary>();
      for (const slice of slices(targets, TARGETS_AT_ONCE)) {
        const answers = await scripts.summarize(redis, slice.flatMap(targetKeysOf));
        for (const [index, [values, linksVersion, pending]] of answers.entries()) {
          const target = slice[index] ?? '';
          const fields = Object.fromEntries(pairsOf(values));
          summaries.set(target, { record: read(target, fields), linksVersion, pending });
        }
      }
      return summaries;
    },
    async recordIdle(looked, { plannedAt, plannedUnder, asOf }, lease) {
      for (const slice of slices([...looked], TARGETS_AT_ONCE)) {
        const targetKeys = slice.flatMap(([target]) => targetKeysOf(target));
        const values = [plannedAt, plannedUnder, asOf ?? '', ...slice.map(([, version]) => version)];
        await scripts.confirm(redis, lease, targetKeys, values);
      }
    },
    ...openWrites(redis, tenant, proofs, sealer),
    async recordOvertaken(target) {
      const key = keys.target(tenant, target);
      await redis.pipeline().hdel(key, 'plannedAsOf').hincrby(key, 'overtaken', 1).exec();
    },
    async recordFreshness(target, overtaken, { plannedAsOf, isIdle }) {
      const inSyncAsOf = isIdle ? plannedAsOf : '';
      await scripts.recordFreshness(redis, [keys.target(tenant, target)], [overtaken, plannedAsOf, inSyncAsOf]);
    },
    async count(target, counters) {
      const pipeline = redis.pipeline();
      for (const [name, by] of Object.entries(counters)) {
        if (by !== 0) pipeline.hincrby(keys.target(tenant, target), name, by);
      }
      await pipeline.exec();
    },
  };
}

function openWrites(
  redis: RedisClient,
  tenant: string,
  proofs: TargetProofs,
  sealer: Sealer,
): Pick<TargetStore, 'write' | 'invalidate'> {
  return {
    async write(target, { container, firstRunApprovedAt, ...fields }) {
      const key = keys.target(tenant, target);
      const others = Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [name, fieldOf(name, value, { target, sealer })]),
      );
      if (container !== undefined || firstRunApprovedAt !== undefined) {
        const containerChange = container === undefined ? {} : { container };
        const approved = firstRunApprovedAt === undefined ? {} : { firstRunApprovedAt };
        await proofs.change(target, (before) => ({ ...before, ...containerChange, ...approved }), others);
        return;
      }
      await compareAndSet(
        redis,
        [],
        Object.entries(others).map(([field, value]) => ({ key, field, value })),
      );
    },
    invalidate: (target) => proofs.invalidate(target),
  };
}

/** What left each target, by which the guard weighs what would. */
function openGone(redis: RedisClient, tenant: string, proofs: TargetProofs): Gone {
  const read = async (target: string) => {
    const proof = proofs.of(target, await redis.hgetall(keys.target(tenant, target)));
    return proof === null || proof === 'forged' ? {} : proof.gone;
  };
  return {
    async recordGone(target, counts, now) {
      if (Object.values(counts).every((count) => count === 0)) return;
      await proofs.change(target, (before) => ({ ...before, gone: withGone(before.gone, counts, now) }));
    },
    gone: async (target, now) => goneSince(await read(target), now),
    goneByDay: async (target, now) => goneOnDays(await read(target), now),
  };
}

/** Which records are missed, and how often objects were restored, for as long as it matters. */
function openTallies(redis: RedisClient, tenant: string, sealer: Sealer): Tallies {
  const missesOf = (stream: StreamName) => sealedTable<Instant>(keys.misses(tenant, stream), { redis, sealer });
  return {
    // What we did not note was not missed: the record is missed once more before it counts.
    misses: (stream) => missesOf(stream).all(),
    async storeMisses(stream, misses) {
      const { key, seal } = missesOf(stream);
      const sealed = [...misses].map(([recordId, missedAt]) => [recordId, seal(recordId, missedAt)]);
      const pipeline = redis.pipeline().del(key);
      if (misses.size > 0) pipeline.hset(key, Object.fromEntries(sealed)).pexpire(key, MISSES_RETENTION_MS);
      await pipeline.exec();
    },
    async countRestorations(target, recordIds, now) {
      const key = keys.restorations(tenant, target, Math.floor(now / DAY_MS));
      const pipeline = redis.pipeline();
      for (const recordId of recordIds) pipeline.hincrby(key, recordId, 1);
      await pipeline.pexpire(key, 2 * DAY_MS).exec();
    },
    async restorations(target, now) {
      const counts = await redis.hgetall(keys.restorations(tenant, target, Math.floor(now / DAY_MS)));
      return new Map(Object.entries(counts).map(([recordId, count]) => [recordId, Number(count)]));
    },
    async erase(target, recordIds, now) {
      const today = Math.floor(now / DAY_MS);
      let removed = await eraseFromLists(redis, keys.target(tenant, target), new Set(recordIds));
      for (const slice of slices(recordIds, 500)) {
        for (const stream of STREAMS) removed += await redis.hdel(keys.misses(tenant, stream), ...slice);
        for (const day of [today, today - 1, today - 2]) {
          removed += await redis.hdel(keys.restorations(tenant, target, day), ...slice);
        }
      }
      return removed;
    },
  };
}

/** Takes records out of the lists that a target's record holds. */
async function eraseFromLists(redis: RedisClient, key: string, recordIds: ReadonlySet<string>): Promise<number> {
  const { copies, refusedThere } = recordListsIn(await redis.hgetall(key));
  const erased = [...copies, ...Object.values(refusedThere).flat()].filter((id) => recordIds.has(id)).length;
  if (erased === 0) return 0;
  const without = (ids: readonly string[]) => ids.filter((id) => !recordIds.has(id));
  const refused = Object.entries(refusedThere).map(([property, ids]) => [property, without(ids)]);
  const remaining = { copies: without(copies), refusedThere: Object.fromEntries(refused) };
  await redis.hset(key, {
    copies: JSON.stringify(remaining.copies),
    refusedThere: JSON.stringify(remaining.refusedThere),
  });
  return erased;
}
