import { MirrorError } from '../model/errors.ts';
import type { Item } from '../model/items.ts';
import type { Link, ReasonCode } from '../model/operations.ts';
import type { PendingChange, PlannedChange } from '../model/plan.ts';
import type { Instant } from '../model/time.ts';
import type { JournalEffect } from './journal.ts';
import type { Sealer } from './sealing.ts';
import { codeIn } from './sealing.ts';

/** An entry as the lane takes it: the wanted item opened. */
export interface OutboxEntry extends PendingChange {
  revision: number;
  item: Item | null;
  /** When it, or what it took the place of, was sent last; null when it never was. */
  sentAt: Instant | null;
  /** Epoch of the key to use; above the link's when the target burnt the last one. */
  idAttempt: number;
  /** The run that decided it; null when none did. */
  run: string | null;
}

/** Stored form of an entry; one letter a field, since every waiting record pays for it. */
export interface StoredEntry {
  /** revision */ r: number;
  /** wanted: present or absent */ w: 'p' | 'a';
  /** fingerprint */ f: string | null;
  /** start, epoch ms */ s: number;
  /** end, epoch ms */ t: number;
  /** reason */ why: ReasonCode;
  /** attempts */ n: number;
  /** last error code */ e: string | null;
  /** what that is about: names, never values */ b?: string;
  /** the other side named the time of the next try */ a?: boolean;
  /** parked */ p: boolean;
  /** enqueued at */ q: number;
  /** due at */ d: number;
  /** sent before */ i: boolean;
  /** sent last at; absent in an entry that was marked as not sent */ z?: number | null;
  /** key epoch */ k: number;
  /** seal of the item, or of nothing, over what was decided */ x: string;
  /** run */ u: string | null;
}

/** A change as it is put in; the script gives it its revision. `context` is the place that its seal is bound to. */
export function storedOf(
  change: PlannedChange,
  { now, run }: { now: Instant; run: string | null },
  sealer: Sealer,
  context: string,
): StoredEntry {
  const { wanted } = change;
  const present = wanted.want === 'present';
  const decision: Decision = {
    w: present ? 'p' : 'a',
    f: present ? wanted.fingerprint : null,
    s: wanted.startAt,
    t: wanted.endAt,
    why: change.reason,
    u: run,
  };
  return {
    r: 0,
    ...decision,
    n: 0,
    e: null,
    p: false,
    q: now,
    d: now,
    i: false,
    z: null,
    k: 0,
    x: sealer.seal(present ? JSON.stringify(wanted.item) : '', decided(context, decision)),
  };
}

/** What a plan decided. All else in an entry is changed by scripts, and says when it is tried and how often, never what is done. */
type Decision = Pick<StoredEntry, 'w' | 'f' | 's' | 't' | 'why' | 'u'>;

/** What an entry's seal is bound to: its place, and all that was decided, so that nobody who can't seal can have anything written or deleted. */
function decided(context: string, { w, f, s, t, why, u }: Decision): string {
  return `${context}/${JSON.stringify([w, f, s, t, why, u])}`;
}

/** An entry as Redis holds it. */
export function parseEntry(value: string): StoredEntry {
  return JSON.parse(value) as StoredEntry;
}

/** What the planner sees of an entry, without content. */
export function toPending(recordId: string, stored: StoredEntry): PendingChange {
  return {
    recordId,
    reason: stored.why,
    want: stored.w === 'p' ? 'present' : 'absent',
    fingerprint: stored.f,
    startAt: stored.s,
    endAt: stored.t,
    attempts: stored.n,
    lastError: stored.e === null ? null : codeIn(stored.e),
    ...(stored.b === undefined ? {} : { about: stored.b }),
    sent: stored.i,
    parked: stored.p,
    enqueuedAt: stored.q,
    dueAt: stored.d,
  };
}

/** @returns null for an entry that is gone, or that no plan of ours put in as it is; @throws MirrorError `settings` when its key is missing */
export function readableEntry(
  recordId: string,
  value: string | null,
  sealer: Sealer,
  context: string,
): OutboxEntry | null {
  if (value === null) return null;
  try {
    return entryOf(recordId, parseEntry(value), sealer, context);
  } catch (error) {
    if (error instanceof MirrorError && error.code !== 'seal-broken') throw error;
    // Also what is no entry at all.
    return null;
  }
}

function entryOf(recordId: string, stored: StoredEntry, sealer: Sealer, context: string): OutboxEntry {
  const item = sealer.open(stored.x, decided(context, stored));
  return {
    ...toPending(recordId, stored),
    revision: stored.r,
    item: item === '' ? null : (JSON.parse(item) as Item),
    sentAt: stored.z ?? null,
    idAttempt: stored.k,
    run: stored.u,
  };
}

/** What the lane learned of one entry. */
export type OutboxSettlement =
  /**
   * Done: the link as it is now (null when the object is gone), and the entry is removed unless a newer one came. `effect`, when an
   * object that was there before has changed or gone, goes to the journal of the run that wanted it.
   */
  | { entry: OutboxEntry; kind: 'done'; link: Link | null; effect?: JournalEffect }
  /**
   * To be tried again at `dueAt`, `parked` when only a change or a person will help. `about`: names that the error is about. `isAsked`: the
   * other side named that time.
   */
  | {
      entry: OutboxEntry;
      kind: 'retry';
      error: string;
      about?: string;
      dueAt: Instant;
      parked: boolean;
      isAsked?: boolean;
    }
  /** The key is burnt: at once again with the next epoch. */
  | { entry: OutboxEntry; kind: 'next-epoch' }
  /**
   * The object carries a later write, `found`, so this one is given up: the link tells what stands there, and revisions go on above. The
   * next plan decides again.
   */
  | { entry: OutboxEntry; kind: 'superseded'; link: Link | null; found: number };

/** Positions of keys in the script's list, and the link as it is stored. */
export interface KeyPositions {
  bucket: number;
  journal: number | '';
  /** '' for one that is gone. */
  link: string;
  /** '' where nothing is journaled. */
  line: string;
}

/** What the script is told of an entry after its kind, record and revision (`scripts/outbox-settle.lua`). */
export function settlementArguments(
  settlement: OutboxSettlement,
  { bucket, journal, link, line }: KeyPositions,
): (string | number)[] {
  const { entry } = settlement;
  if (settlement.kind === 'next-epoch') return ['', '', '', entry.idAttempt + 1, ''];
  if (settlement.kind === 'retry') {
    const { error, dueAt, parked, about = '', isAsked = false } = settlement;
    return [error, dueAt, parked ? '1' : '0', about, isAsked ? '1' : ''];
  }
  if (settlement.kind === 'superseded') return [bucket, link, '', settlement.found, ''];
  return line === '' ? [bucket, link, '', '', ''] : [bucket, link, journal, line, entry.run ?? ''];
}
