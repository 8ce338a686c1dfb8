import { hash, randomUUID } from 'node:crypto';
import type { Clock } from '../../core/model/time.ts';
import type { ManagedTenant, ManagedTenants } from '../../settings/managed-tenant.ts';
import type { Counter } from '../../state/data-directory.ts';
import type { AwaitDurable, RedisClient } from '../../state/redis.ts';
import { compareAndSet, type LocatedValue, redisScript } from '../../state/script.ts';
import { createProofSealer, openSealed, type Sealer } from '../../state/sealing.ts';
import { managedTenantKeys } from './keys.ts';

/** Revision of each managed tenant at clinic-mirror's last write. */
export interface ManagedHead {
  /** Grows with each change, even after a complete loss. */
  counter: number;
  revisions: ReadonlyMap<string, string>;
  /** Tenants whose documents require a second operator for some commands. */
  guarded: ReadonlySet<string>;
}

type StoredHead = { counter: number; revisions: Record<string, string>; guarded?: readonly string[] };

/** Mark of the counter outside Redis: all tenants of an installation are in one part. */
export const MANAGED_MARK: Counter = { name: 'managed', shard: 0 };

/** Highest counter of any process, stored outside Redis. */
export interface HeadMark {
  /** 0 if absent or unreadable. */
  read(): Promise<number>;
  leave(counter: number): Promise<unknown>;
}

/** Field of the version, which every change replaces; no tenant has this name. */
const VERSION = '*';
/** Field of the encrypted head, which names all revisions. */
const HEAD = '*head';
/** Counters are at least the time of the change, so that a new head after a loss is above all earlier heads, in every process. */
const COUNTS_A_MS = 1_000;

/** The answer contains a hash, and a list of tenants with their documents. */
const readScript = redisScript<[string[], string[]]>(import.meta.url, 'managed-read');

/** Returns the start of a version: the first change in this Redis. A different start means that Redis was emptied. */
export function firstOf(version: string | null): string | null {
  return version?.split(':')[0] ?? null;
}

/** Managed tenants in Redis, with their valid head. */
export interface Looked {
  version: string | null;
  /** Stored head; null if absent. */
  sealed: string | null;
  revisions: ReadonlyMap<string, string>;
  marked: number;
  head: ManagedHead;
}

/** Replacement of a document; null for a removal. */
export interface ManagedStep {
  id: string;
  next: { revision: string; sealed: string } | null;
  /** Whether the document requires a second operator for some commands; absent: as before. */
  isGuarded?: boolean;
}

export interface ManagedLedgerParts {
  redis: RedisClient;
  writer: RedisClient;
  awaitDurable: AwaitDurable;
  identityKey: Uint8Array;
  mark: HeadMark;
  clock: Clock;
}

/** Revisions of managed tenants, and the encrypted head. */
export type ManagedLedger = ReturnType<typeof openManagedLedger>;

/** Reads Redis, and remembers the last trustworthy head of this process. */
function openReader({ redis, mark }: Pick<ManagedLedgerParts, 'redis' | 'mark'>, sealer: Sealer) {
  const revisions = managedTenantKeys.managedRevisions();
  let last: ManagedHead = { counter: 0, revisions: new Map(), guarded: new Set() };

  function trusted(sealed: string | null, marked: number): ManagedHead {
    const head = sealed === null ? null : openSealed<StoredHead>(sealer, sealed, HEAD, 'managed-tenants');
    if (head !== null && head.counter >= Math.max(last.counter, marked))
      last = { ...head, revisions: new Map(Object.entries(head.revisions)), guarded: new Set(head.guarded) };
    return last.counter >= marked ? last : { counter: marked, revisions: new Map(), guarded: new Set() };
  }

  function looked(fields: Map<string, string>, marked: number): Looked {
    const [version, sealed] = [fields.get(VERSION) ?? null, fields.get(HEAD) ?? null];
    for (const field of [VERSION, HEAD]) fields.delete(field);
    return { version, sealed, revisions: fields, marked, head: trusted(sealed, marked) };
  }

  /** @param previous the mark, if already read */
  async function look(previous?: number): Promise<Looked> {
    const marked = previous ?? (await mark.read());
    return looked(new Map(Object.entries(await redis.hgetall(revisions))), marked);
  }

  /**
   * Reads the head and, in one step, the documents that changed.
   * @param marked the mark
   */
  async function read(marked: number, before: ManagedTenants | undefined) {
    const previous = [...(before?.values() ?? [])].flatMap(({ id, revision }) => [id, revision]);
    const [fields, documents] = await readScript(redis, [revisions, managedTenantKeys.managedTenants()], previous);
    return { now: looked(pairsOf(fields), marked), documents: pairsOf(documents) };
  }

  return {
    look,
    read,
    last: () => last,
    /** Remembers a head that this process wrote. */
    wrote(head: ManagedHead): void {
      if (head.counter > last.counter) last = head;
    },
  };
}

/**
 * Opens the ledger. Documents and head change in one step. A head that is older than this process or the mark knows was reverted by a
 * foreign writer: the last trustworthy head of this process then applies.
 */
export function openManagedLedger(parts: ManagedLedgerParts) {
  const { redis, writer, awaitDurable, identityKey, mark, clock } = parts;
  const revisions = managedTenantKeys.managedRevisions();
  const sealer = createProofSealer(identityKey, '{managed-tenants}');
  const { look, read, last, wrote } = openReader(parts, sealer);

  /** @param changes new revisions; null for a removed tenant */
  async function write(now: Looked, changes: Iterable<[string, string | null]>, steps: readonly ManagedStep[]) {
    const counter = Math.max(now.marked, last().counter, clock() * COUNTS_A_MS) + 1;
    const next = revisionsAfter(now, changes);
    const guarded = guardedAfter(now, steps);
    const head: StoredHead = { counter, revisions: Object.fromEntries(next), guarded: [...guarded] };
    const sealed = sealer.seal(JSON.stringify(head), HEAD);
    const { expected, written } = valuesOf(now, sealed, steps);
    if ((await compareAndSet(writer, expected, written)) !== null) return false;
    wrote({ counter, revisions: next, guarded });
    return true;
  }

  /**
   * Repeats a change until no concurrent change interferes. Durable on return if Redis supports confirmation.
   * @param make makes the change; false after a concurrent change
   */
  async function forGood(isMeant: (now: Looked) => boolean, make: (now: Looked) => Promise<boolean>): Promise<boolean> {
    for (;;) {
      const now = await look();
      if (!isMeant(now)) return false;
      if (await make(now)) break;
    }
    // The mark follows the confirmation: otherwise a crashed Redis would look like a reverted Redis.
    await awaitDurable(revisions).catch(() => 'late');
    await mark.leave(last().counter);
    return true;
  }

  return {
    look,
    read,
    forGood,
    /** Highest counter that this process has seen; 0 before the first. */
    seen: () => last().counter,
    marked: mark.read,
    /** Returns whether Redis has this version. No version also means that Redis lost what this process has written since. */
    isUnchanged: async (version: string | null): Promise<boolean> =>
      (version !== null || last().counter === 0) && (await redis.hget(revisions, VERSION)) === version,
    /** @returns false after a concurrent change */
    change: (now: Looked, steps: readonly ManagedStep[]) =>
      write(
        now,
        steps.map(({ id, next }) => [id, next?.revision ?? null]),
        steps,
      ),
    /** Accepts the stored revision. @returns as `change` */
    count: (now: Looked, id: string) => write(now, [[id, now.revisions.get(id) ?? null]], []),
    /** Raises a mark that a dead process failed to write. @returns the mark */
    raiseMark: async (marked: number): Promise<number> => {
      if (last().counter > marked) await mark.leave(last().counter);
      return last().counter > marked ? mark.read() : marked;
    },
  };
}

function pairsOf(flat: readonly string[]): Map<string, string> {
  const pairs = new Map<string, string>();
  for (let at = 0; at < flat.length; at += 2) pairs.set(flat[at] ?? '', flat[at + 1] ?? '');
  return pairs;
}

/** Returns the valid revisions after changes. */
function revisionsAfter(now: Looked, changes: Iterable<[string, string | null]>): Map<string, string> {
  // If no data is left, processes with earlier data treat the remaining tenants as lost.
  const next = new Map(now.sealed === null && now.revisions.size === 0 ? [] : now.head.revisions);
  for (const [id, revision] of changes) {
    if (revision === null) next.delete(id);
    else next.set(id, revision);
  }
  return next;
}

/** Returns the guarded tenants after changes. */
function guardedAfter({ head }: Looked, steps: readonly ManagedStep[]): Set<string> {
  const guarded = new Set(head.guarded);
  for (const { id, next, isGuarded } of steps) {
    if (next !== null && (isGuarded ?? guarded.has(id))) guarded.add(id);
    else guarded.delete(id);
  }
  return guarded;
}

/** Returns the values to compare, and the values to write: head, version, revisions and documents. */
function valuesOf(now: Looked, head: string, steps: readonly ManagedStep[]) {
  const [key, tenants] = [managedTenantKeys.managedRevisions(), managedTenantKeys.managedTenants()];
  const change = randomUUID();
  const expected: LocatedValue[] = [{ key, field: HEAD, value: now.sealed }];
  const written: LocatedValue[] = [
    { key, field: HEAD, value: head },
    { key, field: VERSION, value: `${firstOf(now.version) ?? change}:${change}` },
  ];
  for (const { id, next } of steps) {
    expected.push({ key, field: id, value: now.revisions.get(id) ?? null });
    written.push({ key, field: id, value: next?.revision ?? null });
    written.push({ key: tenants, field: id, value: next?.sealed ?? null });
  }
  return { expected, written };
}

/** Splits tenants into unchanged, damaged and changed ones; changed documents must be read. */
export function comparedWith(before: ManagedTenants | undefined, now: Looked) {
  const same = new Map<string, ManagedTenant>();
  const [damaged, others]: [string[], string[]] = [[], []];
  const wanted = now.head.revisions;
  for (const id of new Set([...now.revisions.keys(), ...wanted.keys()])) {
    const there = now.revisions.get(id);
    const previous = before?.get(id);
    if (there !== wanted.get(id)) damaged.push(id);
    else if (previous !== undefined && previous.revision === there) same.set(id, previous);
    else others.push(id);
  }
  return { same, damaged, others };
}

/** Returns the displayed revision of a damaged tenant. */
export function revisionShown(now: Looked, id: string): string {
  // No document has this revision: a seen revision of an earlier document must not match.
  return hash('sha256', `damaged ${now.revisions.get(id)} ${wantedOf(now, id)}`, 'base64url').slice(0, 22);
}

/** Returns the revisions that an operator may have seen: the stored revision, the last written revision, or a missing tenant. */
export function meantBy(now: Looked, id: string): string[] {
  const [there, wanted] = [now.revisions.get(id), wantedOf(now, id)];
  if (there === undefined && wanted === undefined) return [''];
  return [revisionShown(now, id), ...(wanted === undefined ? [] : [wanted]), ...(there === undefined ? [''] : [])];
}

/** Returns the valid revision of a tenant, or undefined. */
function wantedOf({ head }: Looked, id: string): string | undefined {
  return head.revisions.get(id);
}
