import { z } from 'zod';
import { createRunStore } from '../domain/runs.ts';
import type { TenantOutline } from '../settings/configuration.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { keys } from '../state/keys.ts';
import type { RedisClient } from '../state/redis.ts';
import { redisScript } from '../state/script.ts';
import { createProofSealer } from '../state/sealing.ts';

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
export type JobData<Name extends JobName> = z.output<(typeof JOBS)[Name]['data']>;

const existingKeys = redisScript<string[]>(import.meta.url, 'existing-keys');

/** Returns whether a tenant's job has no work. If uncertain, the job runs. */
export type IsNeedless = (job: JobName, tenant: string) => Promise<boolean>;

/** For callers that run every job. */
export const neverNeedless: IsNeedless = async () => false;

/** Properties of a tenant that is not opened. */
type ConfiguredTenant = Pick<TenantOutline, 'id' | 'formerly' | 'targets' | 'connections'>;

/**
 * Decides from Redis only whether a repeated job has no effect, so that the tenant is not opened. Without a connection there is no token to
 * refresh, no target to notify or check, and a cycle would repeat the last report. Checks of several jobs of a tenant in one tick share one
 * lookup.
 * @param outlines current configuration of the tenants
 * @param identityKey the installation's, 32 bytes
 * @param remindersOpen returns the key of a tenant's open reminders
 */
export function createNeedless(
  redis: RedisClient,
  outlines: () => ReadonlyMap<string, ConfiguredTenant>,
  identityKey: Uint8Array,
  remindersOpen: (tenant: string) => string,
): IsNeedless {
  const looks = new Map<ConfiguredTenant, Promise<readonly Trace[]>>();
  async function find(tenant: ConfiguredTenant): Promise<readonly Trace[]> {
    const traces = Object.entries(tracesOf(tenant, remindersOpen)) as [Trace, string[]][];
    const asked = traces.flatMap(([, those]) => those);
    const found = await existingKeys(redis, asked);
    return traces.flatMap(([trace, those]) => (those.some((key) => found.includes(key)) ? [trace] : []));
  }
  function look(tenant: ConfiguredTenant): Promise<readonly Trace[]> {
    // A lookup in progress may miss later changes, such as a new connection.
    if (looks.size === 0) process.nextTick(() => looks.clear());
    const finding = looks.get(tenant) ?? find(tenant);
    looks.set(tenant, finding);
    return finding;
  }
  /** Data under a tenant's former id is stored separately. */
  async function remindsElsewhere({ formerly }: ConfiguredTenant): Promise<boolean> {
    return formerly !== null && (await redis.exists(remindersOpen(formerly))) > 0;
  }
  async function wasNotConnected({ id }: ConfiguredTenant): Promise<boolean> {
    const [last] = await createRunStore(redis, id, createProofSealer(identityKey, id)).list(1);
    return last?.error?.code === 'not-connected';
  }
  return async (job, id) => {
    const tenant = outlines().get(id);
    const doneFor = DONE_FOR[job];
    if (tenant === undefined || doneFor === undefined) return false;
    const found = await look(tenant);
    if (doneFor.some((trace) => found.includes(trace))) return false;
    if (job !== 'pull') return true;
    return !(await remindsElsewhere(tenant)) && (!found.includes('runs') || (await wasNotConnected(tenant)));
  };
}

/** Returns data of a tenant that gives a job work. */
function tracesOf({ id, formerly, targets, connections }: ConfiguredTenant, remindersOpen: (tenant: string) => string) {
  return {
    clinic: [keys.credential(id, CLINIC_CONNECTION)],
    logins: connections.map((connection) => keys.credential(id, connection)),
    holds: [keys.holds(id)],
    waiting: targets.map((target) => keys.outbox(id, target.id)),
    reminders: formerly === null ? [remindersOpen(id)] : [],
    subscriptions: [keys.subscriptions(id)],
    targets: targets.map((target) => keys.target(id, target.id)),
    runs: [keys.runs(id)],
  };
}

type Trace = keyof ReturnType<typeof tracesOf>;

/** Data that gives each job work. A cycle also reports once that no connection exists. */
const DONE_FOR: Partial<Record<JobName, readonly Trace[]>> = {
  pull: ['clinic', 'holds', 'waiting', 'reminders'],
  'refresh-tokens': ['clinic', 'logins'],
  subscriptions: ['clinic', 'subscriptions', 'targets'],
  audit: ['clinic', 'targets'],
};
