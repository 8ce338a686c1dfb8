import { isZone } from './time.ts';
/**
 * Windows zone names with their IANA zones: CLDR 48, territory 001 (Unicode License),
 * https://github.com/unicode-org/cldr-json/blob/48.0.0/cldr-json/cldr-core/supplemental/windowsZones.json
 */
import windowsZones from './windows-zones.json' with { type: 'json' };

const BY_WINDOWS_NAME = new Map(Object.entries(windowsZones).map(([name, zone]) => [name.toLowerCase(), zone]));

/**
 * IANA names without daylight saving time that usually mean a zone with it, and that zone
 * (https://data.iana.org/time-zones/tzdb/northamerica).
 */
const FIXED: ReadonlyMap<string, string> = new Map([
  ['EST', 'America/New_York'],
  ['MST', 'America/Denver'],
  ['HST', 'Pacific/Honolulu'],
]);

/** Returns the IANA zone of an IANA or Windows name; null for another text. */
export function ianaZone(name: string): string | null {
  return isZone(name) ? name : ianaOfWindows(name);
}

/** Returns the IANA zone of a Windows name such as `W. Europe Standard Time`; null for another text. */
export function ianaOfWindows(name: string): string | null {
  return BY_WINDOWS_NAME.get(name.trim().toLowerCase()) ?? null;
}

/** Returns the zone that `EST`, `MST` or `HST` usually means; null for another name. */
export function usualZoneOf(name: string): string | null {
  return FIXED.get(name.trim().toUpperCase()) ?? null;
}
