import { DAY_MS, HOUR_MS, type Instant, MINUTE_MS, offsetMs } from '../core/model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** Days of a history, with the current day. The scripts `history.lua` remove older days. */
export const HISTORY_DAYS = 32;
/** Past outages of a tenant. An older one is removed, because a server can fail for weeks. */
const MOST_OUTAGES = 200;

/** Changes of a target on one day. */
export interface DayChanges {
  created: number;
  updated: number;
  deleted: number;
}

/** Stored history of a target. */
export interface StoredHistory {
  /** Largest age of the target's data by hour since 1970 (UTC), in ms, rounded up to a minute. An hour without a proof is absent. */
  ages: ReadonlyMap<number, number>;
  /** By local day, see {@link localDayOf}. */
  changes: ReadonlyMap<number, DayChanges>;
}

/** Outage of a server that ended. */
export interface PastOutage {
  sinceAt: Instant;
  untilAt: Instant;
  /** Waiting targets; null: all of them, because the source could not be read. */
  targets: readonly string[] | null;
}

/** Reads the history of one tenant. Scripts of the target records write it with each cycle. */
export interface HistoryStore {
  /** Damaged values are treated as absent. */
  read(target: string): Promise<StoredHistory>;
  /** Returns outages that ended after an instant, oldest first. */
  outages(since: Instant): Promise<PastOutage[]>;
}

/** Opens the history of a tenant. */
export function createHistoryStore(redis: RedisClient, tenant: string): HistoryStore {
  return {
    async read(target) {
      const stored = await fieldsOf(redis, keys.history(tenant, target));
      const ages = new Map<number, number>();
      const changes = new Map<number, DayChanges>();
      for (const [field, value] of Object.entries(stored)) {
        const day = Number(field.slice(1));
        if (field.startsWith('h')) for (const [hour, ageMs] of agesIn(value)) ages.set(day * 24 + hour, ageMs);
        const counts = field.startsWith('c') ? changesIn(value) : null;
        if (counts !== null) changes.set(day, counts);
      }
      return { ages, changes };
    },
    async outages(since) {
      const key = keys.pastOutages(tenant);
      if ((await redis.type(key)) !== 'zset') return [];
      return (await redis.zrangebyscore(key, `(${since}`, '+inf')).flatMap((text) => outageIn(text) ?? []);
    },
  };
}

/** Returns the number of a local day since 1970. */
export function localDayOf(at: Instant, zone: string): number {
  return Math.floor((at + offsetMs(zone, at)) / DAY_MS);
}

/** Returns the number of an hour since 1970 in UTC. */
export function hourOf(at: Instant): number {
  return Math.floor(at / HOUR_MS);
}

async function fieldsOf(redis: RedisClient, key: string): Promise<Record<string, string>> {
  return (await redis.type(key)) === 'hash' ? redis.hgetall(key) : {};
}

const FIRST_DIGIT = 48;
const BASE = 64;

/** Parses the hours of a day: two digits of base 64 each, `..` without a proof. */
function agesIn(text: string): [hour: number, ageMs: number][] {
  if (text.length !== 48) return [];
  return Array.from({ length: 24 }, (_, hour): [number, number] => {
    const [high = -1, low = -1] = [0, 1].map((digit) => text.charCodeAt(hour * 2 + digit) - FIRST_DIGIT);
    const isDamaged = [high, low].some((digit) => digit < 0 || digit >= BASE);
    return [hour, isDamaged ? -1 : (high * BASE + low) * MINUTE_MS];
  }).filter(([, ageMs]) => ageMs >= 0);
}

function changesIn(text: string): DayChanges | null {
  const [, created, updated, deleted] = /^(\d{1,12}) (\d{1,12}) (\d{1,12})$/.exec(text) ?? [];
  if (created === undefined) return null;
  return { created: Number(created), updated: Number(updated), deleted: Number(deleted) };
}

const EVERY_TARGET = '*';

function outageIn(text: string): PastOutage | null {
  const [, sinceAt, untilAt, targets = ''] = /^(\d{1,15}) (\d{1,15}) (\S+)$/.exec(text) ?? [];
  if (sinceAt === undefined) return null;
  return {
    ...{ sinceAt: Number(sinceAt), untilAt: Number(untilAt) },
    targets: targets === EVERY_TARGET ? null : targets.split(','),
  };
}

/** What an outage stops: lanes of targets, cycles of tenants (target null), and other work. */
interface StoppedWork {
  tenant: string;
  target: string | null;
  other?: object;
}

/** Returns the targets of a tenant that an outage stops; null for all, and an empty list if only other work waits. */
export function targetsIn(works: readonly StoppedWork[], tenant: string): string[] | null {
  const own = works.filter((work) => work.tenant === tenant && work.other === undefined);
  if (own.some(({ target }) => target === null)) return null;
  return own.flatMap(({ target }) => target ?? []);
}

/**
 * Adds an ended outage to the history of each tenant whose cycle or targets waited. Never fails because of a damaged or refused key: the
 * work that waited for the server must start again.
 */
export async function recordPastOutage(
  redis: RedisClient,
  { sinceAt, works }: { sinceAt: Instant; works: readonly StoppedWork[] },
  untilAt: Instant,
): Promise<void> {
  for (const tenant of new Set(works.map((work) => work.tenant))) {
    const targets = targetsIn(works, tenant);
    if (targets?.length === 0) continue;
    const key = keys.pastOutages(tenant);
    // A pipeline reports refusals of Redis in its replies.
    await redis
      .pipeline()
      .zadd(key, untilAt, `${sinceAt} ${untilAt} ${targets === null ? EVERY_TARGET : targets.join(',')}`)
      .zremrangebyscore(key, '-inf', untilAt - HISTORY_DAYS * DAY_MS)
      .zremrangebyrank(key, 0, -MOST_OUTAGES - 1)
      .pexpire(key, HISTORY_DAYS * DAY_MS)
      .exec();
  }
}
