import { hash, randomUUID } from 'node:crypto';
import type { Clock } from '../model/time.ts';
import type { ManagedTenant, ManagedTenants } from '../settings/managed-tenant.ts';
import type { Counter } from './data-directory.ts';
import { keys } from './keys.ts';
import type { AwaitDurable, RedisClient } from './redis.ts';
import { compareAndSet, type LocatedValue, redisScript } from './script.ts';
import { createProofSealer, openSealed, type Sealer } from './sealing.ts';

/** Which revision each managed tenant has, as clinic-mirror last wrote it. */
export interface ManagedHead {
  /** Higher with each change; after a loss of all too. */
  counter: number;
  revisions: ReadonlyMap<string, string>;
}

/** A head as it is sealed. */
type StoredHead = { counter: number; revisions: Record<string, string> };

/** Where the counter is marked outside Redis: the tenants of an installation lie together. */
export const MANAGED_MARK: Counter = { name: 'managed', shard: 0 };

/** The highest counter that any process left outside Redis. */
export interface HeadMark {
  /** 0 where there is none, or it can't be read. */
  read(): Promise<number>;
  leave(counter: number): Promise<unknown>;
}

/** No tenant has such a name: the field of the version, which another change replaces. */
const VERSION = '*';
/** The field of the sealed head, which names all revisions. */
const HEAD = '*head';
/** A counter is the time of its change as well, so that a head that begins anew after a loss is above all before it, whoever begins it. */
const COUNTS_A_MS = 1_000;

/** The first answer is a hash, the second one documents behind their tenants. */
const readScript = redisScript<[string[], string[]]>(import.meta.url, 'managed-read');

/** With what a version begins: the first change that this Redis had. Another beginning tells that it was emptied. */
export function firstOf(version: string | null): string | null {
  return version?.split(':')[0] ?? null;
}

/** What lies in Redis of all managed tenants, with what counts of it. */
export interface Looked {
  version: string | null;
  /** The head as it lies there; null: there is none. */
  sealed: string | null;
  revisions: ReadonlyMap<string, string>;
  marked: number;
  head: ManagedHead;
}

/** A document that takes another's place; null: it goes. */
export interface ManagedStep {
  id: string;
  next: { revision: string; sealed: string } | null;
}

/** What the ledger works with. */
export interface ManagedLedgerParts {
  redis: RedisClient;
  writer: RedisClient;
  awaitDurable: AwaitDurable;
  identityKey: Uint8Array;
  mark: HeadMark;
  clock: Clock;
}

/** Which managed tenants there are, by their revisions, and the sealed head over them. */
export type ManagedLedger = ReturnType<typeof openManagedLedger>;

/** Reads what lies in Redis, and remembers the last head that this process could trust. */
function openReader({ redis, mark }: Pick<ManagedLedgerParts, 'redis' | 'mark'>, sealer: Sealer) {
  const revisions = keys.managedRevisions();
  let last: ManagedHead = { counter: 0, revisions: new Map() };

  function trusted(sealed: string | null, marked: number): ManagedHead {
    const head = sealed === null ? null : openSealed<StoredHead>(sealer, sealed, HEAD);
    if (head !== null && head.counter >= Math.max(last.counter, marked))
      last = { ...head, revisions: new Map(Object.entries(head.revisions)) };
    return last.counter >= marked ? last : { counter: marked, revisions: new Map() };
  }

  function looked(fields: Map<string, string>, marked: number): Looked {
    const [version, sealed] = [fields.get(VERSION) ?? null, fields.get(HEAD) ?? null];
    for (const field of [VERSION, HEAD]) fields.delete(field);
    return { version, sealed, revisions: fields, marked, head: trusted(sealed, marked) };
  }

  /** @param previous the mark, where it was read before */
  async function look(previous?: number): Promise<Looked> {
    const marked = previous ?? (await mark.read());
    return looked(new Map(Object.entries(await redis.hgetall(revisions))), marked);
  }

  /**
   * Looks, and reads in the same step the documents that are other ones than before.
   * @param marked the mark, as it was read before
   */
  async function read(marked: number, before: ManagedTenants | undefined) {
    const previous = [...(before?.values() ?? [])].flatMap(({ id, revision }) => [id, revision]);
    const [fields, documents] = await readScript(redis, [revisions, keys.managedTenants()], previous);
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
 * Opens the ledger. Documents and head change in one step. A head that is older than this process, or the mark outside Redis, knows was put
 * back by somebody else: what counts then is the last head that this process could trust.
 */
export function openManagedLedger(parts: ManagedLedgerParts) {
  const { redis, writer, awaitDurable, identityKey, mark, clock } = parts;
  const revisions = keys.managedRevisions();
  const sealer = createProofSealer(identityKey, '{managed-tenants}');
  const { look, read, last, wrote } = openReader(parts, sealer);

  /** @param changes the revisions that count from now on; null for a tenant that goes */
  async function write(now: Looked, changes: Iterable<[string, string | null]>, steps: readonly ManagedStep[]) {
    const counter = Math.max(now.marked, last().counter, clock() * COUNTS_A_MS) + 1;
    const next = revisionsAfter(now, changes);
    const sealed = sealer.seal(JSON.stringify({ counter, revisions: Object.fromEntries(next) }), HEAD);
    const { expected, written } = valuesOf(now, sealed, steps);
    if ((await compareAndSet(writer, expected, written)) !== null) return false;
    wrote({ counter, revisions: next });
    return true;
  }

  /**
   * Changes what is meant, whoever else does meanwhile; on the disk when it returns, where Redis can tell.
   * @param make changes what was looked at; false: somebody else did
   */
  async function forGood(isMeant: (now: Looked) => boolean, make: (now: Looked) => Promise<boolean>): Promise<boolean> {
    for (;;) {
      const now = await look();
      if (!isMeant(now)) return false;
      if (await make(now)) break;
    }
    // Only then it is marked: else a Redis that crashed would look like one that was put back.
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
    version: () => redis.hget(revisions, VERSION),
    /** @returns false: somebody else changed something meanwhile */
    change: (now: Looked, steps: readonly ManagedStep[]) =>
      write(
        now,
        steps.map(({ id, next }) => [id, next?.revision ?? null]),
        steps,
      ),
    /** What stands there already counts from now on. @returns as `change` */
    count: (now: Looked, id: string) => write(now, [[id, now.revisions.get(id) ?? null]], []),
    /** A process that died may have left none. @returns the mark */
    raiseMark: async (marked: number): Promise<number> => {
      if (last().counter > marked) await mark.leave(last().counter);
      return last().counter > marked ? mark.read() : marked;
    },
  };
}

/** Names, each with the value behind it. */
function pairsOf(flat: readonly string[]): Map<string, string> {
  const pairs = new Map<string, string>();
  for (let at = 0; at < flat.length; at += 2) pairs.set(flat[at] ?? '', flat[at + 1] ?? '');
  return pairs;
}

/** The revisions that count after changes. */
function revisionsAfter(now: Looked, changes: Iterable<[string, string | null]>): Map<string, string> {
  // Where nothing is left of what was, all else is known as lost by those who had it.
  const next = new Map(now.sealed === null && now.revisions.size === 0 ? [] : now.head.revisions);
  for (const [id, revision] of changes) {
    if (revision === null) next.delete(id);
    else next.set(id, revision);
  }
  return next;
}

/** What must still be as it was looked at, and what is written: head, version, revisions and documents. */
function valuesOf(now: Looked, head: string, steps: readonly ManagedStep[]) {
  const [key, tenants] = [keys.managedRevisions(), keys.managedTenants()];
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

/** Those that are as they were, those that clinic-mirror did not write so, and the others, which have to be read. */
export function comparedWith(before: ManagedTenants | undefined, now: Looked) {
  const same = new Map<string, ManagedTenant>();
  const [forged, others]: [string[], string[]] = [[], []];
  const wanted = now.head.revisions;
  for (const id of new Set([...now.revisions.keys(), ...wanted.keys()])) {
    const there = now.revisions.get(id);
    const previous = before?.get(id);
    if (there !== wanted.get(id)) forged.push(id);
    else if (previous !== undefined && previous.revision === there) same.set(id, previous);
    else others.push(id);
  }
  return { same, forged, others };
}

/** The revision that a tenant is shown with that clinic-mirror did not write so. */
export function revisionShown(now: Looked, id: string): string {
  // No document has it: what is known of an earlier document with the same one does not count.
  return hash('sha256', `forged ${now.revisions.get(id)} ${wantedOf(now, id)}`, 'base64url').slice(0, 22);
}

/** What whoever changes a tenant may have seen of it: as it was read, as it was written last, or that Redis has none. */
export function meantBy(now: Looked, id: string): string[] {
  const [there, wanted] = [now.revisions.get(id), wantedOf(now, id)];
  if (there === undefined && wanted === undefined) return [''];
  return [revisionShown(now, id), ...(wanted === undefined ? [] : [wanted]), ...(there === undefined ? [''] : [])];
}

/** The revision of a tenant that counts; undefined for none. */
function wantedOf({ head }: Looked, id: string): string | undefined {
  return head.revisions.get(id);
}
