import { Temporal } from 'temporal-polyfill';
import { GraphError } from './errors.ts';
import { ianaOfWindows, windowsOfIana } from './windows-zones.ts';

/** Wall time with up to seven fractional digits; `Z` only together with the zone UTC. */
const WALL_TIME = /^\d{4}-\d{2}-\d{2}T(?:[01]\d|2[0-3]):\d{2}(?::\d{2}(?:\.\d{1,7})?)?Z?$/;
const DAY_MS = 86_400_000;
/** Clocks change on whole half hours of UTC only. */
const SLOT_MS = 1_800_000;

/** Exchange's answer for a zone without a name. */
const CUSTOM_ZONE = 'tzone://Microsoft/Custom';

const ianaNames = new Map<string, string | undefined>();
const offsets = new Map<string, Map<number, number>>();

/** The IANA zone behind a Windows or IANA name. Throws GraphError 400 TimeZoneNotSupportedException. */
export function toIana(name: string): string {
  let iana = ianaNames.get(name);
  if (iana === undefined && !ianaNames.has(name)) {
    iana = ianaOfWindows(name) ?? (isIana(name) ? name : undefined);
    ianaNames.set(name, iana);
  }
  if (iana === undefined) {
    throw unknownZone();
  }
  return iana;
}

/** Graph's answer to an unknown zone. */
export function unknownZone(): GraphError {
  return new GraphError(400, 'TimeZoneNotSupportedException', 'A valid TimeZone value must be specified.');
}

/** The name under which Exchange keeps a zone: the Windows one, or a custom zone. */
export function storedZoneName(name: string): string {
  return ianaOfWindows(name) === undefined ? (windowsOfIana(name) ?? CUSTOM_ZONE) : name;
}

/** Returns the epoch ms of a wall time in an IANA zone; undefined if the text is not a valid time. Temporal resolves gaps and overlaps. */
export function parseWallTime(dateTime: string, iana: string): number | undefined {
  if (!WALL_TIME.test(dateTime) || !isDay(dateTime.slice(0, 10)) || (dateTime.endsWith('Z') && !isUtc(iana))) {
    return undefined;
  }
  const asUtc = Date.parse(dateTime.endsWith('Z') ? dateTime : `${dateTime}Z`);
  if (Number.isNaN(asUtc)) {
    return undefined;
  }
  const before = offsetAt(asUtc - DAY_MS, iana);
  return before === offsetAt(asUtc + DAY_MS, iana)
    ? asUtc - before
    : Temporal.PlainDateTime.from(dateTime.replace('Z', '')).toZonedDateTime(iana).epochMilliseconds;
}

/** Wall time in an IANA zone as the API answers it, with seven fractional digits. */
export function formatWallTime(epochMs: number, iana: string): string {
  return `${new Date(epochMs + offsetAt(epochMs, iana)).toISOString().slice(0, 23)}0000`;
}

/** Returns the epoch ms of a time in a query, in UTC if there is no offset; undefined if the text is not a valid time. */
export function parseQueryTime(text: string): number | undefined {
  const hasOffset = /(?:Z|[+-]\d{2}:\d{2})$/i.test(text);
  const parsed = /^\d{4}-\d{2}-\d{2}/.test(text) && isDay(text.slice(0, 10)) ? withOffset(text, hasOffset) : Number.NaN;
  return Number.isNaN(parsed) ? undefined : parsed;
}

function withOffset(text: string, hasOffset: boolean): number {
  return Date.parse(hasOffset ? text : `${text.includes('T') ? text : `${text}T00:00:00`}Z`);
}

function offsetAt(epochMs: number, iana: string): number {
  if (isUtc(iana)) {
    return 0;
  }
  let slots = offsets.get(iana);
  if (!slots) {
    slots = new Map();
    offsets.set(iana, slots);
  }
  const slot = Math.floor(epochMs / SLOT_MS);
  let offset = slots.get(slot);
  if (offset === undefined) {
    const zoned = Temporal.Instant.fromEpochMilliseconds(slot * SLOT_MS).toZonedDateTimeISO(iana);
    offset = Math.round(zoned.offsetNanoseconds / 1e6);
    slots.set(slot, offset);
  }
  return offset;
}

function isUtc(iana: string): boolean {
  return iana === 'Etc/UTC' || iana === 'UTC';
}

/** Date.parse takes the 30th of February for a day in March. */
function isDay(date: string): boolean {
  const parsed = Date.parse(`${date}T00:00:00Z`);
  return !Number.isNaN(parsed) && new Date(parsed).toISOString().startsWith(date);
}

function isIana(name: string): boolean {
  if (/^[+-]/.test(name)) {
    return false;
  }
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
    return true;
  } catch (error) {
    if (error instanceof RangeError) {
      return false;
    }
    throw error;
  }
}
