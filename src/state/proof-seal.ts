import { createSealer, type Sealer } from './sealing.ts';

/**
 * Seals what the daemon decides by, under a key that comes of the identity key, which never changes: who can write into Redis alone makes
 * none of it, and a new sealing key loses none.
 * @param owner a tenant; in braces, which no tenant's id can hold, what belongs to none
 */
export function createProofSealer(identityKey: Uint8Array, owner: string): Sealer {
  return createSealer([{ id: 'identity', key: identityKey }], owner);
}
