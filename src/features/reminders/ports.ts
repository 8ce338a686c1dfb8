import type { HeldItem } from '../../control/target-objects.ts';
import type { ReminderAlarms } from '../../jobs/queues.ts';
import type { OpenTenant } from '../../jobs/tenant.ts';
import type { Hold } from '../../model/plan.ts';
import type { ReminderStatus } from '../../model/reminders.ts';
import type { Instant } from '../../model/time.ts';
import type { ReminderFile } from '../../settings/reminder-schema.ts';
import type { AnswerLink, AnswerStore } from '../../state/answers.ts';
import type { ReminderChannel, ReminderContent } from './channels/channel.ts';
import type { MessageProofs } from './identity.ts';
import type { OptOuts } from './opt-outs.ts';
import type { NameReminder, ReminderRules } from './rules.ts';
import type { ReminderLedger } from './store.ts';

/** One configured channel, opened. */
export interface OpenChannel {
  id: string;
  /** What a recipient must have. */
  needs: 'nothing' | 'email' | 'phone';
  /** What it sends tells of the patient: they are read although it needs no address. */
  readsPatient: boolean;
  /** The other side knows a repeated id: an unclear answer may be followed by another try. */
  deduplicates: boolean;
  /** What the patient must have agreed to, by the profile's name; null when nothing. */
  consent: string | null;
  channel: ReminderChannel;
}

/** How patients answer reminders. */
export interface OpenAnswers {
  /** Makes the address that a reminder carries, the same one at each try. */
  linkFor(reminder: { reminder: string; patientId: string | null; startAt: Instant }): Promise<ReminderContent['link']>;
  /** Whether we made an address: its token is that of its reminder, and its patient the one of then. */
  isOurs(token: string, link: AnswerLink): boolean;
  /** Proves that a page was shown for a reminder at a time. */
  proof(reminder: string, at: Instant): string;
  /** A name for an address that requests come from, which tells it to nobody. */
  callerName(address: string): string;
  store: AnswerStore;
}

/** How a settled reminder is told of to whoever counts. */
export type ObserveLag = (tenant: string, lagMs: number) => void;

/** A tenant's reminders, opened. */
export interface OpenReminders {
  file: ReminderFile;
  rules: ReminderRules;
  channels: ReadonlyMap<string, OpenChannel>;
  ledger: ReminderLedger;
  optOuts: OptOuts;
  name: NameReminder;
  proofs: MessageProofs;
  alarms: ReminderAlarms;
  /** Null where reminders carry no link. */
  answers: OpenAnswers | null;
  observeLag: ObserveLag;
  /**
   * Makes what was decided last, before anything is handed over.
   * @returns when the state last went back, 0 for never: what was due until then may have been handed over
   * @throws MirrorError `remote`, code `state-not-durable`
   */
  confirm(): Promise<Instant | 0>;
  /** What waits for a person, for the tenant's status. */
  status(holds: readonly Hold[], now: Instant): Promise<ReminderStatus>;
  /** What each patient of held corrections was sent, and what the clinic says now. `unread`: code of why the clinic could not be read. */
  heldCorrections(
    tenant: Pick<OpenTenant, 'clinic' | 'clock' | 'configuration'>,
    recordIds: readonly string[],
    signal: AbortSignal,
  ): Promise<{ items: HeldItem[]; unread: string | null }>;
}

declare module '../../jobs/tenant.ts' {
  interface OpenTenant {
    /** Null where none are configured. */
    reminders: OpenReminders | null;
  }
}
