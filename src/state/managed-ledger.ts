import { randomUUID } from 'node:crypto';
import type { Clock } from '../model/time.ts';
import type { ManagedTenant, ManagedTenants } from '../settings/managed-tenant.ts';
import type { AwaitDurable } from './durability.ts';
import { keys } from './keys.ts';
import { forgedRevision, type HeadMark, type ManagedHead, openManagedHeads } from './managed-head.ts';
import type { RedisClient } from './redis.ts';
import { compareAndSet, type PlacedValue } from './script.ts';

/** No tenant has such a name: the field of the version, which another change replaces. */
const VERSION = '*';
/** The field of the sealed head, which names all revisions. */
const HEAD = '*head';

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

/** Opens the ledger. Documents and head change in one step. */
export function openManagedLedger({ redis, writer, awaitDurable, identityKey, mark, clock }: ManagedLedgerParts) {
  const [revisions, tenants] = [keys.managedRevisions(), keys.managedTenants()];
  const heads = openManagedHeads(identityKey, clock);

  /** @param given the mark, where it was read before */
  async function look(given?: number): Promise<Looked> {
    const marked = given ?? (await mark.read());
    const { [VERSION]: version = null, [HEAD]: sealed = null, ...known } = await redis.hgetall(revisions);
    const there = { sealed, revisions: new Map(Object.entries(known)), marked };
    return { ...there, version, head: heads.trusted(there) };
  }

  async function write(now: Looked, next: ReturnType<typeof heads.next>, steps: readonly ManagedStep[]) {
    const change = randomUUID();
    const expected: PlacedValue[] = [{ key: revisions, field: HEAD, value: now.sealed }];
    const written: PlacedValue[] = [
      { key: revisions, field: HEAD, value: next.sealed },
      { key: revisions, field: VERSION, value: `${firstOf(now.version) ?? change}:${change}` },
    ];
    for (const { id, next } of steps) {
      expected.push({ key: revisions, field: id, value: now.revisions.get(id) ?? null });
      written.push({ key: revisions, field: id, value: next?.revision ?? null });
      written.push({ key: tenants, field: id, value: next?.sealed ?? null });
    }
    if ((await compareAndSet(writer, expected, written)) !== null) return false;
    heads.noteWritten(next.head);
    return true;
  }

  /** The same for what stands there already, and counts from now on. */
  const count = (now: Looked, ids: Iterable<string>) =>
    write(now, heads.next(now, new Map([...ids].map((id) => [id, now.revisions.get(id) ?? null]))), []);

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
    await mark.leave(heads.seen());
    return true;
  }

  return {
    look,
    forGood,
    count,
    seen: heads.seen,
    marked: mark.read,
    version: () => redis.hget(revisions, VERSION),
    /** @returns false: somebody else changed something meanwhile */
    change(now: Looked, steps: readonly ManagedStep[]): Promise<boolean> {
      const changes = new Map(steps.map(({ id, next }) => [id, next?.revision ?? null]));
      return write(now, heads.next(now, changes), steps);
    },
    /** A process that died may have left none. @returns the mark */
    raiseMark: async (marked: number): Promise<number> => {
      if (heads.seen() > marked) await mark.leave(heads.seen());
      return heads.seen() > marked ? mark.read() : marked;
    },
  };
}

/** Those that are as they were, those that clinic-mirror did not write so, and the others, which have to be read. */
export function comparedWith(before: ManagedTenants | undefined, now: Looked) {
  const same = new Map<string, ManagedTenant>();
  const [forged, others]: [string[], string[]] = [[], []];
  const wanted = now.head.revisions;
  for (const id of new Set([...now.revisions.keys(), ...wanted.keys()])) {
    const there = now.revisions.get(id);
    const known = before?.get(id);
    if (there !== wanted.get(id)) forged.push(id);
    else if (known !== undefined && known.revision === there) same.set(id, known);
    else others.push(id);
  }
  return { same, forged, others };
}

/** The revision that a tenant is shown with that clinic-mirror did not write so. */
export function revisionShown(now: Looked, id: string): string {
  return forgedRevision(now.revisions.get(id), wantedOf(now, id));
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
