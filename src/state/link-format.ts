import type { Link } from '../model/operations.ts';
import { SECOND_MS, type TimeSpan } from '../model/time.ts';

const SEPARATOR = '\t';
const TRAILING_SEPARATORS = /\t+$/;

/** A link as stored under its record id: tab-separated, its time as `encodeTime` makes it. */
export function encodeLink(link: Link): string {
  const time = encodeTime(link);
  const { fingerprint, epoch, versionTag, remoteId, drift, echo, found, generation } = link;
  const optional = [versionTag, remoteId, drift, echo, found, generation].map((field) => field ?? '');
  // Most links end in empty fields: they are left out, every link pays for its bytes.
  return [fingerprint, time, epoch, ...optional].join(SEPARATOR).replace(TRAILING_SEPARATORS, '');
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
    epoch = '0',
    versionTag = '',
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
    epoch: Number(epoch),
    versionTag: versionTag === '' ? null : versionTag,
    remoteId: remoteId === '' ? null : remoteId,
    drift: drift === 'edited' || drift === 'removed' ? drift : null,
    ...(echo === '' ? {} : { echo }),
    ...(found === '' ? {} : { found }),
    ...(generation === '' ? {} : { generation: Number(generation) }),
  };
}
