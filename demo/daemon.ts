import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { approveDevice, authorizeInBrowser as authorizeInClinic } from '../sandbox/clinic/index.ts';
import type { DemoLogin, World } from './world.ts';

const CLI = fileURLToPath(new URL('../bin/clinic-mirror.js', import.meta.url));

/** The daemon in a separate process. */
export interface DaemonProcess {
  process: ChildProcess;
  /** Resolves when the daemon runs, or has exited. */
  started: Promise<unknown>;
  /** Asks it to end and waits. @returns its exit code */
  stop(): Promise<number | null>;
  kill(): Promise<void>;
}

/** What a daemon's log says when it has started. */
const RUNS = 'daemon started';

/** Starts `clinic-mirror run`, or a part of it; its log goes to a file in the world's folder. */
export function startDaemon(
  world: Pick<World, 'configDir' | 'dir' | 'env'>,
  { role = 'all' }: { role?: string } = {},
): DaemonProcess {
  const child = spawn(process.execPath, [CLI, '--config', world.configDir, 'run', '--role', role], {
    env: { ...process.env, ...world.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const log = createWriteStream(join(world.dir, 'daemon.log'), { flags: 'a' });
  child.stdout.pipe(log);
  child.stderr.pipe(log);
  // The parent may exit without stopping the daemon.
  const killWithParent = () => child.kill('SIGKILL');
  process.once('exit', killWithParent);
  const exited = once(child, 'exit').finally(() => process.removeListener('exit', killWithParent));
  const { promise: runs, resolve } = Promise.withResolvers<void>();
  let told = '';
  child.stdout.on('data', (chunk: Buffer) => {
    told = (told + chunk.toString()).slice(-RUNS.length - chunk.length);
    if (told.includes(RUNS)) resolve();
  });
  const end = async (signal: NodeJS.Signals) => {
    if (child.exitCode === null && child.signalCode === null) child.kill(signal);
    await exited;
    return child.exitCode;
  };
  const started = Promise.race([runs, exited]);
  async function stop(): Promise<number | null> {
    // A signal before the daemon listens would end it as an interrupted start.
    await started;
    return end('SIGTERM');
  }
  return { process: child, started, stop, kill: async () => void (await end('SIGKILL')) };
}

/** Runs a command of the product to its end. */
export async function runCli(
  world: Pick<World, 'configDir' | 'env'>,
  args: readonly string[],
  onError?: (text: string) => void,
): Promise<{ code: number | null; out: string; err: string }> {
  const child = spawn(process.execPath, [CLI, '--config', world.configDir, ...args], {
    env: { ...process.env, ...world.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let out = '';
  let err = '';
  child.stdout.on('data', (chunk: Buffer) => {
    out += chunk.toString();
  });
  child.stderr.on('data', (chunk: Buffer) => {
    err += chunk.toString();
    onError?.(err);
  });
  await once(child, 'close');
  return { code: child.exitCode, out, err };
}

/** Authorises every connection that the daemon needs, the clinics in parallel. */
export async function logInAll(world: World, say: (text: string) => void): Promise<void> {
  const logInFor = async (tenant: string) => {
    for (const login of world.logins.filter((each) => each.tenant === tenant)) {
      say(`Logging in: ${login.connection} of ${login.tenant} …`);
      await logIn(world, login);
    }
  };
  await Promise.all([...world.clinicTenants.keys()].map(logInFor));
}

/** Authorises a connection like an operator: the command prints a URL or a code, and a script uses it on the provider's pages. */
async function logIn(world: World, login: DemoLogin): Promise<void> {
  const { tenant, connection, username, password } = login;
  let acted: Promise<void> | null = null;
  const byDevice = login.kind === 'clinic' && tenant === world.logins[0]?.tenant;
  const act = async (shown: string) => {
    if (byDevice) {
      const [, address, code] = /Open (\S+) on any device and enter the code {2}(\S+)/.exec(shown) ?? [];
      if (address !== undefined && code !== undefined) await approveDevice(address, code, { username, password });
      return;
    }
    const address = /^(https?:\S+)$/m.exec(shown)?.[1] ?? '';
    const person = {
      clinic: () => authorizeInClinic(address, { username, password }),
      google: () => world.google.authorizeInBrowser(address, { account: username }),
      microsoft: () => world.graph.authorizeInBrowser(address, { account: username }),
    };
    await (await fetch(await person[login.kind]())).text();
  };
  const args = ['login', tenant, connection, ...(byDevice ? ['--device'] : [])];
  const { code, err } = await runCli(world, args, (shown) => {
    if (shown.includes('Waiting')) acted ??= act(shown);
  });
  await acted;
  if (code !== 0) throw new Error(`logging in to ${connection} of ${tenant} failed: ${err}`);
}
