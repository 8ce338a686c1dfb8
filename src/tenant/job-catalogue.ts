import { z } from 'zod';
import type { DataOf, Schedules } from '../jobs/job-kinds.ts';
import type { JobHandlers as HandlersOf, SharesOf as SharesBy } from '../jobs/workers.ts';

/**
 * Every job with its queue and the schema of its data. Data contains ids, never content. New fields must be optional, because the queue may
 * contain jobs of the previous version.
 */
export const JOBS = {
  /** Reads one tenant's clinic and plans its targets. Repeats per tenant. `asked`: a caller knows of new data. */
  pull: { data: z.object({ tenant: z.string(), asked: z.boolean().optional() }) },
  /** Reads additional streams of one tenant's CRMs and plans the CRMs. Cycles request the job. */
  'read-streams': { data: z.object({ tenant: z.string() }) },
  /** Writes one target's changes for one time slice. A plan starts the job, and the job repeats while changes are pending. */
  push: { data: z.object({ tenant: z.string(), target: z.string() }) },
  /** Starts a check of each target of one tenant, with `changesOnly` of the calendars. Both repeat per tenant. */
  audit: { data: z.object({ tenant: z.string(), changesOnly: z.boolean().optional() }) },
  /**
   * Audits one target after a vendor's notification, or as part of an audit (`once`: no repetition needed). `whole`: the vendor lost
   * notifications. `changesOnly`: only the change feed is asked.
   */
  'check-target': {
    data: z.object({
      ...{ tenant: z.string(), target: z.string(), whole: z.boolean().optional(), once: z.boolean().optional() },
      changesOnly: z.boolean().optional(),
    }),
  },
  /**
   * Maintains one tenant's notification subscriptions, paused ones too. Repeats per tenant. `hurry`: paused subscriptions are tried
   * immediately.
   */
  subscriptions: { data: z.object({ tenant: z.string(), hurry: z.boolean().optional() }) },
  /** Decides about one due reminder and delivers it. */
  remind: { data: z.object({ tenant: z.string(), reminder: z.string() }) },
  /** Reads events for receivers and notifies them. Repeats per tenant. `retry`: only waiting events are retried. */
  triggers: { data: z.object({ tenant: z.string(), retry: z.boolean().optional() }) },
  /** Refreshes one tenant's connections, paused ones too. Repeats per tenant. */
  'refresh-tokens': { data: z.object({ tenant: z.string() }) },
} as const;

/** Name of a job and its queue. */
export type JobName = keyof typeof JOBS;
export type JobData<Name extends JobName> = DataOf<typeof JOBS, Name>;
export type JobHandlers = HandlersOf<typeof JOBS>;
export type SharesOf = SharesBy<typeof JOBS>;

/** Schedules of repeated jobs, by name. The name is part of a schedule's id in Redis. */
export const SCHEDULES = {
  pull: { job: 'pull' },
  audit: { job: 'audit' },
  changes: { job: 'audit', data: { changesOnly: true } },
  subscriptions: { job: 'subscriptions' },
  triggers: { job: 'triggers' },
  'refresh-tokens': { job: 'refresh-tokens' },
} as const satisfies Schedules;
