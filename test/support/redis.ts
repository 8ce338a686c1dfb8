import { Redis } from 'ioredis';
import { afterAll, beforeAll, beforeEach, expect, inject, vi } from 'vitest';
import { type PrivateRedis, type StartRedisOptions, startRedis } from '../../tools/redis.ts';
import { OneSlotRedis } from './one-slot-redis.ts';
import { timeOfTests } from './redis-date.ts';
import { DAEMON, refusedCommands, TESTER, type UsersFile, writeUsersFile } from './redis-users.ts';
import { machineNow } from './shifted-date.ts';

/** What a test file chooses of its Redis. */
interface TestRedisOptions extends Pick<StartRedisOptions, 'appendOnly'> {
  /** Preserves data between tests, for tests with a shared state. */
  isStored?: boolean;
}

/** A Redis for one test file (or one `describe`), empty before each test. */
export interface TestRedis {
  /**
   * For the product: of the user that we ship, who may do what the daemon needs. Whatever was refused to it fails the file's last test.
   * @throws before the tests have begun
   */
  readonly url: string;
  readonly port: number;
  /** Where its data lies: the append-only file is below. */
  readonly dir: string;
  /** A new connection that may do anything, fit for BullMQ, and refuses what a cluster would. Closed after the last test. */
  connect(): Redis;
  /** Renames a key to another key, also of another tenant. No command of clinic-mirror can do this. */
  move(from: string, to: string): Promise<void>;
  /** Ends the server as a crash would (SIGKILL). The next test gets a running one again. */
  crash(): Promise<void>;
  /** Starts a server with the same port and data. */
  startAgain(): Promise<void>;
}

/**
 * Gives the test file a private Redis. Call it at the top of the file or of a `describe`:
 *
 *     const redis = useRedis();
 *     test('…', async () => { const connection = redis.connect(); … });
 */
export function useRedis({ isStored = false, ...options }: TestRedisOptions = {}): TestRedis {
  // Each holds the folder of the data or serves from it: the first one's stop() removes it.
  const servers: PrivateRedis[] = [];
  const connections: Redis[] = [];
  const server = () => {
    const running = servers.at(-1);
    if (running === undefined) throw new Error('the Redis of useRedis() exists in tests and hooks only');
    return running;
  };
  let hasCrashed = false;
  let users: UsersFile | null = null;
  const start = async (place: Pick<StartRedisOptions, 'port' | 'dir'> = {}) => {
    const program = inject('redisServer');
    users ??= await writeUsersFile(program);
    servers.push(await startRedis({ ...options, ...place, settings: { aclfile: users.file }, server: program }));
    hasCrashed = false;
  };
  const startAgain = () => {
    const { port, dir } = server();
    return start({ port, dir });
  };

  beforeAll(() => start());
  beforeEach(async () => {
    vi.spyOn(Redis.prototype, 'time').mockImplementation(timeOfTests(Date.now() - machineNow()));
    if (hasCrashed) await startAgain();
    if (!isStored) await asked(server(), (connection) => connection.flushall());
  });
  afterAll(async () => {
    for (const connection of connections) connection.disconnect();
    const refused = hasCrashed ? [] : await asked(server(), refusedCommands);
    // The data is no longer needed. A regular shutdown of Redis would cost a tenth of a second per file.
    for (const each of servers.splice(0).reverse()) await each.crash().then(() => each.stop());
    await users?.remove();
    expect(refused, 'commands that config/redis-users.acl refuses to the daemon').toEqual([]);
  });

  return {
    get url() {
      const { port } = server();
      return `redis://${DAEMON.username}:${DAEMON.password}@127.0.0.1:${port}`;
    },
    get port() {
      return server().port;
    },
    get dir() {
      return server().dir;
    },
    connect() {
      const connection = new OneSlotRedis({ port: server().port, ...TESTER, maxRetriesPerRequest: null });
      // While the server is down on purpose, a connection reports each attempt here.
      connection.on('error', () => {});
      connections.push(connection);
      return connection;
    },
    async move(from, to) {
      await asked(server(), (connection) => connection.rename(from, to));
    },
    async crash() {
      hasCrashed = true;
      await server().crash();
    },
    startAgain,
  };
}

/** Sends a request on a separate connection with all permissions. */
async function asked<Answer>({ port }: PrivateRedis, question: (redis: Redis) => Promise<Answer>): Promise<Answer> {
  const connection = new Redis({ port, ...TESTER });
  try {
    return await question(connection);
  } finally {
    connection.disconnect();
  }
}
