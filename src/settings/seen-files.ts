import { statSync } from 'node:fs';

/** Files by their names, each with a text that changes when the file is written, replaced or linked elsewhere. */
export type FileStamps = ReadonlyMap<string, string>;

/**
 * Stamps of the files of one reading: a file whose stamp is that of the reading before need not be read again. A stamp holds inode, size and the
 * times of the content and of the inode itself, which no copy or renaming restores. Links are followed.
 */
export class SeenFiles {
  readonly #before: FileStamps;
  readonly #justNow: FileStamps;
  readonly #stamps = new Map<string, string>();

  /**
   * @param before stamps of the last reading; empty: every file is read
   * @param justNow stamps that a look found just now: these files are not looked at again
   */
  constructor(before: FileStamps = new Map(), justNow: FileStamps = new Map()) {
    this.#before = before;
    this.#justNow = justNow;
  }

  /** Records the file's stamp. Called before the file is read, so that the next look sees what is written in between. */
  isAsBefore(fileName: string): boolean {
    const stamp = this.#stamps.get(fileName) ?? this.#justNow.get(fileName) ?? stampOf(fileName);
    this.#stamps.set(fileName, stamp);
    return this.#before.get(fileName) === stamp;
  }

  /** Every file that was read, as it was then. */
  get stamps(): FileStamps {
    return this.#stamps;
  }
}

/** A file as it is now; why it can't be looked at where it can't. */
export function stampOf(fileName: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(fileName);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  }
}

/** Whether two looks found the same. */
export function isSameStamps(one: FileStamps, other: FileStamps): boolean {
  if (one.size !== other.size) return false;
  for (const fileName of one.keys()) if (other.get(fileName) !== one.get(fileName)) return false;
  return true;
}
