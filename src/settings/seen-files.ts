import { statSync } from 'node:fs';

/** Files by their names, each with a text that is another one when the file was written, replaced or linked elsewhere. */
export type FileStamps = ReadonlyMap<string, string>;

/**
 * What files were when they were read: one that is as it was need not be read again. It is told by inode, size and the times of its
 * content and of the inode itself, which no copy or renaming puts back. Links are followed.
 */
export class SeenFiles {
  readonly #before: FileStamps;
  readonly #justNow: FileStamps;
  readonly #secretsBefore: ReadonlyMap<string, unknown>;
  readonly #stamps = new Map<string, string>();
  readonly #secrets = new Map<string, unknown>();
  readonly #notedBefore: FileStamps;
  readonly #noted = new Map<string, string>();

  /**
   * @param before what was seen when they were last read; null: nothing is known
   * @param justNow their stamps of just now, so that they need not be looked at again
   */
  constructor(before: SeenFiles | null = null, justNow: FileStamps = new Map()) {
    this.#justNow = justNow;
    this.#before = before === null ? new Map() : before.#stamps;
    this.#notedBefore = before === null ? new Map() : before.#noted;
    this.#secretsBefore = before === null ? new Map() : before.#secrets;
  }

  /** How some are now that are no files, and can't be looked at. */
  note(stamps: Iterable<readonly [name: string, text: string]>): void {
    for (const [name, text] of stamps) this.#noted.set(name, text);
  }

  /** To be asked before the file is read: what is written in between is seen by the next look. */
  isAsBefore(fileName: string): boolean {
    const noted = this.#noted.get(fileName);
    if (noted !== undefined) return this.#notedBefore.get(fileName) === noted;
    const stamp = this.#stamps.get(fileName) ?? this.#justNow.get(fileName) ?? stampOf(fileName);
    this.#stamps.set(fileName, stamp);
    return this.#before.get(fileName) === stamp;
  }

  /** What a file of a secret holds; read only when it is not as it was. */
  secretIn<Found>(fileName: string, read: () => Found): Found {
    const isKnown = this.isAsBefore(fileName) && this.#secretsBefore.has(fileName);
    const found = isKnown ? (this.#secretsBefore.get(fileName) as Found) : read();
    this.#secrets.set(fileName, found);
    return found;
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
