import type { Link } from '../model/operations.ts';
import { MINUTE_MS, SECOND_MS, type TimeSpan } from '../model/time.ts';

const SEPARATOR = '\t';
const TRAILING_SEPARATORS = /\t+$/;

/** A link as stored under its record id: tab-separated, its time as `encodeTime` makes it, then `encodeWrite` and the version tag. */
export function encodeLink(link: Link): string {
  const time = encodeTime(link);
  const { fingerprint, remoteId, drift, storedFingerprint, observedFingerprint, generation } = link;
  const { write, tag } = encodeWrite(link);
  const optional = [tag, remoteId, drift, storedFingerprint, observedFingerprint, generation].map(
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
function encodeWrite({ epoch, revision, versionTag }: Link): { write: string; tag: string | null } {
  const bare = /^"([^"]+)"$/.exec(versionTag ?? '')?.[1];
  const isNumber = bare !== undefined && Number.isSafeInteger(Number(bare)) && String(Number(bare)) === bare;
  const kind = isNumber ? NUMBER : BARE;
  const digit = bare === undefined ? String(epoch) : String.fromCharCode(FIRST_LETTER + kind * LETTERS + epoch);
  return {
    write: digit + (revision?.toString(36) ?? ''),
    tag: isNumber ? Number(bare).toString(36) : (bare ?? versionTag),
  };
}

function decodeWrite(write: string, tag: string): Pick<Link, 'epoch' | 'versionTag' | 'revision'> {
  const [digit = '0', ...rest] = write;
  const written = rest.length === 0 ? {} : { revision: Number.parseInt(rest.join(''), 36) };
  const letter = digit.charCodeAt(0) - FIRST_LETTER;
  if (letter < 0) return { epoch: Number(digit), versionTag: tag === '' ? null : tag, ...written };
  const bare = letter < LETTERS ? tag : String(Number.parseInt(tag, 36));
  return { epoch: letter % LETTERS, versionTag: `"${bare}"`, ...written };
}

/**
 * Start, and length unless it is nothing, in base 36: in whole minutes where both are (`hj3bs.1e`), else in seconds (`td0n80+2s1`). Earlier
 * releases wrote the start alone, or seconds always.
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

/** The link behind what is stored under a record id, by this release or an earlier one. */
export function decodeLink(recordId: string, value: string): Link {
  const [
    fingerprint = '',
    time = '0',
    write = '0',
    tag = '',
    remoteId = '',
    drift = '',
    storedFingerprint = '',
    observedFingerprint = '',
    generation = '',
  ] = value.split(SEPARATOR);
  return {
    recordId,
    fingerprint,
    ...decodeTime(time),
    ...decodeWrite(write, tag),
    remoteId: remoteId === '' ? null : remoteId,
    drift: drift === 'edited' || drift === 'removed' ? drift : null,
    ...(storedFingerprint === '' ? {} : { storedFingerprint }),
    ...(observedFingerprint === '' ? {} : { observedFingerprint }),
    ...(generation === '' ? {} : { generation: Number(generation) }),
  };
}
