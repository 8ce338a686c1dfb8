import { createCipheriv, createDecipheriv, createHmac, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { base32hex } from '../model/base32.ts';
import type { CalendarItem } from '../model/items.ts';
import type { ItemKey } from '../model/operations.ts';

const KEY_BYTES = 20;
const MARK_BYTES = 10;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
/** Epochs that are tried when a remote key is matched with its record; a target burns a key once in a blue moon. */
export const HIGHEST_EPOCH = 8;

/** Fields of an item in the order of the hint characters at the end of a fingerprint. */
const FIELDS = ['title', 'description', 'location', 'time', 'busy'] as const;

/**
 * Everything that names or compares the objects of one target, derived from the tenant's identity key: a pure function of
 * (key, target), so the loss of all state loses no name. Nothing it makes can be traced back without the key.
 */
export interface TargetIdentity {
  /** Marks our objects: 16 characters of `[0-9a-v]`. */
  mark: string;
  /** Name of a record's object. `epoch` is 0 unless a target refused the name before. */
  key(recordId: string, epoch: number): ItemKey;
  /** The epoch whose key this is for the record; null when it is none of them. */
  epochOf(recordId: string, key: ItemKey): number | null;
  /** The record id, encrypted so that it is the same each time and only we can read it. */
  locator(recordId: string): string;
  /** The record id of a locator; null when it is not one of ours for this target. */
  recordIdOf(locator: string): string | null;
  /** Keyed hash of an item's content: 16 characters that tell items apart and 5 that hint at the field that differs. */
  fingerprint(item: CalendarItem): string;
}

/** @param identityKey the installation's identity key, 32 bytes, never changed */
export function createTargetIdentity(identityKey: Uint8Array, tenant: string, target: string): TargetIdentity {
  // Key objects: a hash under plain bytes makes one anew each time, which costs five times the hash itself.
  const derive = (purpose: string) =>
    createSecretKey(
      Buffer.from(hkdfSync('sha256', identityKey, `${tenant}/${target}`, `clinic-mirror ${purpose}`, 32)),
    );
  const nameKey = derive('names');
  const locatorKey = derive('locators');
  const locatorNonceKey = derive('locator nonces');
  const fingerprintKey = derive('fingerprints');
  const key = (recordId: string, epoch: number) =>
    base32hex(hmac(nameKey, JSON.stringify(['appointments', recordId, epoch])).subarray(0, KEY_BYTES));
  return {
    mark: base32hex(hmac(nameKey, 'mark').subarray(0, MARK_BYTES)),
    key,
    epochOf: (recordId, candidate) => {
      for (let epoch = 0; epoch <= HIGHEST_EPOCH; epoch += 1) if (key(recordId, epoch) === candidate) return epoch;
      return null;
    },
    locator: (recordId) => encryptLocator(recordId, locatorKey, locatorNonceKey),
    recordIdOf: (locator) => decryptLocator(locator, locatorKey),
    fingerprint: (item) => fingerprint(item, fingerprintKey),
  };
}

/** Names of the fields that differ between the items behind two fingerprints; a field is missed once in 64 times. */
export function differingFields(before: string, after: string): string[] {
  const differing = FIELDS.filter((_, index) => before.at(-FIELDS.length + index) !== after.at(-FIELDS.length + index));
  return [...differing];
}

function fingerprint(item: CalendarItem, key: KeyObject): string {
  const values = FIELDS.map((field) => canonical(item[field]));
  const whole = hmac(key, JSON.stringify(values)).toString('base64url').slice(0, 16);
  const hints = values.map((value, index) => hmac(key, `${index}:${value}`).toString('base64url').slice(0, 1));
  return whole + hints.join('');
}

function canonical(value: unknown): string {
  if (typeof value !== 'object' || value === null) return JSON.stringify(value);
  return JSON.stringify(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1)));
}

/** The nonce is a keyed hash of the content, so equal record ids give equal locators and no nonce meets two contents. */
function encryptLocator(recordId: string, key: KeyObject, nonceKey: KeyObject): string {
  const nonce = hmac(nonceKey, recordId).subarray(0, NONCE_BYTES);
  const cipher = createCipheriv('aes-256-gcm', key, nonce);
  const ciphertext = Buffer.concat([cipher.update(recordId, 'utf8'), cipher.final()]);
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]).toString('base64url');
}

function decryptLocator(locator: string, key: KeyObject): string | null {
  const bytes = Buffer.from(locator, 'base64url');
  if (bytes.length <= NONCE_BYTES + TAG_BYTES) return null;
  const decipher = createDecipheriv('aes-256-gcm', key, bytes.subarray(0, NONCE_BYTES), { authTagLength: TAG_BYTES });
  try {
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    return null;
  }
}

function hmac(key: KeyObject, text: string): Buffer {
  return createHmac('sha256', key).update(text).digest();
}
