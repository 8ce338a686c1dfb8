import type { Item } from '../../core/model/items.ts';
import type { PendingChange } from '../../core/model/plan.ts';
import type { AddressKind, LedgerEntry, ReminderTraces, WrongInformation } from '../../core/model/reminders.ts';
import type { Instant } from '../../core/model/time.ts';
import type { StoredAppointment, TriggerEvent, WaitingTrigger } from '../../core/model/triggers.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import type { RunStore } from '../../domain/runs.ts';
import type { FailureContext } from '../../engine/lane.ts';
import type { ChangeTable, HoldTable, LinkTable, RecentObjects, TargetTable } from '../../engine/store.ts';
import type { TriggerFile } from '../../settings/tenant-schema.ts';
import type { Journal } from '../../state/journal.ts';
import type { Leases } from '../../state/leases.ts';
import type { OpenTarget } from '../../tenant/tenant.ts';

/** A tenant, as far as the data of one patient concerns it: the clinic to ask, the targets to erase from, the stores with record ids. */
export interface ForgottenTenant extends FailureContext {
  clinic: ClinicSource;
  targets: ReadonlyMap<string, OpenTarget>;
  leases: Leases;
  links: LinkTable & { erase(target: string, recordIds: readonly string[]): Promise<number> };
  outbox: WaitingChanges;
  targetStore: TargetTable & { erase(target: string, recordIds: readonly string[], now: Instant): Promise<number> };
  holds: HoldTable & { erase(target: string, recordIds: ReadonlySet<string>): Promise<number> };
  journal: Journal;
  recentObjects: RecentObjects & { erase(target: string): Promise<number> };
  runs: RunStore;
  /** Returns the name of the tombstone. */
  tombstones: { add(personId: string, at: Instant): Promise<string> };
  plans: { clear(): Promise<unknown> };
  tasks: { clear(): Promise<unknown> };
  /** Patient data of reminders, even without configured reminders. */
  reminderTraces: ReminderTraces;
  /** Null without configured reminders. */
  reminders: SentReminders | null;
  /** Null without configured triggers. */
  triggers: SentTriggers | null;
}

/** Waiting changes of a tenant, with what they would write about one patient. */
interface WaitingChanges extends ChangeTable {
  pendingOfSome(target: string, recordIds: readonly string[]): Promise<Map<string, PendingChange>>;
  /** Null: the change is a deletion, or cannot be decrypted. */
  contentsOfSome(target: string, recordIds: readonly string[]): Promise<Map<string, Item | null>>;
}

/** Reminders of a tenant, as far as they are about one patient. */
interface SentReminders {
  file: { phoneRegion: string };
  ledger: {
    readSome(ids: readonly string[]): Promise<Map<string, LedgerEntry>>;
    open(): Promise<LedgerEntry[]>;
    /** @param limit 0 for all */
    finished(limit: number): Promise<LedgerEntry[]>;
    reports(references: readonly string[]): Promise<ReadonlyMap<string, object>>;
    wrong(now: Instant): Promise<WrongInformation[]>;
  };
  alarms: { cancel(entries: readonly LedgerEntry[]): Promise<void> };
  optOuts: {
    /** Returns the keyed hash of contact data, after its kind and a colon. */
    hashOf(kind: AddressKind, address: string): string;
    find(hash: string): Promise<object | null>;
  };
  replies: { ofRecipients(hashes: ReadonlySet<string>, now: Instant): Promise<object[]> };
}

/** Triggers of a tenant, as far as they contain record ids. */
interface SentTriggers {
  file: TriggerFile;
  store: {
    /** Null for an appointment encrypted with a lost key. */
    appointments(trigger: TriggerOfEndpoint): Promise<ReadonlyMap<string, StoredAppointment | null>>;
    waiting(trigger: TriggerOfEndpoint): Promise<WaitingTrigger[]>;
  };
}

interface TriggerOfEndpoint {
  endpoint: string;
  event: TriggerEvent;
}
