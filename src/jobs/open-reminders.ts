import type { Instant } from '../model/time.ts';
import type { ReminderChannel, ReminderContent } from '../reminders/channels/channel.ts';
import type { ToldProofs } from '../reminders/identity.ts';
import type { NameReminder, ReminderRules } from '../reminders/rules.ts';
import type { ReminderFile } from '../settings/reminder-schema.ts';
import type { AnswerLink, AnswerStore } from '../state/answers.ts';
import type { OptOuts } from '../state/opt-outs.ts';
import type { ReminderLedger } from '../state/reminders.ts';

/** Name of the reminders where targets are named; no target can have it. */
export const REMINDERS = '(reminders)';

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

/** When a reminder is looked at. */
export interface Wake {
  id: string;
  wakeAt: Instant;
}

/** The delayed jobs of a tenant's reminders. Asking twice for the same is asking once. */
export interface ReminderAlarms {
  set(wakes: readonly Wake[]): Promise<void>;
  cancel(wakes: readonly Wake[]): Promise<void>;
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
  proofs: ToldProofs;
  alarms: ReminderAlarms;
  /** Null where reminders carry no link. */
  answers: OpenAnswers | null;
  observeLag: ObserveLag;
  /**
   * Makes what was decided last, before anything is handed over.
   * @returns when the state last went back, 0 for never: what was due until then may have been handed over
   * @throws MirrorError `remote`, code `state-not-durable`
   */
  settle(): Promise<Instant | 0>;
}
