import { createHmac } from 'node:crypto';
import { derivedKey } from '../core/model/hashes.ts';
import type { Instant } from '../core/model/time.ts';
import { SAFEGUARD_TABLES, type SafeguardChange, type Safeguards, type SafeguardTable } from './data-directory.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { askEach, compareAndSet, type LocatedValue, pairsOf, redisScript } from './script.ts';
import { createProofSealer, openSealed } from './sealing.ts';

const lookAtTables = redisScript<[string | null, ...(string[] | number)[]]>(import.meta.url, 'safeguard-look');

/** Sum of a table: number of records, and the exclusive or of their keyed hashes, which changes with every addition and removal. */
interface TableSum {
  count: number;
  digest: string;
}

/**
 * Knowledge about a tenant's safeguards, encrypted, so that an attacker with mere write access to Redis cannot change the record unnoticed.
 */
export interface ProtectionRecord {
  /** Grows with each change, so that a running process detects a reverted record. */
  version: number;
  /** Times; 0 if never. */
  beganAt: Instant | 0;
  lostAt: Instant | 0;
  resolvedAt: Instant | 0;
  confirmedAt: Instant | 0;
  /** Last time when tables or this record were found to be damaged. */
  damagedAt: Instant | 0;
  sums: Readonly<Record<SafeguardTable, TableSum>>;
}

/** The record and the tables at one moment. */
export interface ProtectionLook {
  /** `damaged`: written by a foreign writer. */
  record: ProtectionRecord | 'damaged' | null;
  /** Whether the tables match the record; for counted tables, whether the numbers match. */
  isAsProved: boolean;
  /** Null if the tables were only counted. */
  safeguards: Safeguards | null;
}

/** Safeguard tables of a tenant, and the record of their expected content. */
export interface SafeguardStore {
  /** Reads both with one command. @param whole reads the tables; otherwise counts their records */
  look(whole: boolean): Promise<ProtectionLook>;
  /** Changes the record. @param before null: first record, or replacement of a damaged record */
  record(change: (before: ProtectionRecord | null) => ProtectionRecord): Promise<void>;
  /** Changes the record and accepts the current tables. */
  believe(change: (before: ProtectionRecord | null) => ProtectionRecord): Promise<void>;
  /**
   * Adds a record to a table, or removes a record if `value` is null, and updates the sum in one step.
   * @returns the new version of the sum; null without a change: an existing record stays
   */
  put(change: SafeguardChange): Promise<number | null>;
  /** Restores missing records. @returns their number */
  putBack(safeguards: Safeguards): Promise<number>;
}

const CONTEXT = 'protection';
/** Field of the record. */
const FIELD = 'proof';
const DIGEST_BYTES = 16;
const EMPTY: TableSum = { count: 0, digest: '0'.repeat(2 * DIGEST_BYTES) };

/** All tables are empty. */
export const FIRST_RECORD: ProtectionRecord = {
  ...{ version: 0, beganAt: 0, lostAt: 0, resolvedAt: 0, confirmedAt: 0, damagedAt: 0 },
  sums: { tombstones: EMPTY, receipts: EMPTY, optOuts: EMPTY },
};

interface SafeguardParts {
  redis: RedisClient;
  /** Keys of the record and of the tables. */
  key: string;
  keys: Readonly<Record<SafeguardTable, string>>;
  digests: ReturnType<typeof createDigests>;
  recordIn(sealed: string | null): ProtectionRecord | 'damaged' | null;
}

async function lookAt(
  { redis, key, keys, digests, recordIn }: SafeguardParts,
  whole: boolean,
): Promise<ProtectionLook> {
  const tables = SAFEGUARD_TABLES.map((table) => keys[table]);
  const [sealed, ...tableAnswers] = await lookAtTables(redis, [key, ...tables], [whole ? 1 : 0]);
  const record = recordIn(sealed);
  const sumOf = (index: number): Partial<TableSum> =>
    whole
      ? digests.sumOf(SAFEGUARD_TABLES[index]!, Object.fromEntries(pairsOf(tableAnswers[index] as string[])))
      : { count: Number(tableAnswers[index]) };
  const isAsProved =
    record === null ||
    record === 'damaged' ||
    SAFEGUARD_TABLES.every((table, index) => {
      const [is, must] = [sumOf(index), record.sums[table]];
      return is.count === must.count && (is.digest ?? must.digest) === must.digest;
    });
  const safeguards = whole
    ? (Object.fromEntries(
        SAFEGUARD_TABLES.map((table, index) => [table, Object.fromEntries(pairsOf(tableAnswers[index] as string[]))]),
      ) as Safeguards)
    : null;
  return { record, isAsProved, safeguards };
}

/** Opens the tables of a tenant. @param identityKey the installation's key, 32 bytes */
export function openSafeguards(redis: RedisClient, tenant: string, identityKey: Uint8Array): SafeguardStore {
  const key = keys.protection(tenant);
  const tableKeys = {
    tombstones: keys.tombstones(tenant),
    receipts: keys.receipts(tenant),
    optOuts: keys.optOuts(tenant),
  };
  const sealer = createProofSealer(identityKey, tenant);
  const digests = createDigests(identityKey, tenant);
  const recordIn = (sealed: string | null) =>
    sealed === null ? null : (openSealed<ProtectionRecord>(sealer, sealed, CONTEXT, 'safeguards') ?? 'damaged');

  const look = (whole: boolean) => lookAt({ redis, key, keys: tableKeys, digests, recordIn }, whole);

  /** @param entry change of a table in addition to the record. @returns false after a concurrent change */
  async function change(
    sealed: string | null,
    next: ProtectionRecord,
    entry?: { before: LocatedValue; after: LocatedValue },
  ): Promise<boolean> {
    const location = { key, field: FIELD };
    const record = sealer.seal(JSON.stringify({ ...next, version: next.version + 1 }), CONTEXT);
    const [expected, written] = entry === undefined ? [[], []] : [[entry.before], [entry.after]];
    return (
      (await compareAndSet(
        redis,
        [{ ...location, value: sealed }, ...expected],
        [{ ...location, value: record }, ...written],
      )) === null
    );
  }

  async function recordChange(
    decide: (before: ProtectionRecord | null) => ProtectionRecord,
    sums: () => Promise<Partial<ProtectionRecord>>,
  ): Promise<void> {
    for (;;) {
      const sealed = await redis.hget(key, FIELD);
      const record = recordIn(sealed);
      const next = { ...decide(record === 'damaged' ? null : record), ...(await sums()) };
      if (await change(sealed, next)) return;
    }
  }

  return {
    look,
    record: (decide) => recordChange(decide, async () => ({})),
    believe: (decide) =>
      recordChange(decide, async () => {
        const { safeguards } = await look(true);
        return { sums: digests.sumsOf(safeguards!) };
      }),
    async put({ table, name, value }) {
      for (;;) {
        const [sealed, before] = [await redis.hget(key, FIELD), await redis.hget(tableKeys[table], name)];
        if ((before === null) === (value === null)) return null;
        const record = recordIn(sealed);
        const current = record === null || record === 'damaged' ? FIRST_RECORD : record;
        const sum = digests.changed(current.sums[table], { table, name, before, value });
        const next = { ...current, sums: { ...current.sums, [table]: sum } };
        const location = { key: tableKeys[table], field: name };
        const entry = { before: { ...location, value: before }, after: { ...location, value } };
        if (await change(sealed, next, entry)) return next.version + 1;
      }
    },
    putBack: (safeguards) => putBack(redis, tableKeys, safeguards),
  };
}

/** Calculates sums of tables. The share of a record is secret without the key, so an attacker cannot compensate a removal. */
function createDigests(identityKey: Uint8Array, tenant: string) {
  const key = derivedKey(identityKey, tenant, 'safeguards');
  const digestOf = (table: SafeguardTable, name: string, value: string) =>
    createHmac('sha256', key())
      .update(JSON.stringify([table, name, value]))
      .digest()
      .subarray(0, DIGEST_BYTES);
  const xor = (digest: string, other: Buffer) =>
    Buffer.from(Buffer.from(digest, 'hex').map((byte, index) => byte ^ other[index]!)).toString('hex');
  const changed = (
    { count, digest }: TableSum,
    { table, name, before, value }: SafeguardChange & { before: string | null },
  ): TableSum => {
    const without = before === null ? digest : xor(digest, digestOf(table, name, before));
    const digestNow = value === null ? without : xor(without, digestOf(table, name, value));
    return { count: count + (value === null ? 0 : 1) - (before === null ? 0 : 1), digest: digestNow };
  };
  const sumOf = (table: SafeguardTable, entries: Readonly<Record<string, string>>) =>
    Object.entries(entries).reduce((sum, [name, value]) => changed(sum, { table, name, before: null, value }), EMPTY);
  const sumsOf = (safeguards: Safeguards) =>
    Object.fromEntries(SAFEGUARD_TABLES.map((table) => [table, sumOf(table, safeguards[table])])) as Record<
      SafeguardTable,
      TableSum
    >;
  return { changed, sumOf, sumsOf };
}

async function putBack(redis: RedisClient, tableKeys: SafeguardParts['keys'], safeguards: Safeguards): Promise<number> {
  const areNew = await askEach<number, SafeguardEntry>(redis, entriesOf(safeguards), (pipeline, entry) =>
    pipeline.hsetnx(tableKeys[entry.table], entry.name, entry.value),
  );
  return areNew.filter((isNew) => isNew === 1).length;
}

type SafeguardEntry = SafeguardChange & { value: string };

/** Returns all records of the tables. */
export function entriesOf(safeguards: Safeguards): SafeguardEntry[] {
  return SAFEGUARD_TABLES.flatMap((table) =>
    Object.entries(safeguards[table]).map(([name, value]) => ({ table, name, value })),
  );
}
