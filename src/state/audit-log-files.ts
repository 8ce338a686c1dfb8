import { createHmac, type KeyObject, randomUUID, timingSafeEqual } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { message } from '../messages/message.ts';
import type { AuditEntry } from '../model/acts.ts';
import { MirrorError } from '../model/errors.ts';

/** An entry as its file holds it. */
export interface StoredEntry {
  /** One line of JSON, without its end. */
  line: string;
  /** Null for bytes that are no entry. */
  entry: AuditEntry | null;
  /** Base64url; empty for bytes that are no entry. */
  mac: string;
}

const CHAIN = /^\d{4}-[a-z2-9]+$/;
const FOLDER = /^\d{5}$/;
const FILE = /^(\d{8})\.json$/;
const LINE = /^\{"mac":"([\w-]{43})",(.*\})$/s;

/**
 * The files of the log, below one directory: `<chain>/<thousands>/<sequence>.json`, one entry each. A file comes into being whole, by a link
 * that only one process can make (link(2) fails where the name is taken), so that any number of processes, on several machines too, write one
 * chain without a lock, and a crash leaves no half of an entry. All methods throw MirrorError `settings`, code
 * `audit-log-unwritable`, for what the file system refuses.
 */
export class AuditLogFiles {
  readonly #path: string;
  readonly #folderEntries: number;

  /** @param folderEntries entries of one folder: the same for all who ever write there */
  constructor(path: string, folderEntries: number) {
    this.#path = path;
    this.#folderEntries = folderEntries;
  }

  /** Names of the chains, in the order in which they were begun. */
  async chains(): Promise<string[]> {
    return (await namesIn(this.#path)).filter((name) => CHAIN.test(name)).sort();
  }

  /** Numbers of the entries that are there, in order. */
  async *numbers(chain: string): AsyncGenerator<number, void> {
    for (const folder of await this.#folders(chain)) yield* await this.#numbersIn(chain, folder);
  }

  /** The same from the highest one down. @param below the last one that is not wanted */
  async *numbersBack(chain: string, below = Number.POSITIVE_INFINITY): AsyncGenerator<number, void> {
    for (const folder of (await this.#folders(chain)).reverse()) {
      for (const sequence of (await this.#numbersIn(chain, folder)).reverse()) if (sequence < below) yield sequence;
    }
  }

  /** The highest number; 0 for none. */
  async lastNumber(chain: string): Promise<number> {
    for await (const last of this.numbersBack(chain)) return last;
    return 0;
  }

  /** Null where there is no such file. */
  async read(chain: string, sequence: number): Promise<StoredEntry | null> {
    const text = await readFile(this.#fileOf(chain, sequence), 'utf8').catch(orMissing(null));
    return text === null ? null : parse(text);
  }

  /** Makes the file of an entry, on the disk when this returns. @returns false when another process was first */
  async write(chain: string, sequence: number, line: string): Promise<boolean> {
    const folder = join(this.#path, chain, this.#folderOf(sequence));
    const draft = join(folder, `.${randomUUID()}`);
    try {
      const isNew = (await mkdir(folder, { recursive: true, mode: 0o700 })) !== undefined;
      await writeToDisk(draft, `${line}\n`);
      await link(draft, this.#fileOf(chain, sequence));
      for (const each of isNew ? [folder, join(this.#path, chain), this.#path] : [folder]) await syncFolder(each);
      return true;
    } catch (error) {
      if (isSystemError(error, 'EEXIST')) return false;
      throw unwritable(error);
    } finally {
      await unlink(draft).catch(() => {});
    }
  }

  /** The last entries of whole folders, but for the newest folder. */
  async *folderEnds(chain: string): AsyncGenerator<StoredEntry & { sequence: number }, void> {
    for (const folder of (await this.#folders(chain)).slice(0, -1)) {
      const sequence = (await this.#numbersIn(chain, folder)).at(-1) ?? 0;
      const stored = await this.read(chain, sequence);
      if (stored !== null) yield { ...stored, sequence };
    }
  }

  /** Removes the folders of all entries up to this one, the last of its folder. */
  async removeThrough(chain: string, sequence: number): Promise<void> {
    const last = this.#folderOf(sequence);
    for (const folder of await this.#folders(chain)) {
      if (folder > last) continue;
      await rm(join(this.#path, chain, folder), { recursive: true, force: true }).catch((error: unknown) => {
        throw unwritable(error);
      });
    }
  }

  async #folders(chain: string): Promise<string[]> {
    return (await namesIn(join(this.#path, chain))).filter((name) => FOLDER.test(name)).sort();
  }

  async #numbersIn(chain: string, folder: string): Promise<number[]> {
    const names = await namesIn(join(this.#path, chain, folder));
    return names
      .flatMap((name) => FILE.exec(name)?.[1] ?? [])
      .map(Number)
      .sort((one, other) => one - other);
  }

  #folderOf(sequence: number): string {
    return String(Math.floor((sequence - 1) / this.#folderEntries)).padStart(5, '0');
  }

  #fileOf(chain: string, sequence: number): string {
    return join(this.#path, chain, this.#folderOf(sequence), `${String(sequence).padStart(8, '0')}.json`);
  }
}

/** An entry as one line of JSON, its MAC (HMAC with SHA-256, RFC 2104) first. What the MAC is over is the same line without it. */
export function lineOf(entry: AuditEntry, key: KeyObject): { line: string; mac: string } {
  const body = JSON.stringify(entry);
  const mac = createHmac('sha256', key).update(body).digest('base64url');
  return { line: `{"mac":"${mac}",${body.slice(1)}`, mac };
}

/** Whether an entry's MAC is that of what its line says. */
export function isGenuine({ line, mac }: StoredEntry, key: KeyObject): boolean {
  const body = `{${LINE.exec(line)?.[2] ?? ''}`;
  const expected = createHmac('sha256', key).update(body).digest();
  const presentedMac = Buffer.from(mac, 'base64url');
  return presentedMac.length === expected.length && timingSafeEqual(presentedMac, expected);
}

function parse(text: string): StoredEntry {
  const line = text.trimEnd();
  const [, mac = '', rest = ''] = LINE.exec(line) ?? [];
  try {
    return { line, mac, entry: mac === '' ? null : (JSON.parse(`{${rest}`) as AuditEntry) };
  } catch {
    return { line, mac: '', entry: null };
  }
}

function namesIn(path: string): Promise<string[]> {
  return readdir(path).catch(orMissing([]));
}

/** What is not there is told by a value. */
function orMissing<Value>(value: Value): (error: unknown) => Value {
  return (error) => {
    if (isSystemError(error, 'ENOENT')) return value;
    throw unwritable(error);
  };
}

function unwritable(cause: unknown): MirrorError {
  return new MirrorError(message('audit-log-unwritable'), {
    actor: 'settings',
    code: 'audit-log-unwritable',
    retry: 'later',
    remedy: message('audit-log-unwritable.remedy'),
    cause,
  });
}

async function writeToDisk(path: string, text: string): Promise<void> {
  const file = await open(path, 'wx', 0o600);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function syncFolder(path: string): Promise<void> {
  const folder = await open(path, 'r');
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}

function isSystemError(error: unknown, name: string): boolean {
  return error instanceof Error && 'code' in error && error.code === name;
}
