import { mkdir, open, readdir, readFile, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import type { Instant } from '../model/time.ts';

/** What protects people and can be rebuilt from nothing else. */
export const SAFEGUARD_TABLES = ['tombstones', 'receipts', 'optOuts'] as const;
/** Name of one of those tables. */
export type SafeguardTable = (typeof SAFEGUARD_TABLES)[number];
/** The tables of one tenant as they lie in Redis: keyed hashes and receipts, nobody's data. */
export type Safeguards = Record<SafeguardTable, Record<string, string>>;

/** What is counted in Redis and marked here: decisions before effects that can't be repeated, writes to targets, changes of managed tenants. */
export type CounterName = 'decisions' | 'writes' | 'managed';

/** A counter of one part of the state (`shardsOf`). */
export interface Counter {
  name: CounterName;
  shard: number;
}

/** One entry of a table that came, or with `value` null went. */
export interface SafeguardChange {
  table: SafeguardTable;
  name: string;
  value: string | null;
}

/**
 * What is kept outside Redis, so that it can be told when Redis lost something: marks of the state's epoch, and a copy of what protects
 * people. Files are only ever appended to, in lines that are on the disk when a method returns, so that any number of processes may share
 * the directory. All methods throw what the file system throws.
 */
export interface DataDirectory {
  /** The highest mark of a counter that any process left; 0 before the first. */
  readMark(counter: Counter): Promise<number>;
  leaveMark(counter: Counter, mark: number, at: Instant): Promise<void>;
  /** Fingerprint of the identity key that the directory belongs to; null before the first. */
  readIdentity(): Promise<string | null>;
  storeIdentity(fingerprint: string): Promise<void>;
  /** Everything that was kept of a tenant, without what went; null when nobody began to keep it whole. */
  readSafeguards(tenant: string): Promise<Safeguards | null>;
  /** From now on the tenant's are kept here whole. */
  beginSafeguards(tenant: string): Promise<void>;
  storeSafeguards(tenant: string, changes: readonly SafeguardChange[]): Promise<void>;
}

/** Files of marks, one a day: `marks-2026-05-04.log`, of the second part of the state `marks.1-2026-05-04.log`. */
const MARKS: Readonly<Record<CounterName, string>> = { decisions: 'marks', writes: 'writes', managed: 'managed' };
const MARK_FILE = /^((?:marks|writes|managed)(?:\.\d+)?)-\d{4}-\d\d-\d\d\.log$/;
const SAFEGUARDS = 'safeguards.log';
/** Days of marks that are kept; only the last counts. */
const MOST_MARK_FILES = 3;
/** More than what all processes together write out of order. */
const TAIL_BYTES = 4_096;

/** A line of `safeguards.log`. */
type Line = { identity: string } | { tenant: string; began: true } | ({ tenant: string } & SafeguardChange);

/**
 * Opens the directory and makes it where it is missing.
 * @throws what the file system throws when nothing can be written there
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

/** The highest mark of a counter in a directory that is there. @throws what the file system throws */
export async function highestMark(path: string, counter: Counter): Promise<number> {
  const files = (await markFiles(path)).get(seriesOf(counter)) ?? [];
  const marks = await Promise.all(files.map((name) => lastMark(join(path, name))));
  return Math.max(0, ...marks);
}

async function markFiles(path: string) {
  return Map.groupBy((await readdir(path)).sort(), (name) => MARK_FILE.exec(name)?.[1] ?? null);
}

function seriesOf({ name, shard }: Counter): string {
  return shard === 0 ? MARKS[name] : `${MARKS[name]}.${shard}`;
}

/** One write, which the system appends whole and which is on the disk when this returns. */
async function append(path: string, lines: readonly string[]): Promise<void> {
  const file = await open(path, 'a', 0o600);
  try {
    // A crash may have left half a line: it stays alone.
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

async function lastMark(path: string): Promise<number> {
  const file = await open(path, 'r');
  try {
    const { size } = await file.stat();
    const bytes = Math.min(size, TAIL_BYTES);
    const { buffer } = await file.read(Buffer.alloc(bytes), 0, bytes, size - bytes);
    // The first line may be cut off: a part of a number is never more than the number.
    return Math.max(0, ...[...buffer.toString().matchAll(/^(\d+) \d+$/gm)].map(([, mark]) => Number(mark)));
  } finally {
    await file.close();
  }
}
