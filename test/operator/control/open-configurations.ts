import type { Pieces } from '../../../src/core/model/pieces.ts';
import type { HeadMark } from '../../../src/features/managed-tenants/ledger.ts';
import type { ConfigurationServices } from '../../../src/features/managed-tenants/managed-tenants.ts';
import { createManagedTenants } from '../../../src/features/managed-tenants/store.ts';
import type { Configuration } from '../../../src/settings/configuration.ts';
import type { ConfigurationFault } from '../../../src/settings/faults.ts';
import type { ManagedTenant } from '../../../src/settings/managed-tenant.ts';
import type { RedisClient } from '../../../src/state/redis.ts';
import { createAwaitDurable } from '../../../src/state/redis.ts';
import type { SealingKey } from '../../../src/state/sealing.ts';

/** The key that seals in tests. */
export const RING = [{ id: 'k1', key: Buffer.alloc(32, 9) }];

/** The identity key of tests. */
const IDENTITY_KEY = Buffer.alloc(32, 7);
/** Nothing is kept outside Redis. */
const NO_MARK: HeadMark = { read: async () => 0, leave: async () => {} };

/** The managed tenants in a Redis. */
export function openManagedStore(
  redis: RedisClient,
  ring: readonly SealingKey[] = RING,
  { identityKey = IDENTITY_KEY as Uint8Array, mark = NO_MARK } = {},
) {
  const awaitDurable = createAwaitDurable(redis, { replicas: 0 });
  return createManagedTenants({ redis, writer: redis, awaitDurable, ring, identityKey, mark, clock: Date.now });
}

/** What a test chooses of how tenants are configured. */
export interface ConfigurationsChoice {
  /** Tenants that run; those without a file are managed. */
  running?: readonly string[];
  /** Files by their tenants. */
  inFiles?: Readonly<Record<string, string>>;
  faultsOf?(tenant: ManagedTenant): ConfigurationFault[];
  /** Tenants whose files are refused, with what is wrong with each. */
  refused?: readonly { tenant: string; faults: readonly ConfigurationFault[] }[];
}

/** Opens the tenants' configurations, over a real Redis and files given by the test. */
export function openConfigurations(
  redis: RedisClient,
  { running = [], inFiles = {}, faultsOf = () => [], refused = [] }: ConfigurationsChoice = {},
): ConfigurationServices & { followed: number } {
  const configuration = {
    outlines: new Map(running.map((id) => [id, { id }])),
    refused,
    unusable: [],
    unchecked: new Set<string>(),
  };
  const desk = {
    followed: 0,
    store: openManagedStore(redis),
    files: {
      fileOf: (tenant: string) => inFiles[tenant] ?? null,
      *faultsOf(tenant: ManagedTenant): Pieces<ConfigurationFault[]> {
        yield;
        return faultsOf(tenant);
      },
      configuration: configuration as unknown as Configuration,
    },
    follow: async () => {
      desk.followed += 1;
    },
  };
  return desk;
}
