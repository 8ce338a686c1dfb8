import { onTestFinished, vi } from 'vitest';
import { paced } from './pace.ts';

/** Time that stops until the test advances it; the network continues. */
export interface FakeTime {
  /** Lets timers ring in their order. */
  pass(ms: number): Promise<void>;
  /** Advances the time without running timers in between, as in a suspended process. */
  jump(ms: number): void;
}

/** Takes over timers and the monotonic clock for one test; sockets stay real. */
export function useFakeTime(): FakeTime {
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'setInterval', 'clearInterval', 'performance'] });
  let jumpedMs = 0;
  const now = performance.now.bind(performance);
  const spy = vi.spyOn(performance, 'now').mockImplementation(() => now() + jumpedMs);
  onTestFinished(() => {
    spy.mockRestore();
    vi.useRealTimers();
  });
  return {
    async pass(ms) {
      await vi.advanceTimersByTimeAsync(ms);
    },
    jump(ms) {
      jumpedMs += ms;
    },
  };
}

/** Waits for an effect of the network, even while the time is stopped. */
export async function untilSeen(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endsAt = Date.now() + paced(30_000);
  while (!(await condition())) {
    if (Date.now() > endsAt) throw new Error(`waited for ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
