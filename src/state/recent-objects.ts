import type { RecentObject } from '../core/model/plan.ts';
import { HOUR_MS, type Instant } from '../core/model/time.ts';
import type { RecentObjects } from '../engine/store.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { type Sealer, sealedTable } from './sealing.ts';

/** Time for which what users added is stored: a day of retries after the removal. Own choice. */
const ADDITIONS_RETENTION_MS = 24 * HOUR_MS;

/** Time for which a creation is stored: two readings of a source that is read once an hour. Own choice. */
const CREATED_RETENTION_MS = 2 * HOUR_MS;

/** Largest stored text of users, in characters. A longer one is not taken over. Own choice. */
const LONGEST_ADDITIONS = 32_768;

/** Created objects per plan. A larger number is a first sync or a changed setting, not a move of some records. Own choice. */
const MOST_CREATED = 100;

/**
 * Created and removed objects of one tenant's targets, by target and record, so that a record that the source moves under another id keeps
 * what users added to its object.
 */
export interface RecentObjectStore extends RecentObjects {
  /** Removes all objects of a target, because a person is forgotten. @returns the number of removed texts of users */
  erase(target: string): Promise<number>;
}

/** Opens the recent objects of a tenant. They are encrypted, because the additions are texts of users. */
export function createRecentObjects(redis: RedisClient, tenant: string, sealer: Sealer): RecentObjectStore {
  const tableOf = (target: string) =>
    sealedTable<RecentObject>(keys.recentObjects(tenant, target), { redis, sealer, kind: 'recent-objects' });
  const change = async (target: string, now: Instant, write: (table: ReturnType<typeof tableOf>) => Promise<void>) => {
    const table = tableOf(target);
    await table.prune((object) => isOver(object, now));
    await write(table);
    await redis.pexpire(table.key, ADDITIONS_RETENTION_MS);
  };
  return {
    async read(target, now) {
      return new Map([...(await tableOf(target).all())].filter(([, object]) => !isOver(object, now)));
    },
    async additionsOf(target, recordId) {
      return (await tableOf(target).get(recordId))?.removed?.additions ?? null;
    },
    async recordCreated(target, recordIds, now) {
      if (recordIds.length === 0 || recordIds.length > MOST_CREATED) return;
      await change(target, now, async (table) => {
        for (const recordId of recordIds) await table.add(recordId, { at: now });
      });
    },
    async recordRemoved(target, recordId, removed, now) {
      if (removed.additions.length > LONGEST_ADDITIONS) return;
      await change(target, now, (table) => table.set(recordId, { at: now, removed }));
    },
    remove: async (target, recordId) => void (await tableOf(target).remove([recordId])),
    async erase(target) {
      const table = tableOf(target);
      const texts = [...(await table.all()).values()].filter(({ removed }) => removed !== undefined);
      await redis.unlink(table.key);
      return texts.length;
    },
  };
}

function isOver({ at, removed }: RecentObject, now: Instant): boolean {
  return at < now - (removed === undefined ? CREATED_RETENTION_MS : ADDITIONS_RETENTION_MS);
}
