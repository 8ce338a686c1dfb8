import type { Redis } from 'ioredis';
import { slices } from '../core/model/pieces.ts';
import type { StorageUse } from '../core/model/state-schemas.ts';
import { DAY_MS, type Instant } from '../core/model/time.ts';
import { openNumber } from './damaged.ts';
import { keys, keysOfTenant, tenantOfKey } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { increase, keyPagesLike, sendAll } from './script.ts';

/** Count of a tenant's memory in Redis. Lacks keys outside the tenant's hash tag: jobs, budgets, answer links and subscriptions. */
export interface TenantStorage {
  read(): Promise<StorageUse>;
  /** Adds an estimate until the next count. */
  add(bytes: number): Promise<void>;
  /** Counts now. Reads the names of all keys in Redis. */
  count(now: Instant): Promise<void>;
}

/** A count that no daemon repeats expires, and so does the count of a removed tenant. */
const COUNT_LIFE_MS = DAY_MS;
/** Values that Redis examines of a large key. Smaller keys are exact. */
const SAMPLES = 50;
const TENANTS_AT_ONCE = 100;

/** Opens the count of a tenant. */
export function createTenantStorage(redis: RedisClient, tenant: string, limitBytes: number): TenantStorage {
  const key = keys.storage(tenant);
  return {
    async read() {
      const [bytes, added, at] = await redis.hmget(key, 'bytes', 'added', 'at');
      const number = (stored: string | null | undefined) => openNumber(stored, { owner: tenant, kind: 'storage' });
      return { bytes: number(bytes), addedBytes: number(added) ?? 0, countedAt: number(at), limitBytes };
    },
    async add(bytes) {
      await increase(redis, key, [['added', bytes]], COUNT_LIFE_MS);
    },
    async count(now) {
      const sizes = new KeySizes();
      for await (const { server, names } of keyPagesLike(redis, keysOfTenant(tenant))) await sizes.add(server, names);
      await recordSizes(redis, [tenant], sizes, now);
    },
  };
}

/** Sums of the memory of keys by tenant. Without the permission for `MEMORY USAGE`, all are unknown. */
export class KeySizes {
  readonly #byTenant = new Map<string, number>();
  #canMeasure = true;

  async add(server: Redis, names: readonly string[]): Promise<void> {
    if (this.#canMeasure) await Promise.all(names.map((name) => this.#addOne(server, name)));
  }

  async #addOne(server: Redis, name: string): Promise<void> {
    const tenant = tenantOfKey(name);
    if (tenant === null) return;
    try {
      const bytes = (await server.memory('USAGE', name, 'SAMPLES', SAMPLES)) ?? 0;
      this.#byTenant.set(tenant, (this.#byTenant.get(tenant) ?? 0) + bytes);
    } catch (error) {
      // A key that moves to another server is counted the next time.
      if (!(error instanceof Error && /^(MOVED|ASK) /.test(error.message))) this.#canMeasure = false;
    }
  }

  /** @returns null: unknown */
  of(tenant: string): number | null {
    return this.#canMeasure ? (this.#byTenant.get(tenant) ?? 0) : null;
  }
}

/** Stores the counts of tenants. An unknown count also ends the estimate, which would otherwise only grow. */
export async function recordSizes(
  redis: RedisClient,
  tenants: Iterable<string>,
  sizes: KeySizes,
  now: Instant,
): Promise<void> {
  for (const some of slices([...tenants], TENANTS_AT_ONCE)) {
    const record = (tenant: string) => {
      const count = { bytes: sizes.of(tenant) ?? '', added: 0, at: now };
      const key = keys.storage(tenant);
      return sendAll(redis.pipeline().hset(key, count).pexpire(key, COUNT_LIFE_MS));
    };
    await Promise.all(some.map(record));
  }
}
