import type { Instant } from './time.ts';

/** Name of the reminders where targets are named; no target can have it. */
export const REMINDERS = '(reminders)';

/**
 * Where a reminder stands:
 * - `planned`: it waits for its time, or for another try;
 * - `sending`: it is being handed over, or was when its worker died;
 * - `sent`: the other side took it;
 * - `dropped`: it was not and will not be handed over, for a {@link DropReason};
 * - `unknown`: it may have been handed over; never tried again.
 */
export type ReminderState = 'planned' | 'sending' | 'sent' | 'dropped' | 'unknown';

/** Reasons that end with a newer plan: the same reminder may be planned again, as when an appointment is moved back. */
export const WITHDRAWALS = ['cancelled', 'moved', 'vanished', 'excluded', 'outdated'] as const;

/** Why a reminder was withdrawn before its time. */
export type Withdrawal = (typeof WITHDRAWALS)[number];

/**
 * Why a reminder was dropped; stable, a metric label.
 * - `booked-late`: the appointment was booked or moved so late that the reminder would have come at once;
 * - `missed`: its time had passed before it was planned;
 * - `too-late`: its time passed and the grace with it, or the appointment is too near;
 * - `quiet-hours`: late, and the night would have been the only time left;
 * - `source-unreachable`: the clinic could not be asked whether the appointment still stands;
 * - `unusable`: the clinic's row can't be used;
 * - `arrived`: the patient is there already, or the visit is over;
 * - `rule-gone`: the rule or the channel is no longer configured;
 * - `patient-gone`, `no-consent`, `no-address`, `opted-out`: of the patient;
 * - `other-patient`: of a correction, the previous message went to another patient;
 * - `outdated`: of a correction, it is not true any more, or another message said the same;
 * - `refused`: the other side won't take it; `channel-gone`: it won't take any;
 * - `channel-failed`: the other side could not take it within the grace;
 * - `egress-stopped`: its text would have told more of the patient than it may;
 * - `record-forged`: the ledger's line is not one that we wrote;
 * - `hourly-limit`: the tenant's limit was reached until the grace ended.
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
  | 'opted-out'
  | 'other-patient'
  | 'refused'
  | 'channel-gone'
  | 'channel-failed'
  | 'egress-stopped'
  | 'record-forged'
  | 'hourly-limit';

/**
 * What a message corrects:
 * - `moved`: the appointment begins at another time than the patient was told, or takes place after all;
 * - `changed`: it begins at the same time, and another thing that the message named has changed: the place or its zone;
 * - `cancelled`: it does not take place.
 */
export type CorrectionKind = 'moved' | 'changed' | 'cancelled';

/** What makes a message a correction. */
export interface Correction {
  kind: CorrectionKind;
  /** Keyed hash of the message that is corrected, and of what is true now. */
  fact: string;
}

/** What makes a reminder that one and no other. */
export interface ReminderKey {
  appointmentId: string;
  /** The start that it speaks of: of a cancelled appointment the one that the patient was told. */
  startAt: Instant;
  rule: string;
  /** Name of the tenant's channel. */
  channel: string;
  /** Absent or null for a reminder. */
  correction?: Correction | null;
}

/** A reminder that should come, as a plan gives it. */
export interface PlannedReminder extends ReminderKey {
  id: string;
  dueAt: Instant;
  /** Zone that the patient reads the time in; the quiet hours' too. */
  zone: string;
}

/** One line of the ledger: no content and nobody's name. */
export interface LedgerEntry extends PlannedReminder {
  correction: Correction | null;
  state: ReminderState;
  /** When it was first planned; of one that was withdrawn, when it was planned anew. */
  plannedAt: Instant;
  /** When it is looked at next, while it is `planned` or `sending`. */
  wakeAt: Instant;
  /** How often it was handed over, or may have been. */
  attempts: number;
  /** When it came to be sent, dropped or unknown. */
  finishedAt: Instant | null;
  reason: DropReason | null;
  /** Code of the last try that did not succeed. */
  lastCode: string | null;
  /** The other side's name for what it took. */
  reference: string | null;
  /** What the patient said by its link; null before. */
  answer: { is: Answer; at: Instant } | null;
  /** Its place in the order in which messages were handed over, or may have been; null before. */
  handedAs: number | null;
  /** Keyed hash of the patient that it was handed over for; null before. */
  patientProof: string | null;
  /** Keyed hash of the address that it named; null where it named none. */
  locationProof: string | null;
}

/**
 * Why wrong information is not corrected by a message:
 * - `rule-none`: no rule covers the appointment as it is now; `corrections-off`: the rule forbids it;
 * - `corrections-held`: so many corrections were called for at once that a hold waits for a decision; `corrections-refused`: it was rejected;
 * - `unclear`: whether the last message came is not known;
 * - else why the correction was dropped.
 */
export type WrongReason = DropReason | 'rule-none' | 'corrections-off' | 'unclear' | HeldReason;

/** Why the guard keeps back a correction, and every other message of its appointment. */
export type HeldReason = 'corrections-held' | 'corrections-refused';

/** A patient was told something of an appointment that is not true now. */
export interface WrongInformation {
  appointmentId: string;
  channel: string;
  sinceAt: Instant;
  /** When a message is due that corrects it; null when none will. */
  correctsAt: Instant | null;
  /** Null while a message is due. */
  reason: WrongReason | null;
  /** When it ends by itself: then the appointment has begun. */
  untilAt: Instant;
  /** Name of the correction that a hold kept back, and since when; a decision is about this one. Null when none did. */
  held: { fact: string; at: Instant } | null;
}

/** What a patient says of an appointment by a reminder's link. */
export type Answer = 'confirmed' | 'cancelled';

/** What opt-outs are remembered by. */
export type AddressKind = 'email' | 'phone';

/** Where a tenant's reminders stand. */
export interface ReminderStatus {
  /** Planned and not yet settled. */
  waiting: number;
  /** Channels whose other side is gone: nothing is handed to them until a person opens them again. */
  closedChannels: { channel: string; code: string; at: Instant }[];
  /** Patients who were told what is not true now, the longest first. */
  wrong: Omit<WrongInformation, 'held'>[];
  /** Corrections that wait for a decision; null when none do. */
  hold: { id: string; appointments: number; sinceAt: Instant } | null;
}
