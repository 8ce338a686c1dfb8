import { Queue } from 'bullmq';
import { onTestFinished } from 'vitest';
import { QUEUE_PREFIX } from '../../src/state/keys.ts';

import type { TestRedis } from './redis.ts';
import { type ShiftedDate, shiftDate } from './shifted-date.ts';

/** The wall clock of this process, which can be put forward: what is due in ten minutes need not be waited for. */
export interface ShiftedTime {
  /** Puts the clock forward, and rings the alarms of reminders that are due then. */
  leap(ms: number): Promise<void>;
}

/** Takes over the wall clock for one test; timers and the monotonic clock stay as they are. */
export function useShiftedTime(redis: TestRedis, onLeap: (offsetMs: number) => void = () => {}): ShiftedTime {
  const date: ShiftedDate = shiftDate();
  onTestFinished(() => date.restore());
  return {
    async leap(ms) {
      date.offsetMs += ms;
      onLeap(date.offsetMs);
      const queue = new Queue('remind', { connection: redis.connect(), prefix: QUEUE_PREFIX });
      const due = (await queue.getDelayed()).filter(({ timestamp, delay }) => timestamp + delay <= Date.now());
      // One that rang meanwhile is delayed no more.
      await Promise.all(due.map((job) => job.promote().catch(() => {})));
      await queue.close();
    },
  };
}
