import type { Redis } from 'ioredis';

/** Everything that a Redis holds, with what is left of each key's life. */
export type StoredState = readonly { key: Buffer; value: Buffer; lifeMs: number }[];

/** Takes a copy of all that a Redis holds now. */
export async function copyState(redis: Redis): Promise<StoredState> {
  const stored: { key: Buffer; value: Buffer; lifeMs: number }[] = [];
  for (const key of (await redis.callBuffer('KEYS', '*')) as Buffer[]) {
    const value = (await redis.callBuffer('DUMP', key)) as Buffer | null;
    if (value !== null) stored.push({ key, value, lifeMs: Math.max(0, await redis.pttl(key)) });
  }
  return stored;
}

/**
 * Lets a Redis go back to a copy in one step: what it learned since is lost, as when a replica or a backup takes over.
 * @param redis a connection that may touch all keys at once
 */
export async function goBackTo(redis: Redis, stored: StoredState): Promise<void> {
  const steps = redis.multi().flushall();
  for (const { key, value, lifeMs } of stored) steps.restore(key, lifeMs, value);
  await steps.exec();
}
