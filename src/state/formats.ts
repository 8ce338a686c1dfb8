import { createHmac } from 'node:crypto';
import type { Cached } from '../core/model/cache.ts';
import { derivedKey } from '../core/model/hashes.ts';
import type { Item } from '../core/model/items.ts';
import type { Link, ReasonCode } from '../core/model/operations.ts';
import type { PendingChange, PlannedChange } from '../core/model/plan.ts';
import { storable, storableTag } from '../core/model/stored-limits.ts';
import { type Instant, MINUTE_MS, SECOND_MS, type TimeSpan } from '../core/model/time.ts';
import type { OutboxEntry, OutboxSettlement } from '../engine/store.ts';
import { codeIn, damagedError, readStored } from './damaged.ts';
import type { Sealer } from './sealing.ts';

const SEPARATOR = '\t';
const TRAILING_SEPARATORS = /\t+$/;

/** Storage format of one tenant's links. */
export interface LinkFormat {
  /** @throws MirrorError `contract`, code `value-too-long`, for an id that its reader had to refuse */
  encode(target: string, link: Link): string;
  /** Decodes a stored link. */
  decode(target: string, recordId: string, value: string): Link;
}

/** Properties of a link that locate its object. */
type ObjectLocation = Pick<Link, 'recordId' | 'idAttempt' | 'remoteId'>;

/** A random guess succeeds once in 2^48 attempts, each with a write to the target; other ids have 120 characters and more. */
const PROOF_LENGTH = 8;

/**
 * Opens the format. A location that does not follow only from the record is stored with a proof, part of an HMAC with SHA-256 over target,
 * record and location. Otherwise an attacker with mere write access to Redis could overwrite or delete an object with a different person's
 * record. A location without its proof is omitted ({@link Link.isUnplaced}). The version tag stays, because the tag identifies an untouched
 * object.
 * @param identityKey the installation's key, 32 bytes
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
      storable('recordId', link.recordId);
      storable('remoteId', link.remoteId);
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

/** Encodes a link: tab-separated, with the time by `encodeTime`, then `encodeWrite` and the version tag. */
function encodeLink(link: Link, location: string | null): string {
  const time = encodeTime(link);
  const { fingerprint, drift, storedFingerprint, observedFingerprint, recreations, unmarked, isRebuilt } = link;
  const { write, tag } = encodeWrite(link);
  const marks = unmarked !== true ? null : isRebuilt === true ? REBUILT : UNMARKED;
  const optional = [tag, location, drift, storedFingerprint, observedFingerprint, recreations, marks].map(
    (field) => field ?? '',
  );
  // Trailing empty fields are omitted to save memory per link.
  return [fingerprint, time, write, ...optional].join(SEPARATOR).replace(TRAILING_SEPARATORS, '');
}

/** Last field of a link whose object lost its marks. */
const UNMARKED = 'u';
/** The same, of a link with `isRebuilt`. The script of `recordTimes` replaces it by {@link UNMARKED}. */
const REBUILT = 'r';
const FIRST_LETTER = 'a'.charCodeAt(0);
/** Letters of one kind: an epoch has one digit. */
const LETTERS = 10;
const BARE = 0;
const NUMBER = 1;

/**
 * Encodes the epoch as one digit, followed by the revision in base 36 if known. A letter instead of the digit means that the quotes of the
 * version tag are omitted (a to j), or that the tag is also a number in base 36 (k to t).
 */
function encodeWrite({ idAttempt, revision, ...link }: Link): { write: string; tag: string | null } {
  const versionTag = storableTag(link.versionTag);
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
 * Encodes the start and, unless zero, the length in base 36: in minutes if both are whole minutes (`hj3bs.1e`), otherwise in seconds
 * (`td0n80+2s1`).
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

/** Decodes a link without verifying its location. */
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
    marks = '',
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
    ...(marks === UNMARKED ? { unmarked: true as const } : {}),
    ...(marks === REBUILT ? { unmarked: true as const, isRebuilt: true as const } : {}),
  };
}

/** Versions of a table before and after a change, as returned by scripts; null before the first. */
export type LinkVersions = [before: string | null, after: string];

/** Cached changes in addition to the links: a first sync changes more links than were read. */
const MOST_CACHED_CHANGES = 1_000;

/** Cached links of one target, with later changes by this process. */
export class CachedLinks implements Cached {
  readonly invalidate: () => void;
  #version: string | null = null;
  #links: ReadonlyMap<string, Link> = new Map();
  /** Changes up to the version; null for a removed link. */
  #changed = new Map<string, Link | null>();

  constructor(invalidate: () => void) {
    this.invalidate = invalidate;
  }

  /** Returns the links of a version, or null if a read is required. Returns an identical map until a change. */
  of(version: string | null): ReadonlyMap<string, Link> | null {
    if (version === null || version !== this.#version) return null;
    if (this.#changed.size === 0) return this.#links;
    // Callers keep using the previous map.
    const links = new Map(this.#links);
    for (const [id, link] of this.#changed) {
      if (link === null) links.delete(id);
      else links.set(id, link);
    }
    return links;
  }

  store(version: string, links: ReadonlyMap<string, Link>): void {
    this.#version = version;
    this.#links = links;
    this.#changed = new Map();
  }

  /**
   * Records a change that follows the cached version; other changes are ignored.
   * @param stored stored links, '' for a removed link
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

/** Stored form of an outbox change, with one-letter fields to save memory per waiting record. */
export interface StoredEntry {
  /** revision */ r: number;
  /** wanted: present or absent */ w: 'p' | 'a';
  /** fingerprint */ f: string | null;
  /** start, epoch ms */ s: number;
  /** end, epoch ms */ t: number;
  /** reason */ why: ReasonCode;
  /** attempts */ n: number;
  /** last error code */ e: string | null;
  /** subjects of the error: names, never values */ b?: string;
  /** vendor named the time of the next attempt */ a?: boolean;
  /** parked */ p: boolean;
  /** enqueued at */ q: number;
  /** due at */ d: number;
  /** sent before */ i: boolean;
  /** sent last at; absent in an entry that was marked as not sent */ z?: number | null;
  /** key epoch */ k: number;
  /** seal of the item, or of nothing, over the decision */ x: string;
  /** run */ u: string | null;
  /** replaced record */ o?: string;
}

/** Converts a change for storage; the script adds the revision. `context` is the context of the seal. */
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
    ...(change.replaces === undefined ? {} : { o: change.replaces }),
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

/** Decision of a plan. Scripts change the remaining fields, which control the time and number of attempts, never the action. */
type Decision = Pick<StoredEntry, 'w' | 'f' | 's' | 't' | 'why' | 'u' | 'o'>;

/** Returns the context of a seal: location and complete decision, so that only a key holder can cause a write or deletion. */
function decided(context: string, { w, f, s, t, why, u, o }: Decision): string {
  return `${context}/${JSON.stringify([w, f, s, t, why, u, ...(o === undefined ? [] : [o])])}`;
}

/** @throws for a value that no plan stored in this form */
export function parseEntry(value: string): StoredEntry {
  const entry = JSON.parse(value) as Partial<StoredEntry> | null;
  const numbers = [entry?.r, entry?.s, entry?.t, entry?.n, entry?.q, entry?.d, entry?.k];
  const isWhole = numbers.every(Number.isFinite) && typeof entry?.why === 'string' && typeof entry.x === 'string';
  if (!isWhole) throw damagedError();
  return entry as StoredEntry;
}

/** Converts a stored change for the planner, without content. */
export function toPending(recordId: string, stored: StoredEntry): PendingChange {
  return {
    recordId,
    reason: stored.why,
    want: stored.w === 'p' ? 'present' : 'absent',
    fingerprint: stored.f,
    startAt: stored.s,
    endAt: stored.t,
    attempts: stored.n,
    lastError: stored.e == null ? null : codeIn(String(stored.e)),
    ...(stored.b === undefined ? {} : { about: stored.b }),
    sent: stored.i,
    parked: stored.p,
    enqueuedAt: stored.q,
    dueAt: stored.d,
  };
}

/**
 * @returns null for a removed change, or a change that no plan of this installation stored in this form; @throws MirrorError `settings` if
 * the key is missing
 */
export function readableEntry(
  recordId: string,
  value: string | null,
  sealer: Sealer,
  context: string,
): OutboxEntry | null {
  if (value === null) return null;
  return readStored({ owner: sealer.owner, kind: 'outbox' }, () =>
    entryOf(recordId, parseEntry(value), sealer, context),
  );
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
    ...(stored.o === undefined ? {} : { replaces: stored.o }),
  };
}

/** Positions of keys in the script's list, and the stored link. */
export interface KeyPositions {
  bucket: number;
  journal: number | '';
  /** '' for a removed link. */
  link: string;
  /** '' without a journal line. */
  line: string;
}

/** Returns the script arguments of a change after kind, record and revision (`scripts/outbox-confirm.lua`). */
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
