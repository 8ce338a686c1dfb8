import { mkdtemp, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Cluster, Redis } from 'ioredis';
import { onFreePort } from './free-port.ts';
import { type GuardedProcess, startGuarded } from './guarded-process.ts';
import { type PrivateRedis, resolveRedisServer, startRedis } from './redis.ts';
import type { ServerCommand } from './server-command.ts';

const HOST = '127.0.0.1';
/** What the sentinels call the master. */
const MASTER = 'clinic-mirror';
/** Silence after which a master is down. Short, but longer than a busy host delays a server. */
const DOWN_AFTER_MS = 1_500;
const READY_TIMEOUT_MS = 60_000;
const SENTINELS = 3;
const MASTERS = 3;
/** Serves a new replica at once; the default is five seconds. */
const REPLICATION = { 'repl-diskless-sync-delay': '0' };

/** Several private Redis servers that act as one and survive the end of a master. */
export interface RedisGroup {
  /** The section `redis` of the settings. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Every server that holds data, dead ones too. */
  readonly servers: readonly PrivateRedis[];
  /** Opens a connection for a test; the caller closes it. */
  connect(): Redis | Cluster;
  /** The server that answers for a key now. @throws Error while none is known */
  masterOf(key: string): Promise<PrivateRedis>;
  /** The servers that take writes now. @throws Error while none is known */
  masters(): Promise<PrivateRedis[]>;
  /** Waits until the replacements of dead masters answer. */
  untilServed(): Promise<void>;
  /** Waits until every master has a replica that follows and could take over. */
  untilReplicated(): Promise<void>;
  /** Ends them all, by pid. */
  stop(): Promise<void>;
}

type Sentinel = GuardedProcess & { port: number };

/** Starts a master, a replica and three sentinels, and waits until these agree. */
export async function startSentinelGroup(server?: ServerCommand): Promise<RedisGroup> {
  const command = server ?? (await resolveRedisServer());
  const options = { server: command, settings: REPLICATION };
  const servers = await Promise.all([startRedis(options), startRedis(options)]);
  const [master, replica] = servers;
  await ask(replica.port, (redis) => redis.replicaof(HOST, master.port));
  const sentinels = await Promise.all(Array.from({ length: SENTINELS }, () => startSentinel(command, master.port)));
  const addresses = sentinels.map(({ port }) => ({ host: HOST, port }));
  const connect = () => quiet(new Redis({ sentinels: addresses, name: MASTER, maxRetriesPerRequest: null }));
  const group: RedisGroup = {
    settings: { sentinels: addresses, name: MASTER },
    servers,
    connect,
    async masterOf() {
      const [, port] = (await ask(addresses[0]?.port ?? 0, (redis) =>
        redis.call('SENTINEL', 'GET-MASTER-ADDR-BY-NAME', MASTER),
      )) as string[];
      return serverAt(servers, Number(port));
    },
    masters: async () => [await group.masterOf('')],
    untilServed: () => untilServed(group),
    async untilReplicated() {
      await untilFollowed(await group.masters());
      await Promise.all(addresses.map(({ port }) => until(() => ask(port, knowsAll), 'the sentinels know each other')));
    },
    stop: () => stopAll([...sentinels, ...servers]),
  };
  return group;
}

/** A sentinel knows the others and the replica that may take over. */
async function knowsAll(sentinel: Redis): Promise<boolean> {
  const told = (await sentinel.call('SENTINEL', 'MASTER', MASTER)) as string[];
  const count = (name: string) => Number(told[told.indexOf(name) + 1]);
  return count('num-other-sentinels') === SENTINELS - 1 && count('num-slaves') > 0;
}

function startSentinel(server: ServerCommand, masterPort: number): Promise<Sentinel> {
  return onFreePort((port) => startSentinelOn(port, server, masterPort));
}

async function startSentinelOn(port: number, server: ServerCommand, masterPort: number): Promise<Sentinel> {
  const folder = await mkdtemp(join(tmpdir(), 'clinic-mirror-sentinel-'));
  const file = join(folder, 'sentinel.conf');
  const lines = [
    `port ${port}`,
    `bind ${HOST}`,
    `dir ${folder}`,
    `sentinel monitor ${MASTER} ${HOST} ${masterPort} ${SENTINELS - 1}`,
    `sentinel down-after-milliseconds ${MASTER} ${DOWN_AFTER_MS}`,
    `sentinel failover-timeout ${MASTER} ${5 * DOWN_AFTER_MS}`,
  ];
  await writeFile(file, `${lines.join('\n')}\n`);
  const { process } = await startGuarded({
    server,
    args: [file, '--sentinel'],
    ownFolder: folder,
    ready: /\+monitor master/,
    readyTimeoutMs: READY_TIMEOUT_MS,
  });
  return { ...process, port };
}

/** Starts three masters, each with a replica, as one cluster, and waits until it serves every slot. */
export async function startClusterGroup(server?: ServerCommand): Promise<RedisGroup> {
  const command = server ?? (await resolveRedisServer());
  const nodes = await Promise.all(Array.from({ length: 2 * MASTERS }, () => startNode(command)));
  const servers = nodes.map(({ redis }) => redis);
  const [first] = nodes;
  await Promise.all(nodes.slice(0, MASTERS).map(({ redis }, index) => ask(redis.port, (one) => giveSlots(one, index))));
  for (const { redis, busPort } of nodes.slice(1)) {
    await ask(first?.redis.port ?? 0, (one) => one.call('CLUSTER', 'MEET', HOST, redis.port, busPort));
  }
  const knowEachOther = async (one: Redis) =>
    ((await one.call('CLUSTER', 'NODES')) as string).trim().split('\n').length;
  for (const [index, { redis }] of nodes.entries()) {
    await until(async () => (await ask(redis.port, knowEachOther)) === nodes.length, 'the servers know each other');
    if (index < MASTERS) continue;
    const master = await ask(servers[index - MASTERS]?.port ?? 0, (one) => one.call('CLUSTER', 'MYID'));
    await until(
      () => ask(redis.port, (one) => one.call('CLUSTER', 'REPLICATE', String(master))),
      'the master is known',
    );
  }
  const isWhole = async (one: Redis) => /cluster_state:ok/.test((await one.call('CLUSTER', 'INFO')) as string);
  for (const { port } of servers) await until(() => ask(port, isWhole), 'the cluster serves every slot');
  const addresses = servers.map(({ port }) => ({ host: HOST, port }));
  const mastersNow = async () => {
    const alive = await firstAnswer(servers, async (one) => (await one.call('CLUSTER', 'SLOTS')) as SlotRange[]);
    return alive.map(([from, to, [, port]]) => ({ from, to, server: serverAt(servers, port) }));
  };
  const masters = async () => (await mastersNow()).map((range) => range.server);
  return {
    settings: { cluster: addresses },
    servers,
    connect: () => quiet(new Cluster(addresses, { redisOptions: { maxRetriesPerRequest: null } })),
    async masterOf(key) {
      const slot = Number(await firstAnswer(servers, (one) => one.call('CLUSTER', 'KEYSLOT', key)));
      const range = (await mastersNow()).find(({ from, to }) => from <= slot && slot <= to);
      if (range === undefined) throw new Error('no server answers for the key');
      return range.server;
    },
    masters,
    untilServed: () => untilServed({ masters }),
    untilReplicated: async () => untilFollowed(await masters()),
    stop: () => stopAll(servers),
  };
}

type SlotRange = [from: number, to: number, master: [host: string, port: number, id: string]];

function startNode(server: ServerCommand): Promise<{ redis: PrivateRedis; busPort: number }> {
  return onFreePort((busPort) => startNodeOn(busPort, server));
}

async function startNodeOn(busPort: number, server: ServerCommand): Promise<{ redis: PrivateRedis; busPort: number }> {
  const settings = {
    ...REPLICATION,
    'cluster-enabled': 'yes',
    'cluster-port': String(busPort),
    'cluster-node-timeout': String(DOWN_AFTER_MS),
    // A replica may take over, regardless of its last contact with the master.
    'cluster-replica-validity-factor': '0',
  };
  return { redis: await startRedis({ server, settings }), busPort };
}

async function untilServed({ masters }: Pick<RedisGroup, 'masters'>): Promise<void> {
  const isMaster = async (redis: Redis) => ((await redis.role()) as unknown[])[0] === 'master';
  await until(async () => {
    const answers = await Promise.all((await masters()).map(({ port }) => ask(port, isMaster)));
    return answers.every((answer) => answer);
  }, 'every master answers');
}

function giveSlots(redis: Redis, index: number): Promise<unknown> {
  const firstOf = (part: number) => Math.round((part * 16_384) / MASTERS);
  return redis.call('CLUSTER', 'ADDSLOTSRANGE', firstOf(index), firstOf(index + 1) - 1);
}

async function untilFollowed(masters: readonly PrivateRedis[]): Promise<void> {
  const isFollowed = async (redis: Redis) => /^slave\d+:.*\bstate=online\b/m.test(await redis.info('replication'));
  for (const { port } of masters) await until(() => ask(port, isFollowed), 'a replica follows');
}

function serverAt(servers: readonly PrivateRedis[], port: number): PrivateRedis {
  const found = servers.find((server) => server.port === port);
  if (found === undefined) throw new Error(`no server of this group uses port ${port}`);
  return found;
}

/**
 * Stops the replication of a server. Its replicas may still take over within about ten seconds. Later writes then behave as if they were in
 * transit when the master ended.
 */
export async function cutReplicas({ servers }: RedisGroup, master: PrivateRedis): Promise<void> {
  const isReplica = new RegExp(`^master_port:${master.port}\\r?$`, 'm');
  for (const { port } of servers) {
    // A dead server has no master.
    const isFollowing = await ask(port, async (redis) => isReplica.test(await redis.info('replication'))).catch(
      () => false,
    );
    // The master has no password, so it refuses clients that send one.
    if (isFollowing) await ask(port, (redis) => redis.config('SET', 'masterauth', 'nobody'));
  }
  await ask(master.port, (redis) => redis.call('CLIENT', 'KILL', 'TYPE', 'replica'));
  const hasNone = async (redis: Redis) => /^connected_slaves:0\r?$/m.test(await redis.info('replication'));
  await until(() => ask(master.port, hasNone), 'no replica follows');
}

/** Sends a request to a server on a separate connection. @throws Error if the server does not answer */
export async function ask<Answer>(port: number, question: (redis: Redis) => Promise<Answer>): Promise<Answer> {
  const redis = quiet(new Redis(port, HOST, { maxRetriesPerRequest: 0, retryStrategy: () => null }));
  try {
    return await question(redis);
  } finally {
    redis.disconnect();
  }
}

async function firstAnswer<Answer>(servers: readonly PrivateRedis[], question: (redis: Redis) => Promise<Answer>) {
  return Promise.any(servers.map(({ port }) => ask(port, question)));
}

/** Asks again until the answer is yes; an error is a no. */
async function until(holds: () => Promise<unknown>, what: string): Promise<void> {
  const deadline = performance.now() + READY_TIMEOUT_MS;
  while (!(await holds().catch(() => false))) {
    if (performance.now() > deadline) throw new Error(`it did not come to pass that ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Tests end servers on purpose; the connection reports each failed attempt. */
function quiet<Client extends Redis | Cluster>(client: Client): Client {
  client.on('error', () => {});
  return client;
}

async function stopAll(processes: readonly GuardedProcess[]): Promise<void> {
  await Promise.all(processes.map((process) => process.stop()));
}
