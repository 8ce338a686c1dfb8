import { readdirSync, statSync } from 'node:fs';
import { basename, extname, join, sep } from 'node:path';
import { NAME, NAME_REMEDY } from '../core/model/text.ts';
import { withRemedy } from '../messages/message.ts';
import { ConfigurationError, type ConfigurationFault, faultIn } from './faults.ts';

/** A YAML file whose name without `.yaml` is an id. */
export interface NamedFile {
  id: string;
  fileName: string;
}

/**
 * Lists the YAML files of a directory by name; a missing directory is empty. A file that would be ignored by mistake (`.yml`, an invalid
 * id) is a fault. Hidden and other files are skipped.
 * @throws ConfigurationError when the directory exists but is unreadable
 */
export function listYamlFiles(dir: string): { files: NamedFile[]; faults: ConfigurationFault[] } {
  const files: NamedFile[] = [];
  const faults: ConfigurationFault[] = [];
  // Computed once: thousands of files are checked every few seconds, and a join per file would allocate megabytes.
  const folder = join(dir, sep);
  for (const entry of entriesOf(dir).toSorted()) {
    const extension = extname(entry).toLowerCase();
    if (entry.startsWith('.') || (extension !== '.yaml' && extension !== '.yml')) continue;
    const fileName = folder + entry;
    const id = basename(entry, '.yaml');
    if (NAME.test(id)) files.push({ id, fileName });
    else faults.push(misnamed(fileName, extname(entry) === '.yaml'));
  }
  return { files, faults };
}

function misnamed(file: string, hasRightExtension: boolean): ConfigurationFault {
  if (!hasRightExtension) return faultIn(file, ...withRemedy('yaml.misnamed'));
  return faultIn(file, ...withRemedy('yaml.no-id', { rule: NAME_REMEDY }));
}

function entriesOf(dir: string): string[] {
  try {
    return readdirSync(dir);
  } catch (error) {
    const code = error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
    if (code === 'ENOENT') return [];
    throw new ConfigurationError([faultIn(dir, ...withRemedy('yaml.folder-unreadable', { code }))]);
  }
}

/** Stamps by file name. A stamp changes when the file is written, replaced or linked elsewhere. */
export type FileStamps = ReadonlyMap<string, string>;

/**
 * Stamps of one read: a file with an unchanged stamp need not be read again. A stamp contains inode, size, and the times of content and
 * inode, which no copy or renaming restores. Links are followed.
 */
export class SeenFiles {
  readonly #before: FileStamps;
  readonly #justNow: FileStamps;
  readonly #stamps = new Map<string, string>();

  /**
   * @param before stamps of the last read; empty: every file is read
   * @param justNow stamps of a check just before: these files are not checked again
   */
  constructor(before: FileStamps = new Map(), justNow: FileStamps = new Map()) {
    this.#before = before;
    this.#justNow = justNow;
  }

  /** Records the file's stamp. Call before reading the file, so that the next check detects a write in between. */
  isAsBefore(fileName: string): boolean {
    const stamp = this.#stamps.get(fileName) ?? this.#justNow.get(fileName) ?? stampOf(fileName);
    this.#stamps.set(fileName, stamp);
    return this.#before.get(fileName) === stamp;
  }

  /** Stamps of all read files. */
  get stamps(): FileStamps {
    return this.#stamps;
  }
}

/** Returns a file's stamp, or the error code if inaccessible. */
export function stampOf(fileName: string): string {
  try {
    const { ino, size, mtimeMs, ctimeMs } = statSync(fileName);
    return `${ino} ${size} ${mtimeMs} ${ctimeMs}`;
  } catch (error) {
    return error instanceof Error && 'code' in error ? String(error.code) : 'unknown';
  }
}

/** Decides whether two checks found equal stamps. */
export function isSameStamps(one: FileStamps, other: FileStamps): boolean {
  if (one.size !== other.size) return false;
  for (const fileName of one.keys()) if (other.get(fileName) !== one.get(fileName)) return false;
  return true;
}
