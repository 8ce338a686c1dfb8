import type { Logger } from '../log/logger.ts';
import type { Clock, Instant } from '../model/time.ts';
import { type DataDirectory, SAFEGUARD_TABLES, type SafeguardChange, type Safeguards } from './data-directory.ts';
import type { TenantEpoch } from './epoch.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';

/** Why it isn't known who was forgotten and who opted out. */
export interface Doubt {
  /** `state-went-back`: Redis is older than it was; `state-lost`: it was emptied. */
  code: 'state-went-back' | 'state-lost';
  sinceAt: Instant;
}

/**
 * Whether all is known of a tenant that protects people: tombstones and opt-outs. After the state was lost or went back they are put
 * back from the data directory; where that can't be, nothing is written or sent of people until a person decides.
 */
export interface Protection {
  /**
   * @param options.lookOnly whoever asks does nothing that this state has to remember: a tenant that is new to it stays so
   * @returns null when all is known, as it is in a state that is new
   */
  doubt(options?: { lookOnly?: boolean }): Promise<Doubt | null>;
  /** When Redis was last found to have lost decisions or writes; null for never. */
  wentBackAt(): Promise<Instant | null>;
  /** Takes note, before it goes out, that something is written to a target: a state that lost that is found out. */
  noteWriting(): Promise<void>;
  /** Keeps a copy of all that is known in the data directory. To be called while there is no doubt. */
  copyOut(): Promise<void>;
  /** Objects of ours were found that this state knows nothing of: there was another before, unless this one has seen all its targets. */
  foundObjects(): Promise<void>;
  /**
   * A cycle worked with what the state and the targets hold, so that the state belongs to this identity key from now on. With all targets
   * seen, what is found of ours later was not lost.
   */
  cycleEnded(options: { allSeen: boolean }): Promise<void>;
  /** A person, or a backup that was restored, ends the doubt. @returns whether there was one */
  accept(): Promise<boolean>;
  /** What protects people, as it lies in Redis. */
  read(): Promise<Safeguards>;
  /** Puts back what is missing, what is there stays; and ends the doubt. @returns how many entries came back */
  restore(safeguards: Safeguards): Promise<number>;
  /** Makes changes of the tables last, in the copy too. @throws MirrorError as {@link TenantEpoch.settle} */
  keep(...changes: readonly SafeguardChange[]): Promise<void>;
}

/** What a tenant's protection works with. */
export interface ProtectionParts {
  redis: RedisClient;
  /** The id under which its state was first kept. */
  tenant: string;
  epoch: TenantEpoch;
  clock: Clock;
  log: Logger;
}

/** Among the entries that the directory has: all of them are there. */
const WHOLE = '';

/** Opens the protection of a tenant. */
export function createProtection({ redis, tenant, epoch, clock, log }: ProtectionParts): Protection {
  const key = keys.protection(tenant);
  const { read, putBack } = openTables(redis, tenant);
  let wasKnown = false;
  const copied = new Set<string>();

  const readCopy = async () => (await epoch.withDirectory((directory) => directory.readSafeguards(tenant))) ?? null;

  async function doubt({ lookOnly = false } = {}): Promise<Doubt | null> {
    const wentBackAt = await epoch.check();
    let fields = await redis.hgetall(key);
    if (fields.beganAt === undefined) {
      const isLost = wasKnown || (await readCopy()) !== null;
      if (lookOnly && !isLost && fields.lostAt === undefined) return null;
      fields = await begin(redis, tenant, { isLost, now: clock() });
    }
    wasKnown = true;
    const { beganAt = 0, lostAt = 0, settledAt = 0 } = numbersOf(fields);
    const wentBack = wentBackAt >= beganAt ? wentBackAt : 0;
    const sinceAt = Math.max(wentBack, lostAt);
    if (sinceAt <= settledAt) return null;
    const kept = await readCopy();
    if (kept === null) return { code: sinceAt === wentBack ? 'state-went-back' : 'state-lost', sinceAt };
    const returned = await putBack(kept);
    await redis.hset(key, 'settledAt', sinceAt);
    log.warn({ returned }, 'who was forgotten and who opted out was put back from the data directory');
    return null;
  }

  async function accept(): Promise<boolean> {
    const before = await doubt();
    const now = clock();
    // What is found of ours from here on is known to be of a state before.
    await redis.hset(key, { settledAt: Math.max(now, before?.sinceAt ?? 0), confirmedAt: now });
    return before !== null;
  }

  return {
    doubt,
    wentBackAt: async () => (await epoch.lostAt()) || null,
    noteWriting: epoch.noteWriting,
    read,
    async restore(safeguards) {
      const returned = await putBack(safeguards);
      await accept();
      return returned;
    },
    accept,
    copyOut: async () => epoch.withDirectory((directory) => copyMissing(directory, tenant, copied, read)),
    async foundObjects() {
      const { confirmedAt } = await redis.hgetall(key);
      if (confirmedAt === undefined) await redis.hset(key, 'lostAt', clock());
    },
    async cycleEnded({ allSeen }) {
      await epoch.keepIdentity();
      if (allSeen) await redis.hsetnx(key, 'confirmedAt', clock());
    },
    async keep(...changes) {
      await epoch.withDirectory((directory) => directory.keepSafeguards(tenant, changes));
      await epoch.settle();
    },
  };
}

/** A tenant that was never seen begins here; one that was seen before has lost its state. @returns what is known of it now */
async function begin(
  redis: RedisClient,
  tenant: string,
  { isLost, now }: { isLost: boolean; now: Instant },
): Promise<Record<string, string>> {
  const key = keys.protection(tenant);
  // A state of before this was kept.
  const isOlder = (await redis.exists(keys.runs(tenant), keys.receipts(tenant))) > 0;
  await redis.hset(key, { beganAt: now, ...(isLost ? { lostAt: now } : isOlder ? { confirmedAt: now } : {}) });
  return redis.hgetall(key);
}

/** The tables of a tenant in Redis. */
function openTables(redis: RedisClient, tenant: string) {
  const tableKeys = {
    tombstones: keys.tombstones(tenant),
    receipts: keys.receipts(tenant),
    optOuts: keys.optOuts(tenant),
  };
  return {
    async read(): Promise<Safeguards> {
      const [tombstones = {}, receipts = {}, optOuts = {}] = await Promise.all(
        SAFEGUARD_TABLES.map((table) => redis.hgetall(tableKeys[table])),
      );
      return { tombstones, receipts, optOuts };
    },
    /** @returns how many entries were missing */
    async putBack(safeguards: Safeguards): Promise<number> {
      const pipeline = redis.pipeline();
      for (const { table, name, value } of entriesOf(safeguards)) pipeline.hsetnx(tableKeys[table], name, value);
      const answers = (await pipeline.exec()) ?? [];
      for (const [error] of answers) if (error !== null) throw error;
      return answers.filter(([, isNew]) => isNew === 1).length;
    },
  };
}

/** Copies what the directory lacks. @param copied what it is known to have; is added to */
async function copyMissing(
  directory: DataDirectory,
  tenant: string,
  copied: Set<string>,
  read: () => Promise<Safeguards>,
): Promise<void> {
  if (copied.size === 0) {
    const kept = await directory.readSafeguards(tenant);
    for (const { table, name } of kept === null ? [] : entriesOf(kept)) copied.add(`${table}/${name}`);
    if (kept !== null) copied.add(WHOLE);
  }
  const missing = entriesOf(await read()).filter(({ table, name }) => !copied.has(`${table}/${name}`));
  if (missing.length > 0) await directory.keepSafeguards(tenant, missing);
  if (!copied.has(WHOLE)) await directory.beginSafeguards(tenant);
  for (const { table, name } of missing) copied.add(`${table}/${name}`);
  copied.add(WHOLE);
}

function numbersOf(fields: Readonly<Record<string, string>>): Record<string, number> {
  return Object.fromEntries(Object.entries(fields).map(([name, value]) => [name, Number(value)]));
}

function entriesOf(safeguards: Safeguards): (SafeguardChange & { value: string })[] {
  return SAFEGUARD_TABLES.flatMap((table) =>
    Object.entries(safeguards[table]).map(([name, value]) => ({ table, name, value })),
  );
}
