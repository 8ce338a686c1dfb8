import { readFileSync } from 'node:fs';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { type RedisClient, serversOf } from './redis.ts';

/** What a script is given beside its keys. */
type Argument = string | number;

/** Runs a script of Redis. */
export type RedisScript<Answer> = (
  redis: Pick<RedisClient, 'eval'>,
  keys: readonly string[],
  args?: readonly Argument[],
) => Promise<Answer>;

/** What a fenced write needs to know of its lease. */
export interface LeaseToken {
  key: string;
  token: string;
}

/**
 * Runs a script that includes `fence.lua`: the lease's key is the first key, its token the first argument.
 * @throws MirrorError `conflict`, code `lease-lost`
 */
export type FencedScript<Answer> = (
  redis: Pick<RedisClient, 'eval'>,
  lease: LeaseToken,
  keys: readonly string[],
  args?: readonly Argument[],
) => Promise<Answer>;

const INCLUDE = /^-- @include (\S+)$/gm;

/**
 * Names the script `scripts/<name>.lua` beside a module. It is read when it first runs.
 * @param module the module's `import.meta.url`
 */
export function redisScript<Answer>(module: string, name: string): RedisScript<Answer> {
  let text: string | null = null;
  return (redis, keys, args = []) => {
    text ??= readScript(new URL(`scripts/${name}.lua`, module));
    return redis.eval(text, keys.length, ...keys, ...args) as Promise<Answer>;
  };
}

/** The same of a fenced script. */
export function fencedScript<Answer>(module: string, name: string): FencedScript<Answer> {
  const script = redisScript<Answer>(module, name);
  return async (redis, lease, keys, args = []) => {
    try {
      return await script(redis, [lease.key, ...keys], [lease.token, ...args]);
    } catch (error) {
      throw isFenced(error) ? fencedError() : error;
    }
  };
}

/** The text of a script, with what it includes: names beside it, or paths from it. */
function readScript(file: URL): string {
  return readFileSync(file, 'utf8').replaceAll(INCLUDE, (_, included: string) =>
    readScript(new URL(`${included}.lua`, file)),
  );
}

/** The error of a write whose lease was lost: the work is done again by whoever holds it now. */
export function fencedError(): MirrorError {
  return new MirrorError(message('lease-lost'), {
    actor: 'conflict',
    code: 'lease-lost',
    retry: 'later',
  });
}

/** Whether an error of Redis is that of a fenced script. */
export function isFenced(error: unknown): boolean {
  return error instanceof Error && error.message.includes('FENCED');
}

/** Numbers the keys of a script as they come up; Lua counts from 1. */
export class KeyIndex {
  readonly keys: string[];
  readonly #positions = new Map<string, number>();

  constructor(...first: string[]) {
    this.keys = [];
    for (const key of first) this.position(key);
  }

  position(key: string): number {
    const existing = this.#positions.get(key);
    if (existing !== undefined) return existing;
    this.keys.push(key);
    this.#positions.set(key, this.keys.length);
    return this.keys.length;
  }
}

/** A value in Redis: a field of a hash, or a key that is a string. */
export interface ValueLocation {
  key: string;
  /** Absent for a string. */
  field?: string;
}

/** A value that must still be as it was read, or that is written; null: there is none. */
export type LocatedValue = ValueLocation & { value: string | number | null };

const compareAndSetScript = redisScript<number>(import.meta.url, 'compare-and-set');

/**
 * Writes values in one step, as long as others are as they were read. All keys lie on one server.
 * @returns null when all is written, else the index of the first of `expected` that is another one by now
 */
export async function compareAndSet(
  redis: Pick<RedisClient, 'eval'>,
  expected: readonly LocatedValue[],
  written: readonly LocatedValue[],
): Promise<number | null> {
  const named = [...new Set([...expected, ...written].map(({ key }) => key))];
  const args = [...expected, ...written].flatMap(({ key, field, value }) => [
    named.indexOf(key) + 1,
    field ?? '',
    value ?? '',
  ]);
  const answer = await compareAndSetScript(redis, named, [expected.length, ...args]);
  return answer === 0 ? null : answer - 1;
}

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
