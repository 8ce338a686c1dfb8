import { createSecretKey, hkdfSync, type KeyObject } from 'node:crypto';
import { lazily } from './lazily.ts';

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
