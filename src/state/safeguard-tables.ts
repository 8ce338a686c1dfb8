import { createHmac } from 'node:crypto';
import { derivedKey } from '../model/hashes.ts';
import type { Instant } from '../model/time.ts';
import { SAFEGUARD_TABLES, type SafeguardChange, type Safeguards, type SafeguardTable } from './data-directory.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { askEach, compareAndSet, type LocatedValue, pairsOf, redisScript } from './script.ts';
import { createProofSealer, openSealed } from './sealing.ts';

const lookAtTables = redisScript<[string | null, ...(string[] | number)[]]>(import.meta.url, 'safeguard-look');

/** What a table holds: how many entries, and the exclusive or of a keyed hash of each, which comes and goes with the entry. */
interface TableSum {
  count: number;
  digest: string;
}

/** What is known of a tenant's protection; sealed, so that whoever can write into Redis alone changes none of it unnoticed. */
export interface ProtectionRecord {
  /** Grows with each change, so that an older one that is put back is known while a process lives. */
  version: number;
  /** Times; 0 for never. */
  beganAt: Instant | 0;
  lostAt: Instant | 0;
  resolvedAt: Instant | 0;
  confirmedAt: Instant | 0;
  /** When tables or this record were last found not to be as we wrote them. */
  forgedAt: Instant | 0;
  sums: Readonly<Record<SafeguardTable, TableSum>>;
}

/** The record and the tables at one moment. */
export interface ProtectionLook {
  /** `forged`: what stands there is not of our making. */
  record: ProtectionRecord | 'forged' | null;
  /** Whether the tables are as the record says; of tables that were only counted, whether there are as many entries. */
  isAsProved: boolean;
  /** Null when they were only counted. */
  safeguards: Safeguards | null;
}

/** The tables of a tenant that protect people, with the record that says what they must hold. */
export interface SafeguardStore {
  /** One command. @param whole reads the tables; else their entries are counted */
  look(whole: boolean): Promise<ProtectionLook>;
  /** Changes the record. @param before null: it is the first one, or takes the place of what was not ours */
  record(change: (before: ProtectionRecord | null) => ProtectionRecord): Promise<void>;
  /** The same, and takes the tables as they are now. */
  believe(change: (before: ProtectionRecord | null) => ProtectionRecord): Promise<void>;
  /**
   * Puts an entry in, or with `value` null takes it out, and has the record know it in the same step.
   * @returns the record's version by then; null when it was so already: what is there stays
   */
  put(change: SafeguardChange): Promise<number | null>;
  /** Puts in what is missing. @returns how many entries */
  putBack(safeguards: Safeguards): Promise<number>;
}

const CONTEXT = 'protection';
/** The field in which the record stands. */
const FIELD = 'proof';
const DIGEST_BYTES = 16;
const EMPTY: TableSum = { count: 0, digest: '0'.repeat(2 * DIGEST_BYTES) };

/** Nothing is known, and no table has an entry. */
export const FIRST_RECORD: ProtectionRecord = {
  ...{ version: 0, beganAt: 0, lostAt: 0, resolvedAt: 0, confirmedAt: 0, forgedAt: 0 },
  sums: { tombstones: EMPTY, receipts: EMPTY, optOuts: EMPTY },
};

/** What the tables of a tenant are looked at with. */
interface SafeguardParts {
  redis: RedisClient;
  /** Keys of the record and of the tables. */
  key: string;
  keys: Readonly<Record<SafeguardTable, string>>;
  digests: ReturnType<typeof createDigests>;
  recordIn(sealed: string | null): ProtectionRecord | 'forged' | null;
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
    record === 'forged' ||
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

/** Opens the tables of a tenant. @param identityKey the installation's, 32 bytes */
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
    sealed === null ? null : (openSealed<ProtectionRecord>(sealer, sealed, CONTEXT) ?? 'forged');

  const look = (whole: boolean) => lookAt({ redis, key, keys: tableKeys, digests, recordIn }, whole);

  /** @param entry what changes beside the record. @returns false when somebody changed either meanwhile */
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
      const next = { ...decide(record === 'forged' ? null : record), ...(await sums()) };
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
        const current = record === null || record === 'forged' ? FIRST_RECORD : record;
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

/** Sums up tables. What one entry adds can't be told without the key, so nobody else can make up for what they take away. */
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

/** All entries of the tables. */
export function entriesOf(safeguards: Safeguards): SafeguardEntry[] {
  return SAFEGUARD_TABLES.flatMap((table) =>
    Object.entries(safeguards[table]).map(([name, value]) => ({ table, name, value })),
  );
}
