import { createHmac, timingSafeEqual } from 'node:crypto';
import { base32hex, derivedKey } from '../../model/hashes.ts';
import type { Instant } from '../../model/time.ts';
import type { NameReminder } from './rules.ts';

/**
 * Names of a tenant's reminders: 32 characters of `[0-9a-v]`, a keyed hash of what makes a reminder that one, so that the loss of all
 * state loses no name and nobody can guess one.
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

/** Keyed hashes of what a message told, and whom: 22 characters of base64url, by which it is compared later and which tell nothing. */
export interface MessageProofs {
  patient(reminder: string, patientId: string | null): string;
  /** @param stated place of the appointment, in whatever words */
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

/** The secrets of the addresses in a tenant's reminders: a reminder's id stands in logs and in the headers of mails, and opens nothing. */
export interface AddressSecrets {
  /** Of the address: 22 characters of base64url, made of the reminder's id, so that each try of it carries the same. */
  token(reminder: string): string;
  /** Proves whose appointment it was when the address was made: 22 characters of base64url. */
  patient(reminder: string, patientId: string | null): string;
  /** Whether we made an address: its token is that of its reminder, and its patient the one of then. */
  isOurs(token: string, made: { reminder: string; patientId: string | null; proof: string }): boolean;
  /** Of the page that was shown there at a time. */
  proof(reminder: string, at: Instant): string;
  /** A name for an address that requests come from, under which they are counted. */
  caller(address: string): string;
  /** Of the address by which who got it wants no more: 22 characters of base64url. */
  unsubscribe(reminder: string): string;
}

/** @param identityKey the installation's identity key, 32 bytes: without it nobody can make an address */
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

/** @param received comes from a request or from Redis, so it can be of any type; only a string can match */
function isSame(received: unknown, made: string): boolean {
  if (typeof received !== 'string') return false;
  const [one, other] = [Buffer.from(received), Buffer.from(made)];
  return one.length === other.length && timingSafeEqual(one, other);
}
