import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { lazily } from './cache.ts';

/**
 * A key of 32 bytes for one purpose of one owner (HKDF with SHA-256, RFC 5869), made when it is first needed: a tenant that is opened
 * needs few of its own. Key objects, since plain bytes are made into one with each use, which costs more than the use.
 * @param key the installation's key that it is derived from, 32 bytes
 */
export function derivedKey(key: Uint8Array, owner: string, purpose: string): () => KeyObject {
  return lazily(() =>
    createSecretKey(Buffer.from(hkdfSync('sha256', createSecretKey(key), owner, `clinic-mirror ${purpose}`, 32))),
  );
}

/** RFC 4648 section 7, lower case: what Google allows in an event id. */
const BASE32HEX = '0123456789abcdefghijklmnopqrstuv';

/** Bytes as base32hex in lower case, without padding: 20 bytes give 32 characters. */
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

/** FNV-1a of 32 bits over a text's UTF-16 code units: spreads names evenly, and is the same everywhere. */
export function fnv1a(text: string): number {
  let hash = 0x811c9dc5;
  for (let index = 0; index < text.length; index += 1) {
    hash = Math.imul(hash ^ text.charCodeAt(index), 0x01000193) >>> 0;
  }
  return hash;
}
