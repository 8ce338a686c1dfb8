import type { Link } from '../model/operations.ts';
import { SECOND_MS, type TimeSpan } from '../model/time.ts';

const SEPARATOR = '\t';
const TRAILING_SEPARATORS = /\t+$/;

/** A link as stored under its record id: tab-separated, its time as `encodeTime` makes it, then `encodeWrite` and the version tag. */
export function encodeLink(link: Link): string {
  const time = encodeTime(link);
  const { fingerprint, remoteId, drift, echo, found, generation } = link;
  const { write, tag } = encodeWrite(link);
  const optional = [tag, remoteId, drift, echo, found, generation].map((field) => field ?? '');
  // Most links end in empty fields: they are left out, every link pays for its bytes.
  return [fingerprint, time, write, ...optional].join(SEPARATOR).replace(TRAILING_SEPARATORS, '');
}

const FIRST_LETTER = 'a'.charCodeAt(0);

/**
 * The epoch, which has one digit, and right behind it the revision in base 36. A letter in the digit's place says that the quotes of the
 * version tag are left out. Earlier releases wrote the epoch alone.
 */
function encodeWrite({ epoch, revision, versionTag }: Link): { write: string; tag: string | null } {
  if (revision === undefined) return { write: String(epoch), tag: versionTag };
  const bare = /^"([^"]+)"$/.exec(versionTag ?? '')?.[1];
  const digit = bare === undefined ? String(epoch) : String.fromCharCode(FIRST_LETTER + epoch);
  return { write: digit + revision.toString(36), tag: bare ?? versionTag };
}

function decodeWrite(write: string, tag: string): Pick<Link, 'epoch' | 'versionTag' | 'revision'> {
  const [digit = '0', ...rest] = write;
  const isBare = digit >= 'a';
  const versionTag = isBare ? `"${tag}"` : tag === '' ? null : tag;
  const epoch = isBare ? digit.charCodeAt(0) - FIRST_LETTER : Number(digit);
  return { epoch, versionTag, ...(rest.length === 0 ? {} : { revision: Number.parseInt(rest.join(''), 36) }) };
}

/** Start, and length unless it is nothing, in whole seconds of base 36: `td0n80+2s0`. Earlier releases wrote the start alone. */
export function encodeTime({ startAt, endAt }: TimeSpan): string {
  const start = Math.round(startAt / SECOND_MS);
  const length = Math.round(endAt / SECOND_MS) - start;
  return length > 0 ? `${start.toString(36)}+${length.toString(36)}` : start.toString(36);
}

function decodeTime(time: string): TimeSpan {
  const [start = 0, length = 0] = time.split('+').map((part) => Number.parseInt(part, 36));
  return { startAt: start * SECOND_MS, endAt: (start + length) * SECOND_MS };
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
    echo = '',
    found = '',
    generation = '',
  ] = value.split(SEPARATOR);
  return {
    recordId,
    fingerprint,
    ...decodeTime(time),
    ...decodeWrite(write, tag),
    remoteId: remoteId === '' ? null : remoteId,
    drift: drift === 'edited' || drift === 'removed' ? drift : null,
    ...(echo === '' ? {} : { echo }),
    ...(found === '' ? {} : { found }),
    ...(generation === '' ? {} : { generation: Number(generation) }),
  };
}
