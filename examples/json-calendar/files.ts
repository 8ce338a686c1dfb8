import { randomUUID } from 'node:crypto';
import { open, readdir, readFile, rename, rm, stat } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { asMirrorError, MirrorError } from '../../src/core/model/errors.ts';
import { errors } from './errors.ts';

/** Largest file that is read or written, in bytes. Own choice: about 20,000 events. */
const MOST_BYTES = 10_000_000;

/** A lock of this age belongs to a process that stopped: a write takes a fraction of a second. Own choice. */
const LOCK_EXPIRES_AFTER_MS = 30_000;
/** Waits for the lock of another worker: one hundred times ten milliseconds. Own choice. */
const LOCK_ATTEMPTS = 100;
const LOCK_PAUSE_MS = 10;

/** Access to files, which tests replace to simulate failures. */
export interface Files {
  /** Lists the names of the files in a folder. */
  list(folder: string): Promise<string[]>;
  /** Reads a file; null if it does not exist. */
  read(path: string): Promise<string | null>;
  /**
   * Replaces a file at once, while no other worker writes. Readers see the old or the new text, never a part.
   * @param edit returns the new text, or null to leave the file unchanged. @param before null if the file does not exist
   */
  replace(path: string, edit: (before: string | null) => string | null, signal: AbortSignal): Promise<void>;
}

/** The file system. All methods throw MirrorError. */
export const fileSystem: Files = {
  list: (folder) => readdir(folder).catch(rethrow),
  read: (path) => readText(path).catch(rethrow),
  async replace(path, edit, signal) {
    const lock = `${path}.lock`;
    const id = randomUUID();
    try {
      await takeLock(lock, id, signal);
      try {
        await replaceLocked({ path, lock, id }, edit);
      } finally {
        if ((await readText(lock)) === id) await rm(lock, { force: true });
      }
    } catch (error) {
      rethrow(error);
    }
  },
};

async function replaceLocked(
  { path, lock, id }: { path: string; lock: string; id: string },
  edit: (before: string | null) => string | null,
): Promise<void> {
  const before = await readText(path);
  const after = edit(before);
  if (after === null) return;
  if (Buffer.byteLength(after) > MOST_BYTES) throw errors.make('calendar-too-large');
  const draft = `${path}.${id}.draft`;
  try {
    await writeNew(draft, after);
    // A user's editor knows no lock, and a worker that was stopped for long lost its lock.
    if ((await readText(path)) !== before || (await readText(lock)) !== id) throw errors.make('changed-meanwhile');
    await rename(draft, path);
  } finally {
    await rm(draft, { force: true });
  }
}

async function takeLock(lock: string, id: string, signal: AbortSignal): Promise<void> {
  for (let attempt = 0; attempt < LOCK_ATTEMPTS; attempt += 1) {
    signal.throwIfAborted();
    try {
      return await writeNew(lock, id);
    } catch (error) {
      if (codeOf(error) !== 'EEXIST') throw error;
    }
    const age = Date.now() - ((await stat(lock).catch(() => null))?.mtimeMs ?? Date.now());
    if (age > LOCK_EXPIRES_AFTER_MS) await rm(lock, { force: true });
    else await sleep(LOCK_PAUSE_MS);
  }
  throw errors.make('calendar-locked');
}

/** Writes a file that does not exist yet, and waits until it is on the disk. */
async function writeNew(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function readText(path: string): Promise<string | null> {
  try {
    if ((await stat(path)).size > MOST_BYTES) throw errors.make('calendar-too-large');
    return await readFile(path, 'utf8');
  } catch (error) {
    if (codeOf(error) === 'ENOENT') return null;
    throw error;
  }
}

/** Rethrows an error without its path, which may contain a name. */
function rethrow(error: unknown): never {
  if (error instanceof MirrorError) throw error;
  const code = codeOf(error);
  if (code === undefined) throw asMirrorError(error);
  throw errors.make(/^(EACCES|EPERM|EROFS)$/.test(code) ? 'not-permitted' : 'storage-failed', { names: [code] });
}

function codeOf(error: unknown): string | undefined {
  return error instanceof Error && 'code' in error ? String(error.code) : undefined;
}
