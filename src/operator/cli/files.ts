import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { MirrorError } from '../../core/model/errors.ts';
import { type Message, message } from '../../messages/message.ts';

const CANNOT_READ = message('cannot-read');
/** Message for a file that cannot be created. */
export const CANNOT_CREATE = message('cannot-create');

/** Returns the text of a file. @throws MirrorError `settings`, code `file-unusable` */
export function readTextFile(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw unusable(CANNOT_READ, error);
  });
}

/** Yields the lines of a file, with one line in memory at a time. @throws MirrorError `settings`, code `file-unusable` */
export async function* readLines(file: string): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw unusable(CANNOT_READ, error);
  }
}

/**
 * Creates a file with owner-only permissions. An existing file remains unchanged.
 * @throws MirrorError `settings`, code `file-unusable`, and errors of the stream
 */
export async function writeNewFile(file: string, content: string | Readable): Promise<void> {
  await writeFile(file, content, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    throw error instanceof MirrorError ? error : unusable(CANNOT_CREATE, error);
  });
}

/** Returns the error for an unusable file: `settings`, code `file-unusable`. */
export function unusable(what: Message, error: unknown): MirrorError {
  const reason = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  return new MirrorError(message('file-unusable', { what, reason }), {
    actor: 'settings',
    code: 'file-unusable',
    retry: 'never',
    remedy: message('file-unusable.remedy'),
    cause: error,
  });
}
