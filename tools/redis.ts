import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { onFreePort } from './free-port.ts';
import { type GuardedProcess, startGuarded } from './guarded-process.ts';
import { type Progress, terminalProgress } from './progress.ts';
import { resolveServer, type ServerCommand, type ServerSource } from './server-command.ts';
import { librariesIn } from './unpacked-libraries.ts';

const REDIS: ServerSource = {
  name: 'Redis',
  commands: ['redis-server', 'valkey-server'],
  cacheName: 'redis',
  unpacked: async (folder) => ({
    command: join(folder, 'usr/bin/redis-server'),
    args: [],
    env: { LD_LIBRARY_PATH: await librariesIn(folder) },
  }),
  packages: async () => ['redis-server', 'redis-tools', 'libjemalloc2', 'liblzf1', 'libatomic1'],
  downloadSize: '1.4 MB',
  advice: 'Install it with "apt-get install redis-server", "dnf install redis" or "brew install redis".',
};
const START_TIMEOUT_MS = 15_000;

/** A running Redis that nobody else uses. */
export interface PrivateRedis extends GuardedProcess {
  readonly url: string;
  readonly port: number;
  /** Where its data lies. */
  readonly dir: string;
}

export interface StartRedisOptions {
  /** Where its data lies. Kept when it's given; else a temporary folder that goes with the server. */
  readonly dir?: string;
  /** Given again to start a server that ended at the address it had. A free one otherwise. */
  readonly port?: number;
  /** Whether each write goes to the append-only file; true unless told. */
  readonly appendOnly?: boolean;
  /** Further settings of the server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Saves finding it once more. */
  readonly server?: ServerCommand;
}

/**
 * Finds a Redis (or Valkey) program: in PATH, else in `.cache/redis`, else as Debian's package, fetched into there
 * without rights and without installing anything. Whoever has a REDIS_URL need not ask.
 *
 * @throws ServerUnavailable when none can be had; the message names the command that installs one
 */
export async function resolveRedisServer(progress: Progress = terminalProgress): Promise<ServerCommand> {
  return await resolveServer(REDIS, progress);
}

/**
 * Starts a Redis of our own on a free loopback port: `noeviction`, append-only file on, no snapshots. It ends with
 * stop() or with this process, however that ends.
 *
 * @throws ServerUnavailable when there is no program; Error with its output when it doesn't start
 */
export async function startRedis(options: StartRedisOptions = {}): Promise<PrivateRedis> {
  const server = options.server ?? (await resolveRedisServer());
  const { port } = options;
  if (port !== undefined) return startOn(port, server, options);
  return onFreePort((free) => startOn(free, server, options));
}

async function startOn(port: number, server: ServerCommand, options: StartRedisOptions): Promise<PrivateRedis> {
  const dir = options.dir ?? (await mkdtemp(join(tmpdir(), 'clinic-mirror-redis-')));
  const settings = {
    bind: '127.0.0.1',
    port: String(port),
    dir,
    appendonly: options.appendOnly === false ? 'no' : 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
    daemonize: 'no',
    loglevel: 'notice',
    // Redis 7 refuses to start on some ARM kernels for a risk that only snapshots have.
    ...(process.arch === 'arm64' ? { 'ignore-warnings': 'ARM64-COW-BUG' } : {}),
    ...options.settings,
  };
  const { process: guarded } = await startGuarded({
    server,
    args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    ...(options.dir === undefined ? { ownFolder: dir } : {}),
    ready: /Ready to accept connections/,
    readyTimeoutMs: START_TIMEOUT_MS,
  });
  return { ...guarded, port, dir, url: `redis://127.0.0.1:${port}` };
}
