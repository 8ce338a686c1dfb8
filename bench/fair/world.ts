import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { clinicClient, keysOf, localSettings, writeConfiguration } from '../../demo/configuration.ts';
import { authorizeInBrowser } from '../../sandbox/clinic/index.ts';
import { type FaultProxy, type ProxiedRequest, startFaultProxy } from '../../sandbox/kit/fault-proxy.ts';
import { silentLogger } from '../../src/core/log/logger.ts';
import { slices } from '../../src/core/model/pieces.ts';
import { compose } from '../../src/daemon/compose.ts';
import { createRunStore } from '../../src/domain/runs.ts';
import { reminderChannels } from '../../src/features/reminders/channels/registry.ts';
import { neverNeedless } from '../../src/jobs/job-kinds.ts';
import { loadConfiguration } from '../../src/settings/configuration-files.ts';
import { tenantVariable } from '../../src/settings/tenant-secrets.ts';
import { connectRedis } from '../../src/state/redis.ts';
import { createProofSealer } from '../../src/state/sealing.ts';
import { openWorkQueues, type WorkQueues } from '../../src/tenant/work-queues.ts';
import { logInTo } from '../../test/support/log-in.ts';
import { startRedis } from '../../tools/redis.ts';
import { type ClinicProcess, startClinicProcess } from '../cycle/clinic-process.ts';
import { type Sink, type SinkKind, startSink } from './sink.ts';
import { sinkConnectors } from './sink-connector.ts';

const IDENTITY_KEY = Buffer.alloc(32, 1);
/** Clinics of one kind, under one client of their clinic system. */
export interface Group {
  /** Its tenants are called `<name>-<n>`. */
  name: string;
  tenants: number;
  appointments: number;
  /** Calendars of a tenant, each with as many agendas as the others. Default 1. */
  targets?: number;
  /** Each of these has a connection of its own; by default one connection has all. */
  ownConnections?: boolean;
  /** Which of the sinks they write to. */
  sink: string;
  /** The last so many of its tenants get each answer of the clinic so much later, once `slow` was called. */
  slow?: { tenants: number; latencyMs: number };
  /** `reminders` of the tenant files, told where they go: to the sink of the group's name. */
  reminders?: (url: string, tenant: string) => object;
}

/** What a world is made of. */
export interface WorldOptions {
  /** The first group is the one that changes are made in. */
  groups: readonly Group[];
  sinks: Readonly<Record<string, SinkKind>>;
  /** `single-sink`: one operation in each request. Default `sink`: twenty. */
  connector?: 'sink' | 'single-sink';
  settings?: object;
}

/** Clinics and targets in separate processes, and a configuration for both. The daemon is not started. */
export interface World extends AsyncDisposable {
  sink: Sink;
  queues: WorkQueues;
  tenantsOf(group: string): string[];
  /** Books appointments in a tenant of the first group; one by default. */
  book(tenant: string, booked?: number): Promise<void>;
  /** Enables the latency of slow sinks. */
  slow(): void;
  /** When the last cycles of a tenant began, oldest first. */
  cyclesOf(tenant: string): Promise<number[]>;
  /** Processor time that Redis has used. */
  redisCpuSeconds(): number;
  /** Commands that Redis has carried out; those of a script count each. */
  redisCommands(): Promise<number>;
  /** Memory that Redis uses. */
  redisBytes(): Promise<number>;
  /** @param options.cores number of usable cores; all by default */
  startDaemon(options?: { cores?: number }): Promise<RunningDaemon>;
}

/** A daemon in a separate process. */
export interface RunningDaemon extends AsyncDisposable {
  /** Where its API is, up to the version. */
  apiUrl: string;
  /** The memory that it has now. */
  megabytes(): number;
  /** Processor time that it has used. */
  cpuSeconds(): number;
}

const DAEMON = fileURLToPath(new URL('./daemon.ts', import.meta.url));
/** Appointments that fit into an agenda of the sandbox. */
const PER_AGENDA = 1_500;
/** As many as are kept of a tenant. */
const REPORTS = 50;
const LOGINS_AT_ONCE = 4;
/** Waiting for a budget is no part of what is measured. */
const BUDGET = { requestsPerMinute: 600_000, burst: 100_000 };

interface OpenGroup extends Group {
  clinic: ClinicProcess;
  proxy: FaultProxy | null;
}

/** Starts everything and logs every tenant in. */
export async function openWorld(options: WorldOptions): Promise<World> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-bench-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  const redis = await startRedis();
  stack.defer(() => redis.stop());
  const sink = stack.use(await startSink(options.sinks));
  let isSlow = false;
  const groups: OpenGroup[] = [];
  for (const group of options.groups) {
    const { tenants, appointments, targets = 1, slow } = group;
    const agendas = Math.max(2, targets, Math.ceil(appointments / PER_AGENDA));
    const clinic = stack.use(await startClinicProcess({ tenants, appointments, agendas }));
    const slowIds = clinic.tenants.slice(tenants - (slow?.tenants ?? 0)).map(({ id }) => id);
    const isLate = (url: string) => isSlow && slowIds.some((id) => url.split(/[/?]/).includes(id));
    const choose = ({ url }: ProxiedRequest) =>
      slow !== undefined && isLate(url) ? ({ kind: 'latency', ms: slow.latencyMs } as const) : null;
    const proxy = slow === undefined ? null : await startFaultProxy(clinic.baseUrl, { choose });
    stack.defer(async () => proxy?.close());
    groups.push({ ...group, clinic, proxy });
  }
  const [first] = groups;
  if (first === undefined) throw new Error('a world has a group');
  const env = await configure(dir, { ...options, groups, sinkUrl: sink.url, redisUrl: redis.url });
  await logIn(dir, env, groups);
  const queues = openWorkQueues(redis.url, neverNeedless);
  stack.defer(() => queues.close());
  const connection = connectRedis(redis.url);
  stack.defer(() => connection.disconnect());
  const opened = stack.move();
  return {
    sink,
    queues,
    tenantsOf: (name) => groups.filter((group) => group.name === name).flatMap(namesOf),
    book: (tenant, booked = 1) =>
      first.clinic.simulate(first.clinic.tenants[namesOf(first).indexOf(tenant)]?.id ?? '', { booked }),
    slow() {
      isSlow = true;
    },
    cyclesOf: async (tenant) =>
      (await createRunStore(connection, tenant, createProofSealer(IDENTITY_KEY, tenant)).list(REPORTS))
        .map(({ startedAt }) => startedAt)
        .reverse(),
    redisCpuSeconds: () => cpuSecondsOf(redis.pid),
    redisCommands: async () => Number(/total_commands_processed:(\d+)/.exec(await connection.info('stats'))?.[1]),
    redisBytes: async () => Number(/used_memory:(\d+)/.exec(await connection.info('memory'))?.[1]),
    startDaemon: (options) => startDaemon(dir, env, options),
    [Symbol.asyncDispose]: () => opened.disposeAsync(),
  };
}

function namesOf({ name, tenants }: Group): string[] {
  return Array.from({ length: tenants }, (_, index) => `${name}-${index}`);
}

async function configure(
  dir: string,
  {
    groups,
    settings,
    sinkUrl,
    redisUrl,
    connector = 'sink',
  }: Omit<WorldOptions, 'groups'> & { groups: OpenGroup[]; sinkUrl: string; redisUrl: string },
): Promise<Record<string, string>> {
  const clients = groups.map(({ name, clinic, proxy }) => [
    name,
    clinicClient(clinic, { baseUrl: proxy?.url ?? clinic.baseUrl, budget: BUDGET }),
  ]);
  const files = groups.flatMap((group) =>
    namesOf(group).map((name, index): [string, object] => [
      name,
      tenantFile(group, { name, index, sinkUrl, connector }),
    ]),
  );
  const all = { ...localSettings(), clinicClients: Object.fromEntries(clients), ...settings };
  await writeConfiguration(dir, { settings: all, files: new Map(files) });
  return {
    REDIS_URL: redisUrl,
    ...keysOf(IDENTITY_KEY),
    CLINIC_CLIENT_SECRET: groups[0]?.clinic.clients[0]?.clientSecret ?? '',
    ...Object.fromEntries(
      groups.flatMap(namesOf).flatMap((name) => [
        [tenantVariable(name, 'NOWHERE'), 'nothing-is-asked-with-it'],
        [tenantVariable(name, 'HOOK'), `whsec_${Buffer.alloc(32, 5).toString('base64')}`],
      ]),
    ),
  };
}

function tenantFile(
  group: OpenGroup,
  { name, index, sinkUrl, connector }: { name: string; index: number; sinkUrl: string; connector: string },
): object {
  const { clinic, targets = 1, ownConnections = false, sink, reminders } = group;
  const source = clinic.tenants[index];
  if (source === undefined) throw new Error('the clinic has too few tenants');
  const calendars = Array.from({ length: targets }, (_, nth) => [
    `calendar-${nth}`,
    {
      ...{ connector, connection: ownConnections ? `sink-${nth}` : 'sink', window: { pastDays: 60, futureDays: 400 } },
      agendas: source.agendas.filter((_agenda, at) => at % targets === nth).map(({ id }) => id),
      settings: { url: `${sinkUrl}/${sink}/${name}` },
    },
  ]);
  return {
    ...{ name: 'A clinic', language: 'it', zone: 'Europe/Rome', clinic: { client: group.name, tenantId: source.id } },
    connections: Object.fromEntries(
      (ownConnections ? calendars.map((_, nth) => `sink-${nth}`) : ['sink']).map((connection) => [
        connection,
        { kind: 'bearer', token: { env: tenantVariable(name, 'NOWHERE') } },
      ]),
    ),
    targets: Object.fromEntries(calendars),
    ...(reminders === undefined ? {} : { reminders: reminders(`${sinkUrl}/${group.name}/${name}`, name) }),
  };
}

async function logIn(dir: string, env: Record<string, string>, groups: readonly OpenGroup[]): Promise<void> {
  const options = { dir, env, connectors: sinkConnectors, reminderChannels, mode: 'strict' } as const;
  const configuration = loadConfiguration(options);
  const composition = compose({
    configuration,
    connectors: sinkConnectors,
    log: silentLogger,
    priority: 'interactive',
  });
  const all = groups.flatMap((group) =>
    namesOf(group).map((name, index) => ({ name, user: group.clinic.tenants[index]?.user })),
  );
  async function logInOne({ name, user = { username: '', password: '' } }: (typeof all)[number]): Promise<void> {
    await logInTo(composition, { tenant: name, connection: 'clinic' }, (url) => authorizeInBrowser(url, user));
  }
  try {
    for (const some of slices(all, LOGINS_AT_ONCE)) await Promise.all(some.map(logInOne));
  } finally {
    await composition.close();
  }
}

async function startDaemon(
  dir: string,
  env: Record<string, string>,
  { cores }: { cores?: number } = {},
): Promise<RunningDaemon> {
  const command = [process.execPath, DAEMON, dir];
  const [file = '', ...args] = cores === undefined ? command : ['taskset', '-c', `0-${cores - 1}`, ...command];
  const child: ChildProcess = spawn(file, args, {
    env: { ...process.env, ...env },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const killWithParent = () => child.kill('SIGKILL');
  process.once('exit', killWithParent);
  const ended = once(child, 'exit').finally(() => process.removeListener('exit', killWithParent));
  let said = '';
  await new Promise<void>((resolve, reject) => {
    child.stdout?.on('data', (text: Buffer) => {
      said += text;
      if (said.includes('runs\n')) resolve();
    });
    void ended.then(() => reject(new Error('the daemon ended')));
  });
  const told = (name: string) => readFileSync(`/proc/${child.pid}/${name}`, 'utf8');
  return {
    apiUrl: `http://127.0.0.1:${/api (\d+)/.exec(said)?.[1]}/api/v1`,
    megabytes: () => Number(/VmRSS:\s+(\d+)/.exec(told('status'))?.[1]) / 1_024,
    cpuSeconds: () => cpuSecondsOf(child.pid),
    async [Symbol.asyncDispose]() {
      child.kill('SIGTERM');
      await ended;
    },
  };
}

/** The fields after the name, of which the 12th and 13th are user and system time in hundredths of a second (proc_pid_stat(5)). */
function cpuSecondsOf(pid: number | undefined): number {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ') ?? [];
  return (Number(fields[11]) + Number(fields[12])) / 100;
}
