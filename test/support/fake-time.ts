import { onTestFinished, vi } from 'vitest';
import { paced } from './pace.ts';

/** Time that stands still until it is told to pass, while the network goes on. */
export interface FakeTime {
  /** Lets timers ring in their order. */
  pass(ms: number): Promise<void>;
  /** Passes although no timer could ring, as in a process that stood still. */
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

/** Waits for something that the network brings, also while time stands still. */
export async function untilSeen(condition: () => boolean | Promise<boolean>, what: string): Promise<void> {
  const endsAt = Date.now() + paced(30_000);
  while (!(await condition())) {
    if (Date.now() > endsAt) throw new Error(`waited for ${what}`);
    await new Promise((resolve) => setImmediate(resolve));
  }
}
