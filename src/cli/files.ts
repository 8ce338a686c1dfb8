import { createReadStream } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createInterface } from 'node:readline';
import type { Readable } from 'node:stream';
import { type Message, message } from '../messages/message.ts';
import { MirrorError } from '../model/errors.ts';

const CANNOT_READ = message('cannot-read');
/** What is said of a file that can't be made. */
export const CANNOT_CREATE = message('cannot-create');

/** A file's text. @throws MirrorError `settings`, code `file-unusable` */
export function readTextFile(file: string): Promise<string> {
  return readFile(file, 'utf8').catch((error: unknown) => {
    throw unusable(CANNOT_READ, error);
  });
}

/** A file's lines, one in memory at a time. @throws MirrorError `settings`, code `file-unusable` */
export async function* readLines(file: string): AsyncGenerator<string> {
  try {
    yield* createInterface({ input: createReadStream(file, 'utf8'), crlfDelay: Number.POSITIVE_INFINITY });
  } catch (error) {
    throw unusable(CANNOT_READ, error);
  }
}

/**
 * Makes a file that only its owner may read; one that is there stays as it is.
 * @throws MirrorError `settings`, code `file-unusable`, and what the stream throws
 */
export async function writeNewFile(file: string, content: string | Readable): Promise<void> {
  await writeFile(file, content, { flag: 'wx', mode: 0o600 }).catch((error: unknown) => {
    throw error instanceof MirrorError ? error : unusable(CANNOT_CREATE, error);
  });
}

/** A file that can't be used: `settings`, code `file-unusable`. */
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
