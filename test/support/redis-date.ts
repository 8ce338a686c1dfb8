import type { Redis } from 'ioredis';

/**
 * Redis has the machine's clock, the tests another: a process that asks Redis for the time, to compare the two, finds them alike.
 * @param aheadMs how far the clock of the tests is ahead of the machine's
 * @returns what a connection does for `time()`
 */
export function timeOfTests(aheadMs: number): (this: Redis) => Promise<number[]> {
  return async function (this: Redis) {
    const [seconds, microseconds] = ((await this.call('TIME')) as string[]).map(Number);
    const nowMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000 + aheadMs;
    return [Math.floor(nowMs / 1_000), Math.floor((nowMs % 1_000) * 1_000)];
  };
}
