import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Redis } from 'ioredis';
import { type PrivateRedis, startRedis } from '../../../tools/redis.ts';
import type { ServerCommand } from '../../../tools/server-command.ts';

/** Where the daemons keep their state. */
export interface RedisHouse {
  /** The section `redis` of the daemons' settings. */
  readonly settings: object;
  /** Of the one server that daemons reach through their gates; 0 where they find several by themselves. */
  readonly port: number;
  /** Every key and value. */
  dump(): Promise<string>;
  /** Refuses every write until it is told otherwise. */
  setFull(full: boolean): Promise<void>;
  /** A replica follows from now on. */
  addReplica(): Promise<void>;
  /** The replica hears nothing more. */
  cutReplica(): Promise<void>;
  /** The replica takes over, the first server dies. @returns false when there is none */
  failOver(): Promise<boolean>;
  close(): Promise<void>;
}

/** One server, that can be lost, found and put back. */
export interface LoneRedis extends RedisHouse {
  /** It ends as in a crash and comes back with what its file holds. */
  restart(): Promise<void>;
  /** Remembers its file as it is now. */
  keepCopy(): Promise<void>;
  /** Comes back with the file that was remembered. @returns false when none was */
  goBack(): Promise<boolean>;
  empty(): Promise<void>;
}

/** @throws Error where there are several: what is asked for is of one alone */
export function loneRedis(house: RedisHouse): LoneRedis {
  if (house.port === 0) throw new Error('this is played with one Redis');
  return house as LoneRedis;
}

/** Every key and value of a server. */
export async function dumpOf(redis: Redis): Promise<string> {
  const parts: string[] = [];
  for (const key of await redis.keys('*')) {
    const value = await redis.dumpBuffer(key);
    parts.push(key, value?.toString('latin1') ?? '');
  }
  return parts.join('\n');
}

/** Starts one. @param server saves finding it once more */
export async function openLoneRedis(server?: ServerCommand): Promise<LoneRedis> {
  const folder = await mkdtemp(join(tmpdir(), 'clinic-mirror-chaos-'));
  const start = (name: string, port?: number) =>
    startRedis({
      dir: join(folder, name),
      ...(port === undefined ? {} : { port }),
      ...(server === undefined ? {} : { server }),
    });
  const prepare = async (name: string) => {
    await mkdir(join(folder, name), { recursive: true });
    return start(name);
  };
  const main = await prepare('first');
  const servers: Servers = { name: 'first', main, replica: null, direct: connected(main.port) };
  let copied = false;
  const again = async (between: () => Promise<void>) => {
    await servers.main.crash();
    await between();
    await servers.main.stop();
    servers.main = await start(servers.name, servers.main.port);
    await servers.direct.ping();
  };
  return {
    settings: { url: { env: 'REDIS_URL' } },
    get port() {
      return servers.main.port;
    },
    dump: () => dumpOf(servers.direct),
    async empty() {
      await servers.direct.flushall();
    },
    restart: () => again(async () => {}),
    async setFull(full) {
      await servers.direct.config('SET', 'maxmemory', full ? '1' : '0');
    },
    async keepCopy() {
      await rm(join(folder, 'copy'), { recursive: true, force: true });
      await cp(join(folder, servers.name, 'appendonlydir'), join(folder, 'copy'), { recursive: true });
      copied = true;
    },
    async goBack() {
      if (!copied) return false;
      await again(async () => {
        const live = join(folder, servers.name, 'appendonlydir');
        await rm(live, { recursive: true });
        await cp(join(folder, 'copy'), live, { recursive: true });
      });
      return true;
    },
    ...replicaOf(servers, () => prepare('second')),
    async close() {
      servers.direct.disconnect();
      await Promise.all([servers.main.stop(), servers.replica?.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A Redis and, where one was added, its replica. */
interface Servers {
  /** The folder of `main`. */
  name: string;
  main: PrivateRedis;
  replica: PrivateRedis | null;
  /** A connection to `main`. */
  direct: Redis;
}

/** What is played with a replica. @param open starts the server that becomes it */
function replicaOf(
  servers: Servers,
  open: () => Promise<PrivateRedis>,
): Pick<LoneRedis, 'addReplica' | 'cutReplica' | 'failOver'> {
  return {
    async addReplica() {
      servers.replica ??= await open();
      await withConnection(servers.replica.port, async (redis) => {
        await redis.replicaof('127.0.0.1', servers.main.port);
        await until(async () => /master_link_status:up/.test(await redis.info('replication')));
      });
    },
    async cutReplica() {
      if (servers.replica !== null) await withConnection(servers.replica.port, (redis) => redis.replicaof('NO', 'ONE'));
    },
    async failOver() {
      if (servers.replica === null) return false;
      const { port } = servers.replica;
      await withConnection(port, (redis) => redis.replicaof('NO', 'ONE'));
      await servers.main.crash();
      await servers.main.stop();
      servers.direct.disconnect();
      Object.assign(servers, { main: servers.replica, replica: null, name: 'second' });
      servers.direct = connected(port);
      await servers.direct.ping();
      return true;
    },
  };
}

function connected(port: number): Redis {
  const redis = new Redis(`redis://127.0.0.1:${port}`, { maxRetriesPerRequest: null });
  // It is ended on purpose; each attempt to reach it is told here.
  redis.on('error', () => {});
  return redis;
}

async function withConnection(port: number, work: (redis: Redis) => Promise<unknown>): Promise<void> {
  const redis = connected(port);
  try {
    await work(redis);
  } finally {
    redis.disconnect();
  }
}

async function until(holds: () => Promise<boolean>): Promise<void> {
  const deadline = performance.now() + 10_000;
  while (!(await holds())) {
    if (performance.now() > deadline) throw new Error('the replica does not follow');
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}
