import { STREAM_NAMES } from '../core/model/items.ts';
import { slices } from '../core/model/pieces.ts';
import { storable } from '../core/model/stored-limits.ts';
import { DAY_MS, type Instant } from '../core/model/time.ts';
import type { StoredTarget, TargetSummary, TargetTable } from '../engine/store.ts';
import { openNumber } from './damaged.ts';
import { localDayOf } from './history.ts';
import { keys } from './keys.ts';
import { type RedisClient, refusalOf } from './redis.ts';
import { compareAndSet, fencedScript, increase, pairsOf, redisScript, sendAll } from './script.ts';
import type { Sealer } from './sealing.ts';
import { sealedTable } from './sealing.ts';
import {
  fieldOf,
  type GoneDay,
  goneOnDates,
  goneSince,
  openTargetProofs,
  RECORD_LISTS,
  recordOf,
  type StoredFields,
  type TargetProofs,
  withGone,
} from './target-record.ts';

const scripts = {
  confirm: fencedScript<number>(import.meta.url, 'target-confirm'),
  count: redisScript<number>(import.meta.url, 'target-count'),
  recordFreshness: redisScript<number>(import.meta.url, 'target-record-freshness'),
  summarize: redisScript<[fields: string[], linksVersion: string | null, pending: number][]>(
    import.meta.url,
    'target-summarize',
  ),
};

/** Target records of one tenant. */
export interface TargetStore extends TargetTable {
  /** Counts departures on each of the last thirty local days, oldest first. @param zone IANA name */
  goneByDate(target: string, now: Instant, zone: string): Promise<GoneDay[]>;
  /** Removes records from misses, restorations, copies and refusals. @returns the number of removed references */
  erase(target: string, recordIds: readonly string[], now: Instant): Promise<number>;
}

const MISSES_RETENTION_MS = 7 * DAY_MS;

/** Targets per script: each takes some tens of microseconds. */
const TARGETS_AT_ONCE = 100;

/**
 * Opens the target records of a tenant.
 * @param sealer encrypts with the identity key
 * @param zone IANA zone for the days of the history
 */
export function createTargetStore(redis: RedisClient, tenant: string, sealer: Sealer, zone = 'UTC'): TargetStore {
  const proofs = openTargetProofs(redis, tenant, sealer);
  const records = { ...openRecords(redis, tenant, proofs, sealer), ...openFreshness(redis, tenant, zone) };
  return { ...records, ...openGone(redis, tenant, proofs), ...openTallies(redis, tenant, sealer, records) };
}

type Gone = Pick<TargetStore, 'recordGone' | 'gone' | 'goneByDate'>;
type Tallies = Pick<TargetStore, 'misses' | 'storeMisses' | 'countRestorations' | 'restorations' | 'erase'>;

function openRecords(
  redis: RedisClient,
  tenant: string,
  proofs: TargetProofs,
  sealer: Sealer,
): Omit<TargetStore, keyof Gone | keyof Tallies | keyof Freshness> {
  const read = async (target: string, fields: StoredFields): Promise<StoredTarget> => {
    const { record, damaged } = recordOf(fields, proofs.of(target, fields), { target, sealer });
    if (damaged.length > 0) {
      const found = damaged.map((field) => ({
        key: keys.target(tenant, target),
        field,
        value: fields[field] ?? null,
      }));
      const cleared = [...damaged, 'plannedAsOf'].map((field) => ({
        key: keys.target(tenant, target),
        field,
        value: null,
      }));
      // The record is also readable in a Redis that refuses writes.
      await refusalOf(() => compareAndSet(redis, found, cleared));
    }
    return record;
  };
  return {
    async read(target) {
      return read(target, await redis.hgetall(keys.target(tenant, target)));
    },
    async summarize(targets) {
      const summaries = new Map<string, TargetSummary>();
      for (const slice of slices(targets, TARGETS_AT_ONCE)) {
        const answers = await scripts.summarize(
          redis,
          slice.flatMap((target) => comparedKeys(tenant, target)),
        );
        for (const [index, [values, linksVersion, pending]] of answers.entries()) {
          const target = slice[index] ?? '';
          const fields = Object.fromEntries(pairsOf(values));
          summaries.set(target, { record: await read(target, fields), linksVersion, pending });
        }
      }
      return summaries;
    },
    ...openWrites(redis, tenant, proofs, sealer),
    async recordOvertaken(target) {
      const key = keys.target(tenant, target);
      await redis.hdel(key, 'plannedAsOf');
      await increase(redis, key, [['overtaken', 1]]);
    },
  };
}

/** Keys of a target's record, links and outbox. */
function comparedKeys(tenant: string, target: string): string[] {
  return [keys.target(tenant, target), keys.linksMeta(tenant, target), keys.outbox(tenant, target)];
}

type Freshness = Pick<TargetStore, 'count' | 'recordFreshness' | 'recordIdle'>;

/** Records freshness and changes. The scripts also update the history, so that no cycle needs another request. */
function openFreshness(redis: RedisClient, tenant: string, zone: string): Freshness {
  return {
    async recordIdle(looked, { plannedAt, plannedUnder, asOf, tookMs }, lease) {
      for (const slice of slices([...looked], TARGETS_AT_ONCE)) {
        const named = slice.flatMap(([target]) => [...comparedKeys(tenant, target), keys.history(tenant, target)]);
        const times = asOf === null ? ['', ''] : [asOf, asOf + tookMs];
        const values = [plannedAt, plannedUnder, ...times, ...slice.map(([, version]) => version ?? '')];
        await scripts.confirm(redis, lease, named, values);
      }
    },
    async recordFreshness(target, overtaken, { plannedAsOf, tookMs, isIdle }) {
      const inSyncAsOf = isIdle ? plannedAsOf : '';
      const named = [keys.target(tenant, target), keys.history(tenant, target)];
      await scripts.recordFreshness(redis, named, [overtaken, plannedAsOf, inSyncAsOf, plannedAsOf + tookMs]);
    },
    async count(target, counters, now) {
      const changed = Object.entries(counters).filter(([, by]) => by !== 0);
      if (changed.length === 0) return;
      const { created = 0, updated = 0, deleted = 0 } = counters;
      const named = [keys.target(tenant, target), keys.history(tenant, target)];
      const day = localDayOf(now, zone);
      await scripts.count(redis, named, [day, created, updated, deleted, ...changed.flat()]);
    },
  };
}

function openWrites(
  redis: RedisClient,
  tenant: string,
  proofs: TargetProofs,
  sealer: Sealer,
): Pick<TargetStore, 'write'> {
  return {
    async write(target, { container, firstRunApprovedAt, ...fields }) {
      const key = keys.target(tenant, target);
      const others = Object.fromEntries(
        Object.entries(fields).map(([name, value]) => [name, fieldOf(name, value, { target, sealer })]),
      );
      if (container !== undefined || firstRunApprovedAt !== undefined) {
        const containerChange = container === undefined ? {} : { container: storable('container', container) };
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
  };
}

/** Records departures of each target, which the guard uses to judge planned removals. */
function openGone(redis: RedisClient, tenant: string, proofs: TargetProofs): Gone {
  const origin = { owner: tenant, kind: 'targets' } as const;
  const read = async (target: string) =>
    proofs.of(target, await redis.hgetall(keys.target(tenant, target)))?.gone ?? {};
  return {
    async recordGone(target, counts, now) {
      if (Object.values(counts).every((count) => count === 0)) return;
      await proofs.change(target, (before) => ({ ...before, gone: withGone(before.gone, counts, now) }));
    },
    gone: async (target, now) => goneSince(await read(target), now),
    async goneByDate(target, now, zone) {
      const fields = await redis.hgetall(keys.target(tenant, target));
      const proof = proofs.of(target, fields);
      const adoptedAt = fields.adoptedAt === undefined ? null : openNumber(fields.adoptedAt, origin);
      return goneOnDates(proof?.gone ?? {}, { now, zone, countedFromAt: proof === null ? null : adoptedAt });
    },
  };
}

/** Counts missing records and restorations while relevant. */
function openTallies(
  redis: RedisClient,
  tenant: string,
  sealer: Sealer,
  records: Pick<TargetStore, 'read' | 'write'>,
): Tallies {
  const missesOf = (stream: string) =>
    sealedTable<Instant>(keys.misses(tenant, stream), { redis, sealer, kind: 'misses' });
  return {
    // Damaged misses are ignored: the record must be missed again.
    misses: (stream) => missesOf(stream).all(),
    async storeMisses(stream, misses) {
      const { key, seal } = missesOf(stream);
      const sealed = [...misses].map(([recordId, missedAt]) => [recordId, seal(recordId, missedAt)]);
      const pipeline = redis.pipeline().del(key);
      if (misses.size > 0) pipeline.hset(key, Object.fromEntries(sealed)).pexpire(key, MISSES_RETENTION_MS);
      await sendAll(pipeline);
    },
    async countRestorations(target, recordIds, now) {
      const key = keys.restorations(tenant, target, Math.floor(now / DAY_MS));
      const ones = recordIds.map((recordId): [string, number] => [recordId, 1]);
      for (const slice of slices(ones, 500)) await increase(redis, key, slice, 2 * DAY_MS);
    },
    async restorations(target, now) {
      const counts = await redis.hgetall(keys.restorations(tenant, target, Math.floor(now / DAY_MS)));
      const origin = { owner: tenant, kind: 'targets' } as const;
      return new Map(Object.entries(counts).map(([recordId, count]) => [recordId, openNumber(count, origin) ?? 0]));
    },
    async erase(target, recordIds, now) {
      const today = Math.floor(now / DAY_MS);
      let removed = await eraseFromLists(records, target, new Set(recordIds));
      for (const slice of slices(recordIds, 500)) {
        for (const stream of STREAM_NAMES) removed += await redis.hdel(keys.misses(tenant, stream), ...slice);
        for (const day of [today, today - 1, today - 2]) {
          removed += await redis.hdel(keys.restorations(tenant, target, day), ...slice);
        }
      }
      return removed;
    },
  };
}

/** Removes records from the lists of a target's record. */
async function eraseFromLists(
  { read, write }: Pick<TargetStore, 'read' | 'write'>,
  target: string,
  recordIds: ReadonlySet<string>,
): Promise<number> {
  const record = await read(target);
  const named = [...RECORD_LISTS.map((name) => record[name]), ...Object.values(record.refusedThere)].flat();
  const erased = named.filter((id) => recordIds.has(id)).length;
  if (erased === 0) return 0;
  const without = (ids: readonly string[]) => ids.filter((id) => !recordIds.has(id));
  const refused = Object.entries(record.refusedThere).map(([property, ids]) => [property, without(ids)]);
  const lists = RECORD_LISTS.map((name) => [name, without(record[name])]);
  await write(target, { ...Object.fromEntries(lists), refusedThere: Object.fromEntries(refused) });
  return erased;
}
