import type { Logger } from '../core/log/logger.ts';
import type { Uncertainty } from '../core/model/state-schemas.ts';
import { type Clock, type Instant, MINUTE_MS } from '../core/model/time.ts';
import type { Safeguard } from '../engine/store.ts';
import { reportDamaged } from './damaged.ts';
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

export interface UncertaintyOptions {
  /** Read-only: the caller needs no memory in this state, and a new tenant stays new. */
  lookOnly?: boolean;
  /** Compares each record, as in the first check of a process; otherwise records are only counted. */
  whole?: boolean;
}

/**
 * Completeness of a tenant's safeguards: tombstones and opt-outs. After a loss, safeguards are restored from the data directory. If
 * restoring is impossible, no personal data is written or sent until an operator decides.
 */
export interface Protection extends Safeguard {
  /**
   * Returns the last loss, with restored safeguards too, until an operator accepted it or a complete cycle followed. Call after
   * `uncertainty`, which detects losses.
   */
  unresolvedLoss(): Promise<Uncertainty | null>;
  /** Ends the uncertainty by an operator or a restored backup. @returns whether there was an uncertainty */
  accept(): Promise<boolean>;
  /** Returns the safeguards in Redis. */
  read(): Promise<Safeguards>;
  /** Restores missing safeguards, keeps existing ones, and ends the uncertainty. @returns the number of restored safeguards */
  restore(safeguards: Safeguards): Promise<number>;
  /**
   * Changes a table durably, including the copy: adds a record unless present, or removes a record if `value` is null.
   * @returns whether anything changed
   * @throws MirrorError as {@link TenantStateCounter.confirm}; for a removal, as {@link TenantStateCounter.requireDirectory}
   */
  store(change: SafeguardChange): Promise<boolean>;
}

export interface ProtectionParts {
  redis: RedisClient;
  /** First id of the tenant's state. */
  tenant: string;
  /** The installation's key, 32 bytes. */
  identityKey: Uint8Array;
  stateCounter: TenantStateCounter;
  clock: Clock;
  log: Logger;
}

/** A running daemon records a loss for each tenant within seconds. Before that, only the whole state knows of the loss. Project choice. */
const UNRECORDED_LOSS_MS = MINUTE_MS;

/** Marker among the directory's records: the copy is complete. */
const WHOLE = '';

/** Tenant's tables, with the knowledge of a process. */
interface Watch {
  tables: SafeguardStore;
  uncertainty: Protection['uncertainty'];
  /** Returns a record with changes, never older than a record that this process has seen. */
  changed(before: ProtectionRecord | null, changes: Partial<ProtectionRecord>): ProtectionRecord;
  /** Records that this process has seen the version. */
  recordSeen(version: number): void;
}

/** Watches the safeguards in Redis. */
function openWatch({ redis, tenant, identityKey, stateCounter, clock, log }: ProtectionParts): Watch {
  const tables = openSafeguards(redis, tenant, identityKey);
  /** Begin of the newest record that this process has seen, and its version; 0 before the first. */
  let begunAt: Instant | 0 = 0;
  let seen = 0;
  const readCopy = async () =>
    (await stateCounter.withDirectory((directory) => directory.readSafeguards(tenant))) ?? null;

  const changed: Watch['changed'] = (before, changes) => {
    const current = before ?? FIRST_RECORD;
    const version = isBegunAgain(current, begunAt) ? current.version : Math.max(current.version, seen);
    return { ...current, ...changes, version };
  };

  /** Returns the trustworthy record; null for a new tenant that stays new. */
  async function recordNow(wentBackAt: Instant | 0, { lookOnly, whole }: Required<UncertaintyOptions>) {
    const isFirst = seen === 0;
    // Read before the tables: a record is added to the copy last.
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
    const current = record === 'damaged' ? FIRST_RECORD : record;
    // Safeguards that are already known to be lost need no comparison.
    if (uncertainSince(current, wentBackAt) > current.resolvedAt && record !== 'damaged') return current;
    const isNew = current.version >= seen || isBegunAgain(current, begunAt);
    // Read again, because a removal changes the copy first: a record removed meanwhile is not missing.
    const isWhole = !isFirst || !lacksSome(look.safeguards, copy) || !lacksSome(look.safeguards, await readCopy());
    if (record !== 'damaged' && look.isAsProved && isNew && isWhole) return current;
    if (record !== 'damaged') reportDamaged(tenant, 'safeguards');
    const damagedAt = Math.max(clock(), current.resolvedAt + 1);
    await tables.record((before) => changed(before, { lostAt: damagedAt, damagedAt }));
    return changed(current, { lostAt: damagedAt, damagedAt });
  }

  async function findUncertainty({
    lookOnly = false,
    whole = false,
  }: UncertaintyOptions = {}): Promise<Uncertainty | null> {
    const wentBackAt = await stateCounter.check();
    const record = await recordNow(wentBackAt, { lookOnly, whole });
    if (record === null) return null;
    seen = Math.max(isBegunAgain(record, begunAt) ? 0 : seen, record.version, 1);
    begunAt = Math.max(begunAt, record.beganAt);
    const sinceAt = uncertainSince(record, wentBackAt);
    if (sinceAt <= record.resolvedAt) return null;
    const copy = await readCopy();
    if (copy === null) return uncertaintyOf(record, sinceAt);
    const returned = await tables.putBack(copy);
    await tables.believe((before) => changed(before ?? record, { resolvedAt: sinceAt }));
    log.warn({ returned }, 'erasures and opt-outs were restored from the data directory');
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

/** Versions start again in a record that another process began after a loss. */
function isBegunAgain({ beganAt, lostAt }: ProtectionRecord, begunAt: Instant | 0): boolean {
  return beganAt > begunAt && lostAt >= beganAt;
}

export function createProtection(parts: ProtectionParts): Protection {
  const { tenant, stateCounter, clock } = parts;
  const { tables, uncertainty, changed, recordSeen } = openWatch(parts);
  const copied = new Set<string>();

  /** Accepts the present tables as complete. @param missing restored first */
  async function believe(missing: Safeguards | null): Promise<{ wasUncertain: boolean; returned: number }> {
    const before = await uncertainty();
    const returned = missing === null ? 0 : await tables.putBack(missing);
    const now = clock();
    const resolvedAt = Math.max(now, before?.sinceAt ?? 0);
    // Own objects found from now on belong to an earlier state.
    await tables.believe((record) =>
      changed(record, { resolvedAt: Math.max(resolvedAt, record?.lostAt ?? 0), confirmedAt: now }),
    );
    return { wasUncertain: before !== null, returned };
  }

  const read = async () => (await tables.look(true)).safeguards!;
  /** Times since which no own object of an earlier state is expected, and of the last resolved loss. */
  const confirmed = async () => {
    const { record } = await tables.look(false);
    // An emptied state must be recorded as lost before its record is changed.
    if (record === null) await uncertainty();
    return record === null || record === 'damaged' ? { confirmedAt: 0, resolvedAt: 0 } : record;
  };
  return {
    uncertainty,
    async unresolvedLoss() {
      const { record } = await tables.look(false);
      if (record === 'damaged') return null;
      const wentBackAt = await stateCounter.check();
      if (record === null)
        return wentBackAt > clock() - UNRECORDED_LOSS_MS ? { code: 'state-lost', sinceAt: wentBackAt } : null;
      const sinceAt = uncertainSince(record, wentBackAt);
      return sinceAt > record.confirmedAt && sinceAt !== record.damagedAt ? uncertaintyOf(record, sinceAt) : null;
    },
    wentBackAt: async () => (await stateCounter.lostAt()) || null,
    recordWriting: stateCounter.recordWriting,
    read,
    restore: async (safeguards) => (await believe(safeguards)).returned,
    accept: async () => (await believe(null)).wasUncertain,
    copyOut: async () => stateCounter.withDirectory((directory) => copyMissing(directory, tenant, copied, read)),
    async foundObjects() {
      if ((await confirmed()).confirmedAt === 0) await tables.record((record) => changed(record, { lostAt: clock() }));
    },
    async cycleEnded({ allSeen, startedAt }) {
      await stateCounter.storeIdentity();
      if (!allSeen) return;
      const { confirmedAt, resolvedAt } = await confirmed();
      if (confirmedAt > 0 && confirmedAt >= resolvedAt) return;
      await tables.record((record) => changed(record, { confirmedAt: startedAt }));
    },
    async store(change) {
      // The record must know its initial content before an addition.
      await uncertainty();
      const copy = (directory: DataDirectory) => directory.storeSafeguards(tenant, [change]);
      // A removal changes the copy first: otherwise the record would be restored from the copy.
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

/** Returns when the tables were last lost, reverted or damaged. @param wentBackAt of the whole state */
function uncertainSince({ beganAt, lostAt }: ProtectionRecord, wentBackAt: Instant | 0): Instant | 0 {
  return Math.max(lostAt, wentBackAt >= beganAt ? wentBackAt : 0);
}

function uncertaintyOf({ lostAt, damagedAt }: ProtectionRecord, sinceAt: Instant): Uncertainty {
  if (sinceAt !== lostAt) return { code: 'state-went-back', sinceAt };
  return { code: sinceAt === damagedAt ? 'state-damaged' : 'state-lost', sinceAt };
}

/** Returns whether the copy has records that Redis lacks. */
function lacksSome(safeguards: Safeguards | null, copy: Safeguards | null): boolean {
  if (safeguards === null || copy === null) return false;
  return entriesOf(copy).some(({ table, name }) => safeguards[table][name] === undefined);
}

/** Copies missing records to the directory. @param copied known records of the directory, updated */
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
