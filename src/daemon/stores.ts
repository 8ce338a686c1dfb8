import type { Logger } from '../core/log/logger.ts';
import type { Clock } from '../core/model/time.ts';
import { type AlertStore, createAlertStore } from '../features/alerts/store.ts';
import { type HeadMark, MANAGED_MARK } from '../features/managed-tenants/ledger.ts';
import { createManagedTenants, type ManagedTenantStore } from '../features/managed-tenants/store.ts';
import type { PendingLogin } from '../oauth/credential.ts';
import { type AuditLog, createAuditLog } from '../operator/control/audit-log.ts';
import { type CertificateStore, createCertificateStore } from '../operator/control/certificate-store.ts';
import {
  createLoginLinks,
  createLoginStore,
  type LoginLinks,
  type LoginStore,
} from '../operator/control/login-stores.ts';
import { createReloadReports, type ReloadReports } from '../operator/control/reload-reports.ts';
import type { Settings } from '../settings/settings-schema.ts';
import { type DamagedStore, openDamagedStore } from '../state/damaged.ts';
import { openProcesses, type Processes } from '../state/processes.ts';
import { type AwaitDurable, connectRedis, createAwaitDurable, type RedisClient } from '../state/redis.ts';
import type { SealingKey } from '../state/sealing.ts';
import { createStateCounter, type StateCounter } from '../state/state-counter.ts';
import { createRemovedStore, type RemovedStore } from '../tenant/removed.ts';
import { createUpkeepStore, type UpkeepStore } from '../tenant/upkeep.ts';
import { KEY_OWNERS } from './key-tables.ts';

/** Stores shared by all tenants. */
export interface Stores {
  redis: RedisClient;
  /** For writes that wait for the disk. */
  writer: RedisClient;
  awaitDurable: AwaitDurable;
  stateCounter: StateCounter;
  removed: RemovedStore;
  upkeep: UpkeepStore;
  reloads: ReloadReports;
  processes: Processes;
  /** Reports damaged data from now on, until it is closed. */
  damaged: DamagedStore;
  alerts: AlertStore;
  certificates: CertificateStore;
  logins: LoginStore<PendingLogin>;
  loginLinks: LoginLinks;
  ring: SealingKey[];
  managedTenants: ManagedTenantStore;
  /** Null without `dataDirectory`. */
  auditLog: AuditLog | null;
}

/** Returns the encryption keys for Redis, the active key first. */
export function sealingRing({ secrets }: Pick<Settings, 'secrets'>): SealingKey[] {
  return secrets.sealingKeys.map(({ id, key }) => ({ id, key: key.reveal() }));
}

/** Connects to Redis and opens the shared stores. Reads and writes nothing. @param current returns the current settings */
export function openStores(current: () => Settings, clock: Clock, log: Logger, damageLog = log): Stores {
  const settings = current();
  const { replicas } = settings.redis;
  const { dataDirectory: directory } = settings;
  const identityKey = settings.secrets.identityKey.reveal();
  const location = settings.redis.place.reveal();
  const redis = connectRedis(location);
  const writer = connectRedis(location);
  const ring = sealingRing(settings);
  const awaitDurable = createAwaitDurable(writer, { replicas });
  const stateCounter = createStateCounter({
    ...{ redis, writer, replicas, identityKey, clock, log },
    directory: directory ?? null,
  });
  const mark: HeadMark = {
    read: async () =>
      (await stateCounter.withDirectory((directoryStore) => directoryStore.readMark(MANAGED_MARK)))?.counter ?? 0,
    leave: (counter) =>
      stateCounter.withDirectory((directoryStore) => directoryStore.leaveMark(MANAGED_MARK, counter, clock())),
  };
  return {
    redis,
    writer,
    awaitDurable,
    managedTenants: createManagedTenants({ redis, writer, awaitDurable, ring, identityKey, mark, clock }),
    stateCounter,
    removed: createRemovedStore(redis, KEY_OWNERS),
    upkeep: createUpkeepStore(redis),
    reloads: createReloadReports(redis, clock, identityKey),
    processes: openProcesses(redis, settings.leases.silentMs),
    damaged: openDamagedStore({ redis, clock, log: damageLog }),
    alerts: createAlertStore({ redis, identityKey, clock }),
    certificates: createCertificateStore(redis, identityKey),
    logins: createLoginStore<PendingLogin>(redis, ring),
    loginLinks: createLoginLinks(redis, ring, clock),
    ring,
    auditLog:
      directory === undefined
        ? null
        : createAuditLog({
            redis,
            directory,
            identityKey,
            retentionMonths: () => current().auditLog.keepMonths,
            clock,
            log,
          }),
  };
}
