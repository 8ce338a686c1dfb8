import type { LedgerEntry } from '../core/model/reminders.ts';
import type { RunStore } from '../domain/runs.ts';
import type { Share } from '../jobs/turns.ts';
import type { TargetConfiguration, TenantConfiguration } from '../settings/configuration.ts';
import type { LinkStore } from '../state/links.ts';
import type { JobData, JobName, SharesOf } from './job-catalogue.ts';

/** One client, vendor or kind of gateway uses at most half of the jobs of a kind, so that the others have the rest. */
const HALF = 2;
/** Tenants of one client that queue for its budget: more would only keep their data in memory longer. */
const IN_LINE_PER_CLIENT = 4;
/** Targets of one connection written or audited simultaneously. */
const PER_CONNECTION = 4;
/** Reminders of one channel of a tenant delivered simultaneously. */
const PER_CHANNEL = 8;
/** Full reads are held in memory: maximum simultaneous reads known to be larger than this size. */
const LARGE = 20_000;
const LARGE_AT_ONCE = 4;
/** Number of cycles searched for a tenant's size; failed cycles have none. */
const RUNS_LOOKED_AT = 5;

/**
 * One tenant uses at most a quarter of all jobs of a kind and of each resource that tenants share: its servers may never answer, and a job
 * in progress cannot be taken back for another tenant.
 */
const QUARTER = 4;

/** What determines the resources of a tenant's jobs. */
interface SharingTenant {
  id: string;
  configuration: Pick<TenantConfiguration, 'clinic' | 'reminders'>;
  links: Pick<LinkStore, 'count'>;
  runs: Pick<RunStore, 'list'>;
  targets: ReadonlyMap<string, { configuration: Pick<TargetConfiguration, 'connection' | 'connector'> }>;
  reminders: { ledger: { read(reminder: string): Promise<Pick<LedgerEntry, 'channel'> | null> } } | null;
}

/** The tenants of an installation. */
interface SharingTenants {
  size: number;
  get(id: string): SharingTenant | undefined;
}

/** Returns resources that prevent one tenant, clinic client, vendor or gateway from using all capacity. */
export function sharesOf(tenants: SharingTenants, inFlight: Record<JobName, number>): SharesOf {
  const ofTenant = (tenant: string, { name, most, mostInLine }: Share): Share => ({
    ...{ name: `${name} of ${tenant}`, most: Math.ceil(most / QUARTER), isOwn: true },
    ...(mostInLine !== undefined && { mostInLine: Math.ceil(mostInLine / QUARTER) }),
  });
  const fairly = async <Name extends JobName>(kind: Name, find: SharesOf[Name], data: JobData<Name>) => {
    const shares = await find(data);
    // No other tenant waits.
    if (tenants.size <= 1) return shares;
    const common = shares.filter(({ isOwn }) => !isOwn);
    const parts = [{ name: kind, most: inFlight[kind] }, ...common].map((share) => ofTenant(data.tenant, share));
    return [...shares.filter(({ isOwn }) => isOwn), ...parts, ...common];
  };
  const all = resourcesOf(tenants, inFlight);
  const entries = (Object.keys(all) as JobName[]).map((kind) => [
    kind,
    (data: JobData<typeof kind>) => fairly(kind, all[kind] as SharesOf[typeof kind], data),
  ]);
  return Object.fromEntries(entries);
}

/** Returns the resources of each kind of job, those of one tenant first. */
function resourcesOf(tenants: SharingTenants, inFlight: Record<JobName, number>): SharesOf {
  const half = (kind: JobName, name: string): Share => ({ name: `${kind} ${name}`, most: inFlight[kind] / HALF });
  const ofClient = (kind: JobName, { configuration }: SharingTenant) =>
    half(kind, `client ${configuration.clinic.client}`);
  const ofTarget = (kind: 'push' | 'check-target', tenant: SharingTenant, id: string): Share[] => {
    const target = tenant.targets.get(id)?.configuration;
    if (target === undefined) return [];
    const login = { name: `${kind} connection ${tenant.id}/${target.connection}`, most: PER_CONNECTION, isOwn: true };
    return [login, half(kind, `vendor ${target.connector}`)];
  };
  const ofReading = async (kind: 'pull' | 'read-streams', id: string): Promise<Share[]> => {
    const tenant = tenants.get(id);
    if (tenant === undefined) return [];
    const read = (await lastRead(tenant, 1)) ?? (await lastRead(tenant, RUNS_LOOKED_AT));
    return [...large(kind, read?.records ?? 0), { ...ofClient(kind, tenant), mostInLine: IN_LINE_PER_CLIENT }];
  };
  return {
    pull: ({ tenant }) => ofReading('pull', tenant),
    'read-streams': ({ tenant }) => ofReading('read-streams', tenant),
    push({ tenant: id, target }) {
      const tenant = tenants.get(id);
      return tenant === undefined ? [] : ofTarget('push', tenant, target);
    },
    async 'check-target'({ tenant: id, target }) {
      const tenant = tenants.get(id);
      if (tenant === undefined) return [];
      return [...large('check-target', await tenant.links.count(target)), ...ofTarget('check-target', tenant, target)];
    },
    async remind({ tenant: id, reminder }) {
      const tenant = tenants.get(id);
      const channel = (await tenant?.reminders?.ledger.read(reminder))?.channel;
      if (tenant === undefined || channel === undefined) return [];
      const kind = tenant.configuration.reminders?.channels.get(channel)?.kind ?? 'gone';
      const own = { name: `remind channel ${id}/${channel}`, most: PER_CHANNEL, isOwn: true };
      return [own, ofClient('remind', tenant), half('remind', `gateway ${kind}`)];
    },
    triggers({ tenant: id }) {
      const tenant = tenants.get(id);
      return tenant === undefined ? [] : [ofClient('triggers', tenant)];
    },
    // These jobs process one tenant at a time.
    audit: () => [],
    subscriptions: () => [],
    'refresh-tokens': () => [],
  };
}

async function lastRead({ runs }: SharingTenant, limit: number) {
  return (await runs.list(limit)).find(({ snapshot }) => snapshot !== null)?.snapshot ?? null;
}

function large(kind: JobName, records: number): Share[] {
  return records > LARGE ? [{ name: `${kind} large`, most: LARGE_AT_ONCE }] : [];
}
