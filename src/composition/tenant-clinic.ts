import type { ClinicContext } from '../clinic/http/call.ts';
import type { CompiledProfile } from '../clinic/schema/profile.ts';
import {
  createTenantSource,
  emptySourceMemory,
  type SourceMemory,
  type TenantMemory,
} from '../clinic/tenant-source.ts';
import { createAppointmentCalls } from '../clinic/write/appointment-calls.ts';
import type { TriggerSource } from '../features/triggers/ports.ts';
import type { HttpClient } from '../http/client.ts';
import type { ClinicSource } from '../jobs/tenant.ts';
import type { Logger } from '../log/logger.ts';
import { lazily } from '../model/cache.ts';
import type { Clock } from '../model/time.ts';
import type { Configuration, TenantConfiguration } from '../settings/configuration.ts';
import { profileFile } from '../settings/surroundings.ts';
import { CLINIC_CONNECTION } from '../settings/tenant-schema.ts';
import { type BudgetWaiting, LONGEST_PAUSE_MS, openBudgetShare, type Priority } from '../state/budget.ts';
import type { CredentialStore } from '../state/credentials.ts';
import { createClinicTenantStore } from '../state/logins.ts';
import type { RedisClient } from '../state/redis.ts';
import type { Sealer } from '../state/sealing.ts';
import { type OpenConnection, requireEntry } from './open-connection.ts';

/** A tenant's clinic, for each who asks it. Nothing is asked of it yet, and what is not called for is not opened. */
export interface TenantClinic {
  /** For what the process does by itself. */
  background(): ClinicSource;
  /** For what a person waits for: ahead of the daemon's own questions, as during a wave of reminders. */
  prompt(): ClinicSource;
  /** For what receivers are told of, within the login's own share of the budget. */
  forTriggers(): TriggerSource;
  /**
   * Whom a clinic's access token belongs to, asked before the login is stored: the user must be one of the tenant that is worked in.
   * @throws MirrorError as `chooseTenant`, and the API's
   */
  verifyLogin(accessToken: string, signal: AbortSignal): Promise<void>;
}

/** What a tenant's clinic is opened with. */
export interface TenantClinicParts {
  configuration: Pick<Configuration, 'settings' | 'profiles'>;
  tenant: TenantConfiguration;
  /** By profile. */
  compiled: ReadonlyMap<string, CompiledProfile>;
  /** The clinic's login. */
  connection: OpenConnection;
  credentials: Pick<CredentialStore, 'recent'>;
  /** What this process knows of the clinic since the tenant was open before. */
  source: SourceMemory;
  redis: RedisClient;
  /** Seals with the identity key. */
  proofs: Sealer;
  http: HttpClient;
  priority: Priority;
  /** As of a budget. */
  whileInLine?: BudgetWaiting['whileInLine'];
  clock: Clock;
  log: Logger;
}

/** Opens a tenant's clinic. */
export function openTenantClinic(parts: TenantClinicParts): TenantClinic {
  const { configuration, tenant, connection, redis, http, clock, log, source, whileInLine } = parts;
  const client = requireEntry(configuration.settings.clinicClients, tenant.clinic.client);
  const memory = tenantMemory(parts);
  // A cycle that gave up during a pause would have to read its pages again; whoever else waits there comes back later.
  const share = (priority: Priority, pauseWaitMs?: number) =>
    openBudgetShare(
      redis,
      { budget: `clinic-${client.clientId}`, participant: tenant.id, limits: client.budget, priority },
      {
        pauseWaitMs,
        whileInLine,
      },
    );
  const context: ClinicContext = {
    profile: requireEntry(configuration.profiles, client.profile),
    profileFile: profileFile(client.profile),
    compiled: requireEntry(parts.compiled, client.profile),
    pagings: source.pagings,
    baseUrl: client.baseUrl,
    http,
    budget: share(parts.priority, LONGEST_PAUSE_MS),
    authorization: connection.authorizer(CLINIC_CONNECTION),
    clock,
    log,
  };
  return {
    background: lazily(() => openClinic(tenant, memory, context, source)),
    prompt: lazily(() => openClinic(tenant, memory, { ...context, budget: share('interactive') })),
    forTriggers: () => openClinic(tenant, memory, { ...context, budget: connection.budget }),
    async verifyLogin(accessToken, signal) {
      const header = async () => `Bearer ${accessToken}`;
      const own = { pagings: new Map(), authorization: { header, renew: header } };
      const login = { ...context, ...own, budget: share('interactive') };
      await openClinic(tenant, memory, login).tenantId(signal);
    },
  };
}

/** What is remembered in Redis of whom the login belongs to and which of the user's tenants is worked in. */
function tenantMemory({
  tenant,
  redis,
  credentials,
  proofs,
}: Pick<TenantClinicParts, 'tenant' | 'redis' | 'credentials' | 'proofs'>): TenantMemory {
  const bound = createClinicTenantStore(redis, tenant.id, proofs);
  return {
    loggedInAt: async () => (await credentials.recent(CLINIC_CONNECTION))?.obtainedAt ?? null,
    workedIn: bound.read,
    bind: bound.bind,
  };
}

function openClinic(
  { clinic }: TenantConfiguration,
  memory: TenantMemory,
  context: ClinicContext,
  own: SourceMemory = emptySourceMemory(),
): ClinicSource & TriggerSource {
  const source = createTenantSource(context, clinic.tenantId, memory, own);
  const { setStatus } = createAppointmentCalls(context);
  return {
    ...source,
    async setStatus(id, status, signal) {
      await source.within((tenantId) => setStatus(tenantId, id, { status }, signal), signal);
    },
  };
}
