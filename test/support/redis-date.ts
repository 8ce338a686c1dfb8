import type { Redis } from 'ioredis';

/**
 * Shifts the time of Redis to the tests' date, because Redis uses the host's clock: a process that compares the two clocks finds no
 * difference.
 * @param aheadMs how far the tests' clock is ahead of the host's clock
 * @returns a replacement for a connection's `time()`
 */
export function timeOfTests(aheadMs: number): (this: Redis) => Promise<number[]> {
  return async function (this: Redis) {
    const [seconds, microseconds] = ((await this.call('TIME')) as string[]).map(Number);
    const nowMs = Number(seconds) * 1_000 + Number(microseconds) / 1_000 + aheadMs;
    return [Math.floor(nowMs / 1_000), Math.floor((nowMs % 1_000) * 1_000)];
  };
}
