import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { cp, mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import { Redis } from 'ioredis';
import { keys, QUEUE_PREFIX } from '../../../src/state/keys.ts';
import { type PrivateRedis, startRedis } from '../../../tools/redis.ts';
import { ask, cutReplicas, startClusterGroup, startSentinelGroup } from '../../../tools/redis-groups.ts';
import type { ServerCommand } from '../../../tools/server-command.ts';
import { type AwaitHub, openRedisGate, type RedisGate } from './gates.ts';
import { type Refusal, refuseWrites } from './refusals.ts';

/** Where the daemons keep their state. */
export interface RedisHouse {
  /** The section `redis` of the daemons' settings. */
  readonly settings: object;
  /** Port of the single server that daemons reach through their gates; 0 if daemons find several servers themselves. */
  readonly port: number;
  /** Every key and value. */
  dump(): Promise<string>;
  /** Refuses every write until reset. */
  setFull(full: boolean): Promise<void>;
  /** A replica follows from now on. */
  addReplica(): Promise<void>;
  /** The replica hears nothing more. */
  cutReplica(): Promise<void>;
  /** The replica takes over, the first server dies. @returns false when there is none */
  failOver(): Promise<boolean>;
  close(): Promise<void>;
}

/** A single server that can be lost, found and restored. */
interface LoneRedis extends RedisHouse {
  /** Crashes the server and restarts it with the data of its file. */
  restart(): Promise<void>;
  /** Keeps a copy of the current file. */
  keepCopy(): Promise<void>;
  /** Comes back with the file that was remembered. @returns false when none was */
  goBack(): Promise<boolean>;
  empty(): Promise<void>;
  /** Answers reads, and refuses writes until the returned function was called. */
  refuseWrites(how: Refusal): Promise<() => Promise<void>>;
}

/** @throws Error if there are several servers: the operation requires exactly one */
export function loneRedis(house: RedisHouse): LoneRedis {
  if (house.port === 0) throw new Error('this is played with one Redis');
  return house as LoneRedis;
}

/** Every key and value of a server. */
async function dumpOf(redis: Redis): Promise<string> {
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
    async refuseWrites(how) {
      const accept = await refuseWrites(servers.direct, how);
      return async () => void (await accept());
    },
    ...replicaOf(servers, () => prepare('second')),
    async close() {
      servers.direct.disconnect();
      await Promise.all([servers.main.stop(), servers.replica?.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** A Redis server and its replica, if one was added. */
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
  // The server is stopped on purpose; each failed connection attempt is an error event here.
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

/** Opens several servers that form one service. Daemons find the servers themselves; each master dies at most once. */
export async function openRedisGroupHouse(
  kind: 'sentinel' | 'cluster',
  tenants: readonly string[],
  server?: ServerCommand,
): Promise<RedisHouse> {
  const group = await (kind === 'sentinel' ? startSentinelGroup(server) : startClusterGroup(server));
  await group.untilReplicated();
  const askMasters = async <Answer>(question: (redis: Redis) => Promise<Answer>) =>
    await Promise.all((await group.masters()).map(({ port }) => ask(port, question)));
  /** Those that have a replica to take over; as many as there are replicas. */
  const mortal = new Set(group.servers.slice(0, group.servers.length / 2));
  const told = [...tenants.map((tenant) => keys.outbox(tenant, 'any')), `${QUEUE_PREFIX}:any`];
  let next: PrivateRedis | null = null;
  async function victim(): Promise<PrivateRedis | null> {
    for (const key of told) {
      if (next !== null) break;
      const master = await group.masterOf(key);
      if (mortal.has(master)) next = master;
    }
    return next;
  }
  return {
    settings: group.settings,
    port: 0,
    dump: async () => (await askMasters(dumpOf)).join('\n'),
    async setFull(full) {
      await askMasters((master) => master.config('SET', 'maxmemory', full ? '1' : '0'));
    },
    async addReplica() {},
    async cutReplica() {
      const master = await victim();
      if (master !== null) await cutReplicas(group, master);
    },
    async failOver() {
      const master = await victim();
      if (master === null) return false;
      mortal.delete(master);
      next = null;
      await master.crash();
      await group.untilServed();
      return true;
    },
    close: () => group.stop(),
  };
}

/** One daemon's place: its process may end and be started again. */
export interface DaemonPlace {
  readonly number: number;
  readonly gate: RedisGate;
  /** Whether a process runs here, frozen ones included. */
  isAlive(): boolean;
  pid(): number | null;
  /** Where it answers probes; null until it is at work. */
  operatorPort(): number | null;
  /** @param extra environment variables that replace the usual ones for this start */
  start(extra?: Readonly<Record<string, string>>): void;
  kill(): Promise<void>;
  /** SIGTERM. @returns its exit code */
  stop(): Promise<number | null>;
  freeze(): void;
  thaw(): void;
  setClock(offsetMs: number): void;
}

interface DaemonOptions {
  count: number;
  hub: AwaitHub;
  redisPort: () => number;
  configDir: string;
  env: Readonly<Record<string, string>>;
  logFile: string;
  /** A safety that they run without. */
  without: string | null;
  /** Where compiled code is kept between starts. */
  compileCache: string;
}

const CLI = fileURLToPath(new URL('../../../src/cli.ts', import.meta.url));
const WITHOUT = fileURLToPath(new URL('../preload/without.ts', import.meta.url));
/** What a daemon logs when it is at work. */
const RUNS = '"daemon started"';
const CLOCK = fileURLToPath(new URL('../preload/clock.ts', import.meta.url));
/** Before the clock: a test may run on another date than the host and its Redis. */
const REDIS_DATE = fileURLToPath(new URL('../../support/redis-date-preload.ts', import.meta.url));

/** The test process may end without stopping its child processes. */
const running = new Set<ChildProcess>();
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL');
});

/** Makes the places; no daemon runs yet. */
export async function openDaemonPlaces(options: DaemonOptions): Promise<DaemonPlace[]> {
  const numbers = Array.from({ length: options.count }, (_, index) => index + 1);
  return Promise.all(numbers.map((number) => openPlace(number, options)));
}

async function openPlace(number: number, options: DaemonOptions): Promise<DaemonPlace> {
  let child: ChildProcess | null = null;
  let offsetMs = 0;
  let operatorPort: number | null = null;
  const isAlive = () => child !== null && child.exitCode === null && child.signalCode === null;
  const pid = () => (isAlive() ? (child?.pid ?? null) : null);
  const gate = await openRedisGate({ port: options.redisPort, hub: options.hub, pid });
  const end = async (signal: NodeJS.Signals) => {
    if (child === null || !isAlive()) return child?.exitCode ?? null;
    const ending = child;
    const exited = once(ending, 'exit');
    ending.kill('SIGCONT');
    ending.kill(signal);
    await exited;
    return ending.exitCode;
  };
  return {
    number,
    gate,
    isAlive,
    pid,
    operatorPort: () => (isAlive() ? operatorPort : null),
    start(extra = {}) {
      if (isAlive()) return;
      operatorPort = null;
      const env = { ...options.env, ...extra };
      child = launch(number, { ...options, env }, gate.url, (port) => {
        operatorPort = port;
      });
      child.send({ offsetMs });
    },
    kill: async () => void (await end('SIGKILL')),
    stop: () => end('SIGTERM'),
    freeze: () => void (isAlive() && child?.kill('SIGSTOP')),
    thaw: () => void (isAlive() && child?.kill('SIGCONT')),
    setClock(ms) {
      offsetMs = ms;
      if (isAlive() && child?.connected === true) child.send({ offsetMs });
    },
  };
}

function launch(
  number: number,
  options: DaemonOptions,
  redisUrl: string,
  onOpen: (operatorPort: number) => void,
): ChildProcess {
  const { configDir, env, logFile, without, compileCache } = options;
  const imports = [REDIS_DATE, CLOCK, ...(without === null ? [] : [WITHOUT])].flatMap((file) => ['--import', file]);
  const child = spawn(process.execPath, [...imports, CLI, '--config', configDir, 'run'], {
    env: {
      ...process.env,
      ...env,
      REDIS_URL: redisUrl,
      NODE_COMPILE_CACHE: compileCache,
      ...(without === null ? {} : { CHAOS_WITHOUT: without }),
    },
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
  });
  running.add(child);
  child.once('exit', () => running.delete(child));
  for (const stream of [child.stdout, child.stderr]) {
    if (stream === null) continue;
    // A line says which daemon it is of; those of different ones lie between each other.
    createInterface(stream).on('line', (line) => {
      appendFileSync(logFile, line.startsWith('{') ? `{"daemon":${number},${line.slice(1)}\n` : `${line}\n`);
      const [, port] = (line.includes(RUNS) && /"operatorPort":(\d+)/.exec(line)) || [];
      if (port !== undefined) onOpen(Number(port));
    });
  }
  // A message to a process that has just ended is no failure.
  child.on('error', () => {});
  return child;
}

/** Returns the process that owns a loopback port (Linux: /proc); null if unknown. */
export function ownerOf(port: number, pids: readonly number[]): number | null {
  try {
    const wanted = `0100007F:${port.toString(16).toUpperCase().padStart(4, '0')}`;
    const tables = ['/proc/net/tcp', '/proc/net/tcp6'].map((file) => readFileSync(file, 'latin1'));
    const row = tables
      .flatMap((table) => table.split('\n'))
      .map((line) => line.trim().split(/\s+/))
      .find(([, local = '']) => local === wanted || local.endsWith(wanted));
    const inode = row?.[9];
    return pids.find((pid) => holds(pid, `socket:[${inode}]`)) ?? null;
  } catch {
    return null;
  }
}

function holds(pid: number, socket: string): boolean {
  const folder = `/proc/${pid}/fd`;
  return readdirSync(folder).some((entry) => {
    try {
      return readlinkSync(join(folder, entry)) === socket;
    } catch {
      return false;
    }
  });
}
