import { createHttpClient } from '../../src/core/http/client.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { openConnections } from '../../src/daemon/connections.ts';
import { createCredentialStore } from '../../src/daemon/credentials.ts';
import type { Configuration } from '../../src/settings/configuration.ts';
import { createLeases } from '../../src/state/leases.ts';
import type { RedisClient } from '../../src/state/redis.ts';
import { createSealer } from '../../src/state/sealing.ts';
import { RING } from '../oauth/connection.ts';

type Parts = Parameters<typeof openConnections>[0];

/** Opens the connections of the tenant `uno` from its files as the daemon does, on separate state. */
export function openTenantConnections(
  configuration: Configuration,
  redis: RedisClient,
  {
    budget = () => ({
      take: async () => {},
      expect: () => {},
      refused: async () => {},
      accepted: async () => {},
      pause: async () => null,
    }),
    targetScopes = () => [],
    clock = Date.now,
  }: Partial<Pick<Parts, 'budget' | 'targetScopes' | 'clock'>> = {},
) {
  const tenant = configuration.tenants.get('uno')!;
  const connections = openConnections({
    configuration,
    tenant,
    credentials: createCredentialStore({
      redis,
      awaitDurable: async () => 'durable' as const,
      writer: redis,
      sealer: createSealer(RING, tenant.id),
      tenant: tenant.id,
      log: silentLogger,
    }),
    leases: createLeases(redis, tenant.id, 10_000),
    http: createHttpClient({ userAgent: 'test', clock }),
    budget,
    targetScopes,
    clock,
    log: silentLogger,
  });
  return { tenant, connections };
}
