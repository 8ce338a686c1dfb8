import { createHmac } from 'node:crypto';
import type { Cached } from '../model/cache.ts';
import { derivedKey } from '../model/hashes.ts';
import type { Link } from '../model/operations.ts';
import { MINUTE_MS, SECOND_MS, type TimeSpan } from '../model/time.ts';

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
