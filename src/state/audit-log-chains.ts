import type { KeyObject } from 'node:crypto';
import type { Instant } from '../model/time.ts';
import { type AuditLogFiles, isGenuine } from './audit-log-files.ts';
import { keys } from './keys.ts';
import type { RedisClient } from './redis.ts';
import { redisScript } from './script.ts';

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
export interface SeenChain {
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
export async function lookAtChain(
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
  const known = seen.find((each) => each.sequence === sequence);
  const isOther = known !== undefined && known.mac !== head.mac;
  return isOther ? [{ chain, from: sequence, to: sequence, fault: 'replaced' }] : [];
}

const raiseHead = redisScript<number>(import.meta.url, 'audit-log-raise');

/** The end of a chain of the audit log, as Redis knows it. */
export interface AuditLogHead {
  sequence: number;
  mac: string;
  at: Instant;
}

/** The ends of all chains, where the log's files are not: who cuts the end off these has to change Redis too. */
export interface AuditLogHeads {
  read(chain: string): Promise<AuditLogHead | null>;
  all(): Promise<Map<string, AuditLogHead>>;
  /** Moves the head of a chain on; never back. */
  raise(chain: string, head: AuditLogHead): Promise<void>;
}

/** Opens the heads of an installation. */
export function openAuditLogHeads(redis: RedisClient): AuditLogHeads {
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
