import { mkdir, open, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Instant } from '../core/model/time.ts';

/** Tables that protect persons and cannot be rebuilt. */
export const SAFEGUARD_TABLES = ['tombstones', 'receipts', 'optOuts'] as const;
export type SafeguardTable = (typeof SAFEGUARD_TABLES)[number];
/** Tables of one tenant as stored in Redis: keyed hashes and receipts without personal data. */
export type Safeguards = Record<SafeguardTable, Record<string, string>>;

/** Counters in Redis with marks in the directory: decisions before irreversible effects, writes to targets, changes of managed tenants. */
export type CounterName = 'decisions' | 'writes' | 'managed';

/** Counter of one part of the state (`shardsOf`). */
export interface Counter {
  name: CounterName;
  shard: number;
}

/** Added value of a table, or a removal if `value` is null. */
export interface SafeguardChange {
  table: SafeguardTable;
  name: string;
  value: string | null;
}

/** Highest mark of a counter, and the latest time of a mark; 0 without a mark. */
interface Mark {
  counter: number;
  at: Instant | 0;
}

/**
 * Storage outside Redis that reveals data loss in Redis: marks of the state's counters, and a copy of the safeguards. Files are
 * append-only, with lines that are durable when a method returns, so that processes can share the directory. All methods throw file system
 * errors.
 */
export interface DataDirectory {
  /** Returns the highest mark of a counter from any process; 0 before the first. */
  readMark(counter: Counter): Promise<Mark>;
  leaveMark(counter: Counter, mark: number, at: Instant): Promise<void>;
  /** Writes and removes a file: only a write shows a full disk. */
  prove(): Promise<void>;
  /** Returns the fingerprint of the directory's identity key, or null before the first. */
  readIdentity(): Promise<string | null>;
  storeIdentity(fingerprint: string): Promise<void>;
  /** Returns the current safeguards of a tenant; null if no complete copy was started. */
  readSafeguards(tenant: string): Promise<Safeguards | null>;
  /** Starts a complete copy of a tenant's safeguards. */
  beginSafeguards(tenant: string): Promise<void>;
  storeSafeguards(tenant: string, changes: readonly SafeguardChange[]): Promise<void>;
}

/** Mark files, one per day: `marks-2026-05-04.log`; for the second part of the state, `marks.1-2026-05-04.log`. */
const MARKS: Readonly<Record<CounterName, string>> = { decisions: 'marks', writes: 'writes', managed: 'managed' };
const MARK_FILE = /^((?:marks|writes|managed)(?:\.\d+)?)-\d{4}-\d\d-\d\d\.log$/;
const SAFEGUARDS = 'safeguards.log';
/** Retained days of marks; only the last mark is used. */
const MOST_MARK_FILES = 3;
/** More than the disorder of all processes' writes. */
const TAIL_BYTES = 4_096;

/** Line of `safeguards.log`. */
type Line = { identity: string } | { tenant: string; began: true } | ({ tenant: string } & SafeguardChange);

/**
 * Opens the directory, and creates a missing directory.
 * @throws file system errors if the directory is not writable
 */
export async function openDataDirectory(path: string): Promise<DataDirectory> {
  await mkdir(path, { recursive: true });
  const safeguards = join(path, SAFEGUARDS);
  await append(safeguards, []);
  for (const [series, files] of await markFiles(path)) {
    if (series === null) continue;
    for (const name of files.slice(0, -MOST_MARK_FILES)) await unlink(join(path, name)).catch(() => {});
  }
  const lines = async () => parse(await readFile(safeguards, 'utf8'));
  return {
    readMark: (counter) => highestMark(path, counter),
    leaveMark: (counter, mark, at) =>
      append(join(path, `${seriesOf(counter)}-${new Date(at).toISOString().slice(0, 10)}.log`), [`${mark} ${at}`]),
    async prove() {
      const file = join(path, `probe-${process.pid}`);
      await append(file, ['probe']).finally(() => unlink(file).catch(() => {}));
    },
    async readIdentity() {
      for (const line of await lines()) if ('identity' in line) return line.identity;
      return null;
    },
    storeIdentity: (identity) => append(safeguards, [JSON.stringify({ identity })]),
    async readSafeguards(tenant) {
      const own = (await lines()).filter((line) => 'tenant' in line && line.tenant === tenant);
      if (!own.some((line) => 'began' in line)) return null;
      const safeguards: Safeguards = { tombstones: {}, receipts: {}, optOuts: {} };
      for (const line of own) {
        if (!('table' in line)) continue;
        if (line.value === null) delete safeguards[line.table][line.name];
        else safeguards[line.table][line.name] = line.value;
      }
      return safeguards;
    },
    beginSafeguards: (tenant) => append(safeguards, [JSON.stringify({ tenant, began: true })]),
    storeSafeguards: (tenant, changes) =>
      append(
        safeguards,
        changes.map((change) => JSON.stringify({ tenant, ...change })),
      ),
  };
}

/** Returns the highest mark of a counter in an existing directory. @throws file system errors */
export async function highestMark(path: string, counter: Counter): Promise<Mark> {
  const files = (await markFiles(path)).get(seriesOf(counter)) ?? [];
  const marks = await Promise.all(files.map((name) => lastMark(join(path, name))));
  return highestOf(marks);
}

function highestOf(marks: readonly Mark[]): Mark {
  return {
    counter: Math.max(0, ...marks.map(({ counter }) => counter)),
    at: Math.max(0, ...marks.map(({ at }) => at)),
  };
}

async function markFiles(path: string) {
  return Map.groupBy((await readdir(path)).sort(), (name) => MARK_FILE.exec(name)?.[1] ?? null);
}

function seriesOf({ name, shard }: Counter): string {
  return shard === 0 ? MARKS[name] : `${MARKS[name]}.${shard}`;
}

/** Appends lines with one atomic write, durable on return. */
async function append(path: string, lines: readonly string[]): Promise<void> {
  const file = await open(path, 'a', 0o600);
  try {
    // A leading line break isolates a partial line left by a crash.
    if (lines.length > 0) await file.write(`\n${lines.join('\n')}\n`);
    await file.sync();
  } finally {
    await file.close();
  }
}

function parse(text: string): Line[] {
  return text.split('\n').flatMap((line) => {
    try {
      return line === '' ? [] : [JSON.parse(line) as Line];
    } catch {
      return [];
    }
  });
}

async function lastMark(path: string): Promise<Mark> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const bytes = Math.min(size, TAIL_BYTES);
    const { buffer } = await file.read(Buffer.alloc(bytes), 0, bytes, size - bytes);
    // The first line may be truncated: a part of a number is never larger than the number.
    const lines = [...buffer.toString().matchAll(/^(\d+) (\d+)$/gm)];
    return highestOf(lines.map(([, counter, at]) => ({ counter: Number(counter), at: Number(at) })));
  } finally {
    await file.close();
  }
}
