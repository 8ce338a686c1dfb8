import type { Logger } from '../log/logger.ts';
import type { Clock, Instant } from '../model/time.ts';
import type { DataDirectory, SafeguardChange, Safeguards } from './data-directory.ts';
import type { RedisClient } from './redis.ts';
import {
  entriesOf,
  FIRST_RECORD,
  openSafeguards,
  type ProtectionRecord,
  type SafeguardStore,
} from './safeguard-tables.ts';
import type { TenantStateCounter } from './state-counter.ts';

/** Why it isn't known who was forgotten and who opted out. */
export interface Uncertainty {
  /**
   * `state-went-back`: Redis is older than it was; `state-lost`: it was emptied; `record-forged`: somebody else took entries away, or put
   * some in.
   */
  code: 'state-went-back' | 'state-lost' | 'record-forged';
  sinceAt: Instant;
}

/** How it is asked whether there is a doubt. */
export interface UncertaintyOptions {
  /** Whoever asks does nothing that this state has to remember: a tenant that is new to it stays so. */
  lookOnly?: boolean;
  /** Looks at each entry, as the first question of a process does; else they are counted. */
  whole?: boolean;
}

/**
 * Whether all is known of a tenant that protects people: tombstones and opt-outs. After the state was lost or went back they are put
 * back from the data directory; where that can't be, nothing is written or sent of people until a person decides.
 */
export interface Protection {
  /**
   * @returns null when all is known, as it is in a state that is new
   */
  uncertainty(options?: UncertaintyOptions): Promise<Uncertainty | null>;
  /** When Redis was last found to have lost decisions or writes; null for never. */
  wentBackAt(): Promise<Instant | null>;
  /** Takes note, before it goes out, that something is written to a target: a state that lost that is found out. */
  recordWriting(): Promise<void>;
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
  /**
   * Changes a table so that it lasts, in the copy too: an entry comes, where there is one it stays; with `value` null it goes.
   * @returns whether anything changed
   * @throws MirrorError as {@link TenantStateCounter.confirm}; where an entry is to go, as {@link TenantStateCounter.requireDirectory}
   */
  store(change: SafeguardChange): Promise<boolean>;
}

/** What a tenant's protection works with. */
export interface ProtectionParts {
  redis: RedisClient;
  /** The id under which its state was first kept. */
  tenant: string;
  /** The installation's, 32 bytes. */
  identityKey: Uint8Array;
  stateCounter: TenantStateCounter;
  clock: Clock;
  log: Logger;
}

/** Among the entries that the directory has: all of them are there. */
const WHOLE = '';

/** A tenant's tables, and what a process knows of them. */
interface Watch {
  tables: SafeguardStore;
  uncertainty: Protection['uncertainty'];
  /** A record with changes; no older than what this process has seen. */
  changed(before: ProtectionRecord | null, changes: Partial<ProtectionRecord>): ProtectionRecord;
  /** This process has seen the record of that version. */
  recordSeen(version: number): void;
}

/** Looks after what protects people, as it lies in Redis. */
function openWatch({ redis, tenant, identityKey, stateCounter, clock, log }: ProtectionParts): Watch {
  const tables = openSafeguards(redis, tenant, identityKey);
  /** Version of the newest record that this process has seen; 0 before the first. */
  let seen = 0;
  const readCopy = async () =>
    (await stateCounter.withDirectory((directory) => directory.readSafeguards(tenant))) ?? null;

  const changed: Watch['changed'] = (before, changes) => {
    const current = before ?? FIRST_RECORD;
    return { ...current, ...changes, version: Math.max(current.version, seen) };
  };

  /** The record as it is to be believed; null for a tenant that is new and stays so. */
  async function recordNow(wentBackAt: Instant | 0, { lookOnly, whole }: Required<UncertaintyOptions>) {
    const isFirst = seen === 0;
    // Before the tables: an entry comes into the copy last.
    const copy = isFirst ? await readCopy() : null;
    const look = await tables.look(whole || isFirst);
    const { record } = look;
    if (record === null) {
      const isLost = !isFirst || copy !== null;
      if (lookOnly && !isLost) return null;
      const now = clock();
      const begun = changed(null, { beganAt: now, lostAt: isLost ? now : 0 });
      await tables.believe((before) => before ?? begun);
      return begun;
    }
    const current = record === 'forged' ? FIRST_RECORD : record;
    // What is known to be lost, or older than it was, need not be as it was.
    if (uncertainSince(current, wentBackAt) > current.resolvedAt && record !== 'forged') return current;
    const isOurs = record !== 'forged' && record.version >= seen && look.isAsProved;
    // Read again, since an entry goes from the copy first: one that went meanwhile is not missing.
    const isWhole = !isFirst || !lacksSome(look.safeguards, copy) || !lacksSome(look.safeguards, await readCopy());
    if (isOurs && isWhole) return current;
    log.error({ code: 'record-forged' }, 'who was forgotten and who opted out is not in Redis as it was written there');
    const forgedAt = Math.max(clock(), current.resolvedAt + 1);
    await tables.record((before) => changed(before, { lostAt: forgedAt, forgedAt }));
    return changed(current, { lostAt: forgedAt, forgedAt });
  }

  async function findUncertainty({
    lookOnly = false,
    whole = false,
  }: UncertaintyOptions = {}): Promise<Uncertainty | null> {
    const wentBackAt = await stateCounter.check();
    const record = await recordNow(wentBackAt, { lookOnly, whole });
    if (record === null) return null;
    seen = Math.max(seen, record.version, 1);
    const sinceAt = uncertainSince(record, wentBackAt);
    if (sinceAt <= record.resolvedAt) return null;
    const copy = await readCopy();
    if (copy === null) return uncertaintyOf(record, sinceAt);
    const returned = await tables.putBack(copy);
    await tables.believe((before) => changed(before ?? record, { resolvedAt: sinceAt }));
    log.warn({ returned }, 'who was forgotten and who opted out was put back from the data directory');
    return null;
  }

  return {
    tables,
    uncertainty: findUncertainty,
    changed,
    recordSeen(version) {
      seen = Math.max(seen, version);
    },
  };
}

/** Opens the protection of a tenant. */
export function createProtection(parts: ProtectionParts): Protection {
  const { tenant, stateCounter, clock } = parts;
  const { tables, uncertainty, changed, recordSeen } = openWatch(parts);
  const copied = new Set<string>();

  /** Takes what is there for all that there was. @param missing is put back before */
  async function believe(missing: Safeguards | null): Promise<{ wasUncertain: boolean; returned: number }> {
    const before = await uncertainty();
    const returned = missing === null ? 0 : await tables.putBack(missing);
    const now = clock();
    const resolvedAt = Math.max(now, before?.sinceAt ?? 0);
    // What is found of ours from here on is known to be of a state before.
    await tables.believe((record) =>
      changed(record, { resolvedAt: Math.max(resolvedAt, record?.lostAt ?? 0), confirmedAt: now }),
    );
    return { wasUncertain: before !== null, returned };
  }

  const read = async () => (await tables.look(true)).safeguards!;
  const confirmedAt = async () => {
    const { record } = await tables.look(false);
    return record === null || record === 'forged' ? 0 : record.confirmedAt;
  };
  return {
    uncertainty,
    wentBackAt: async () => (await stateCounter.lostAt()) || null,
    recordWriting: stateCounter.recordWriting,
    read,
    restore: async (safeguards) => (await believe(safeguards)).returned,
    accept: async () => (await believe(null)).wasUncertain,
    copyOut: async () => stateCounter.withDirectory((directory) => copyMissing(directory, tenant, copied, read)),
    async foundObjects() {
      if ((await confirmedAt()) === 0) await tables.record((record) => changed(record, { lostAt: clock() }));
    },
    async cycleEnded({ allSeen }) {
      await stateCounter.storeIdentity();
      if (!allSeen || (await confirmedAt()) > 0) return;
      await tables.record((record) => changed(record, { confirmedAt: clock() }));
    },
    async store(change) {
      // The record knows what it begins with before it is told of more.
      await uncertainty();
      const copy = (directory: DataDirectory) => directory.storeSafeguards(tenant, [change]);
      // What goes, goes from the copy first: else it would be put back from there.
      if (change.value === null) await stateCounter.requireDirectory(copy);
      const version = await tables.put(change);
      if (version === null && change.value === null) return false;
      recordSeen(version ?? 0);
      if (change.value !== null) await stateCounter.withDirectory(copy);
      await stateCounter.confirm();
      return version !== null;
    },
  };
}

/** When the tables were last lost, went back, or were found to be forged. @param wentBackAt of all of the state */
function uncertainSince({ beganAt, lostAt }: ProtectionRecord, wentBackAt: Instant | 0): Instant | 0 {
  return Math.max(lostAt, wentBackAt >= beganAt ? wentBackAt : 0);
}

function uncertaintyOf({ lostAt, forgedAt }: ProtectionRecord, sinceAt: Instant): Uncertainty {
  if (sinceAt !== lostAt) return { code: 'state-went-back', sinceAt };
  return { code: sinceAt === forgedAt ? 'record-forged' : 'state-lost', sinceAt };
}

/** Whether the copy has what Redis has not. */
function lacksSome(safeguards: Safeguards | null, copy: Safeguards | null): boolean {
  if (safeguards === null || copy === null) return false;
  return entriesOf(copy).some(({ table, name }) => safeguards[table][name] === undefined);
}

/** Copies what the directory lacks. @param copied what it is known to have; is added to */
async function copyMissing(
  directory: DataDirectory,
  tenant: string,
  copied: Set<string>,
  read: () => Promise<Safeguards>,
): Promise<void> {
  if (copied.size === 0) {
    const copy = await directory.readSafeguards(tenant);
    for (const { table, name } of copy === null ? [] : entriesOf(copy)) copied.add(`${table}/${name}`);
    if (copy !== null) copied.add(WHOLE);
  }
  const missing = entriesOf(await read()).filter(({ table, name }) => !copied.has(`${table}/${name}`));
  if (missing.length > 0) {
    await directory.storeSafeguards(tenant, missing);
    const now = await read();
    const gone = missing.filter(({ table, name }) => now[table][name] === undefined);
    if (gone.length > 0) {
      await directory.storeSafeguards(
        tenant,
        gone.map((entry) => ({ ...entry, value: null })),
      );
    }
  }
  if (!copied.has(WHOLE)) await directory.beginSafeguards(tenant);
  for (const { table, name } of missing) copied.add(`${table}/${name}`);
  copied.add(WHOLE);
}
