import { createHmac, timingSafeEqual } from 'node:crypto';
import { base32hex, derivedKey } from '../../core/model/hashes.ts';
import type { Instant } from '../../core/model/time.ts';
import type { NameReminder } from './rules.ts';

/**
 * Names the reminders of a tenant: 32 characters of `[0-9a-v]`, a keyed hash of the reminder's properties. Names survive the loss of all
 * state, and are unguessable.
 * @param identityKey the installation's identity key, 32 bytes, never changed
 */
export function createReminderNames(identityKey: Uint8Array, tenant: string): NameReminder {
  const key = derivedKey(identityKey, tenant, 'reminders');
  return ({ appointmentId, startAt, rule, channel, correction }) => {
    const fact = correction == null ? [] : [correction.kind, correction.fact];
    const whole = JSON.stringify([appointmentId, startAt, rule, channel, ...fact]);
    return base32hex(createHmac('sha256', key()).update(whole).digest().subarray(0, 20));
  };
}

/** Keyed hashes of a message's facts and recipient for later comparison: 22 characters of base64url without information. */
export interface MessageProofs {
  patient(reminder: string, patientId: string | null): string;
  /** @param stated location of the appointment, in any text */
  locationProof(appointmentId: string, ...stated: readonly string[]): string;
}

/** @param identityKey the installation's identity key, 32 bytes */
export function createMessageProofs(identityKey: Uint8Array, tenant: string): MessageProofs {
  const key = derivedKey(identityKey, tenant, 'told');
  const hash = (...parts: readonly string[]) =>
    createHmac('sha256', key()).update(JSON.stringify(parts)).digest().subarray(0, 16).toString('base64url');
  return {
    patient: (reminder, patientId) => hash('patient', reminder, patientId ?? ''),
    locationProof: (appointmentId, ...stated) => hash('place', appointmentId, ...stated),
  };
}

/** Secrets of URLs in a tenant's reminders. A reminder id appears in logs and mail headers, so the id grants no access. */
export interface AddressSecrets {
  /** Token of the URL: 22 characters of base64url, derived from the reminder id, constant for each attempt. */
  token(reminder: string): string;
  /** Proof of the patient at the time of the URL: 22 characters of base64url. */
  patient(reminder: string, patientId: string | null): string;
  /** Verifies a URL: token and patient match the reminder. */
  isOurs(token: string, made: { reminder: string; patientId: string | null; proof: string }): boolean;
  /** Proof of a page shown at a time. */
  proof(reminder: string, at: Instant): string;
  /** Name of a client IP address, for counting. */
  caller(address: string): string;
  /** Token of the unsubscribe URL: 22 characters of base64url. */
  unsubscribe(reminder: string): string;
}

/** @param identityKey the installation's identity key, 32 bytes; required to make a URL */
export function createAddressSecrets(identityKey: Uint8Array, tenant: string): AddressSecrets {
  const key = derivedKey(identityKey, tenant, 'answers');
  const hash = (...parts: (string | number)[]) =>
    createHmac('sha256', key()).update(JSON.stringify(parts)).digest().subarray(0, 16).toString('base64url');
  const token = (reminder: string) => hash('token', reminder);
  const patient = (reminder: string, patientId: string | null) => hash('patient', reminder, patientId ?? '');
  return {
    token,
    patient,
    isOurs: (received, { reminder, patientId, proof }) =>
      isSame(received, token(reminder)) && isSame(proof, patient(reminder, patientId)),
    proof: (reminder, at) => hash('proof', reminder, at),
    caller: (address) => hash('caller', address),
    unsubscribe: (reminder) => hash('unsubscribe', reminder),
  };
}

/** @param received from a request or Redis, so of any type; only a string can match */
function isSame(received: unknown, made: string): boolean {
  if (typeof received !== 'string') return false;
  const [one, other] = [Buffer.from(received), Buffer.from(made)];
  return one.length === other.length && timingSafeEqual(one, other);
}
