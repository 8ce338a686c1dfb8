import { execFile } from 'node:child_process';
import { createReadStream, createWriteStream } from 'node:fs';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { pipeline } from 'node:stream/promises';
import { promisify } from 'node:util';
import { createBrotliDecompress } from 'node:zlib';

const run = promisify(execFile);

/** Unpacks a compressed program. */
export async function unpackBrotli(packed: string, program: string): Promise<void> {
  await pipeline(createReadStream(packed), createBrotliDecompress(), createWriteStream(program, { mode: 0o755 }));
}

/** Unpacks a compressed archive into an existing folder. @throws Error if `tar` fails */
export async function unpackBrotliTar(packed: string, folder: string): Promise<void> {
  // Not through a pipe: `tar` exits at the end mark of the archive, before it has read the padding.
  const archive = join(folder, 'archive.tar');
  await unpackBrotli(packed, archive);
  await run('tar', ['--extract', '--no-same-owner', '--directory', folder, '--file', archive]);
  await rm(archive);
}
