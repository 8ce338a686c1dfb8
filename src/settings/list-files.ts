import { readdirSync, statSync } from 'node:fs';
import { basename, extname, join, sep } from 'node:path';
import { withRemedy } from '../messages/message.ts';
import { NAME, NAME_REMEDY } from '../model/text.ts';
import { ConfigurationError, type ConfigurationFault, faultIn } from './faults.ts';

/** A YAML file whose name, without `.yaml`, is the id of what it describes. */
export interface NamedFile {
  id: string;
  fileName: string;
}

/**
 * The YAML files of a directory in order of name; a directory that isn't there holds none. A file that was meant to be read
 * but would not be (`.yml`, a name that is no id) is a fault; hidden files and all others are passed over.
 * @throws ConfigurationError when the directory is there and can't be read
 */
export function listYamlFiles(dir: string): { files: NamedFile[]; faults: ConfigurationFault[] } {
  const files: NamedFile[] = [];
  const faults: ConfigurationFault[] = [];
  // They are looked at every few seconds, in their thousands: joining each anew would leave megabytes behind.
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
