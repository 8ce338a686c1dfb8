import type { Instant } from './time.ts';

/** What forgetting a patient came to in one target; numbers alone. */
export interface ErasedTarget {
  target: string;
  connector: string;
  /** Objects of the patient that the target held, by our links or by a look for their names. */
  found: number;
  /** Those of them that are erased by now. */
  erased: number;
  /** How far that reaches. `bin`: the vendor keeps the object for a while, out of its API's reach. */
  reach: 'wholly' | 'bin';
  /** Erasures that wait for their turn: the running daemon makes them. Records that the target never had are among them. */
  waiting: number;
  /** Those that were tried in vain and are tried again. */
  failed: number;
  /** Code of what keeps the whole target from being written to; null when nothing does. */
  failure: string | null;
}

/** What was taken out of Redis beside objects' links; numbers alone. */
export interface ErasedTraces {
  journalLines: number;
  pins: number;
  holds: number;
  /** Stored changes by hand, writes that were not read back yet, and recent deletions and restorations. */
  auditFindings: number;
  reminders: number;
  answerLinks: number;
  /** Examples of unusable rows in reports of cycles. */
  examples: number;
}

/**
 * What a receipt has to say beside numbers:
 * - `clinic-has-no-patient`: appointments and invoices that the clinic lists no more could not be told;
 * - `patient-unread`: the login may not read patients, so nothing is known of the clinic's own row;
 * - `patient-unusable`: the clinic has the patient, and the row can't be used;
 * - `appointments-partial`, `invoices-partial`: the clinic's list was not whole;
 * - `invoices-unread`: the login may not read invoices;
 * - `target-not-searched`: a target could not be searched for objects without a link; what is written there under a later name stays;
 * - `still-in-clinic`: the clinic has the patient; the tombstone keeps them out of all targets;
 * - `opt-outs-stay`: what the patient asked not to be sent stays, as a keyed hash that protects them;
 * - `erasures-wait`: not all is erased yet; the same command tells how it stands.
 */
export type ForgetWarning =
  | 'clinic-has-no-patient'
  | 'patient-unread'
  | 'patient-unusable'
  | 'appointments-partial'
  | 'invoices-partial'
  | 'invoices-unread'
  | 'target-not-searched'
  | 'still-in-clinic'
  | 'opt-outs-stay'
  | 'erasures-wait';

/** Proof that a patient was forgotten: without an id, a name or a time of theirs. */
export interface ForgetReceipt {
  /** Names the receipt. */
  receipt: string;
  tenant: string;
  at: Instant;
  /** What remains of the patient: a keyed hash, the same each time. */
  tombstone: string;
  /** Appointments to come that were in a calendar: the clinic still has them. */
  upcoming: number;
  targets: readonly ErasedTarget[];
  state: ErasedTraces;
  warnings: readonly ForgetWarning[];
}
