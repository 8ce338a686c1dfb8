import { setTimeout as delay } from 'node:timers/promises';
import { paced } from './pace.ts';

export interface WaitForOptions {
  /** What is waited for, in words that finish the sentence "waited 90000 ms for …". */
  readonly what: string;
  /** On a usual machine ({@link paced}); 90 s unless told. It ends what hangs, and measures nothing. */
  readonly timeoutMs?: number;
  /**
   * Between two looks; 10 ms unless told. A look that takes longer is followed by as long a rest, so that it leaves the processor to what
   * is waited for.
   */
  readonly intervalMs?: number;
}

/**
 * Looks at a condition until it holds. One that throws doesn't hold yet.
 *
 * @returns the first value that isn't false, null or undefined
 * @throws Error at the time-out, saying what was waited for; its cause is what the condition threw last
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
