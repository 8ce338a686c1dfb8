import { DAY_MS } from '../../../src/core/model/time.ts';
import type { Installation } from '../../../src/operator/control/installation.ts';
import type { ConnectionStatus } from '../../../src/operator/control/status-schemas.ts';
import type { InvalidTenant, RefusedChange } from '../../../src/settings/configuration.ts';
import type { RedisClient } from '../../../src/state/redis.ts';
import type { OpenTenant } from '../../../src/tenant/tenant.ts';
import { createModelClinic } from '../../tenant/model-clinic.ts';
import { createModelTarget } from '../../tenant/model-target.ts';
import type { TenantChoice } from '../../tenant/open-tenant.ts';
import { openTenantWorld } from '../../tenant/world.ts';

/** What a test chooses of an installation. */
export interface InstallationChoice {
  tenants: readonly OpenTenant[];
  connections?: readonly ConnectionStatus[];
  /** Ids of those that no file configures. */
  managed?: readonly string[];
  damaged?: Installation['damaged'];
  unusable?: readonly InvalidTenant[];
  refused?: readonly RefusedChange[];
}

/** Opens an installation of open tenants that records each requested pull. */
export function openInstallation(choice: InstallationChoice): Installation & { pulled: string[] } {
  const pulled: string[] = [];
  return {
    tenants: new Map(choice.tenants.map((tenant) => [tenant.id, tenant])),
    outlines: new Map(
      choice.tenants.map(({ id, configuration: { name, zone, formerly = null }, reminders, triggers }) => {
        const triggersEveryMinutes = triggers?.file.everyMinutes ?? null;
        return [id, { name, zone, formerly, hasReminders: reminders !== null, triggersEveryMinutes }];
      }),
    ),
    managed: new Set(choice.managed),
    unusable: choice.unusable ?? [],
    unchecked: new Set(),
    refused: choice.refused ?? [],
    connections: async () => [...(choice.connections ?? [])],
    stateCounter: {
      view: async () => ({
        durability: 'durable',
        directory: 'kept',
        wentBackAt: null,
        wentBackTo: null,
        writesLostAt: null,
      }),
    },
    redis: async () => ({ refusal: null, clockAheadMs: 0, daemonSeenAgoMs: 0, answerMs: 1, memory: null }),
    reloads: async () => [],
    damaged: choice.damaged ?? { counts: new Map(), list: async () => [] },
    alertFailures: async () => [],
    forecast: async () => ({ endings: [], quotas: [], unkept: null }),
    approvals: async () => [],
    removed: { parts: async () => new Map(), tenants: async () => new Map(), retentionMs: 0 },
    upkeep: { read: async () => ({}), auditLogMs: () => 60 * 31 * DAY_MS },
    queues: async () => [],
    outages: choice.tenants[0]?.outages ?? { list: async () => [], tryNow: async () => [] },
    outageAfterMs: 900_000,
    pullNow: async (tenant) => void pulled.push(tenant),
    clock: () => choice.tenants[0]?.clock() ?? 0,
    pulled,
  };
}

/** Opens a tenant with one calendar and `count` appointments, one per hour from tomorrow on, and an installation with only this tenant. */
export function openBooked(
  redis: { connect(): RedisClient },
  booked = 0,
  changes: Partial<TenantChoice> = {},
  configuration: object = {},
) {
  const model = createModelTarget();
  const world = openTenantWorld(redis, createModelClinic(booked), [{ model, configuration }], changes);
  return { ...world, model, installation: openInstallation({ tenants: [world.tenant] }) };
}
