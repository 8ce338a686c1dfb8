import { z } from 'zod';

/**
 * Every job: its queue and the schema of its data. Data holds ids, never content. Whoever adds a field makes it optional: jobs
 * that the previous version put in the queue are still there.
 */
export const JOBS = {
  /** Reads one tenant's clinic and plans its targets. Repeats per tenant; `asked`: somebody knows of something new. */
  pull: { data: z.object({ tenant: z.string(), asked: z.boolean().optional() }) },
  /** Reads what one tenant's CRMs follow beside appointments, and plans them by it. Asked for by its cycles. */
  'read-streams': { data: z.object({ tenant: z.string() }) },
  /** One turn of one target's lane. Woken by a plan, and by itself while something waits. */
  push: { data: z.object({ tenant: z.string(), target: z.string() }) },
  /** Has each of one tenant's targets checked. Repeats per tenant. */
  audit: { data: z.object({ tenant: z.string() }) },
  /**
   * Reads back what one target holds, as its vendor said that it changed, or as part of an audit (`once`: it need not be tried again).
   * `whole`: the vendor lost count of what it told.
   */
  'check-target': {
    data: z.object({
      ...{ tenant: z.string(), target: z.string(), whole: z.boolean().optional(), once: z.boolean().optional() },
    }),
  },
  /** Looks after one tenant's notifications, paused ones too. Repeats per tenant; `hurry`: what rests is tried at once. */
  subscriptions: { data: z.object({ tenant: z.string(), hurry: z.boolean().optional() }) },
  /** Looks at one reminder: decides, and hands it over. Comes when it is due. */
  remind: { data: z.object({ tenant: z.string(), reminder: z.string() }) },
  /** Reads what receivers are told of and tells them. Repeats per tenant; `retry`: only what waits is tried again. */
  triggers: { data: z.object({ tenant: z.string(), retry: z.boolean().optional() }) },
  /** Looks after one tenant's logins, paused ones too. Repeats per tenant. */
  'refresh-tokens': { data: z.object({ tenant: z.string() }) },
} as const;

/** Name of a job; its queue carries the same name. */
export type JobName = keyof typeof JOBS;
/** Data of a job. */
export type JobData<Name extends JobName> = z.output<(typeof JOBS)[Name]['data']>;
