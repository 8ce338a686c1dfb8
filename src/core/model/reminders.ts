import { z } from 'zod';
import { instant } from './schemas.ts';
import type { Instant } from './time.ts';

/** Name of the reminders among target names. No target can have this name. */
export const REMINDERS = '(reminders)';

/**
 * State of a reminder:
 * - `planned`: waits for its time or another attempt;
 * - `sending`: in transfer, or interrupted by the end of its worker;
 * - `sent`: accepted by the vendor;
 * - `dropped`: not sent, for a {@link DropReason};
 * - `unknown`: possibly sent; never repeated.
 */
export type ReminderState = 'planned' | 'sending' | 'sent' | 'dropped' | 'unknown';

/** Reasons that a newer plan can cancel: the reminder is planned again if, for example, the appointment returns to its earlier time. */
export const WITHDRAWALS = ['cancelled', 'moved', 'vanished', 'excluded', 'outdated'] as const;

export type Withdrawal = (typeof WITHDRAWALS)[number];

/**
 * Reason of a dropped reminder; stable, a metric label.
 * - `booked-late`: the appointment was booked or moved so late that the reminder would be due at once;
 * - `missed`: the due time was before the plan;
 * - `too-late`: the due time and the grace period passed, or the appointment is too near;
 * - `quiet-hours`: late, and only quiet hours remained;
 * - `source-unreachable`: the clinic did not confirm the appointment;
 * - `unusable`: the clinic's record is invalid;
 * - `arrived`: the patient has arrived, or the visit is over;
 * - `rule-gone`: the rule or the channel is no longer configured;
 * - `patient-gone`, `no-consent`, `no-address`, `address-invalid`, `opted-out`: of the patient;
 * - `other-patient`: of a correction, the previous message went to another patient;
 * - `outdated`: of a correction, no longer true, or sent by another message; of a reminder, sent by a correction;
 * - `refused`: the vendor rejects the message; `channel-gone`: the vendor rejects all messages;
 * - `channel-failed`: the vendor was unavailable for the whole grace period;
 * - `egress-stopped`: the text would reveal more patient data than permitted;
 * - `state-damaged`: the ledger's record was not written by clinic-mirror;
 * - `hourly-limit`: the tenant's limit was reached until the grace period ended.
 */
export type DropReason =
  | Withdrawal
  | 'booked-late'
  | 'missed'
  | 'too-late'
  | 'quiet-hours'
  | 'source-unreachable'
  | 'unusable'
  | 'arrived'
  | 'rule-gone'
  | 'patient-gone'
  | 'no-consent'
  | 'no-address'
  | 'address-invalid'
  | 'opted-out'
  | 'other-patient'
  | 'refused'
  | 'channel-gone'
  | 'channel-failed'
  | 'egress-stopped'
  | 'state-damaged'
  | 'hourly-limit';

/**
 * Subject of a correction:
 * - `moved`: the appointment starts at another time than in the earlier message, or takes place after all;
 * - `changed`: the start is unchanged, but the location or its zone changed;
 * - `cancelled`: the appointment does not take place.
 */
export type CorrectionKind = 'moved' | 'changed' | 'cancelled';

/** Identity of a correction. */
export interface Correction {
  kind: CorrectionKind;
  /** Keyed hash of the corrected message and the current facts. */
  fact: string;
}

/** Identity of a reminder. */
export interface ReminderKey {
  appointmentId: string;
  /** Start in the message; for a cancelled appointment, the start in the earlier message. */
  startAt: Instant;
  rule: string;
  /** Name of the tenant's channel. */
  channel: string;
  /** Absent or null for a reminder. */
  correction?: Correction | null;
}

/** A planned reminder. */
export interface PlannedReminder extends ReminderKey {
  id: string;
  dueAt: Instant;
  /** Zone of the times in the message and of the quiet hours. */
  zone: string;
}

/** A record of the ledger, without content or names. */
export interface LedgerEntry extends PlannedReminder {
  /** Present if the stored reminder is damaged, and must not be sent. */
  isDamaged?: boolean;
  correction: Correction | null;
  state: ReminderState;
  /** Time of the first plan, or of the new plan after a withdrawal. */
  plannedAt: Instant;
  /** Next check while `planned` or `sending`. */
  wakeAt: Instant;
  /** Number of actual or possible transfers. */
  attempts: number;
  /** Time of the final state: sent, dropped or unknown. */
  finishedAt: Instant | null;
  reason: DropReason | null;
  /** Code of the last failed attempt. */
  lastCode: string | null;
  /** The vendor's id of the accepted message. */
  reference: string | null;
  /** The patient's answer through the link; null before. */
  answer: { is: Answer; at: Instant } | null;
  /** Position in the order of actual or possible transfers; null before. */
  handedAs: number | null;
  /** Keyed hash of the recipient; null before the transfer. */
  patientProof: string | null;
  /** Keyed hash of the location in the message; null without a location. */
  locationProof: string | null;
  /** Keyed hash of the expected or actual number or address; null while unknown. */
  recipient: string | null;
  /** Id of the appointment that replaced the announced one under another id; null for none. */
  movedTo: string | null;
}

/**
 * Reason why wrong information has no correction:
 * - `rule-none`: no rule covers the appointment now; `corrections-off`: the rule forbids corrections;
 * - `corrections-held`: a hold on too many simultaneous corrections waits for a decision; `corrections-refused`: the hold was rejected;
 * - `unclear`: delivery of the last message is unknown;
 * - otherwise the reason of the dropped correction.
 */
export type WrongReason = DropReason | 'rule-none' | 'corrections-off' | 'unclear' | HeldReason;

/** Reason why the guard keeps back a correction and all other messages of the appointment. */
export type HeldReason = 'corrections-held' | 'corrections-refused';

/** Information in a sent message that is no longer true, or a patient whom no message told of the appointment. */
export interface WrongInformation {
  appointmentId: string;
  channel: string;
  sinceAt: Instant;
  /** Due time of the correction; null if none follows. */
  correctsAt: Instant | null;
  /** Null while a message is due. */
  reason: WrongReason | null;
  /** Automatic end: the start of the appointment. */
  untilAt: Instant;
  /** Identity of the held correction, to which a decision applies, and start of the hold; null without a hold. */
  held: { fact: string; at: Instant } | null;
  /** Whether no message told the patient of the appointment. Absent for wrong information. */
  isUntold?: true;
}

/** A patient's answer through the link in a reminder. */
export type Answer = 'confirmed' | 'cancelled';

/** Kind of address in a stored opt-out. */
export type AddressKind = 'email' | 'phone';

export const reminderStatus = z.object({
  /** Planned or in transfer. */
  waiting: z.number(),
  /** Channels whose vendor is gone. The daemon sends nothing until an administrator opens the channel. */
  closedChannels: z.array(z.object({ channel: z.string(), code: z.string(), at: instant })),
  hold: z
    .object({ id: z.string(), appointments: z.number(), sinceAt: instant })
    .nullable()
    .describe('Number of corrections that wait for approval'),
  replies: z.object({ count: z.number(), sinceAt: instant }).nullable().describe('Replies of patients to read'),
  /** Oldest first. */
  wrong: z
    .array(
      z.object({
        appointmentId: z.string(),
        channel: z.string(),
        sinceAt: instant,
        correctsAt: instant.nullable().describe('Due time of the correction message; null: no correction is planned'),
        reason: z.string().nullable(),
        untilAt: instant,
      }),
    )
    .describe('Patients whose last message is outdated'),
});
/** State of a tenant's reminders. */
export type ReminderStatus = Omit<z.infer<typeof reminderStatus>, 'wrong'> & {
  wrong: Omit<WrongInformation, 'held'>[];
};

/** Remaining reminder data of a patient. */
export interface TracedReminders {
  /** Ids in the ledger, with the appointment if known, and the time until Redis deletes the record. */
  reminders: readonly { id: string; appointmentId: string | null; remainingMs: number }[];
  /** Keys of links that were sent to the patient. */
  links: readonly string[];
}

/** Patient data of reminders: ledger records of appointments, and answer links. */
export interface ReminderTraces {
  /**
   * @param patientId null for messages of an unknown patient
   * @param appointmentIds known appointments of the patient
   * @param messages further known reminders
   */
  find(
    patientId: string | null,
    appointmentIds: readonly string[],
    messages?: ReadonlySet<string>,
  ): Promise<TracedReminders>;
  /**
   * Removes the data; a reminder that is being sent at this moment ends without a record.
   * @param appointmentIds appointments of the patient
   * @returns the number of removed records
   */
  erase(traces: TracedReminders, appointmentIds: Iterable<string>): Promise<{ reminders: number; answerLinks: number }>;
}
