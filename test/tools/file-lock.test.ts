import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, expect, test } from 'vitest';
import { withFileLock } from '../../tools/file-lock.js';
import { waitFor } from '../support/wait-for.ts';

const folder = mkdtempSync(join(tmpdir(), 'clinic-mirror-lock-'));
const lock = join(folder, 'deep', 'lock');
const holder = fileURLToPath(new URL('fixtures/hold-lock.js', import.meta.url));
const processes: ChildProcess[] = [];

afterEach(() => {
  for (const child of processes.splice(0)) child.kill('SIGKILL');
  rmSync(folder, { recursive: true, force: true });
});

/** Starts a process that takes the lock; `said` returns its output so far. */
function wantLock(): { said: () => string; child: ChildProcess } {
  const child = spawn(process.execPath, [holder, lock], { stdio: ['ignore', 'pipe', 'inherit'] });
  processes.push(child);
  let output = '';
  child.stdout.on('data', (chunk: Buffer) => {
    output += String(chunk);
  });
  return { said: () => output, child };
}

test('one process at a time has the lock, and the death of that process frees it', async () => {
  const first = wantLock();
  await waitFor(() => first.said() === 'locked\n', { what: 'the first to lock' });
  const second = wantLock();
  await waitFor(() => second.said() === 'waiting\n', { what: 'the second to wait' });
  first.child.kill('SIGKILL');
  await waitFor(() => second.said() === 'waiting\nlocked\n', { what: 'the second to lock' });
});

test('work of one process is done one after another, and failures free the lock', async () => {
  const order: string[] = [];
  const work = (name: string) => async () => {
    order.push(`${name} begins`);
    await new Promise(setImmediate);
    order.push(`${name} ends`);
    if (name === 'b') throw new Error('b failed');
    return name;
  };
  const results = await Promise.allSettled(['a', 'b', 'c'].map((name) => withFileLock(lock, () => {}, work(name))));
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(order).toHaveLength(6);
  for (const index of [0, 2, 4]) {
    expect(order[index + 1]).toBe(order[index]?.replace('begins', 'ends'));
  }
});
