import { createSealer, type Sealer } from './sealing.ts';

/** Not a tenant's id, which can't hold braces. */
const OWNER = '{access}';

/**
 * Seals what lets administrators in, under a key that comes of the identity key, which never changes: who can write into Redis alone makes
 * no session, token or passphrase, and a new sealing key locks nobody out.
 */
export function createAccessSealer(identityKey: Uint8Array): Sealer {
  return createSealer([{ id: 'identity', key: identityKey }], OWNER);
}
