import { runCommand } from './command-line.ts';
import { SECOND_MS } from './core/model/time.ts';

/** A container engine kills ten seconds after its signal, and an unreachable Redis would take longer. */
const END_DEADLINE_MS = 9 * SECOND_MS;

const interrupted = new AbortController();
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, interrupt);

function interrupt(): void {
  interrupted.abort();
  const deadline = setTimeout(() => {
    process.stderr.write('Exiting before all work is finished: unfinished work continues at the next start.\n');
    process.exit(1);
  }, END_DEADLINE_MS);
  deadline.unref();
}

const { env, stdin, stdout, stderr } = process;
/** Resolves when the stream has written everything or is closed. */
const written = (stream: NodeJS.WriteStream) =>
  new Promise<void>((resolve) => {
    if (stream.writableLength === 0 || stream.destroyed) resolve();
    else stream.once('close', resolve).write('', () => resolve());
  });

const exitCode = await runCommand(process.argv.slice(2), {
  env,
  stdin,
  stdout,
  stderr,
  interrupted: interrupted.signal,
});
await Promise.all([written(stdout), written(stderr)]);
// The program has closed its resources. A library possibly left timers or sockets, such as ioredis its connections to sentinels, which
// would keep the process running for seconds or forever.
process.exit(exitCode);
