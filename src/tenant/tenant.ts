import type { Connector, ConnectorSupports, Subscriptions } from '../connectors/connector.ts';
import type { Item } from '../core/model/items.ts';
import type { StoredPlan } from '../core/model/plan-view.ts';
import type { StoredTask } from '../core/model/tasks.ts';
import type { ClinicReading } from '../domain/clinic-reading.ts';
import type { ClinicSource } from '../domain/clinic-requests.ts';
import type { ClinicTarget } from '../domain/cycle-input.ts';
import type { CycleFollower } from '../domain/followers.ts';
import type { RunStore } from '../domain/runs.ts';
import type { StreamMemory } from '../domain/stream-memory.ts';
import type { Cycle } from '../engine/memo.ts';
import type { Engine, EngineTarget } from '../engine/ports.ts';
import type { Outages } from '../jobs/outages.ts';
import type { TargetConfiguration, TenantConfiguration } from '../settings/configuration.ts';
import type { ConfigVersion } from '../state/config-version.ts';
import type { HistoryStore } from '../state/history.ts';
import type { HoldStore } from '../state/holds.ts';
import type { Journal } from '../state/journal.ts';
import type { Leases } from '../state/leases.ts';
import type { LinkStore } from '../state/links.ts';
import type { Outbox } from '../state/outbox.ts';
import type { Protection } from '../state/protection.ts';
import type { RecentObjectStore } from '../state/recent-objects.ts';
import type { StoredDocuments } from '../state/stored-documents.ts';
import type { TargetStore } from '../state/targets.ts';
import type { TenantStorage } from '../state/tenant-storage.ts';
import type { TombstoneStore } from '../state/tombstones.ts';
import type { StoredSubscription, SubscriptionDirectory, SubscriptionStore } from './subscription-store.ts';

/** One configured target, opened. */
export interface OpenTarget extends Omit<EngineTarget, 'stream' | 'connector' | 'configuration'>, ClinicTarget {
  configuration: TargetConfiguration;
  supports: ConnectorSupports;
  /** Name of the vendor or of the kind of target. */
  vendor: string;
  connector: Connector<Item>;
}

/** Notification settings of a tenant's targets. */
export interface TenantNotifications {
  /** Public URL of the receiver, without its path; null: no subscriptions, only polling. */
  url: string | null;
  store: SubscriptionStore;
  directory: SubscriptionDirectory;
  /**
   * Returns functions to close a subscription whose target may be removed; null if its connection is no longer configured, so that it
   * expires.
   */
  subscriptionsOf(
    subscription: Pick<StoredSubscription, 'connector' | 'connection' | 'settings'>,
  ): Subscriptions | null;
}

/**
 * All dependencies of the work on one tenant, built by `daemon/tenant.ts`. A function declares the members that it uses. A feature
 * adds its part by declaration merging.
 */
export interface OpenTenant extends TenantEngine {
  configuration: TenantConfiguration;
  clinic: ClinicSource;
  links: LinkStore;
  outbox: Outbox;
  storage: TenantStorage;
  targetStore: TargetStore;
  /** Freshness, changes and outages of the last days. */
  history: HistoryStore;
  holds: HoldStore;
  recentObjects: RecentObjectStore;
  runs: RunStore;
  journal: Journal;
  leases: Leases;
  /** This process's reads of streams not read in each cycle. */
  memory: StreamMemory;
  tombstones: TombstoneStore;
  /** Plans that an administrator may apply. */
  plans: StoredDocuments<StoredPlan>;
  /** Long tasks started through the API. */
  tasks: StoredDocuments<StoredTask>;
  protection: Protection;
  notifications: TenantNotifications;
  /** Users of the tenant's appointments in each cycle, in addition to targets. */
  followers: readonly CycleFollower[];
  /** This process's configuration; planner and lanes get leases only while it is the newest. */
  configVersion: ConfigVersion;
  /** Interval of cycles. */
  pullEveryMs: number;
  outages: Outages;
}

/** A tenant, as the engine sees it. */
export type TenantEngine = Engine<OpenTarget, ClinicReading>;

/** A cycle of a tenant. */
export type TenantCycle = Cycle<OpenTarget, ClinicReading>;
