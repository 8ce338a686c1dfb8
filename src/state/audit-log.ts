import { type KeyObject, randomInt } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from '../log/logger.ts';
import type { AuditDraft, AuditEntry } from '../model/acts.ts';
import { derivedKey } from '../model/hashes.ts';
import { type Clock, DAY_MS, type Instant } from '../model/time.ts';
import { AuditLogFiles, isGenuine, lineOf } from './audit-log-files.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { redisScript } from './script.ts';

/** What a look at the whole log found. */
export interface AuditLogCheck {
  chains: SeenChain[];
  faults: AuditLogFault[];
}

/** Where an entry stands. */
export interface AuditPosition {
  chain: string;
  sequence: number;
}

/** The log of what persons do: entries that hold each other by MACs, in files, with the ends of their chains in Redis. */
export interface AuditLog {
  /**
   * Writes an entry; it is on the disk when this returns.
   * @throws MirrorError `settings`, code `audit-log-unwritable`; what Redis throws
   */
  append(draft: AuditDraft): Promise<AuditEntry>;
  /** Lines of JSON, oldest first; `entry` null for one that is not as it was written. @throws as `append` */
  read(): AsyncGenerator<{ line: string; entry: AuditEntry | null }, void>;
  /** The same from the newest one back, each with its place. @param before the last one that is not wanted; null for all */
  readBack(
    before: AuditPosition | null,
  ): AsyncGenerator<AuditPosition & { line: string; entry: AuditEntry | null }, void>;
  /** @param elsewhere chains that other directories hold. @throws as `append` */
  verify(elsewhere: ReadonlySet<string>): Promise<AuditLogCheck>;
}

/** What a log works with. */
interface AuditLogParts {
  redis: RedisClient;
  /** Directory that outlives Redis; the log has a folder in it. */
  directory: string;
  identityKey: Uint8Array;
  /** How long entries are kept, at least. */
  retentionMonths: () => number;
  clock: Clock;
  log: Logger;
  /** Entries that go together when they are too old. Default 1,000; the same for all who ever write there. */
  folderEntries?: number;
}

const FOLDER = 'audit-log';
const MONTH_MS = 31 * DAY_MS;
/** Others may write as often while one tries. */
const MOST_TRIES = 100;
const ALPHABET = 'abcdefghjkmnpqrstuvwxyz23456789';
const CHAIN_ID_LENGTH = 6;

/** Opens the log of an installation. Nothing is read or written yet. */
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
      throw new Error('others write without end');
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
      // The ends first: what is written meanwhile is longer than they say, never shorter.
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

/** What chains are written with. */
interface ChainParts {
  files: AuditLogFiles;
  heads: AuditLogHeads;
  key: () => KeyObject;
}

/** The writing of chains. */
function openChains({ clock, log, retentionMonths }: AuditLogParts, { files, heads, key }: ChainParts) {
  /** The chain that goes on; a new one where there is none, or its end is not the one that was known: then the old one stays as it is. */
  async function today(): Promise<{ chain: string; last: number }> {
    const chain = (await files.chains()).at(-1);
    if (chain === undefined) return beginChain(`0001-${newId()}`, { follows: null, known: 0, found: 0 });
    // The head first: it is raised after the file is there.
    const head = await heads.read(chain);
    const last = await files.lastNumber(chain);
    if (head === null) {
      // Its first entry is being written, or Redis lost what it knew.
      return last > 0 ? { chain, last } : beginChain(chain, { follows: null, known: 0, found: 0 });
    }
    const recorded = await files.read(chain, head.sequence);
    // A share on the network may list a new file late.
    if (recorded?.mac === head.mac) return { chain, last: Math.max(last, head.sequence) };
    log.error({ code: 'audit-log-cut', chain, known: head.sequence, found: last }, 'the audit log is not as it was');
    const ordinal = String(Number(chain.slice(0, 4)) + 1).padStart(4, '0');
    return beginChain(`${ordinal}-${newId()}`, { follows: chain, known: head.sequence, found: last });
  }

  async function beginChain(chain: string, what: AuditDraft['what']): Promise<{ chain: string; last: number }> {
    await write(chain, 0, ownEntry('begin-log', what));
    return { chain, last: 1 };
  }

  /** @returns null when another process wrote the entry of that number */
  async function write(chain: string, last: number, draft: AuditDraft): Promise<AuditEntry | null> {
    const before = last === 0 ? null : await files.read(chain, last);
    const { verb, tenant, who, what, why, outcome, code, act } = draft;
    const [sequence, now] = [last + 1, clock()];
    const position = { chain, sequence, at: new Date(now).toISOString() };
    const entry = { ...position, verb, outcome, code, act, tenant, who, what, why, previous: before?.mac ?? null };
    const { line, mac } = lineOf(entry, key());
    if (!(await files.write(chain, sequence, line))) return null;
    await heads.raise(chain, { sequence, mac, at: now });
    // Another copy of the chain's end, where logs are kept.
    log.info({ chain, sequence, mac, verb, outcome, tenant }, 'an entry of the audit log');
    return entry;
  }

  /** Folders whose newest entry is too old go, and an entry says so: it is what a look at the log goes by then. */
  async function trim(chain: string): Promise<void> {
    const oldestAt = clock() - retentionMonths() * MONTH_MS;
    for await (const { sequence, line, entry, mac } of files.folderEnds(chain)) {
      if (entry === null || !isGenuine({ line, entry, mac }, key()) || Date.parse(entry.at) > oldestAt) return;
      const last = await files.lastNumber(chain);
      if ((await write(chain, last, ownEntry('trim-log', { through: sequence, mac }))) === null) return;
      await files.removeThrough(chain, sequence);
    }
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

/** What is wrong with the log at one place. */
export interface AuditLogFault {
  chain: string;
  /** The first and the last entry that it is about; both null: the chain as a whole. */
  from: number | null;
  to: number | null;
  /**
   * `changed`: its MAC is not that of what it says; `misplaced`: it is another entry, or another chain's; `unlinked`: it does not follow the one
   * before; `missing`: entries between others, or before all, are gone; `cut-off`: the last ones are gone, by what Redis knows;
   * `replaced`: it is not the one that Redis knows; `absent`: Redis knows the chain, and it is not in this directory.
   */
  fault: 'changed' | 'misplaced' | 'unlinked' | 'missing' | 'cut-off' | 'replaced' | 'absent';
}

/** One chain as it was found. */
interface SeenChain {
  chain: string;
  /** Numbers of the first and the last entry; 0 for none. */
  first: number;
  last: number;
  entries: number;
  /** MAC of the last entry: noted elsewhere, it tells later whether the end is the same. */
  mac: string;
  /** What Redis knows of its end; null for nothing. */
  head: AuditLogHead | null;
}

interface Seen {
  sequence: number;
  mac: string;
  previous: string | null;
  fault: 'changed' | 'misplaced' | null;
  /** Up to where entries were removed by the log itself; null for other entries. */
  trimmed: Start | null;
}

/** The last entry of what is not looked at, whose MAC the next one names. */
interface Start {
  sequence: number;
  mac: string | null;
}

/** Looks at every entry of a chain, one by one, and at its end as Redis knows it. @throws as {@link AuditLogFiles} */
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
    // What follows an entry that is not the right one does not follow it: said once.
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

/** The end of a chain of the audit log, as Redis knows it. */
interface AuditLogHead {
  sequence: number;
  mac: string;
  at: Instant;
}

/** The ends of all chains, where the log's files are not: who cuts the end off these has to change Redis too. */
interface AuditLogHeads {
  read(chain: string): Promise<AuditLogHead | null>;
  all(): Promise<Map<string, AuditLogHead>>;
  /** Moves the head of a chain on; never back. */
  raise(chain: string, head: AuditLogHead): Promise<void>;
}

/** Opens the heads of an installation. */
function openAuditLogHeads(redis: RedisClient): AuditLogHeads {
  const key = keys.auditLog();
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
  return { sequence: Number(sequence), mac, at: Number(at) };
}
