import { type KeyObject, randomInt } from 'node:crypto';
import { join } from 'node:path';
import type { Logger } from '../log/logger.ts';
import type { AuditDraft, AuditEntry } from '../model/acts.ts';
import { derivedKey } from '../model/derived-key.ts';
import { type Clock, DAY_MS } from '../model/time.ts';
import {
  type AuditLogFault,
  type AuditLogHeads,
  lookAtChain,
  openAuditLogHeads,
  type SeenChain,
} from './audit-log-chains.ts';
import { AuditLogFiles, isGenuine, lineOf } from './audit-log-files.ts';
import type { RedisClient } from './redis.ts';

/** What a look at the whole log found. */
export interface AuditLogVerdict {
  chains: SeenChain[];
  faults: AuditLogFault[];
}

/** Where an entry stands. */
export interface AuditPlace {
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
  readBack(before: AuditPlace | null): AsyncGenerator<AuditPlace & { line: string; entry: AuditEntry | null }, void>;
  /** @param elsewhere chains that other directories hold. @throws as `append` */
  verify(elsewhere: ReadonlySet<string>): Promise<AuditLogVerdict>;
}

/** What a log works with. */
export interface AuditLogParts {
  redis: RedisClient;
  /** Directory that outlives Redis; the log has a folder in it. */
  directory: string;
  identityKey: Uint8Array;
  /** How long entries are kept, at least. */
  keepMonths: () => number;
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
      const known = await heads.all();
      const found = await files.chains();
      const looks = [];
      for (const chain of found) looks.push(await lookAtChain(files, chain, key(), known.get(chain) ?? null));
      const absent = [...known.keys()].filter((chain) => !found.includes(chain) && !elsewhere.has(chain));
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
function openChains({ clock, log, keepMonths }: AuditLogParts, { files, heads, key }: ChainParts) {
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
    const known = await files.read(chain, head.sequence);
    // A share on the network may list a new file late.
    if (known?.mac === head.mac) return { chain, last: Math.max(last, head.sequence) };
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
    const place = { chain, sequence, at: new Date(now).toISOString() };
    const entry = { ...place, verb, outcome, code, act, tenant, who, what, why, previous: before?.mac ?? null };
    const { line, mac } = lineOf(entry, key());
    if (!(await files.write(chain, sequence, line))) return null;
    await heads.raise(chain, { sequence, mac, at: now });
    // Another copy of the chain's end, where logs are kept.
    log.info({ chain, sequence, mac, verb, outcome, tenant }, 'an entry of the audit log');
    return entry;
  }

  /** Folders whose newest entry is too old go, and an entry says so: it is what a look at the log goes by then. */
  async function trim(chain: string): Promise<void> {
    const oldestAt = clock() - keepMonths() * MONTH_MS;
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
