import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import { base32hex } from '../model/base32.ts';
import type { NameReminder } from './rules.ts';

/**
 * Names of a tenant's reminders: 32 characters of `[0-9a-v]`, a keyed hash of what makes a reminder that one, so that the loss of all
 * state loses no name and nobody can guess one.
 * @param identityKey the installation's identity key, 32 bytes, never changed
 */
export function createReminderNames(identityKey: Uint8Array, tenant: string): NameReminder {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', identityKey, tenant, 'clinic-mirror reminders', 32)));
  return ({ appointmentId, startAt, rule, channel }) => {
    const whole = JSON.stringify([appointmentId, startAt, rule, channel]);
    return base32hex(createHmac('sha256', key).update(whole).digest().subarray(0, 20));
  };
}
