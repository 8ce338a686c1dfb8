import { setTimeout as delay } from 'node:timers/promises';
import { paced } from './pace.ts';

export interface WaitForOptions {
  /** Completes the sentence "waited 90000 ms for …". */
  readonly what: string;
  /** Time on a usual host ({@link paced}); 90 s by default. The limit ends a hang and measures nothing. */
  readonly timeoutMs?: number;
  /**
   * Pause between two checks; 10 ms by default. After a longer check the pause is as long as the check, to leave the processor to the
   * observed process.
   */
  readonly intervalMs?: number;
}

/**
 * Checks a condition until it holds. A condition that throws does not hold.
 *
 * @returns the first value that isn't false, null or undefined
 * @throws Error at the time-out, with the awaited condition; its cause is the condition's last error
 */
export async function waitFor<Value>(
  condition: () => Value | Promise<Value>,
  options: WaitForOptions,
): Promise<Exclude<Awaited<Value>, false | null | undefined>> {
  const { what, intervalMs = 10 } = options;
  const timeoutMs = paced(options.timeoutMs ?? 90_000);
  const deadline = performance.now() + timeoutMs;
  let lastError: unknown;
  while (true) {
    const begun = performance.now();
    try {
      const value = await condition();
      if (holds(value)) return value;
      lastError = undefined;
    } catch (error) {
      lastError = error;
    }
    const now = performance.now();
    if (now >= deadline) {
      const reason = lastError instanceof Error ? `; the last look failed: ${lastError.message}` : '';
      throw new Error(`waited ${timeoutMs} ms for ${what}${reason}`, { cause: lastError });
    }
    await delay(Math.max(intervalMs, now - begun));
  }
}

function holds<Value>(value: Value): value is Exclude<Value, false | null | undefined> {
  return value !== false && value !== null && value !== undefined;
}
