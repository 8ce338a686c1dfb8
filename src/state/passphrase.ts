import { randomBytes, scrypt, timingSafeEqual } from 'node:crypto';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import type { Sealer } from './sealing.ts';

/** The passphrase of the owner, of which a hash is kept. */
export interface PassphraseStore {
  isSet(): Promise<boolean>;
  /** False too where none was set. */
  fits(passphrase: string): Promise<boolean>;
  set(passphrase: string): Promise<void>;
}

/** What a guess costs, by the parameters of scrypt (RFC 7914). */
export interface HashCost {
  N: number;
  r: number;
  p: number;
}

/** 32 MB and a tenth of a second (OWASP Password Storage Cheat Sheet, scrypt: N 2^15, r 8, p 3). */
const COST: HashCost = { N: 2 ** 15, r: 8, p: 3 };
/** What Node must allow for it: 128 bytes × N × r, and a little. */
const MAX_MEMORY_BYTES = 64 * 2 ** 20;
const HASH_BYTES = 32;

interface Stored {
  salt: string;
  hash: string;
  cost: HashCost;
}

/** Opens what is kept of the passphrase; who can write into Redis alone sets none. @param ownCost of what is set from now on */
export function createPassphraseStore(redis: RedisClient, sealer: Sealer, ownCost: HashCost = COST): PassphraseStore {
  const key = keys.passphrase();
  return {
    isSet: async () => (await redis.exists(key)) === 1,
    async fits(passphrase) {
      const sealed = await redis.get(key);
      if (sealed === null) return false;
      const { salt, hash, cost } = JSON.parse(sealer.open(sealed, key)) as Stored;
      const given = await hashOf(passphrase, Buffer.from(salt, 'base64url'), cost);
      return timingSafeEqual(given, Buffer.from(hash, 'base64url'));
    },
    async set(passphrase) {
      const salt = randomBytes(16);
      const hash = await hashOf(passphrase, salt, ownCost);
      const stored: Stored = { salt: salt.toString('base64url'), hash: hash.toString('base64url'), cost: ownCost };
      await redis.set(key, sealer.seal(JSON.stringify(stored), key));
    },
  };
}

/** However it was typed: the same letters may be written in several ways (NFKC, as NIST SP 800-63B-4 section 3.1.1.2 asks). */
function hashOf(passphrase: string, salt: Buffer, cost: HashCost): Promise<Buffer> {
  const text = passphrase.normalize('NFKC');
  return new Promise((resolve, reject) => {
    scrypt(text, salt, HASH_BYTES, { ...cost, maxmem: MAX_MEMORY_BYTES }, (error, hash) =>
      error === null ? resolve(hash) : reject(error),
    );
  });
}
