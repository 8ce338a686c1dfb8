import { createHash, randomUUID } from 'node:crypto';
import type { Readable } from 'node:stream';
import type { Database } from './database.ts';

/** Bytes per row, so that no more than this of a file is in memory at once. */
const CHUNK_BYTES = 256 * 1024;

/** Result of storing a file. */
export interface StoredFile {
  fileId: string;
  size: number;
  sha256: string;
  /** Up to 5 bytes, enough to recognise the file type. */
  head: Buffer;
}

/** Files in SQLite's temporary database, which lives on disk and is gone with the process. */
export interface FileStore {
  /** Stores a stream; past `maxBytes` nothing is kept, the rest is read without effect and the answer is 'too-large'. */
  store(content: Readable, maxBytes: number): Promise<StoredFile | 'too-large'>;
  /** The bytes of a file, piece by piece; nothing when the file does not exist. */
  read(fileId: string): Generator<Uint8Array>;
  remove(fileId: string): void;
}

export function createFileStore(database: Database): FileStore {
  async function store(content: Readable, maxBytes: number): Promise<StoredFile | 'too-large'> {
    const [fileId, hash] = [randomUUID(), createHash('sha256')];
    let [size, position] = [0, 0];
    let head: Buffer = Buffer.alloc(0);
    try {
      for await (const chunk of content as AsyncIterable<Buffer>) {
        size += chunk.length;
        if (size > maxBytes) continue;
        if (head.length < 5) head = Buffer.concat([head, chunk]).subarray(0, 5);
        hash.update(chunk);
        for (let start = 0; start < chunk.length; start += CHUNK_BYTES) {
          database
            .statement('INSERT INTO temp.file_chunks VALUES (?, ?, ?)')
            .run(fileId, position++, chunk.subarray(start, start + CHUNK_BYTES));
        }
      }
    } catch (error) {
      remove(fileId);
      throw error;
    }
    if (size <= maxBytes) return { fileId, size, sha256: hash.digest('hex'), head: Buffer.from(head) };
    remove(fileId);
    return 'too-large';
  }

  function* read(fileId: string): Generator<Uint8Array> {
    const next = database.statement('SELECT bytes FROM temp.file_chunks WHERE file_id = ? AND position = ?');
    for (let position = 0; ; position++) {
      const bytes = next.get(fileId, position)?.bytes;
      if (!(bytes instanceof Uint8Array)) return;
      yield bytes;
    }
  }

  function remove(fileId: string): void {
    database.statement('DELETE FROM temp.file_chunks WHERE file_id = ?').run(fileId);
  }

  return { store, read, remove };
}
