import { createHash } from 'node:crypto';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import type { Sealer } from './sealing.ts';

/** To which account of a provider (its `sub`) an address belongs: the first one that signed in with it, verified. */
export interface KnownAccounts {
  /** Accounts of those addresses that belong to one. @param addresses in small letters */
  ofAddresses(issuer: string, addresses: readonly string[]): Promise<Map<string, string>>;
  /** Gives an address to an account, unless it belongs to one. @returns whose it is now */
  claim(issuer: string, address: string, subject: string): Promise<string>;
  /** The next account that signs in with it gets it. @returns whether it belonged to one */
  release(issuer: string, address: string): Promise<boolean>;
}

/** Opens what is known of accounts, sealed at its place. Addresses are kept as hashes. */
export function createKnownAccounts(redis: RedisClient, sealer: Sealer): KnownAccounts {
  const table = keys.knownAccounts();
  const fieldOf = (issuer: string, address: string) =>
    createHash('sha256')
      .update(JSON.stringify([issuer, address]))
      .digest('base64url');
  const contextOf = (field: string) => `${table} ${field}`;
  return {
    async ofAddresses(issuer, addresses) {
      if (addresses.length === 0) return new Map();
      const fields = addresses.map((address) => fieldOf(issuer, address));
      const sealed = await redis.hmget(table, ...fields);
      const known = addresses.flatMap((address, index) => {
        const value = sealed[index] ?? null;
        return value === null ? [] : [[address, sealer.open(value, contextOf(fields[index] ?? ''))] as const];
      });
      return new Map(known);
    },
    async claim(issuer, address, subject) {
      const field = fieldOf(issuer, address);
      const isNew = await redis.hsetnx(table, field, sealer.seal(subject, contextOf(field)));
      if (isNew === 1) return subject;
      return sealer.open((await redis.hget(table, field)) ?? '', contextOf(field));
    },
    release: async (issuer, address) => (await redis.hdel(table, fieldOf(issuer, address))) === 1,
  };
}
