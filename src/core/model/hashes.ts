import { createHmac, createPrivateKey, createSecretKey, hash, hkdfSync, type KeyObject } from 'node:crypto';
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

/** Block and digest of SHA-256 in bytes (FIPS 180-4). */
const BLOCK_BYTES = 64;
const DIGEST_BYTES = 32;
/** RFC 2104 section 2. */
const INNER_PAD = 0x36;
const OUTER_PAD = 0x5c;
/** Node's HMAC hashes longer texts; for them, its start does not matter. */
const LONGEST_SHORT_TEXT = 1_000;
const MOST_BYTES_OF_CHARACTER = 3;
/** Inputs of the two hashes of a text, shared by all keys: thousands of targets have keys. */
const INNER = Buffer.alloc(BLOCK_BYTES + LONGEST_SHORT_TEXT * MOST_BYTES_OF_CHARACTER);
const OUTER = Buffer.alloc(BLOCK_BYTES + DIGEST_BYTES);

/** Returns the digest of a text in UTF-8; `binary` has one character for each byte. */
export type KeyedHash = (text: string, encoding: 'base64url' | 'binary') => string;

/**
 * Creates HMAC-SHA-256 (RFC 2104) with a constant key. Node's HMAC starts an object for each text, which takes longer than both hashes of a
 * short text.
 * @param key at most 64 bytes
 */
export function keyedHash(key: () => KeyObject): KeyedHash {
  const padded = lazily(() => {
    const bytes = key().export();
    return [INNER_PAD, OUTER_PAD].map((pad) =>
      Buffer.alloc(BLOCK_BYTES, pad).map((byte, at) => byte ^ (bytes[at] ?? 0)),
    );
  });
  return (text, encoding) => {
    if (text.length > LONGEST_SHORT_TEXT) return createHmac('sha256', key()).update(text).digest(encoding);
    const [inner, outer] = padded() as [Uint8Array, Uint8Array];
    INNER.set(inner);
    OUTER.set(outer);
    const end = BLOCK_BYTES + INNER.write(text, BLOCK_BYTES);
    OUTER.write(hash('sha256', INNER.subarray(0, end), 'binary'), BLOCK_BYTES, 'latin1');
    return hash('sha256', OUTER, encoding);
  };
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
