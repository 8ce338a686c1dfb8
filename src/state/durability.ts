import type { Redis } from 'ioredis';
import { SECOND_MS } from '../model/time.ts';
import { type RedisClient, serverOf } from './redis.ts';

/** With `appendfsync everysec` the disk takes at most about two seconds. */
const PATIENCE_MS = 5 * SECOND_MS;

/**
 * How safe a write is:
 * - `durable`: on the disk of this Redis, and known to as many replicas as were asked for;
 * - `unsupported`: this Redis can't tell (older than 7.2, or a managed one that refuses WAITAOF); its replicas have it;
 * - `late`: the disk or a replica did not confirm it in time. It may be lost yet.
 */
export type Durability = 'durable' | 'unsupported' | 'late';

/**
 * Waits until a key that was written over a connection, and everything that its server took before, can't be lost any more. A server
 * that takes over meanwhile answers for what it has, not for what was written to the one before.
 */
export type AwaitDurable = (key: string) => Promise<Durability>;

/**
 * @param writer the connection that wrote; whatever else is sent over it waits meanwhile, so it should have nothing else to do
 * @param options.replicas how many replicas must have it; null: one, if any is connected at that moment
 * @returns a function that throws what Redis throws when it does not answer
 */
export function createAwaitDurable(
  writer: RedisClient,
  { replicas, patienceMs = PATIENCE_MS }: { replicas: number | null; patienceMs?: number },
): AwaitDurable {
  let supportsDiskWait = true;
  return async (key) => {
    const server = serverOf(writer, key);
    const wanted = replicas ?? (await oneIfConnected(server));
    const reached = wanted === 0 ? 0 : Number(await server.call('WAIT', wanted, patienceMs));
    if (reached < wanted) return 'late';
    if (!supportsDiskWait) return 'unsupported';
    try {
      const [onDisk] = (await server.call('WAITAOF', 1, 0, patienceMs)) as [number, number];
      return onDisk === 1 ? 'durable' : 'late';
    } catch (error) {
      if (!isRefused(error)) throw error;
      supportsDiskWait = false;
      return 'unsupported';
    }
  };
}

/** The command is unknown, forbidden, or this Redis keeps no append-only file; the start says so. */
function isRefused(error: unknown): boolean {
  return error instanceof Error && /unknown command|cannot be used|no permission/i.test(error.message);
}

async function oneIfConnected(redis: Redis): Promise<number> {
  const info = await redis.info('replication');
  return /^slave\d+:.*\bstate=online\b/m.test(info) ? 1 : 0;
}
