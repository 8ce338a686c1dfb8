import { z } from 'zod';
import { instant } from './schemas.ts';

/** Extent of an erasure. `bin`: the vendor keeps the object for a while, unreachable through its API. */
export const reach = z.enum(['wholly', 'bin']);

const erasedTarget = z.object({
  target: z.string(),
  connector: z.string(),
  /** Objects of the patient in the target, found by links or by a search for names. */
  found: z.number(),
  /** Found objects that are erased already. */
  erased: z.number(),
  reach,
  /** Queued erasures, which the running daemon makes. Includes records that the target never held. */
  waiting: z.number(),
  /** Failed erasures that the daemon retries. */
  failed: z.number(),
  /** Code of the error that blocks all writes to the target; null without one. */
  failure: z.string().nullable(),
});
/** Erasure result for one target; only numbers. */
export type ErasedTarget = z.infer<typeof erasedTarget>;

const erasedTraces = z.object({
  journalLines: z.number(),
  pins: z.number(),
  holds: z.number(),
  /** Stored manual changes, unverified writes, and recent deletions and restorations. */
  auditFindings: z.number(),
  reminders: z.number(),
  answerLinks: z.number(),
  /** Examples of invalid records in cycle reports. */
  examples: z.number(),
});
/** Counts of data removed from Redis, other than links. */
export type ErasedTraces = z.infer<typeof erasedTraces>;

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
export const forgetWarnings = z.array(
  z.enum([
    'clinic-has-no-patient',
    'patient-unread',
    'patient-unusable',
    'appointments-partial',
    'invoices-partial',
    'invoices-unread',
    'target-not-searched',
    'still-in-clinic',
    'opt-outs-stay',
    'erasures-wait',
  ]),
);
export type ForgetWarning = z.infer<typeof forgetWarnings>[number];

export const forgetReceipt = z.object({
  receipt: z.string(),
  tenant: z.string(),
  at: instant,
  /** Keyed hash that remains of the patient, identical for each receipt. */
  tombstone: z.string().nullable().describe('Null for messages of a patient whose id is unknown'),
  /** Future appointments that were in a calendar. The clinic still has them. */
  upcoming: z.number(),
  targets: z.array(erasedTarget),
  state: erasedTraces,
  warnings: forgetWarnings,
  /** Of {@link signedText}. */
  signature: z.string().nullable().describe('Ed25519 signature in base64; null before receipts were signed'),
});
/** Proof of an erasure, without id, name or times of the patient. */
export type ForgetReceipt = z.infer<typeof forgetReceipt>;

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
