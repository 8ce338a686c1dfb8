import { ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { Socket } from 'node:net';
import type { Readable, Writable } from 'node:stream';
import type { ServerCommand } from './server-command.ts';

/** A server program that cannot outlive this process. */
export interface GuardedProcess {
  readonly pid: number;
  /** Settles when the process has ended, with its exit code or signal. */
  readonly ended: Promise<string>;
  /** The last lines that it printed. */
  recentOutput(): string;
  /** Ends it as a crash does (SIGKILL) and waits for that. Its folder stays until stop(). */
  crash(): Promise<void>;
  /** Ends it (SIGTERM, after 5 s SIGKILL), removes its folder, and waits until both is done. May be called twice. */
  stop(): Promise<void>;
}

export interface GuardedProcessOptions {
  readonly server: ServerCommand;
  readonly args: readonly string[];
  /** Removed by stop(), and when this process ends without calling it. */
  readonly ownFolder?: string;
  /** Settles the start with the first match's groups in the process's output. */
  readonly ready: RegExp;
  readonly readyTimeoutMs: number;
}

/**
 * The guard waits for the end of its input, which results from stop() and from every end of this process, including SIGKILL. Then the guard
 * ends the server ($1, a process id) and removes the server's folder ($2). After a message that the server has ended, the guard never uses
 * the id again, because another process may have it. In a container, an ended orphan may remain unreaped (state Z): it is treated as ended.
 */
const GUARD = `
alive() {
  kill -0 "$1" 2>/dev/null || return 1
  case "$(cat "/proc/$1/stat" 2>/dev/null)" in *") Z "*) return 1 ;; esac
}
end() {
  kill -TERM "$1" 2>/dev/null
  tries=0
  while alive "$1" && [ "$tries" -lt 250 ]; do sleep 0.02; tries=$((tries + 1)); done
  if alive "$1"; then kill -KILL "$1" 2>/dev/null; fi
}
read -r told
if [ "$told" = ended ]; then read -r _; else end "$1"; fi
if [ -n "$2" ]; then rm -rf -- "$2"; fi
`;

const OUTPUT_KEPT_CHARACTERS = 4_000;

/**
 * Starts a server program and waits until it is ready. The program runs in a separate session, so that Ctrl-C reaches only this process.
 * The program does not keep this process alive.
 *
 * @returns the process, and the match of `ready` in its output
 * @throws Error if the program cannot be started, ends early or is not ready in time; with its output
 */
export async function startGuarded(
  options: GuardedProcessOptions,
): Promise<{ process: GuardedProcess; match: RegExpMatchArray }> {
  const { server, ownFolder = '' } = options;
  const child = spawn(server.command, [...server.args, ...options.args], {
    detached: true,
    env: { ...process.env, ...server.env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (child.pid === undefined) {
    const [error]: unknown[] = await once(child, 'error');
    throw new Error(`${server.command} cannot be started: ${String(error)}`);
  }
  const guard = spawn('sh', ['-c', GUARD, 'guard', String(child.pid), ownFolder], {
    detached: true,
    stdio: ['pipe', 'ignore', 'ignore'],
  });
  const guarded = watch(child, guard, child.pid);
  try {
    const match = await readiness(guarded, options);
    for (const handle of [child, guard, child.stdout, child.stderr, guard.stdin]) unref(handle);
    return { process: guarded, match };
  } catch (error) {
    await guarded.stop();
    throw error;
  }
}

interface WatchedProcess extends GuardedProcess {
  /** Called with all that was printed so far, at each addition. */
  onOutput: (output: string) => void;
}

function watch(child: ChildProcess, guard: ChildProcess, pid: number): WatchedProcess {
  let output = '';
  const ended = once(child, 'exit').then(([code, signal]: unknown[]) => String(signal ?? `exit code ${code}`));
  const guardEnded = once(guard, 'exit');
  const watched: WatchedProcess = {
    pid,
    ended,
    onOutput: () => {},
    recentOutput: () => output,
    async crash() {
      child.ref();
      child.kill('SIGKILL');
      await ended;
    },
    async stop() {
      child.ref();
      guard.ref();
      guard.stdin?.end();
      await guardEnded;
      // Only if the guard was killed before it finished.
      if (child.exitCode === null && child.signalCode === null) child.kill('SIGKILL');
      await ended;
    },
  };
  for (const stream of [child.stdout, child.stderr]) {
    stream?.setEncoding('utf8').on('data', (chunk: string) => {
      output = (output + chunk).slice(-OUTPUT_KEPT_CHARACTERS);
      watched.onOutput(output);
    });
  }
  guard.stdin?.on('error', () => {});
  void ended.then(() => guard.stdin?.writable && guard.stdin.write('ended\n'));
  return watched;
}

async function readiness(watched: WatchedProcess, options: GuardedProcessOptions): Promise<RegExpMatchArray> {
  const { command } = options.server;
  const { promise, resolve, reject } = Promise.withResolvers<RegExpMatchArray>();
  watched.onOutput = (output) => {
    const match = options.ready.exec(output);
    if (match !== null) resolve(match);
  };
  const timer = setTimeout(
    () => reject(new Error(`${command} wasn't ready after ${options.readyTimeoutMs} ms:\n${watched.recentOutput()}`)),
    options.readyTimeoutMs,
  );
  void watched.ended.then((how) => reject(new Error(`${command} ended (${how}):\n${watched.recentOutput()}`)));
  try {
    return await promise;
  } finally {
    clearTimeout(timer);
    watched.onOutput = () => {};
  }
}

/** Lets this process end while the handle is open. Pipes of a child are sockets, which their type doesn't say. */
function unref(handle: ChildProcess | Readable | Writable | null): void {
  if (handle instanceof Socket || handle instanceof ChildProcess) handle.unref();
}
