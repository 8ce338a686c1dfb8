import type { Logger } from '../../core/log/logger.ts';
import type { Hold } from '../../core/model/plan.ts';
import type { ReminderStatus, ReminderTraces } from '../../core/model/reminders.ts';
import type { Clock, Instant } from '../../core/model/time.ts';
import type { ClinicSource } from '../../domain/clinic-requests.ts';
import type { Safeguard, Store } from '../../engine/store.ts';
import type { Outages } from '../../jobs/outages.ts';
import type { Alarms } from '../../jobs/queues.ts';
import type { HeldItem } from '../../operator/control/target-objects.ts';
import type { TenantConfiguration } from '../../settings/configuration.ts';
import type { ReminderFile } from '../../settings/reminder-schema.ts';
import type { AnswerLink, AnswerStore } from './answer-store.ts';
import type { ReminderChannel, ReminderContent } from './channels/channel.ts';
import type { MessageProofs } from './identity.ts';
import type { OptOuts } from './opt-outs.ts';
import type { PatientReplies } from './replies.ts';
import type { NameReminder, ReminderRules } from './rules.ts';
import type { ReminderLedger } from './store.ts';

/** An open, configured channel. */
export interface OpenChannel {
  id: string;
  /** Required contact data of a recipient. */
  needs: 'nothing' | 'email' | 'phone';
  /** Messages contain patient data, so the patient is read even without contact data. */
  readsPatient: boolean;
  /** The receiver recognises repeated ids, so a retry after an unclear answer is safe. */
  deduplicates: boolean;
  /** Required consent, by name in the profile, or null. */
  consent: string | null;
  channel: ReminderChannel;
}

/** Links with which patients answer reminders. */
export interface OpenAnswers {
  /** Returns the link of a reminder, constant for each attempt. */
  linkFor(reminder: { reminder: string; patientId: string | null; startAt: Instant }): Promise<ReminderContent['link']>;
  /** Verifies a URL: token and patient match the reminder. */
  isOurs(token: string, link: AnswerLink): boolean;
  /** Returns a proof of a page shown for a reminder at a time. */
  proof(reminder: string, at: Instant): string;
  store: AnswerStore;
}

/** Observes the delay of a settled reminder. */
export type ObserveLag = (tenant: string, lagMs: number) => void;

/** Open reminders of a tenant. */
export interface OpenReminders {
  file: ReminderFile;
  rules: ReminderRules;
  channels: ReadonlyMap<string, OpenChannel>;
  ledger: ReminderLedger;
  optOuts: OptOuts;
  replies: PatientReplies;
  name: NameReminder;
  proofs: MessageProofs;
  alarms: Alarms;
  /** Null if reminders have no link. */
  answers: OpenAnswers | null;
  observeLag: ObserveLag;
  /**
   * Persists the last decisions before a delivery.
   * @returns the last time when the state went back, 0 for never. Reminders due before that time may have been delivered.
   * @throws MirrorError `remote`, code `state-not-durable`
   */
  confirm(): Promise<Instant | 0>;
  /** Returns required actions for the tenant's status. */
  status(holds: readonly Hold[], now: Instant): Promise<ReminderStatus>;
  /** Returns sent facts and present clinic data of each patient with a held correction. `unread`: error code of the clinic. */
  heldCorrections(
    clinic: ClinicSource,
    held: { recordIds: readonly string[]; now: Instant; zone: string },
    signal: AbortSignal,
  ): Promise<{ items: HeldItem[]; unread: string | null }>;
}

/** A tenant, as far as its reminders concern it: the clinic to ask before each message, and what may delay or forbid the message. */
export interface RemindedTenant {
  id: string;
  configuration: TenantConfiguration;
  clinic: ClinicSource;
  clock: Clock;
  log: Logger;
  outages: Outages;
  protection: Safeguard;
  tombstones: Store['tombstones'];
  /** Null without configured reminders. */
  reminders: OpenReminders | null;
}

declare module '../../tenant/tenant.ts' {
  interface OpenTenant {
    /** Null without configured reminders. */
    reminders: OpenReminders | null;
    /** Patient data of reminders, even without configured reminders. */
    reminderTraces: ReminderTraces;
  }
}
