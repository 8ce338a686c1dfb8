import type { Instant } from './time.ts';

/** Erasure result for one target; only numbers. */
export interface ErasedTarget {
  target: string;
  connector: string;
  /** Objects of the patient in the target, found by links or by a search for names. */
  found: number;
  /** Found objects that are erased already. */
  erased: number;
  /** Extent of the erasure. `bin`: the vendor keeps the object for a while, unreachable through its API. */
  reach: 'wholly' | 'bin';
  /** Queued erasures, which the running daemon makes. Includes records that the target never held. */
  waiting: number;
  /** Failed erasures that the daemon retries. */
  failed: number;
  /** Code of the error that blocks all writes to the target; null without one. */
  failure: string | null;
}

/** Counts of data removed from Redis, other than links. */
export interface ErasedTraces {
  journalLines: number;
  pins: number;
  holds: number;
  /** Stored manual changes, unverified writes, and recent deletions and restorations. */
  auditFindings: number;
  reminders: number;
  answerLinks: number;
  /** Examples of invalid records in cycle reports. */
  examples: number;
}

/**
 * Warnings of a receipt:
 * - `clinic-has-no-patient`: appointments and invoices that the clinic no longer lists cannot be identified;
 * - `patient-unread`: the connection must not read patients, so the clinic's own record is unknown;
 * - `patient-unusable`: the clinic's record of the patient is invalid;
 * - `appointments-partial`, `invoices-partial`: the clinic's list was incomplete;
 * - `invoices-unread`: the connection must not read invoices;
 * - `target-not-searched`: a search for objects without a link was not possible, and objects under a later name remain;
 * - `still-in-clinic`: the clinic still has the patient, and the tombstone keeps the patient out of all targets;
 * - `opt-outs-stay`: the patient's opt-outs remain as a keyed hash that protects the patient;
 * - `erasures-wait`: some erasures are pending, and the same command shows the progress.
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

/** Proof of an erasure, without id, name or times of the patient. */
export interface ForgetReceipt {
  /** Id of the receipt. */
  receipt: string;
  tenant: string;
  at: Instant;
  /** Keyed hash that remains of the patient, identical for each receipt; null for messages of a patient whose id is unknown. */
  tombstone: string | null;
  /** Future appointments that were in a calendar. The clinic still has them. */
  upcoming: number;
  targets: readonly ErasedTarget[];
  state: ErasedTraces;
  warnings: readonly ForgetWarning[];
  /** Ed25519 signature of {@link signedText} in base64; null for a receipt of a version without signatures. */
  signature: string | null;
}

/**
 * Returns the signed text of a receipt: JSON as the command prints it, so `at` in RFC 3339, without the signature and without spaces, members
 * sorted at each level.
 */
export function signedText(receipt: Omit<ForgetReceipt, 'signature'>): string {
  const sorted = (_: string, value: unknown) =>
    typeof value === 'object' && value !== null && !Array.isArray(value)
      ? Object.fromEntries(Object.entries(value).sort(([one], [other]) => (one < other ? -1 : 1)))
      : value;
  return JSON.stringify({ ...receipt, at: new Date(receipt.at).toISOString(), signature: undefined }, sorted);
}
