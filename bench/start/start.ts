import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { setTimeout as pause } from 'node:timers/promises';
import { fileURLToPath } from 'node:url';
import { startRedis } from '../../tools/redis.ts';
import type { Figure } from '../figure.ts';
import { measureReload } from './reload.ts';
import { secretsOf, writeTenants } from './world.ts';

/** The program as distributed. */
export const PROGRAM = fileURLToPath(new URL('../../bin/clinic-mirror.js', import.meta.url));
const GOALS = {
  ...{
    portsSeconds: 1,
    checkedSeconds: 15,
    idleMegabytes: 120,
    helpSeconds: 0.25,
    helpMegabytes: 70,
    statusSeconds: 0.5,
  },
  ...{ lookSeconds: 0.05, reloadSeconds: 0.1, surelySeconds: 0.2 },
};
/** After this time an idle process has finished the work after its start. */
const SETTLE_MS = 5_000;
const TIMES = 3;

/**
 * Measures the time until the daemon's ports are open and until all tenants are checked, and its memory then, for tenants without
 * connections; also the command line.
 */
export async function measureStart({ tenants }: { tenants: number }, say: (text: string) => void): Promise<Figure[]> {
  await using started = await startTwice(tenants, say);
  const { dir, env, daemon } = started;
  say('start: the command line …');
  const help = await leastOf(() => commandOnce(['--help'], env));
  const status = await leastOf(() => commandOnce(['-c', dir, 'status', 'clinic-0'], env));
  say('start: following files that change …');
  const reload = measureReload(dir, env);
  const figure = (name: string, ours: number, goal: number, unit: string, n: number): Figure => ({
    ...{ name, value: ours, goal, met: ours <= goal, floor: null, ours, unit, n },
  });
  return [
    figure('start ports', daemon.seconds, GOALS.portsSeconds, 's', tenants),
    figure('start checked', daemon.checkedSeconds, GOALS.checkedSeconds, 's', tenants),
    figure('start idle', daemon.megabytes, GOALS.idleMegabytes, 'MB', tenants),
    figure('cli help', help.seconds, GOALS.helpSeconds, 's', 1),
    figure('cli help', help.megabytes, GOALS.helpMegabytes, 'MB', 1),
    figure('cli status', status.seconds, GOALS.statusSeconds, 's', tenants),
    figure('reload look', reload.look, GOALS.lookSeconds, 'CPU s', tenants),
    figure('reload one', reload.changed, GOALS.reloadSeconds, 'CPU s', tenants),
    figure('reload surely', reload.sure, GOALS.surelySeconds, 'CPU s', tenants),
  ];
}

/** An installation whose daemon was started for the second time; `daemon` contains the measurements. */
interface Started extends AsyncDisposable {
  dir: string;
  env: NodeJS.ProcessEnv;
  daemon: Taken & { checkedSeconds: number };
}

/** Starts a daemon twice, for tenants without connections. */
export async function startTwice(tenants: number, say: (text: string) => void): Promise<Started> {
  await using stack = new AsyncDisposableStack();
  const dir = await mkdtemp(join(tmpdir(), 'clinic-mirror-bench-'));
  stack.defer(() => rm(dir, { recursive: true, force: true }));
  say(`start: writing the files of ${tenants} tenants …`);
  await writeTenants(dir, tenants);
  const redis = await startRedis();
  stack.defer(() => redis.stop());
  const env = { ...process.env, ...secretsOf(tenants), REDIS_URL: redis.url };
  say('start: for the first time …');
  await daemonOnce(dir, env);
  say('start: unchanged since then …');
  const daemon = await daemonOnce(dir, env);
  const kept = stack.move();
  return { dir, env, daemon, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

interface Taken {
  seconds: number;
  megabytes: number;
}

/** From exec to open ports, and to the end of the checks; its memory when it has settled. */
async function daemonOnce(dir: string, env: NodeJS.ProcessEnv): Promise<Started['daemon']> {
  await using daemon = await runDaemon(dir, env);
  const checkedSeconds = await daemon.checked;
  await pause(SETTLE_MS);
  return { seconds: daemon.seconds, checkedSeconds, megabytes: residentMegabytes(daemon.child) };
}

/** A daemon, and how long it took until it said that it runs, and that all tenants are checked. */
export async function runDaemon(dir: string, env: NodeJS.ProcessEnv) {
  const startedAt = performance.now();
  const child = spawn(process.execPath, [PROGRAM, '-c', dir, 'run'], { env, stdio: ['ignore', 'pipe', 'inherit'] });
  await using stack = new AsyncDisposableStack();
  stack.defer(() => end(child));
  // Every line is taken as it comes: a full pipe would hold the daemon up.
  const lines = createInterface(child.stdout);
  const said = (text: string) =>
    new Promise<{ line: string; seconds: number }>((resolve, reject) => {
      lines.on('line', (line) => {
        if (line.includes(`"${text}"`)) resolve({ line, seconds: (performance.now() - startedAt) / 1_000 });
      });
      child.once('exit', () => reject(new Error('the daemon ended')));
    });
  const checked = said('all tenants are checked').then((end) => end.seconds);
  // Not everybody waits for it.
  checked.catch(() => {});
  const { line, seconds } = await said('daemon started');
  const { operatorPort } = JSON.parse(line) as { operatorPort: number };
  const opened = stack.move();
  return { child, seconds, checked, operatorPort, [Symbol.asyncDispose]: () => opened.disposeAsync() };
}

async function end(child: ChildProcess): Promise<void> {
  const ended = once(child, 'exit');
  child.kill('SIGTERM');
  await ended;
}

/** Wall time of a whole command, and the most memory that it had. */
async function commandOnce(args: readonly string[], env: NodeJS.ProcessEnv): Promise<Taken> {
  const startedAt = performance.now();
  // Not `maxRSS`: that of the process before `exec`, which is this one, counts in it.
  const read = "process.getBuiltinModule('fs').readFileSync('/proc/self/status', 'utf8')";
  const report = `process.on('exit', () => process.stderr.write('\\nmost ' + /VmHWM:\\s+(\\d+)/.exec(${read})[1]))`;
  const hook = `data:text/javascript,${encodeURIComponent(report)}`;
  const child = spawn(process.execPath, ['--import', hook, PROGRAM, ...args], {
    env,
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let told = '';
  child.stderr.on('data', (chunk) => {
    told += chunk;
  });
  await once(child, 'close');
  const seconds = (performance.now() - startedAt) / 1_000;
  return { seconds, megabytes: Number(/most (\d+)$/.exec(told)?.[1]) / 1_024 };
}

async function leastOf(measure: () => Promise<Taken>): Promise<Taken> {
  const all: Taken[] = [];
  for (let time = 0; time < TIMES; time += 1) all.push(await measure());
  const least = (of: (taken: Taken) => number) => Math.min(...all.map(of));
  return { seconds: least(({ seconds }) => seconds), megabytes: least(({ megabytes }) => megabytes) };
}

function residentMegabytes({ pid }: ChildProcess): number {
  const kilobytes = /VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return Number(kilobytes) / 1_024;
}
