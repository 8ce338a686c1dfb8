import { z } from 'zod';
import type { TenantOutline } from '../settings/configuration.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { keys } from '../state/keys.ts';
import type { RedisClient } from '../state/redis.ts';
import { createRunStore } from '../state/runs.ts';
import { redisScript } from '../state/script.ts';
import { createProofSealer } from '../state/sealing.ts';

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

const existingKeys = redisScript<string[]>(import.meta.url, 'existing-keys');

/** Whether a job of a tenant would find nothing to do. Safe to be wrong about in one direction: one that is not needless is done. */
export type IsNeedless = (job: JobName, tenant: string) => Promise<boolean>;

/** For whoever has every job done. */
export const neverNeedless: IsNeedless = async () => false;

/** What is asked about a tenant that need not be open. */
type ConfiguredTenant = Pick<TenantOutline, 'id' | 'formerly' | 'targets' | 'connections'>;

/**
 * Tells from Redis alone that a repeated job would change nothing, so that no tenant is opened for it: of a tenant that nobody is logged in
 * for there is no token to refresh, no target to be told of or to look at; and its cycle would say again what the last one said.
 * Whoever asks of several jobs of a tenant at once, before anything else can happen, has it looked at once.
 * @param outlines the tenants as they are configured now
 * @param identityKey the installation's, 32 bytes
 */
export function createNeedless(
  redis: RedisClient,
  outlines: () => ReadonlyMap<string, ConfiguredTenant>,
  identityKey: Uint8Array,
): IsNeedless {
  const looks = new Map<ConfiguredTenant, Promise<readonly Trace[]>>();
  async function find(tenant: ConfiguredTenant): Promise<readonly Trace[]> {
    const traces = Object.entries(tracesOf(tenant)) as [Trace, string[]][];
    const asked = traces.flatMap(([, those]) => those);
    const found = await existingKeys(redis, asked);
    return traces.flatMap(([trace, those]) => (those.some((key) => found.includes(key)) ? [trace] : []));
  }
  function look(tenant: ConfiguredTenant): Promise<readonly Trace[]> {
    // A look that is under way may not have seen what whoever asks later knows of, such as a login.
    if (looks.size === 0) process.nextTick(() => looks.clear());
    const finding = looks.get(tenant) ?? find(tenant);
    looks.set(tenant, finding);
    return finding;
  }
  /** What a former id keeps lies elsewhere. */
  async function remindsElsewhere({ formerly }: ConfiguredTenant): Promise<boolean> {
    return formerly !== null && (await redis.exists(keys.remindersOpen(formerly))) > 0;
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

/** What there may be of a tenant for which a job does something. */
function tracesOf({ id, formerly, targets, connections }: ConfiguredTenant) {
  return {
    clinic: [keys.credential(id, CLINIC_CONNECTION)],
    logins: connections.map((connection) => keys.credential(id, connection)),
    holds: [keys.holds(id)],
    waiting: targets.map((target) => keys.outbox(id, target.id)),
    reminders: formerly === null ? [keys.remindersOpen(id)] : [],
    subscriptions: [keys.subscriptions(id)],
    targets: targets.map((target) => keys.target(id, target.id)),
    runs: [keys.runs(id)],
  };
}

type Trace = keyof ReturnType<typeof tracesOf>;

/** Where a job finds something to do when there is any of these. A cycle also says once that nobody is logged in. */
const DONE_FOR: Partial<Record<JobName, readonly Trace[]>> = {
  pull: ['clinic', 'holds', 'waiting', 'reminders'],
  'refresh-tokens': ['clinic', 'logins'],
  subscriptions: ['clinic', 'subscriptions', 'targets'],
  audit: ['clinic', 'targets'],
};
