import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { clinicClient, keysOf, localSettings, tenantFilePath, writeConfiguration } from '../../demo/configuration.ts';
import { authorizeInBrowser } from '../../sandbox/clinic/index.ts';
import { connectors as registry } from '../../src/connectors/registry.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { type Composition, compose } from '../../src/daemon/compose.ts';
import { pushTarget } from '../../src/engine/push.ts';
import { syncTenant } from '../../src/operator/control/sync.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import { pullAfresh } from '../../src/tenant/pull.ts';
import type { OpenTenant } from '../../src/tenant/tenant.ts';
import { logInTo } from '../../test/support/log-in.ts';
import { type PrivateRedis, startRedis } from '../../tools/redis.ts';
import type { VendorTarget } from '../vendors/vendors.ts';
import { type ClinicProcess, startClinicProcess } from './clinic-process.ts';
import { nullConnector } from './null-connector.ts';

/** A clinic with as many calendars as agendas, which take everything at once; or one target at a vendor, which follows all agendas. */
export interface CycleWorld extends AsyncDisposable {
  clinic: ClinicProcess;
  redis: PrivateRedis;
  composition: Composition;
  tenant: OpenTenant;
  /** One reading and plan, without writing. */
  pull(): Promise<void>;
  /** Writes pending operations. */
  push(): Promise<void>;
  /** Reads, plans and writes everything. */
  sync(): Promise<void>;
}

const TENANT = 'clinic';
/** Maximum number of appointments in one agenda of the clinic. */
export const AGENDA_HOLDS = 1_000;
const NEVER = new AbortController().signal;

/** How much there is in the clinic. */
export interface CycleSize {
  /** Appointments in the window of every target. */
  appointments: number;
  targets: number;
  /** Shared by the targets in turn; by default, each target has one. */
  agendas?: number;
  patients?: number;
}

/** @param vendor of the one target; without it there is a calendar for each agenda */
export async function openCycleWorld(size: CycleSize, vendor: VendorTarget | null = null): Promise<CycleWorld> {
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-bench-'));
  const { appointments, targets, agendas = targets, patients } = size;
  const records = { appointments, ...(patients === undefined ? {} : { patients }) };
  const clinic = await startClinicProcess({ tenants: 1, agendas, ...records });
  const redis = await startRedis();
  await configure(dir, clinic, { targets, vendor });
  const env = {
    REDIS_URL: redis.url,
    ...keysOf(),
    CLINIC_CLIENT_SECRET: clinic.clients[0]?.clientSecret ?? '',
    TENANT_CLINIC__NOWHERE: 'nothing-is-asked-with-it',
    ...vendor?.secrets,
  };
  const connectors = vendor === null ? new Map([[nullConnector.name, nullConnector]]) : registry;
  const configuration = loadConfiguration({ dir, env, connectors, reminderChannels: new Map(), mode: 'strict' });
  const composition = compose({ configuration, connectors, log: silentLogger, priority: 'interactive' });
  const tenant = composition.installation.tenants.get(TENANT);
  if (tenant === undefined) throw new Error('the tenant is not open');
  const user = clinic.tenants[0]?.user ?? { username: '', password: '' };
  await logInTo(composition, { tenant: TENANT, connection: 'clinic' }, (url) => authorizeInBrowser(url, user));
  return {
    ...{ clinic, redis, composition, tenant },
    async pull() {
      const run = await pullAfresh(tenant, () => {}, NEVER);
      if (run.error !== null) throw new Error(`the cycle failed: ${run.error.code}`);
    },
    async push() {
      const signals = { stop: NEVER, abort: NEVER };
      for (const target of tenant.targets.values()) {
        while ((await pushTarget(tenant, target, signals)).nextInMs === 0);
      }
    },
    async sync() {
      const signals = { stop: NEVER, abort: NEVER };
      const { run, targets } = await syncTenant(composition.installation, TENANT, { progress: () => {}, signals });
      const behind = targets.filter(({ sync }) => sync !== 'in-sync');
      if (run.error !== null || behind.length > 0) throw new Error(`not in sync: ${behind.length} targets`);
    },
    async [Symbol.asyncDispose]() {
      await composition.close();
      await Promise.all([redis.stop(), clinic[Symbol.asyncDispose]()]);
      await rm(dir, { recursive: true, force: true });
    },
  };
}

async function configure(
  dir: string,
  clinic: ClinicProcess,
  { targets: count, vendor }: { targets: number; vendor: VendorTarget | null },
): Promise<void> {
  const [source] = clinic.tenants;
  if (source === undefined) throw new Error('the clinic has no tenant');
  const settings = {
    ...localSettings(),
    // Waiting for a budget is no work.
    clinicClients: { main: clinicClient(clinic, { budget: { requestsPerMinute: 600_000, burst: 100_000 } }) },
    ...vendor?.clients,
  };
  const agendas = source.agendas.map(({ id }) => id);
  const targets =
    vendor === null
      ? Array.from({ length: count }, (_, nth) => ({
          ...{ connector: 'null', settings: {} },
          agendas: agendas.filter((_agenda, at) => at % count === nth),
        }))
      : [vendor.target.crm === undefined ? { ...vendor.target, agendas } : vendor.target];
  // Returns a new object each time: YAML references are refused.
  const common = () => ({ connection: 'only', window: { pastDays: 60, futureDays: 400 } });
  const file = {
    ...{ name: 'A clinic', language: 'it', zone: 'Europe/Rome', clinic: { client: 'main', tenantId: source.id } },
    connections: { only: vendor?.connection ?? { kind: 'bearer', token: { env: 'TENANT_CLINIC__NOWHERE' } } },
    targets: Object.fromEntries(targets.map((target, index) => [`doctor-${index + 1}`, { ...common(), ...target }])),
  };
  await writeConfiguration(dir, { settings, files: new Map() });
  // On one line: a file with 500 targets in block style has more tokens than a file may have.
  await writeFile(tenantFilePath(dir, TENANT), JSON.stringify(file));
}
