import { readFileSync } from 'node:fs';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import type { RedisClient } from './redis.ts';

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
