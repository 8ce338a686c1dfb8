import type { TenantSource } from '../clinic/tenant-source.ts';
import type { Connector, ConnectorSupports, Subscriptions } from '../connectors/connector.ts';
import type { PatientHistory } from '../domain/derive.ts';
import type { Mapping } from '../domain/mapping/contract.ts';
import type { Directory } from '../domain/project.ts';
import type { FingerprintMemory, TargetIdentity } from '../engine/identity.ts';
import type { IdleTarget } from '../engine/idle-target.ts';
import type { Logger, Spans } from '../log/logger.ts';
import type { Item, Refusal, StreamName } from '../model/items.ts';
import type { StoredPlan } from '../model/plan-view.ts';
import type { Appointment, AppointmentStatus } from '../model/records.ts';
import type { StoredTask } from '../model/tasks.ts';
import type { Clock, ElapsedBetween, Instant, TimeWindow } from '../model/time.ts';
import type { TargetConfiguration, TenantConfiguration } from '../settings/configuration.ts';
import type { ConfigVersion } from '../state/config-version.ts';
import type { TenantFeeds } from '../state/feeds.ts';
import type { HoldStore } from '../state/holds.ts';
import type { Journal } from '../state/journal.ts';
import type { Leases } from '../state/leases.ts';
import type { LinkStore } from '../state/links.ts';
import type { UnansweredStore } from '../state/outages.ts';
import type { Outbox } from '../state/outbox.ts';
import type { Protection } from '../state/protection.ts';
import type { RecentObjects } from '../state/recent-objects.ts';
import type { RunStore } from '../state/runs.ts';
import type { StoredDocuments } from '../state/stored-documents.ts';
import type { StoredSubscription, SubscriptionDirectory, SubscriptionStore } from '../state/subscriptions.ts';
import type { TargetStore } from '../state/targets.ts';
import type { TenantStorage } from '../state/tenant-storage.ts';
import type { TombstoneStore } from '../state/tombstones.ts';
import type { Outages } from './outages.ts';
import type { StreamMemory, Taken } from '../domain/stream-memory.ts';

/** Appointments to be read: agendas and a window. */
export interface ReadingScope {
  window: TimeWindow;
  agendas: 'all' | readonly string[];
}

/** A cycle's results for followers. */
export interface Learned {
  records: ReadonlyMap<string, Appointment>;
  /** Appointments found individually although the list did not show them. */
  found: readonly Appointment[];
  /** Appointments that the clinic no longer has, by individual fetches. */
  vanished: ReadonlySet<string>;
  /** End of the window of a complete list of all appointments; null for another list. */
  coveredUntilAt: Instant | null;
  /** Locations of appointments from the clinic's catalogue. */
  directory: Pick<Directory, 'agendas' | 'locations'>;
}

/** Catalogue ids used in a configuration. */
export interface NamedIds {
  agendas: 'all' | readonly string[];
  treatments: 'all' | readonly string[];
}

/** A user of a tenant's appointments in each cycle, in addition to targets. A feature adds it to its tenant. */
export interface CycleFollower {
  /** Name among the names of targets; no target can have it. */
  name: string;
  /** Ids by configuration section: an id missing from the catalogue is a gap of that section. */
  namedIds: ReadonlyMap<string, NamedIds>;
  /** Returns the required appointments. */
  readingScope(now: Instant): ReadingScope;
  /** Repairs incomplete data after a crash, before a cycle. */
  resume(): Promise<void>;
  /**
   * Returns appointments that the follower waits for and that a complete list omitted, with their known start.
   * @param isSeen includes unusable records
   */
  absent(isSeen: (recordId: string) => boolean): Promise<ReadonlyMap<string, readonly Instant[]>>;
  /** Receives a cycle's results. Unseen appointments are not part of them. */
  follow(learned: Learned): Promise<void>;
}

/** Requests of a cycle to the clinic, for one tenant. */
export interface ClinicSource extends Omit<TenantSource, 'within' | 'readReports' | 'readReport'> {
  /**
   * Sets the status in the clinic.
   * @throws MirrorError from the clinic's calls; `ambiguous` if the status may have been set
   */
  setStatus(id: string, status: AppointmentStatus, signal: AbortSignal): Promise<void>;
}

/** Converts records to objects of a CRM. */
export interface OpenCrm {
  mapping: Mapping;
  /** Source of derived properties; null if the mapping uses none. */
  patientHistory: PatientHistory | null;
  /** Reads received by the patient history. */
  taken: Taken;
  /** Mapped properties with which people refuse contact. */
  refusals: readonly Refusal[];
}

/** One configured target, opened. */
export interface OpenTarget {
  id: string;
  stream: StreamName;
  /** Null for a calendar. */
  crm: OpenCrm | null;
  configuration: TargetConfiguration;
  identity: TargetIdentity;
  supports: ConnectorSupports;
  connector: Connector<Item>;
  /** Cache of fingerprints of unchanged records. */
  fingerprints: FingerprintMemory;
  /** The calendar that this process verified; null before the first check and after a failure. */
  preparedContainer: string | null;
  /** Input of the last plan without changes, in this process. */
  idleTarget: IdleTarget | null;
}

/** A target with its calendar, or with the container of its CRM objects. */
export interface PreparedTarget {
  target: OpenTarget;
  container: string;
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
 * All dependencies of the work on one tenant, built by `composition/tenant.ts`. A function declares the members that it uses. A feature
 * adds its part by declaration merging.
 */
export interface OpenTenant {
  id: string;
  configuration: TenantConfiguration;
  clinic: ClinicSource;
  targets: ReadonlyMap<string, OpenTarget>;
  feeds: TenantFeeds;
  links: LinkStore;
  outbox: Outbox;
  unanswered: UnansweredStore;
  storage: TenantStorage;
  targetStore: TargetStore;
  holds: HoldStore;
  recentObjects: RecentObjects;
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
  /** Maximum age of a plan for writes: later, pending changes may be outdated. */
  planLifeMs: number;
  /** Minimum time between the starts of two reads that prove a record gone. */
  missedForMs: number;
  /** Elapsed time by a monotonic clock, if known. */
  elapsedBetween: ElapsedBetween;
  /** Limits of one time slice of a target's lane. */
  slice: { operations: number; durationMs: number };
  log: Logger;
  spans: Spans;
  clock: Clock;
  /** Returns a time of this host by the clock of Redis. Hosts with different clocks compare and show such times. */
  sharedTime(at: Instant): Promise<Instant>;
  /** 0 to below 1, for jitter. */
  random: () => number;
  outages: Outages;
}

/** Targets of a tenant that are not paused. */
export function activeTargets({ targets }: Pick<OpenTenant, 'targets'>): OpenTarget[] {
  return [...targets.values()].filter(({ configuration }) => !configuration.paused);
}
