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

/** A running private Redis. */
export interface PrivateRedis extends GuardedProcess {
  readonly url: string;
  readonly port: number;
  /** Where its data lies. */
  readonly dir: string;
}

export interface StartRedisOptions {
  /** Folder of the data, kept at the end; by default a temporary folder that is removed with the server. */
  readonly dir?: string;
  /** Port of an earlier server that is started again; a free port by default. */
  readonly port?: number;
  /** Whether each write goes to the append-only file; true by default. */
  readonly appendOnly?: boolean;
  /** Further settings of the server. */
  readonly settings?: Readonly<Record<string, string>>;
  /** Saves finding it once more. */
  readonly server?: ServerCommand;
}

/**
 * Finds a Redis (or Valkey) program: in PATH, in `.cache/redis`, or as Debian's package, in this order. The package is fetched into
 * `.cache/redis` without privileges and without an installation. Not required with a REDIS_URL.
 *
 * @throws ServerUnavailable if none is available; the message names the command that installs one
 */
export async function resolveRedisServer(progress: Progress = terminalProgress): Promise<ServerCommand> {
  return await resolveServer(REDIS, progress);
}

/**
 * Starts a private Redis on a free loopback port: `noeviction`, append-only file on, no snapshots. The server ends with stop() or with this
 * process, even after SIGKILL.
 *
 * @throws ServerUnavailable without a program; Error with the server's output if it does not start
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
