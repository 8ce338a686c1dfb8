import { type RedisClient, serversOf } from './redis.ts';
import { redisScript } from './script.ts';

/** Commands that are sent together. */
type Pipeline = ReturnType<RedisClient['pipeline']>;

/**
 * Sends a command for each item in one go.
 * @param ask adds the item's command
 * @returns the replies in the order of the items
 * @throws the first error among the replies
 */
export async function askEach<Reply, Item = string>(
  redis: RedisClient,
  items: Iterable<Item>,
  ask: (pipeline: Pipeline, item: Item) => unknown,
): Promise<Reply[]> {
  const pipeline = redis.pipeline();
  for (const item of items) ask(pipeline, item);
  return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error !== null) throw error;
    return reply as Reply;
  });
}

/** Returns the pairs of a flat list: of HGETALL in a script its names and values, of WITHSCORES the members and scores. */
export function pairsOf(list: readonly string[]): [string, string][] {
  return list.flatMap((name, at): [string, string][] => (at % 2 === 0 ? [[name, list[at + 1] ?? '']] : []));
}

/** Returns members of a sorted set with their scores, from a reply WITHSCORES. */
export function scoresOf(list: readonly string[]): Map<string, number> {
  return new Map(pairsOf(list).map(([member, score]) => [member, Number(score)]));
}

/** Keys that are looked at in one step of a scan. */
const KEYS_AT_ONCE = 500;

/**
 * Names of all keys like a pattern; one may come twice. What comes in or goes meanwhile may or may not be among them.
 * @param pattern as Redis' own SCAN takes it; brackets of all kinds but `[` stand for themselves
 */
export async function* keysLike(redis: RedisClient, pattern: string): AsyncGenerator<string> {
  for (const server of await serversOf(redis)) {
    let cursor = '0';
    do {
      const [next, names] = await server.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_AT_ONCE);
      yield* names;
      cursor = next;
    } while (cursor !== '0');
  }
}

const count = redisScript<[counted: number, waitMs: number]>(import.meta.url, 'count');

/** A counter, and how many it lets through before it begins again. */
interface Limit {
  key: string;
  most: number;
}

/** What counting one came to. */
export interface Counted {
  /** How many there were in this window, this one too, by the counter that was asked last. */
  counted: number;
  /** Until the counter that holds it back begins again; null: it is let through. */
  waitMs: number | null;
}

/**
 * Counts one for each of these counters, which all processes share: a window begins with its first one. What one counter holds back the next
 * ones don't count, so that whoever asks too often takes nothing from others.
 * @param limits the narrowest first; of one hash tag
 */
export async function countOne(redis: RedisClient, windowMs: number, limits: readonly Limit[]): Promise<Counted> {
  const counterKeys = limits.map(({ key }) => key);
  const most = limits.map((limit) => limit.most);
  const [counted, waitMs] = await count(redis, counterKeys, [windowMs, ...most]);
  return { counted, waitMs: waitMs === 0 ? null : waitMs };
}
