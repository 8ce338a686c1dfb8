import { createHash } from 'node:crypto';
import type { Clock } from '../model/time.ts';
import type { Counter } from './data-directory.ts';
import { createProofSealer, openSealed } from './sealing.ts';

/** Which revision each managed tenant has, as clinic-mirror last wrote it. */
export interface ManagedHead {
  /** Higher with each change; after a loss of all too. */
  counter: number;
  revisions: ReadonlyMap<string, string>;
}

/** Where the counter is marked outside Redis: the tenants of an installation lie together. */
export const MANAGED_MARK: Counter = { name: 'managed', shard: 0 };

/** The highest counter that any process left outside Redis. */
export interface HeadMark {
  /** 0 where there is none, or it can't be read. */
  read(): Promise<number>;
  leave(counter: number): Promise<unknown>;
}

/** The head as it lies in Redis, and the pairs that it has to name. */
export interface StoredHead {
  /** Null: there is none. */
  sealed: string | null;
  revisions: ReadonlyMap<string, string>;
  /** Read before the others. */
  marked: number;
}

/** The heads of one installation, as one process knows them. */
export interface ManagedHeads {
  /** Highest counter that this process has seen; 0 before the first. */
  seen(): number;
  /** The revisions that count: of the head, or of the last one that this process could trust. */
  trusted(stored: StoredHead): ManagedHead;
  /** @returns the head after changes; null for a tenant that goes */
  next(stored: StoredHead, changes: ReadonlyMap<string, string | null>): { head: ManagedHead; sealed: string };
  noteWritten(head: ManagedHead): void;
}

const CONTEXT = 'managed-head';
/** A counter is the time of its change as well, so that a head that begins anew after a loss is above all before it, whoever begins it. */
const COUNTS_A_MS = 1_000;

/** Opens the heads. One that is older than this process, or the mark outside Redis, knows was put back by somebody else. */
export function openManagedHeads(identityKey: Uint8Array, clock: Clock): ManagedHeads {
  const sealer = createProofSealer(identityKey, '{managed-tenants}');
  let last: ManagedHead = { counter: 0, revisions: new Map() };

  function read(sealed: string): ManagedHead | null {
    const opened = openSealed<{ counter: number; revisions: Record<string, string> }>(sealer, sealed, CONTEXT);
    return opened === null ? null : { ...opened, revisions: new Map(Object.entries(opened.revisions)) };
  }

  function trusted({ sealed, marked }: StoredHead): ManagedHead {
    const least = Math.max(last.counter, marked);
    const head = sealed === null ? null : read(sealed);
    if (head !== null && head.counter >= least) last = head;
    return last.counter >= marked ? last : { counter: marked, revisions: new Map() };
  }

  function sealedHead(counter: number, revisions: ReadonlyMap<string, string>) {
    const head = { counter, revisions };
    return {
      head,
      sealed: sealer.seal(JSON.stringify({ counter, revisions: Object.fromEntries(revisions) }), CONTEXT),
    };
  }

  const counterAfter = (marked: number) => Math.max(marked, last.counter, clock() * COUNTS_A_MS) + 1;

  return {
    seen: () => last.counter,
    trusted,
    next(stored, changes) {
      const { revisions } = trusted(stored);
      // Where nothing is left of what was, all else is known as lost by those who had it.
      const next = new Map(stored.sealed === null && stored.revisions.size === 0 ? [] : revisions);
      for (const [id, revision] of changes) {
        if (revision === null) next.delete(id);
        else next.set(id, revision);
      }
      return sealedHead(counterAfter(stored.marked), next);
    },
    noteWritten(head) {
      if (head.counter > last.counter) last = head;
    },
  };
}

/** A revision that no document has: what is known of an earlier document with the same one does not count. */
export function forgedRevision(there: string | undefined, wanted: string | undefined): string {
  return createHash('sha256').update(`forged ${there} ${wanted}`).digest('base64url').slice(0, 22);
}
