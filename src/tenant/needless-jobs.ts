import { createRunStore } from '../domain/runs.ts';
import type { IsNeedless } from '../jobs/job-kinds.ts';
import type { TenantOutline } from '../settings/configuration.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { keys } from '../state/keys.ts';
import type { RedisClient } from '../state/redis.ts';
import { redisScript } from '../state/script.ts';
import { createProofSealer } from '../state/sealing.ts';
import type { JobName } from './job-catalogue.ts';

const existingKeys = redisScript<string[]>(import.meta.url, 'existing-keys');

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
    const doneFor = DONE_FOR[job as JobName];
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
