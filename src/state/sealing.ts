import { createCipheriv, createDecipheriv, type KeyObject, randomBytes } from 'node:crypto';
import { message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';
import { derivedKey } from '../model/hashes.ts';

const FORMAT = 's1';
const NONCE_BYTES = 12;
const TAG_BYTES = 16;
const NONCES_AT_ONCE = 64;

/** A key for sealing: 32 bytes and the id that sealed values name it by (`[a-z0-9-]`). */
export interface SealingKey {
  id: string;
  key: Uint8Array;
}

/** Seals and opens values of one tenant. `context` is what the value belongs to: it opens under no other. */
export interface Sealer {
  seal(plaintext: string, context: string): string;
  /** @throws MirrorError `settings` when the key is unknown, `contract` when the value was changed or moved */
  open(sealed: string, context: string): string;
  /** Whether the value was sealed with another key than the active one. */
  isStale(sealed: string): boolean;
}

/**
 * AES-256-GCM with a key per tenant, derived by HKDF-SHA256 from the ring's keys. The first key of the ring seals, all open:
 * a key is rotated by putting a new one first and removing the old one when nothing is stale any more.
 * A sealed value reads `s1.<key id>.<base64url of nonce, tag and ciphertext>`; tenant and context are its associated data.
 */
export function createSealer(ring: readonly SealingKey[], tenant: string): Sealer {
  const derived = new Map(ring.map(({ id, key }) => [id, derivedKey(key, tenant, 'sealing')]));
  const nonce = createNonces();
  const active = ring[0];
  if (active === undefined) {
    throw new MirrorError('no sealing key is configured', {
      actor: 'settings',
      code: 'no-sealing-key',
      retry: 'never',
    });
  }
  return {
    seal(plaintext, context) {
      const associated = `${active.id}/${tenant}/${context}`;
      const payload = encrypt(plaintext, requireKey(derived, active.id), nonce(), associated);
      return `${FORMAT}.${active.id}.${payload.toString('base64url')}`;
    },
    open: (sealed, context) => open(sealed, derived, `${tenant}/${context}`),
    isStale: (sealed) => !sealed.startsWith(`${FORMAT}.${active.id}.`),
  };
}

/**
 * Seals what the daemon decides by, under a key that comes of the identity key, which never changes: who can write into Redis alone makes
 * none of it, and a new sealing key loses none.
 * @param owner a tenant; in braces, which no tenant's id can hold, what belongs to none
 */
export function createProofSealer(identityKey: Uint8Array, owner: string): Sealer {
  return createSealer([{ id: 'identity', key: identityKey }], owner);
}

/** Seals what lets administrators in: who can write into Redis alone makes no session, token or passphrase. */
export const createAccessSealer = (identityKey: Uint8Array) => createProofSealer(identityKey, '{access}');

/** What a sealed value holds; null where it does not open: it is not ours, was changed or moved, or its key is not configured here. */
export function openSealed<Content>(sealer: Sealer, sealed: string, context: string): Content | null {
  try {
    return JSON.parse(sealer.open(sealed, context)) as Content;
  } catch (error) {
    if (error instanceof MirrorError) return null;
    throw error;
  }
}

/** Whether a sealed value was made by us for this context, whatever it holds. */
export function opens(sealer: Sealer, sealed: string, context: string): boolean {
  return openSealed<unknown>(sealer, sealed, context) !== null;
}

function requireKey(derived: ReadonlyMap<string, () => KeyObject>, id: string): KeyObject {
  const key = derived.get(id);
  if (key !== undefined) return key();
  throw new MirrorError(`a stored value was sealed with the key "${id}", which is not configured`, {
    actor: 'settings',
    code: 'sealing-key-unknown',
    retry: 'never',
    remedy: 'add the old key to secrets.sealingKeys after the active one',
  });
}

/** Random nonces, drawn many at once: one alone costs as much as sealing with it. */
function createNonces(): () => Uint8Array {
  let drawn = Buffer.alloc(0);
  return () => {
    if (drawn.length === 0) drawn = randomBytes(NONCES_AT_ONCE * NONCE_BYTES);
    const nonce = drawn.subarray(0, NONCE_BYTES);
    drawn = drawn.subarray(NONCE_BYTES);
    return nonce;
  };
}

function encrypt(plaintext: string, key: KeyObject, nonce: Uint8Array, associated: string): Buffer {
  const cipher = createCipheriv('aes-256-gcm', key, nonce).setAAD(Buffer.from(associated));
  const ciphertext = cipher.update(plaintext, 'utf8');
  // In this mode nothing is left for the end (NIST SP 800-38D).
  cipher.final();
  return Buffer.concat([nonce, cipher.getAuthTag(), ciphertext]);
}

function open(sealed: string, derived: ReadonlyMap<string, () => KeyObject>, associated: string): string {
  const [format, keyId, payload] = sealed.split('.');
  if (format !== FORMAT || keyId === undefined || payload === undefined) throw unreadable();
  const bytes = Buffer.from(payload, 'base64url');
  if (bytes.length < NONCE_BYTES + TAG_BYTES) throw unreadable();
  const decipher = createDecipheriv('aes-256-gcm', requireKey(derived, keyId), bytes.subarray(0, NONCE_BYTES), {
    authTagLength: TAG_BYTES,
  }).setAAD(Buffer.from(`${keyId}/${associated}`));
  try {
    decipher.setAuthTag(bytes.subarray(NONCE_BYTES, NONCE_BYTES + TAG_BYTES));
    return decipher.update(bytes.subarray(NONCE_BYTES + TAG_BYTES), undefined, 'utf8') + decipher.final('utf8');
  } catch {
    throw unreadable();
  }
}

function unreadable(): MirrorError {
  return new MirrorError(message('seal-broken'), {
    actor: 'contract',
    code: 'seal-broken',
    retry: 'never',
    remedy: message('sealing-key-changed.remedy'),
  });
}
