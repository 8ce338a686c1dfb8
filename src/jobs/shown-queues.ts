import type { Job, Queue } from 'bullmq';
import type { Instant } from '../model/time.ts';

/** A job as people see it: ids of the configuration, and how it goes. Neither its other data nor why it failed: the log tells that. */
export interface ShownJob {
  id: string;
  tenant: string | null;
  target: string | null;
  /** When it was put in, when it is due, and when it ended, as far as it did. */
  addedAt: Instant;
  dueAt: Instant;
  endedAt: Instant | null;
  attempts: number;
}

/** A queue of work, which is called as its jobs are. */
export interface ShownQueue {
  queue: string;
  counts: { waiting: number; active: number; delayed: number; failed: number };
  waiting: ShownJob[];
  active: ShownJob[];
  failed: ShownJob[];
}

/** Looks at queues. @param most jobs of each sort that are named */
export function showQueues(queues: readonly Queue[], most: number): Promise<ShownQueue[]> {
  return Promise.all(
    queues.map(async (queue) => {
      const [counts, waiting, active, failed] = await Promise.all([
        queue.getJobCounts('waiting', 'prioritized', 'active', 'delayed', 'failed'),
        queue.getJobs(['waiting', 'prioritized'], 0, most - 1, true),
        queue.getJobs(['active'], 0, most - 1, true),
        queue.getJobs(['failed'], 0, most - 1),
      ]);
      const { waiting: plain = 0, prioritized = 0, active: running = 0, delayed = 0, failed: ended = 0 } = counts;
      return {
        queue: queue.name,
        counts: { waiting: plain + prioritized, active: running, delayed, failed: ended },
        ...{ waiting: shown(waiting), active: shown(active), failed: shown(failed) },
      };
    }),
  );
}

/** Jobs that went while they were looked at are left out. */
function shown(jobs: readonly (Job | undefined)[]): ShownJob[] {
  return jobs.flatMap((job) => (job === undefined ? [] : [shownJob(job)]));
}

function shownJob({ id, data, timestamp, delay, finishedOn, attemptsMade }: Job): ShownJob {
  return {
    id: id ?? '',
    tenant: textOf(data?.tenant),
    target: textOf(data?.target),
    ...{ addedAt: timestamp, dueAt: timestamp + (delay ?? 0) },
    endedAt: finishedOn ?? null,
    attempts: attemptsMade,
  };
}

function textOf(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}
