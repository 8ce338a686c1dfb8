import { Queue } from 'bullmq';
import { onTestFinished } from 'vitest';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';

import type { TestRedis } from './redis.ts';
import { type ShiftedDate, shiftDate } from './shifted-date.ts';

/** The wall clock of this process, which a test can advance, so that no test waits for ten minutes. */
export interface ShiftedTime {
  /** Puts the clock forward, and has the alarms of reminders ring that are due then. */
  leap(ms: number): Promise<void>;
}

const RING_EVERY_MS = 100;

/** Takes over the wall clock for one test; timers and the monotonic clock are unchanged. */
export function useShiftedTime(redis: TestRedis, onLeap: (offsetMs: number) => void = () => {}): ShiftedTime {
  const date: ShiftedDate = shiftDate();
  const end = new AbortController();
  let ringing: Promise<void> | null = null;
  onTestFinished(async () => {
    end.abort();
    await ringing;
    date.restore();
  });
  return {
    async leap(ms) {
      date.offsetMs += ms;
      onLeap(date.offsetMs);
      ringing ??= keepRinging(redis, end.signal);
    },
  };
}

/**
 * Has alarms ring that are due by the shifted clock. Again and again: one may be set while the clock leaps, by what it said before, and would
 * ring by a timer that did not leap.
 */
async function keepRinging(redis: TestRedis, end: AbortSignal): Promise<void> {
  const queue = new Queue('remind', { connection: redis.connect(), prefix: QUEUE_PREFIX });
  while (!end.aborted) {
    const due = (await queue.getDelayed().catch(() => [])).filter(
      ({ timestamp, delay }) => timestamp + delay <= Date.now(),
    );
    // One that rang meanwhile is delayed no more.
    await Promise.all(due.map((job) => job.promote().catch(() => {})));
    await new Promise((resolve) => setTimeout(resolve, RING_EVERY_MS));
  }
  await queue.close();
}
