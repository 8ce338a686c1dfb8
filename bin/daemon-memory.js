// JavaScript instead of TypeScript: image and package have no TypeScript below bin.

/**
 * Largest semi-space of V8's young generation. V8's own choice is larger. A size of 8 saves about 10 MB more
 * and costs a sixth more processor time (decisions/2026-11-23-memory-of-a-daemon.md).
 */
const SEMI_SPACE_MEBIBYTES = 16;
/**
 * Growth of V8's old generation until the next collection, in percent of what the last one left. V8's own choice is up to 300, and what a
 * collection frees stays with the process until it is idle (decisions/2026-11-23-memory-of-a-daemon.md).
 */
const GROWTH_PERCENT = 50;
/** Heaps of the C library. Its own choice is eight for each CPU, and each keeps what its threads returned. */
const MALLOC_ARENAS = '2';

/**
 * Replaces the process of a daemon (`run`) by the same process with less memory: V8 and the C library take these sizes only at the start of
 * a process. The process id, the terminal and the environment stay. Sizes that the operator chose in NODE_OPTIONS or MALLOC_ARENA_MAX stay
 * too. Without effect for other commands, for a child process with an IPC channel, and where a process cannot be replaced (Windows).
 * @param {readonly string[]} args arguments of the command line, without Node and the file
 */
export function withDaemonMemory(args) {
  const { env, execArgv, execPath, argv } = process;
  const isSized = [env.NODE_OPTIONS ?? '', ...execArgv].some((text) =>
    /-semi-space-size|-heap-growing-percent/.test(text),
  );
  const isReplaceable = typeof process.execve === 'function' && process.send === undefined;
  if (isSized || !isReplaceable || !args.includes('run')) return;
  const options = [`--max-semi-space-size=${SEMI_SPACE_MEBIBYTES}`, `--heap-growing-percent=${GROWTH_PERCENT}`];
  process.execve(execPath, [execPath, ...execArgv, ...options, ...argv.slice(1)], {
    ...env,
    MALLOC_ARENA_MAX: env.MALLOC_ARENA_MAX ?? MALLOC_ARENAS,
  });
}
