import { Temporal } from 'temporal-polyfill';

const OFFSET_AT_END = /(?:Z|[+-]\d{2}:\d{2})$/;
const DATE_TIME = /^\d{4}-\d{2}-\d{2}T\d{2}:\d{2}:\d{2}(?:\.\d+)?(?:Z|[+-]\d{2}:\d{2})?$/i;
const DATE = /^\d{4}-\d{2}-\d{2}$/;
/** Offsets change on no finer grid than this. */
const OFFSET_GRID_MS = 15 * 60_000;

const knownZones = new Map<string, boolean>();
const offsets = new Map<string, Map<number, number>>();

/** True for an IANA zone name that this Node knows. */
export function isZone(zone: string): boolean {
  let known = knownZones.get(zone);
  if (known === undefined) {
    known = !OFFSET_AT_END.test(zone) && isAccepted(() => new Intl.DateTimeFormat('en', { timeZone: zone }));
    knownZones.set(zone, known);
  }
  return known;
}

export function hasOffset(dateTime: string): boolean {
  return OFFSET_AT_END.test(dateTime.toUpperCase());
}

/** Epoch ms of an RFC 3339 timestamp; without an offset it is wall time in `zone`. Undefined when it is no such time. */
export function parseDateTime(dateTime: string, zone: string): number | undefined {
  if (!DATE_TIME.test(dateTime)) {
    return undefined;
  }
  return attempt(() =>
    hasOffset(dateTime)
      ? Temporal.Instant.from(dateTime).epochMilliseconds
      : Temporal.PlainDateTime.from(dateTime).toZonedDateTime(zone).epochMilliseconds,
  );
}

/** Epoch ms of the first moment of a day (`YYYY-MM-DD`) in `zone`. Undefined when there is no such day. */
export function parseDate(date: string, zone: string): number | undefined {
  if (!DATE.test(date)) {
    return undefined;
  }
  return attempt(() => Temporal.PlainDate.from(date).toZonedDateTime(zone).epochMilliseconds);
}

/** An RFC 3339 timestamp with seconds and the offset of `zone`, as the API answers it. */
export function formatInZone(epochMs: number, zone: string): string {
  const offset = offsetMinutes(epochMs, zone);
  const wall = new Date(epochMs + offset * 60_000).toISOString().slice(0, 19);
  if (offset === 0) {
    return `${wall}Z`;
  }
  const minutes = Math.abs(offset);
  const hh = String(Math.floor(minutes / 60)).padStart(2, '0');
  const mm = String(minutes % 60).padStart(2, '0');
  return `${wall}${offset < 0 ? '-' : '+'}${hh}:${mm}`;
}

function offsetMinutes(epochMs: number, zone: string): number {
  let ofZone = offsets.get(zone);
  if (!ofZone) {
    ofZone = new Map();
    offsets.set(zone, ofZone);
  }
  const slot = Math.floor(epochMs / OFFSET_GRID_MS);
  let offset = ofZone.get(slot);
  if (offset === undefined) {
    const zoned = Temporal.Instant.fromEpochMilliseconds(slot * OFFSET_GRID_MS).toZonedDateTimeISO(zone);
    offset = Math.round(zoned.offsetNanoseconds / 60e9);
    ofZone.set(slot, offset);
  }
  return offset;
}

function isAccepted(make: () => unknown): boolean {
  return (
    attempt(() => {
      make();
      return true;
    }) === true
  );
}

function attempt<T>(make: () => T): T | undefined {
  try {
    return make();
  } catch (error) {
    if (error instanceof RangeError) {
      return undefined;
    }
    throw error;
  }
}
