import { createHmac, type KeyObject, randomUUID, timingSafeEqual } from 'node:crypto';
import { link, mkdir, open, readdir, readFile, rm, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { AuditEntry } from '../../core/model/acts.ts';
import { MirrorError } from '../../core/model/errors.ts';
import { message } from '../../messages/message.ts';

/** Audit entry as stored in its file. */
export interface StoredEntry {
  /** One line of JSON, without line end. */
  line: string;
  /** Null for invalid bytes. */
  entry: AuditEntry | null;
  /** Base64url; empty for invalid bytes. */
  mac: string;
}

const CHAIN = /^\d{4}-[a-z2-9]+$/;
const FOLDER = /^\d{5}$/;
const FILE = /^(\d{8})\.json$/;
const LINE = /^\{"mac":"([\w-]{43})",(.*\})$/s;

/**
 * Files of the log in one directory: `<chain>/<thousands>/<sequence>.json`, one record each. A file is created completely, by a link that
 * only one process can create (link(2) fails if the name exists). Any number of processes on several hosts can therefore write one chain
 * without a lock, and a crash leaves no partial record. All methods throw MirrorError `settings`, code `audit-log-unwritable`, for file
 * system errors.
 */
export class AuditLogFiles {
  readonly #path: string;
  readonly #folderEntries: number;

  /** @param folderEntries records per folder: must be equal for all writers */
  constructor(path: string, folderEntries: number) {
    this.#path = path;
    this.#folderEntries = folderEntries;
  }

  /** Returns the names of the chains in order of creation. */
  async chains(): Promise<string[]> {
    return (await namesIn(this.#path)).filter((name) => CHAIN.test(name)).sort();
  }

  /** Yields the existing record numbers in order. */
  async *numbers(chain: string): AsyncGenerator<number, void> {
    for (const folder of await this.#folders(chain)) yield* await this.#numbersIn(chain, folder);
  }

  /** Yields the existing record numbers in descending order. @param below exclusive upper limit */
  async *numbersBack(chain: string, below = Number.POSITIVE_INFINITY): AsyncGenerator<number, void> {
    for (const folder of (await this.#folders(chain)).reverse()) {
      for (const sequence of (await this.#numbersIn(chain, folder)).reverse()) if (sequence < below) yield sequence;
    }
  }

  /** Returns the highest number; 0 without records. */
  async lastNumber(chain: string): Promise<number> {
    for await (const last of this.numbersBack(chain)) return last;
    return 0;
  }

  /** Returns a record, or null without a file. */
  async read(chain: string, sequence: number): Promise<StoredEntry | null> {
    const text = await readFile(this.#fileOf(chain, sequence), 'utf8').catch(orMissing(null));
    return text === null ? null : parse(text);
  }

  /** Creates the file of a record durably. @returns false if another process was first */
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

  /** Yields the last record of each full folder except the newest. */
  async *folderEnds(chain: string): AsyncGenerator<StoredEntry & { sequence: number }, void> {
    for (const folder of (await this.#folders(chain)).slice(0, -1)) {
      const sequence = (await this.#numbersIn(chain, folder)).at(-1) ?? 0;
      const stored = await this.read(chain, sequence);
      if (stored !== null) yield { ...stored, sequence };
    }
  }

  /** Removes the folders of all records up to a number, which is the last of its folder. */
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

/** Formats a record as one line of JSON with the MAC first (HMAC with SHA-256, RFC 2104). The MAC covers the line without the MAC. */
export function lineOf(entry: AuditEntry, key: KeyObject): { line: string; mac: string } {
  const body = JSON.stringify(entry);
  const mac = createHmac('sha256', key).update(body).digest('base64url');
  return { line: `{"mac":"${mac}",${body.slice(1)}`, mac };
}

/** Verifies a record's MAC. */
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

/** Converts a missing file to a value. */
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
