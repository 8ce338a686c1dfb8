// Plain JavaScript: runs on any Node >= 20, before anything is installed.
import { spawn } from 'node:child_process';
import { closeSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';

/**
 * Runs `work` while no other process does so under the same lock file. The lock is the kernel's (flock(2), taken
 * through the `flock` command on a descriptor of ours), so that it ends with this process however that ends.
 * Where there is no `flock` command, nothing is locked.
 *
 * @template Result
 * @param {string} path the lock file; made when it doesn't exist, and left there
 * @param {() => void} onWait called once when somebody else holds the lock
 * @param {() => Promise<Result>} work
 * @returns {Promise<Result>} what `work` returns
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

/** Takes the lock; false when another process holds it (only with --nonblock). */
function flock(descriptor, ...options) {
  return new Promise((resolve) => {
    const child = spawn('flock', ['--exclusive', ...options, '3'], {
      stdio: ['ignore', 'ignore', 'ignore', descriptor],
    });
    child.on('error', () => resolve(true));
    child.on('exit', (code) => resolve(code === 0));
  });
}
