import type { JobData, JobName } from './catalogue.ts';
import type { OpenTenant } from './tenant.ts';
import type { Share } from './turns.ts';

/** What a job's turn takes from, the narrowest share first. */
export type SharesOf = { [Name in JobName]: (data: JobData<Name>) => readonly Share[] | Promise<readonly Share[]> };

/** One client, vendor or kind of gateway takes at most half of the turns of a kind, so that the others have the rest. */
const HALF = 2;
/** Tenants of one client that wait for its budget: more of them would only hold what they read for longer. */
const IN_LINE_PER_CLIENT = 4;
/** Targets of one login that are written to, or checked, at once. */
const PER_CONNECTION = 4;
/** Reminders of one channel of a tenant that are handed over at once. */
const PER_CHANNEL = 8;
/** What is read whole is held in memory: so many readings that are known to be longer than this are under way at once. */
const LARGE = 20_000;
const LARGE_AT_ONCE = 4;
/** Cycles that are looked through for one that tells how large a tenant is; those that failed don't. */
const RUNS_LOOKED_AT = 5;

/** The shares that keep one tenant, clinic client, vendor or gateway from taking the turns of all others. */
export function sharesOf(
  tenants: {
    get(id: string): Pick<OpenTenant, 'configuration' | 'id' | 'links' | 'reminders' | 'runs' | 'targets'> | undefined;
  },
  inFlight: Record<JobName, number>,
): SharesOf {
  const half = (kind: JobName, name: string): Share => ({ name: `${kind} ${name}`, most: inFlight[kind] / HALF });
  const ofClient = (kind: JobName, tenant: Pick<OpenTenant, 'configuration'>) =>
    half(kind, `client ${tenant.configuration.clinic.client}`);
  const ofTarget = (kind: 'push' | 'check-target', tenant: Pick<OpenTenant, 'id' | 'targets'>, id: string): Share[] => {
    const target = tenant.targets.get(id)?.configuration;
    if (target === undefined) return [];
    const login = { name: `${kind} connection ${tenant.id}/${target.connection}`, most: PER_CONNECTION };
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
      const own = { name: `remind channel ${id}/${channel}`, most: PER_CHANNEL };
      return [own, ofClient('remind', tenant), half('remind', `gateway ${kind}`)];
    },
    triggers({ tenant: id }) {
      const tenant = tenants.get(id);
      return tenant === undefined ? [] : [ofClient('triggers', tenant)];
    },
    // Each of these asks for one tenant at a time.
    audit: () => [],
    subscriptions: () => [],
    'refresh-tokens': () => [],
  };
}

async function lastRead({ runs }: Pick<OpenTenant, 'runs'>, limit: number) {
  return (await runs.list(limit)).find(({ snapshot }) => snapshot !== null)?.snapshot ?? null;
}

function large(kind: JobName, records: number): Share[] {
  return records > LARGE ? [{ name: `${kind} large`, most: LARGE_AT_ONCE }] : [];
}
