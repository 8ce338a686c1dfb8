import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { appendFileSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { fileURLToPath } from 'node:url';
import type { AwaitHub } from './awaits.ts';
import { openRedisGate, type RedisGate } from './redis-gate.ts';

/** One daemon's place: its process may end and be started again. */
export interface DaemonPlace {
  readonly number: number;
  readonly gate: RedisGate;
  /** Whether a process runs here, frozen ones included. */
  isAlive(): boolean;
  pid(): number | null;
  /** Where it answers probes; null until it is at work. */
  operatorPort(): number | null;
  /** @param extra variables of the environment that this one start has in place of the usual ones */
  start(extra?: Readonly<Record<string, string>>): void;
  kill(): Promise<void>;
  /** SIGTERM. @returns its exit code */
  stop(): Promise<number | null>;
  freeze(): void;
  thaw(): void;
  setClock(offsetMs: number): void;
}

export interface DaemonOptions {
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
const RUNS = '"the daemon runs"';
const CLOCK = fileURLToPath(new URL('../preload/clock.ts', import.meta.url));

/** Whoever started them may end without asking them to. */
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
  const imports = [CLOCK, ...(without === null ? [] : [WITHOUT])].flatMap((file) => ['--import', file]);
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
  // A message to one that has just ended is nobody's loss.
  child.on('error', () => {});
  return child;
}

/** Which of the processes a loopback port belongs to (Linux: /proc); null when that can't be told. */
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
