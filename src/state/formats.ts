import { createHmac } from 'node:crypto';
import type { Cached } from '../model/cache.ts';
import { MirrorError } from '../model/errors.ts';
import { derivedKey } from '../model/hashes.ts';
import type { Item } from '../model/items.ts';
import type { Link, ReasonCode } from '../model/operations.ts';
import type { PendingChange, PlannedChange } from '../model/plan.ts';
import { type Instant, MINUTE_MS, SECOND_MS, type TimeSpan } from '../model/time.ts';
import type { JournalEffect } from './journal.ts';
import { codeIn, type Sealer } from './sealing.ts';

const SEPARATOR = '\t';
const TRAILING_SEPARATORS = /\t+$/;

/** Links of one tenant as they are stored under their record ids. */
export interface LinkFormat {
  encode(target: string, link: Link): string;
  /** The link behind what was stored. */
  decode(target: string, recordId: string, value: string): Link;
}

/** What of a link says where its object is. */
type ObjectLocation = Pick<Link, 'recordId' | 'idAttempt' | 'remoteId'>;

/** What is guessed by chance once in 2^48 times, each time with a write to the target; Outlook's ids have 120 characters and more. */
const PROOF_LENGTH = 8;

/**
 * Opens the format. A place that doesn't follow from the record alone is stored behind its proof, a part of an HMAC with SHA-256 over
 * target, record and place: else whoever can write into Redis alone would have one patient's entry written over another's, or have it deleted. One
 * without its proof is not told ({@link Link.isUnplaced}). The version tag stays: by it an object that nobody touched is known as such.
 * @param identityKey the installation's, 32 bytes
 */
export function createLinkFormat(identityKey: Uint8Array, tenant: string): LinkFormat {
  const key = derivedKey(identityKey, tenant, 'places of links');
  const proofOf = (target: string, { recordId, idAttempt, remoteId }: ObjectLocation) =>
    createHmac('sha256', key())
      .update(JSON.stringify([target, recordId, idAttempt, remoteId]))
      .digest('base64url')
      .slice(0, PROOF_LENGTH);
  return {
    encode(target, link) {
      const follows = link.remoteId === null && link.idAttempt === 0;
      return encodeLink(link, follows ? null : proofOf(target, link) + (link.remoteId ?? ''));
    },
    decode(target, recordId, value) {
      const { location, ...link } = decodeLink(recordId, value);
      if (location === '' && link.idAttempt === 0) return { ...link, remoteId: null };
      const located = { ...link, remoteId: location.slice(PROOF_LENGTH) || null };
      const isProved = proofOf(target, located) === location.slice(0, PROOF_LENGTH);
      return isProved ? located : { ...link, idAttempt: 0, remoteId: null, isUnplaced: true };
    },
  };
}

/** A link: tab-separated, its time as `encodeTime` makes it, then `encodeWrite` and the version tag. */
function encodeLink(link: Link, location: string | null): string {
  const time = encodeTime(link);
  const { fingerprint, drift, storedFingerprint, observedFingerprint, recreations } = link;
  const { write, tag } = encodeWrite(link);
  const optional = [tag, location, drift, storedFingerprint, observedFingerprint, recreations].map(
    (field) => field ?? '',
  );
  // Most links end in empty fields: they are left out, every link pays for its bytes.
  return [fingerprint, time, write, ...optional].join(SEPARATOR).replace(TRAILING_SEPARATORS, '');
}

const FIRST_LETTER = 'a'.charCodeAt(0);
/** Letters of one kind: an epoch has one digit. */
const LETTERS = 10;
const BARE = 0;
const NUMBER = 1;

/**
 * The epoch, which has one digit, and right behind it the revision in base 36, where it is known. A letter in the digit's place says
 * that the quotes of the version tag are left out (a to j), or that it is a number in base 36 besides (k to t).
 */
function encodeWrite({ idAttempt, revision, versionTag }: Link): { write: string; tag: string | null } {
  const bare = /^"([^"]+)"$/.exec(versionTag ?? '')?.[1];
  const isNumber = bare !== undefined && Number.isSafeInteger(Number(bare)) && String(Number(bare)) === bare;
  const kind = isNumber ? NUMBER : BARE;
  const digit = bare === undefined ? String(idAttempt) : String.fromCharCode(FIRST_LETTER + kind * LETTERS + idAttempt);
  return {
    write: digit + (revision?.toString(36) ?? ''),
    tag: isNumber ? Number(bare).toString(36) : (bare ?? versionTag),
  };
}

function decodeWrite(write: string, tag: string): Pick<Link, 'idAttempt' | 'versionTag' | 'revision'> {
  const [digit = '0', ...rest] = write;
  const written = rest.length === 0 ? {} : { revision: Number.parseInt(rest.join(''), 36) };
  const letter = digit.charCodeAt(0) - FIRST_LETTER;
  if (letter < 0) return { idAttempt: Number(digit), versionTag: tag === '' ? null : tag, ...written };
  const bare = letter < LETTERS ? tag : String(Number.parseInt(tag, 36));
  return { idAttempt: letter % LETTERS, versionTag: `"${bare}"`, ...written };
}

/**
 * Start, and length unless it is nothing, in base 36: in whole minutes where both are (`hj3bs.1e`), else in seconds (`td0n80+2s1`).
 */
export function encodeTime({ startAt, endAt }: TimeSpan): string {
  const start = Math.round(startAt / SECOND_MS);
  const length = Math.round(endAt / SECOND_MS) - start;
  if (length <= 0) return start.toString(36);
  const isInMinutes = start % 60 === 0 && length % 60 === 0;
  return isInMinutes
    ? `${(start / 60).toString(36)}.${(length / 60).toString(36)}`
    : `${start.toString(36)}+${length.toString(36)}`;
}

function decodeTime(time: string): TimeSpan {
  const unitMs = time.includes('.') ? MINUTE_MS : SECOND_MS;
  const [start = 0, length = 0] = time.split(/[+.]/).map((part) => Number.parseInt(part, 36));
  return { startAt: start * unitMs, endAt: (start + length) * unitMs };
}

/** The link but for its place, which is to be proved. */
function decodeLink(recordId: string, value: string): Omit<Link, 'remoteId'> & { location: string } {
  const [
    fingerprint = '',
    time = '0',
    write = '0',
    tag = '',
    location = '',
    drift = '',
    storedFingerprint = '',
    observedFingerprint = '',
    recreations = '',
  ] = value.split(SEPARATOR);
  return {
    recordId,
    fingerprint,
    ...decodeTime(time),
    ...decodeWrite(write, tag),
    location,
    drift: drift === 'edited' || drift === 'removed' ? drift : null,
    ...(storedFingerprint === '' ? {} : { storedFingerprint }),
    ...(observedFingerprint === '' ? {} : { observedFingerprint }),
    ...(recreations === '' ? {} : { recreations: Number(recreations) }),
  };
}

/** The versions of a table before and after a change; null before the first. As the scripts tell them that change links. */
export type LinkVersions = [before: string | null, after: string];

/** Changes that are kept beside the links: a first sync changes more than were read. */
const MOST_CACHED_CHANGES = 1_000;

/** Links of one target as they were read, with what this process itself changed since. */
export class CachedLinks implements Cached {
  readonly invalidate: () => void;
  #version: string | null = null;
  #links: ReadonlyMap<string, Link> = new Map();
  /** Up to the version; null for a link that is gone. */
  #changed = new Map<string, Link | null>();

  constructor(invalidate: () => void) {
    this.invalidate = invalidate;
  }

  /** The links of a version; null when they are to be read. The same map as before while none has changed. */
  of(version: string | null): ReadonlyMap<string, Link> | null {
    if (version === null || version !== this.#version) return null;
    if (this.#changed.size === 0) return this.#links;
    // Whoever was given the one before goes on with it.
    const links = new Map(this.#links);
    for (const [id, link] of this.#changed) {
      if (link === null) links.delete(id);
      else links.set(id, link);
    }
    return links;
  }

  /** Keeps what was read of a version. */
  store(version: string, links: ReadonlyMap<string, Link>): void {
    this.#version = version;
    this.#links = links;
    this.#changed = new Map();
  }

  /**
   * Takes note of a change; of one that does not follow on what is known, nothing.
   * @param stored as they are stored, '' for one that is gone
   */
  record(
    [before, after]: LinkVersions,
    stored: ReadonlyMap<string, string>,
    decode: (recordId: string, value: string) => Link,
  ): void {
    if (before === null || before !== this.#version || this.#changed.size + stored.size > MOST_CACHED_CHANGES) return;
    for (const [id, value] of stored) this.#changed.set(id, value === '' ? null : decode(id, value));
    this.#version = after;
  }
}

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

/** What the script is told of an entry after its kind, record and revision (`scripts/outbox-confirm.lua`). */
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
