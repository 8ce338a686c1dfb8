import { createPrivateKey, createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { lazily } from './cache.ts';

/**
 * Derives a key of 32 bytes for one purpose of one owner (HKDF with SHA-256, RFC 5869) at first use, because a tenant uses few of its keys.
 * Returns a key object: Node converts plain bytes at each use, which costs more than the use.
 * @param key the installation's key, 32 bytes
 */
export function derivedKey(key: Uint8Array, owner: string, purpose: string): () => KeyObject {
  return lazily(() =>
    createSecretKey(Buffer.from(hkdfSync('sha256', createSecretKey(key), owner, `clinic-mirror ${purpose}`, 32))),
  );
}

/** DER of an Ed25519 private key in PKCS #8, before its seed of 32 bytes (RFC 8410 section 7). */
const ED25519_PKCS8 = Buffer.from('302e020100300506032b657004220420', 'hex');

/** Derives a private Ed25519 key, constant for the installation's key and purpose. Its seed is a {@link derivedKey}. */
export function derivedSigningKey(key: Uint8Array, owner: string, purpose: string): () => KeyObject {
  const seed = derivedKey(key, owner, purpose);
  return lazily(() =>
    createPrivateKey({ key: Buffer.concat([ED25519_PKCS8, seed().export()]), format: 'der', type: 'pkcs8' }),
  );
}

/** RFC 4648 section 7 in lower case, as Google allows in an event id. */
const BASE32HEX = '0123456789abcdefghijklmnopqrstuv';

/** Returns bytes as base32hex in lower case without padding: 32 characters for 20 bytes. */
export function base32hex(bytes: Uint8Array): string {
  let text = '';
  let bits = 0;
  let buffer = 0;
  for (const byte of bytes) {
    buffer = (buffer << 8) | byte;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += BASE32HEX[(buffer >> bits) & 31];
    }
    buffer &= (1 << bits) - 1;
  }
  return bits === 0 ? text : text + BASE32HEX[(buffer << (5 - bits)) & 31];
}

/** Returns the 32-bit FNV-1a hash of the UTF-16 code units, which spreads names evenly and is identical on each host. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash;
}
