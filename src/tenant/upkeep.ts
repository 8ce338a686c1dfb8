import type { Instant } from '../core/model/time.ts';
import { keys, QUEUE_PREFIX } from '../state/keys.ts';
import type { RedisClient } from '../state/redis.ts';

/** Kinds of data that the daemon's hourly check deletes after their period. */
export type EndedKind = 'removed' | 'replies' | 'approvals' | 'audit-log';

/** A check, with the number of deleted items. */
export interface UpkeepRecord {
  at: Instant;
  ended: number;
}

/** The last check, and for each kind of data the last check that deleted some. Contains times and counts only. */
export interface UpkeepStore {
  /** @param tenant null: the installation, also for removed tenants */
  record(tenant: string | null, kind: EndedKind | 'check', record: UpkeepRecord): Promise<void>;
  /** Unreadable values are treated as missing. */
  read(tenant: string | null): Promise<Partial<Record<EndedKind | 'check', UpkeepRecord>>>;
}

const RECORD = /^(\d{1,15}) (\d{1,15})$/;

/** Opens the records of all tenants and of the installation. */
export function createUpkeepStore(redis: RedisClient): UpkeepStore {
  const keyOf = (tenant: string | null) => keys.upkeep(tenant ?? QUEUE_PREFIX.slice(1, -1));
  return {
    async record(tenant, kind, { at, ended }) {
      await redis.hset(keyOf(tenant), kind, `${at} ${ended}`);
    },
    async read(tenant) {
      const stored = Object.entries(await redis.hgetall(keyOf(tenant)));
      return Object.fromEntries(
        stored.flatMap(([kind, text]) => {
          const [, at, ended] = RECORD.exec(text) ?? [];
          return at === undefined ? [] : [[kind, { at: Number(at), ended: Number(ended) }]];
        }),
      );
    },
  };
}
