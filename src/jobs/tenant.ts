import type { TenantSource } from '../clinic/tenant-source.ts';
import type { Connector, ConnectorSupports, Subscriptions } from '../connectors/connector.ts';
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
import type { RunStore } from '../state/runs.ts';
import type { StoredDocuments } from '../state/stored-documents.ts';
import type { StoredSubscription, SubscriptionDirectory, SubscriptionStore } from '../state/subscriptions.ts';
import type { TargetStore } from '../state/targets.ts';
import type { TombstoneStore } from '../state/tombstones.ts';
import type { PatientHistory } from '../sync/derive.ts';
import type { FingerprintMemory, TargetIdentity } from '../sync/identity.ts';
import type { IdleTarget } from '../sync/idle-target.ts';
import type { Mapping } from '../sync/mapping/contract.ts';
import type { Directory } from '../sync/project.ts';
import type { Outages } from './outages.ts';
import type { StreamMemory, Taken } from './stream-memory.ts';

/** Appointments to be read: of these agendas, in this window. */
export interface ReadingScope {
  window: TimeWindow;
  agendas: 'all' | readonly string[];
}

/** What a cycle learned of the clinic's appointments, as far as a follower goes by it. */
export interface Learned {
  records: ReadonlyMap<string, Appointment>;
  /** Read alone: they are there although the list did not show them. */
  found: readonly Appointment[];
  /** Read alone: the clinic has no such record. */
  vanished: ReadonlySet<string>;
  /** Where appointments take place, as the clinic's catalogue says. */
  directory: Pick<Directory, 'agendas' | 'locations'>;
}

/** Ids of the clinic's catalogue that a configuration names. */
export interface NamedIds {
  agendas: 'all' | readonly string[];
  treatments: 'all' | readonly string[];
}

/** What goes by a tenant's appointments in each cycle, beside its targets. A feature gives it to its tenant. */
export interface CycleFollower {
  /** Stands among the names of targets; no target can have it. */
  name: string;
  /** Ids that it names, by where: an id that the catalogue lacks is a gap of that place. */
  namedIds: ReadonlyMap<string, NamedIds>;
  /** Which appointments it needs read. */
  readingScope(now: Instant): ReadingScope;
  /** Repairs what a crash left, before a cycle. */
  resume(): Promise<void>;
  /**
   * Appointments that it waits for and that a complete list did not show, with when they begin as far as it knows.
   * @param isSeen also of rows that can't be used
   */
  absent(isSeen: (recordId: string) => boolean): Promise<ReadonlyMap<string, readonly Instant[]>>;
  /** Takes what a cycle learned. Says nothing of an appointment that the cycle did not see. */
  follow(learned: Learned): Promise<void>;
}

/** What a cycle asks of the clinic, for one tenant. */
export interface ClinicSource extends Omit<TenantSource, 'within' | 'readReports' | 'readReport'> {
  /** Sets the status in the clinic. @throws MirrorError, as the clinic's calls do; `ambiguous` when it may have been set */
  setStatus(id: string, status: AppointmentStatus, signal: AbortSignal): Promise<void>;
}

/** What makes objects of a CRM out of records. */
export interface OpenCrm {
  mapping: Mapping;
  /** What derived properties are computed from; null where the mapping uses none. */
  patientHistory: PatientHistory | null;
  /** Which readings the patient history has taken. */
  taken: Taken;
  /** Mapped properties by which people refuse. */
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
  /** What this process computed of records that may come again as they are. */
  fingerprints: FingerprintMemory;
  /** The calendar that this process made sure of; null before the first time and after failure. */
  preparedContainer: string | null;
  /** What this process remembers of the last plan, when that had nothing to do. */
  idleTarget: IdleTarget | null;
}

/** A target with its calendar, or with the container of its objects in a CRM. */
export interface PreparedTarget {
  target: OpenTarget;
  container: string;
}

/** How a tenant's targets are told of changes. */
export interface TenantNotifications {
  /** How vendors reach the receiver, without its path; null: no subscription is opened, and polling finds all. */
  url: string | null;
  store: SubscriptionStore;
  directory: SubscriptionDirectory;
  /** To end a subscription whose target may be gone; null when its login is no longer configured, so that it runs out by itself. */
  subscriptionsOf(
    subscription: Pick<StoredSubscription, 'connector' | 'connection' | 'settings'>,
  ): Subscriptions | null;
}

/**
 * Everything that the work on one tenant needs, put together by `composition/tenant.ts`. A function takes the members that it uses. A feature
 * adds its own part by declaration merging.
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
  targetStore: TargetStore;
  holds: HoldStore;
  runs: RunStore;
  journal: Journal;
  leases: Leases;
  /** What this process read of streams that aren't read with each cycle. */
  memory: StreamMemory;
  tombstones: TombstoneStore;
  /** Plans that a person may apply. */
  plans: StoredDocuments<StoredPlan>;
  /** Long work that somebody began by the API. */
  tasks: StoredDocuments<StoredTask>;
  protection: Protection;
  notifications: TenantNotifications;
  /** What goes by the tenant's appointments in each cycle, beside its targets. */
  followers: readonly CycleFollower[];
  /** The configuration that this process works under; planner and lanes have their leases only while it is the newest. */
  configVersion: ConfigVersion;
  /** How often cycles should begin. */
  pullEveryMs: number;
  /** A lane writes nothing while no plan was made for so long: what waits may have been overtaken. */
  planLifeMs: number;
  /** A record is gone when a reading that began at least so much after the first that missed it misses it too. */
  missedForMs: number;
  /** As far as a clock agrees that does not jump. */
  elapsedBetween: ElapsedBetween;
  /** Bounds of one turn of a target's lane. */
  slice: { operations: number; durationMs: number };
  log: Logger;
  spans: Spans;
  clock: Clock;
  /** 0 to below 1, for jitter. */
  random: () => number;
  outages: Outages;
}

/** Targets of a tenant that are not paused. */
export function activeTargets({ targets }: Pick<OpenTenant, 'targets'>): OpenTarget[] {
  return [...targets.values()].filter(({ configuration }) => !configuration.paused);
}
