import { SECOND_MS } from '../model/time.ts';
import type { RedisClient } from './redis.ts';

/** With `appendfsync everysec` the disk takes at most about two seconds. */
const PATIENCE_MS = 5 * SECOND_MS;

/**
 * How safe a write is:
 * - `durable`: on the disk of this Redis, and known to as many replicas as were asked for;
 * - `unsupported`: this Redis can't tell (older than 7.2, or a managed one that refuses WAITAOF); its replicas have it;
 * - `late`: the disk or a replica did not confirm it in time. It may be lost yet.
 */
export type Durability = 'durable' | 'unsupported' | 'late';

/** Waits until what was written over a connection, and everything that Redis took before, can't be lost any more. */
export type AwaitDurable = () => Promise<Durability>;

/**
 * @param writer the connection that wrote; whatever else is sent over it waits meanwhile, so it should have nothing else to do
 * @param options.replicas how many replicas must have it; null: one, if any is connected at that moment
 * @returns a function that throws what Redis throws when it does not answer
 */
export function createAwaitDurable(
  writer: RedisClient,
  { replicas, patienceMs = PATIENCE_MS }: { replicas: number | null; patienceMs?: number },
): AwaitDurable {
  let tells = true;
  return async () => {
    const wanted = replicas ?? (await oneIfConnected(writer));
    const reached = wanted === 0 ? 0 : Number(await writer.call('WAIT', wanted, patienceMs));
    if (reached < wanted) return 'late';
    if (!tells) return 'unsupported';
    try {
      const [onDisk] = (await writer.call('WAITAOF', 1, 0, patienceMs)) as [number, number];
      return onDisk === 1 ? 'durable' : 'late';
    } catch (error) {
      if (!isRefused(error)) throw error;
      tells = false;
      return 'unsupported';
    }
  };
}

/** The command is unknown, forbidden, or this Redis keeps no append-only file; the start says so. */
function isRefused(error: unknown): boolean {
  return error instanceof Error && /unknown command|cannot be used|no permission/i.test(error.message);
}

async function oneIfConnected(redis: RedisClient): Promise<number> {
  const info = await redis.info('replication');
  return /^slave\d+:.*\bstate=online\b/m.test(info) ? 1 : 0;
}
