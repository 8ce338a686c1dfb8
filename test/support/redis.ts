import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, inject } from 'vitest';
import { type PrivateRedis, type StartRedisOptions, startRedis } from '../../tools/redis.ts';
import { OneSlotRedis } from './one-slot-redis.ts';

/** A Redis for one test file (or one `describe`), empty at the start of each test. */
export interface TestRedis {
  /** @throws before the tests have begun */
  readonly url: string;
  readonly port: number;
  /** Where its data lies: the append-only file is below. */
  readonly dir: string;
  /** A new connection, fit for BullMQ, that refuses what a cluster would. Closed after the last test. */
  connect(): Redis;
  /** Puts a key in the place of another one, of another tenant too, as no command of ours could. */
  move(from: string, to: string): Promise<void>;
  /** Ends the server as a crash would (SIGKILL). The next test gets a running one again. */
  crash(): Promise<void>;
  /** Starts a server at the same address with the data that the last one left. */
  startAgain(): Promise<void>;
}

/**
 * Gives the test file a Redis of its own. Call it at the top of the file or of a `describe`:
 *
 *     const redis = useRedis();
 *     test('…', async () => { const connection = redis.connect(); … });
 */
export function useRedis(options: Pick<StartRedisOptions, 'appendOnly'> = {}): TestRedis {
  // Each holds the folder of the data or serves from it: the first one's stop() removes it.
  const servers: PrivateRedis[] = [];
  const connections: Redis[] = [];
  const server = () => {
    const running = servers.at(-1);
    if (running === undefined) throw new Error('the Redis of useRedis() exists in tests and hooks only');
    return running;
  };
  let hasCrashed = false;
  const start = async (place: Pick<StartRedisOptions, 'port' | 'dir'> = {}) => {
    servers.push(await startRedis({ ...options, ...place, server: inject('redisServer') }));
    hasCrashed = false;
  };
  const startAgain = () => {
    const { port, dir } = server();
    return start({ port, dir });
  };

  beforeAll(() => start());
  beforeEach(async () => {
    if (hasCrashed) await startAgain();
    const connection = new Redis(server().url);
    await connection.flushall();
    connection.disconnect();
  });
  afterAll(async () => {
    for (const connection of connections) connection.disconnect();
    for (const each of servers.splice(0).reverse()) await each.stop();
  });

  return {
    get url() {
      return server().url;
    },
    get port() {
      return server().port;
    },
    get dir() {
      return server().dir;
    },
    connect() {
      const connection = new OneSlotRedis(server().url, { maxRetriesPerRequest: null });
      // While the server is down on purpose, a connection reports each attempt here.
      connection.on('error', () => {});
      connections.push(connection);
      return connection;
    },
    async move(from, to) {
      const connection = new Redis(server().url);
      await connection.rename(from, to);
      connection.disconnect();
    },
    async crash() {
      hasCrashed = true;
      await server().crash();
    },
    startAgain,
  };
}
