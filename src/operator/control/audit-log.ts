import { type KeyObject, randomInt } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from '../../core/log/logger.ts';
import type {
  AuditDraft,
  AuditEntry,
  AuditLogCheck,
  AuditLogFault,
  AuditLogHead,
  SeenChain,
} from '../../core/model/acts.ts';
import { derivedKey } from '../../core/model/hashes.ts';
import { type Clock, DAY_MS } from '../../core/model/time.ts';
import { openNumber } from '../../state/damaged.ts';
import type { RedisClient } from '../../state/redis.ts';
import { redisScript } from '../../state/script.ts';
import { AuditLogFiles, isGenuine, lineOf } from './audit-log-files.ts';
import { controlKeys } from './keys.ts';

export interface AuditPosition {
  chain: string;
  sequence: number;
}

/** Log of users' actions: records linked by MACs, in files; Redis stores the ends of the chains. */
export interface AuditLog {
  /**
   * Writes a record durably.
   * @throws MirrorError `settings`, code `audit-log-unwritable`; errors of Redis
   */
  append(draft: AuditDraft): Promise<AuditEntry>;
  /** Deletes full folders of records older than the retention. @returns the number of records. @throws as `append` */
  trim(): Promise<number>;
  /** Yields JSON lines, oldest first; `entry` is null for a modified record. @throws as `append` */
  read(): AsyncGenerator<{ line: string; entry: AuditEntry | null }, void>;
  /** Yields records with their positions, newest first. @param before exclusive upper position; null for all records */
  readBack(
    before: AuditPosition | null,
  ): AsyncGenerator<AuditPosition & { line: string; entry: AuditEntry | null }, void>;
  /** @param elsewhere chains in other directories. @throws as `append` */
  verify(elsewhere: ReadonlySet<string>): Promise<AuditLogCheck>;
}

interface AuditLogParts {
  redis: RedisClient;
  /** Directory that outlives Redis and contains the log's folder. */
  directory: string;
  identityKey: Uint8Array;
  /** Least retention of records. */
  retentionMonths: () => number;
  clock: Clock;
  log: Logger;
  /** Records that are removed together after the retention. Default 1,000; must be equal for all writers. */
  folderEntries?: number;
}

const FOLDER = 'audit-log';
/** A month of the retention. */
export const MONTH_MS = 31 * DAY_MS;
/** Highest number of other writers' records during one attempt. */
const MOST_TRIES = 100;
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const CHAIN_ID_LENGTH = 6;

/** Opens the log of an installation without reading or writing. */
export function createAuditLog(parts: AuditLogParts): AuditLog {
  const { folderEntries = 1_000 } = parts;
  const files = new AuditLogFiles(join(parts.directory, FOLDER), folderEntries);
  const key = derivedKey(parts.identityKey, 'installation', 'audit log');
  const heads = openAuditLogHeads(parts.redis);
  const chains = openChains(parts, { files, heads, key });
  return {
    async append(draft) {
      for (let tried = 0; tried < MOST_TRIES; tried += 1) {
        const { chain, last } = await chains.today();
        const entry = await chains.write(chain, last, draft);
        if (entry === null) continue;
        if (entry.sequence % folderEntries === 1) await chains.trim(chain);
        return entry;
      }
      throw new Error('other processes write without end');
    },
    async trim() {
      const chain = (await files.chains()).at(-1);
      return chain === undefined ? 0 : (await chains.trim(chain)) * folderEntries;
    },
    async *read() {
      for (const chain of await files.chains()) {
        for await (const sequence of files.numbers(chain)) {
          const stored = await files.read(chain, sequence);
          if (stored !== null) yield { line: stored.line, entry: isGenuine(stored, key()) ? stored.entry : null };
        }
      }
    },
    async *readBack(before) {
      for (const chain of (await files.chains()).reverse()) {
        if (before !== null && chain > before.chain) continue;
        for await (const sequence of files.numbersBack(chain, chain === before?.chain ? before.sequence : undefined)) {
          const stored = await files.read(chain, sequence);
          if (stored === null) continue;
          yield { chain, sequence, line: stored.line, entry: isGenuine(stored, key()) ? stored.entry : null };
        }
      }
    },
    async verify(elsewhere) {
      // Reads the ends first: records written meanwhile only make chains longer than their recorded ends.
      const recorded = await heads.all();
      const found = await files.chains();
      const looks = [];
      for (const chain of found) looks.push(await lookAtChain(files, chain, key(), recorded.get(chain) ?? null));
      const absent = [...recorded.keys()].filter((chain) => !found.includes(chain) && !elsewhere.has(chain));
      const faults = absent.map((chain): AuditLogFault => ({ chain, from: null, to: null, fault: 'absent' }));
      return { chains: looks.map((look) => look.found), faults: [...looks.flatMap((look) => look.faults), ...faults] };
    },
  };
}

interface ChainParts {
  files: AuditLogFiles;
  heads: AuditLogHeads;
  key: () => KeyObject;
}

/** Writes chains. */
function openChains({ clock, log, retentionMonths }: AuditLogParts, { files, heads, key }: ChainParts) {
  /**
   * Returns the current chain. Starts a new chain if no chain exists, or if the end of the old chain is not the known end; the old chain
   * then stays unchanged.
   */
  async function today(): Promise<{ chain: string; last: number }> {
    const chain = (await files.chains()).at(-1);
    if (chain === undefined) return beginChain(`0001-${newId()}`, { follows: null, known: 0, found: 0 });
    // Reads the head first: the head is raised after the file exists.
    const head = await heads.read(chain);
    const last = await files.lastNumber(chain);
    if (head === null) {
      // The first record is being written, or Redis lost its knowledge.
      return last > 0 ? { chain, last } : beginChain(chain, { follows: null, known: 0, found: 0 });
    }
    const recorded = await files.read(chain, head.sequence);
    // A network share may list a new file late.
    if (recorded?.mac === head.mac) return { chain, last: Math.max(last, head.sequence) };
    log.error({ code: 'audit-log-cut', chain, known: head.sequence, found: last }, 'audit log lacks its known end');
    const ordinal = String(Number(chain.slice(0, 4)) + 1).padStart(4, '0');
    return beginChain(`${ordinal}-${newId()}`, { follows: chain, known: head.sequence, found: last });
  }

  async function beginChain(chain: string, what: AuditDraft['what']): Promise<{ chain: string; last: number }> {
    await write(chain, 0, ownEntry('begin-log', what));
    return { chain, last: 1 };
  }

  /** @returns null if another process wrote the record of that number */
  async function write(chain: string, last: number, draft: AuditDraft): Promise<AuditEntry | null> {
    const before = last === 0 ? null : await files.read(chain, last);
    const { verb, tenant, who, what, why, outcome, code, act } = draft;
    const [sequence, now] = [last + 1, clock()];
    const position = { chain, sequence, at: new Date(now).toISOString() };
    const entry = { ...position, verb, outcome, code, act, tenant, who, what, why, previous: before?.mac ?? null };
    const { line, mac } = lineOf(entry, key());
    if (!(await files.write(chain, sequence, line))) return null;
    await heads.raise(chain, { sequence, mac, at: now });
    // Additional copy of the record and the chain's end in the operator's logs, and by OTLP at a collector.
    log.info({ ...entry, mac }, 'audit log record');
    return entry;
  }

  /** Removes folders whose newest record is too old, and records the removal, which later checks use. @returns the number of folders */
  async function trim(chain: string): Promise<number> {
    let folders = 0;
    const oldestAt = clock() - retentionMonths() * MONTH_MS;
    for await (const { sequence, line, entry, mac } of files.folderEnds(chain)) {
      if (entry === null || !isGenuine({ line, entry, mac }, key()) || Date.parse(entry.at) > oldestAt) break;
      const last = await files.lastNumber(chain);
      if ((await write(chain, last, ownEntry('trim-log', { through: sequence, mac }))) === null) break;
      await files.removeThrough(chain, sequence);
      folders += 1;
    }
    return folders;
  }

  return { today, write, trim };
}

function ownEntry(verb: 'begin-log' | 'trim-log', what: AuditDraft['what']): AuditDraft {
  const who = { kind: 'daemon', name: 'clinic-mirror', id: 'daemon', claimed: null } as const;
  return { verb, tenant: null, who, what, why: null, outcome: 'done', code: null, act: null };
}

function newId(): string {
  return Array.from({ length: CHAIN_ID_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

interface Seen {
  sequence: number;
  mac: string;
  previous: string | null;
  fault: 'changed' | 'misplaced' | null;
  /** Last record that the log itself removed; null for other records. */
  trimmed: Start | null;
}

/** Last record before the checked range, whose MAC the next record contains. */
interface Start {
  sequence: number;
  mac: string | null;
}

/** Checks every record of a chain, and compares its end with Redis. @throws as {@link AuditLogFiles} */
async function lookAtChain(
  files: AuditLogFiles,
  chain: string,
  key: KeyObject,
  head: AuditLogHead | null,
): Promise<{ found: SeenChain; faults: AuditLogFault[] }> {
  const all: Seen[] = [];
  for await (const sequence of files.numbers(chain)) {
    const seen = await lookAtEntry(files, chain, sequence, key);
    if (seen !== null) all.push(seen);
  }
  const start = all.findLast(({ trimmed }) => trimmed !== null)?.trimmed ?? { sequence: 0, mac: null };
  const seen = all.filter(({ sequence }) => sequence > start.sequence);
  const last = seen.at(-1);
  const found = {
    chain,
    first: seen[0]?.sequence ?? 0,
    last: last?.sequence ?? 0,
    entries: seen.length,
    mac: last?.mac ?? '',
    head,
  };
  return { found, faults: [...faultsWithin(chain, seen, start), ...faultsOfEnd(chain, seen, head, start)] };
}

async function lookAtEntry(
  files: AuditLogFiles,
  chain: string,
  sequence: number,
  key: KeyObject,
): Promise<Seen | null> {
  const stored = await files.read(chain, sequence);
  if (stored === null) return null;
  const { entry, mac } = stored;
  if (entry === null || !isGenuine(stored, key)) {
    return { sequence, mac, previous: null, fault: 'changed', trimmed: null };
  }
  const { previous, verb, what } = entry;
  if (entry.chain !== chain || entry.sequence !== sequence) {
    return { sequence, mac, previous, fault: 'misplaced', trimmed: null };
  }
  const trimmed = verb === 'trim-log' ? { sequence: Number(what.through), mac: String(what.mac) } : null;
  return { sequence, mac, previous, fault: null, trimmed };
}

function faultsWithin(chain: string, seen: readonly Seen[], start: Start): AuditLogFault[] {
  const faults: AuditLogFault[] = [];
  let before: Start & { isSound: boolean } = { ...start, isSound: true };
  for (const { sequence, mac, previous, fault } of seen) {
    const isNext = sequence === before.sequence + 1;
    if (!isNext) faults.push({ chain, from: before.sequence + 1, to: sequence - 1, fault: 'missing' });
    // The successor of a wrong record is necessarily unlinked: the fault is reported once.
    const isUnlinked = isNext && before.isSound && previous !== before.mac;
    const own = fault ?? (isUnlinked ? 'unlinked' : null);
    if (own !== null) faults.push({ chain, from: sequence, to: sequence, fault: own });
    before = { sequence, mac, isSound: fault === null };
  }
  return faults;
}

function faultsOfEnd(chain: string, seen: readonly Seen[], head: AuditLogHead | null, start: Start): AuditLogFault[] {
  if (head === null) return [];
  const { sequence } = head;
  const last = seen.at(-1)?.sequence ?? start.sequence;
  if (sequence > last) return [{ chain, from: last + 1, to: sequence, fault: 'cut-off' }];
  const recorded = seen.find((each) => each.sequence === sequence);
  const isOther = recorded !== undefined && recorded.mac !== head.mac;
  return isOther ? [{ chain, from: sequence, to: sequence, fault: 'replaced' }] : [];
}

const raiseHead = redisScript<number>(import.meta.url, 'audit-log-raise');

/** Ends of all chains, stored outside the log's files: truncating the files is not enough, because the attacker must also change Redis. */
interface AuditLogHeads {
  read(chain: string): Promise<AuditLogHead | null>;
  all(): Promise<Map<string, AuditLogHead>>;
  /** Advances the head of a chain, never back. */
  raise(chain: string, head: AuditLogHead): Promise<void>;
}

function openAuditLogHeads(redis: RedisClient): AuditLogHeads {
  const key = controlKeys.auditLog();
  return {
    async read(chain) {
      const stored = await redis.hget(key, chain);
      return stored === null ? null : headOf(stored);
    },
    async all() {
      const stored = Object.entries(await redis.hgetall(key));
      return new Map(stored.map(([chain, head]) => [chain, headOf(head)]));
    },
    async raise(chain, { sequence, mac, at }) {
      await raiseHead(redis, [key], [chain, sequence, `${sequence} ${mac} ${at}`]);
    },
  };
}

function headOf(stored: string): AuditLogHead {
  const [sequence, mac = '', at] = stored.split(' ');
  const number = (text: string | undefined) => openNumber(text, { owner: '{audit-log}', kind: 'audit-log' });
  // A damaged end belongs to no record: the log counts as cut off.
  return { sequence: number(sequence) ?? Number.MAX_SAFE_INTEGER, mac, at: number(at) ?? 0 };
}
