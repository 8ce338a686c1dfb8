import type { IncomingHttpHeaders } from 'node:http';
import { toIana } from './time.ts';

/** Preferences from the Prefer header of one request. The parts of a batch inherit none. */
export interface Preferences {
  immutableIds: boolean;
  /** The zone name from the client, and its IANA zone. */
  timeZone: { name: string; iana: string };
  bodyType: 'text' | 'html';
  maxPageSize: number | undefined;
  /** For the answer's Preference-Applied. */
  applied: string[];
}

/** Reads the Prefer header. Throws GraphError 400 TimeZoneNotSupportedException. */
export function readPreferences(headers: IncomingHttpHeaders): Preferences {
  const given = new Map<string, string>();
  for (const [, name = '', value = ''] of String(headers.prefer ?? '').matchAll(/([\w.-]+)\s*=\s*"?([^",]*)"?/g)) {
    given.set(name.toLowerCase(), value.trim());
  }
  const zone = given.get('outlook.timezone');
  const bodyType = given.get('outlook.body-content-type')?.toLowerCase() === 'text' ? 'text' : 'html';
  const immutableIds = given.get('idtype')?.toLowerCase() === 'immutableid';
  const maxPageSize = Number(given.get('odata.maxpagesize'));
  return {
    immutableIds,
    timeZone: { name: zone ?? 'UTC', iana: toIana(zone ?? 'UTC') },
    bodyType,
    maxPageSize: Number.isInteger(maxPageSize) && maxPageSize > 0 ? maxPageSize : undefined,
    applied: [
      ...(immutableIds ? ['IdType="ImmutableId"'] : []),
      ...(zone === undefined ? [] : [`outlook.timezone="${zone}"`]),
      ...(given.has('outlook.body-content-type') ? [`outlook.body-content-type="${bodyType}"`] : []),
    ],
  };
}
