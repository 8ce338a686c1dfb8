import { readFileSync } from 'node:fs';
import type { Redis } from 'ioredis';
import { MirrorError } from '../core/model/errors.ts';
import { message } from '../messages/message.ts';
import { type RedisClient, serversOf } from './redis.ts';

type Argument = string | number;

/** Runs a script of Redis. */
export type RedisScript<Answer> = (
  redis: Pick<RedisClient, 'eval'>,
  keys: readonly string[],
  args?: readonly Argument[],
) => Promise<Answer>;

/** Lease data for a fenced write. */
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
 * Declares the script `scripts/<name>.lua` next to a module. The script is read on first use.
 * @param module the module's `import.meta.url`
 */
export function redisScript<Answer>(module: string, name: string): RedisScript<Answer> {
  let text: string | null = null;
  return (redis, keys, args = []) => {
    text ??= readScript(new URL(`scripts/${name}.lua`, module));
    return redis.eval(text, keys.length, ...keys, ...args) as Promise<Answer>;
  };
}

/** Declares a fenced script, see {@link redisScript}. */
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

/** Returns the text of a script with its includes: names in the script's folder, or relative paths. */
function readScript(file: URL): string {
  return readFileSync(file, 'utf8').replaceAll(INCLUDE, (_, included: string) =>
    readScript(new URL(`${included}.lua`, file)),
  );
}

/** Returns the error of a write with a lost lease: the current holder repeats the work. */
export function fencedError(): MirrorError {
  return new MirrorError(message('lease-lost'), {
    actor: 'conflict',
    code: 'lease-lost',
    retry: 'later',
  });
}

/** Decides whether a Redis error comes from a fenced script. */
export function isFenced(error: unknown): boolean {
  return error instanceof Error && error.message.includes('FENCED');
}

/** Numbers the keys of a script in order of use; Lua indexes start at 1. */
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

/** Location of a value in Redis: a field of a hash, or a string key. */
export interface ValueLocation {
  key: string;
  /** Absent for a string. */
  field?: string;
}

/** Value for comparison or writing; null: absent. */
export type LocatedValue = ValueLocation & { value: string | number | null };

const compareAndSetScript = redisScript<number>(import.meta.url, 'compare-and-set');

/**
 * Writes values in one step if the expected values are unchanged. All keys must be on one server.
 * @returns null on success, otherwise the index of the first changed value of `expected`
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

const increaseScript = redisScript<number>(import.meta.url, 'increase');

/** Increases numbers in a hash. A number that is damaged starts again. @param lifeMs new lifetime of the hash; default unchanged */
export async function increase(
  redis: RedisClient,
  key: string,
  changes: readonly (readonly [field: string, by: number])[],
  lifeMs?: number,
): Promise<void> {
  if (changes.length > 0) await increaseScript(redis, [key], [lifeMs ?? '', ...changes.flat()]);
}

/** Commands that are sent together. */
type Pipeline = ReturnType<RedisClient['pipeline']>;

/**
 * Sends a command for each element together.
 * @param ask adds the command of an element
 * @returns the replies in the order of the elements
 * @throws the first error among the replies
 */
export async function askEach<Reply, Item = string>(
  redis: RedisClient,
  items: Iterable<Item>,
  ask: (pipeline: Pipeline, item: Item) => unknown,
): Promise<Reply[]> {
  const pipeline = redis.pipeline();
  for (const item of items) ask(pipeline, item);
  return sendAll<Reply>(pipeline);
}

/**
 * Sends the commands of a pipeline. A pipeline itself never fails: Redis may refuse each command.
 * @returns the replies in order
 * @throws the first error among the replies
 */
export async function sendAll<Reply>(pipeline: Pick<Pipeline, 'exec'>): Promise<Reply[]> {
  return ((await pipeline.exec()) ?? []).map(([error, reply]) => {
    if (error !== null) throw error;
    return reply as Reply;
  });
}

/** Returns the pairs of a flat list: names and values of HGETALL, or members and scores of WITHSCORES. */
export function pairsOf(list: readonly string[]): [string, string][] {
  return list.flatMap((name, at): [string, string][] => (at % 2 === 0 ? [[name, list[at + 1] ?? '']] : []));
}

/** Returns members of a sorted set with their scores, from a WITHSCORES reply. */
export function scoresOf(list: readonly string[]): Map<string, number> {
  return new Map(pairsOf(list).map(([member, score]) => [member, Number(score)]));
}

/** Keys per step of a scan. */
const KEYS_AT_ONCE = 500;

/**
 * Yields the names of all matching keys; a name may appear twice, and concurrent changes may be missing.
 * @param pattern pattern of Redis' SCAN; brackets other than `[` are literal
 */
export async function* keysLike(redis: RedisClient, pattern: string): AsyncGenerator<string> {
  for await (const { names } of keyPagesLike(redis, pattern)) yield* names;
}

/** Yields the names of {@link keysLike} by steps of the scan, with the server of the keys. */
export async function* keyPagesLike(
  redis: RedisClient,
  pattern: string,
): AsyncGenerator<{ server: Redis; names: string[] }> {
  for (const server of await serversOf(redis)) {
    let cursor = '0';
    do {
      const [next, names] = await server.scan(cursor, 'MATCH', pattern, 'COUNT', KEYS_AT_ONCE);
      yield { server, names };
      cursor = next;
    } while (cursor !== '0');
  }
}

const count = redisScript<[counted: number, waitMs: number]>(import.meta.url, 'count');

/** Counter with the number of allowed requests per window. */
interface Limit {
  key: string;
  most: number;
}

/** Result of counting. */
export interface Counted {
  /** Requests in this window including the current request, by the last checked counter. */
  counted: number;
  /** Time until the refusing counter restarts; null: allowed. */
  waitMs: number | null;
}

/**
 * Counts one request with each counter, shared by all processes: a window starts with its first request. A request refused by one counter
 * is not counted by the following counters, so that one caller's excess does not affect others.
 * @param limits narrowest first; with one hash tag
 */
export async function countOne(redis: RedisClient, windowMs: number, limits: readonly Limit[]): Promise<Counted> {
  const counterKeys = limits.map(({ key }) => key);
  const most = limits.map((limit) => limit.most);
  const [counted, waitMs] = await count(redis, counterKeys, [windowMs, ...most]);
  return { counted, waitMs: waitMs === 0 ? null : waitMs };
}

/** Deletes keys under a lease. Returns the number of deleted keys. */
export const unlinkFenced = fencedScript<number>(import.meta.url, 'fenced-unlink');
