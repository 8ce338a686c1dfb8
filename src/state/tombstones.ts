import { createHmac, createSecretKey, hkdfSync } from 'node:crypto';
import type { Instant } from '../model/time.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** Patients whom an operator had forgotten. Kept as keyed hashes: nobody can read them back, and none comes back by the next pull. */
export interface TombstoneStore {
  add(patientId: string, at: Instant): Promise<void>;
  /** Ends a tombstone: the patient is followed again. @returns whether there was one */
  remove(patientId: string): Promise<boolean>;
  /** Tells of each patient whether they are forgotten, as of now. */
  load(): Promise<(patientId: string) => boolean>;
  count(): Promise<number>;
}

/**
 * Opens the tombstones of a tenant.
 * @param tenant the id under which its objects were first written, so that a renamed tenant keeps its tombstones' names
 * @param identityKey the installation's identity key, 32 bytes; with another one nobody would be forgotten any more
 */
export function createTombstoneStore(redis: RedisClient, tenant: string, identityKey: Uint8Array): TombstoneStore {
  const key = createSecretKey(Buffer.from(hkdfSync('sha256', identityKey, tenant, 'clinic-mirror tombstones', 32)));
  const nameOf = (patientId: string) => createHmac('sha256', key).update(patientId).digest('base64url');
  const table = keys.tombstones(tenant);
  return {
    async add(patientId, at) {
      await redis.hset(table, nameOf(patientId), at);
    },
    async remove(patientId) {
      return (await redis.hdel(table, nameOf(patientId))) === 1;
    },
    async load() {
      const names = new Set(await redis.hkeys(table));
      return (patientId) => names.size > 0 && names.has(nameOf(patientId));
    },
    count: () => redis.hlen(table),
  };
}
