import { createProofSealer } from './proof-seal.ts';
import type { Sealer } from './sealing.ts';

/** Seals what lets administrators in: who can write into Redis alone makes no session, token or passphrase. */
export function createAccessSealer(identityKey: Uint8Array): Sealer {
  return createProofSealer(identityKey, '{access}');
}
