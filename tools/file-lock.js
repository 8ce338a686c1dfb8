// JavaScript instead of TypeScript: runs on Node >= 20, before the installation of dependencies.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Runs `work` with an exclusive lock on a file. The kernel releases the lock when this process exits, even after a crash:
 * the `flock` command locks a descriptor of this process (flock(2)). Without a `flock` command, no lock is taken.
 *
 * @template Result
 * @param {string} path the lock file; created if missing, and not removed
 * @param {() => void} onWait called once if another process holds the lock
 * @param {() => Promise<Result>} work
 * @returns {Promise<Result>} the result of `work`
 */
export async function withFileLock(path, onWait, work) {
  mkdirSync(dirname(path), { recursive: true });
  const descriptor = openSync(path, 'w');
  try {
    if (!(await flock(descriptor, '--nonblock'))) {
      onWait();
      await flock(descriptor);
    }
    return await work();
  } finally {
    closeSync(descriptor);
  }
}

/** Takes the lock. Returns false if another process holds the lock (only with --nonblock). */
function flock(descriptor, ...options) {
  return new Promise((resolve) => {
    const child = spawn('flock', ['--exclusive', ...options, '3'], {
      stdio: ['ignore', 'ignore', 'ignore', descriptor],
    });
    child.on('error', () => resolve(true));
    child.on('exit', (code) => resolve(code === 0));
  });
}
