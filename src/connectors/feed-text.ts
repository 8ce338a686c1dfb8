import type { FeedEntry } from '../model/feeds.ts';
import type { ItemKey } from '../model/operations.ts';
import { foldLines } from '../model/text.ts';
import { carriable } from './icalendar.ts';
import { timeZoneText } from './icalendar-zones.ts';

/**
 * A whole feed as others fetch it (RFC 5545; name and interval as RFC 7986 sections 5.1 and 5.7 have them, and as Apple and Microsoft
 * had them before). The same entries give the same text.
 */
export function calendarText(name: string, entries: ReadonlyMap<ItemKey, FeedEntry>): string {
  const sorted = [...entries].sort(([one], [other]) => (one < other ? -1 : 1)).map(([, entry]) => entry);
  const title = escaped(carriable(name));
  const head = [
    ...['BEGIN:VCALENDAR', 'VERSION:2.0', 'PRODID:-//clinic-mirror//clinic-mirror//EN', 'METHOD:PUBLISH'],
    ...[`NAME:${title}`, `X-WR-CALNAME:${title}`],
    ...['REFRESH-INTERVAL;VALUE=DURATION:PT15M', 'X-PUBLISHED-TTL:PT15M'],
  ];
  return foldLines(
    [...head, ...zonesOf(sorted), ...sorted.map(({ event }) => event), 'END:VCALENDAR', ''].join('\r\n'),
  );
}

/** Each zone once, for all years that entries need. */
function zonesOf(entries: readonly FeedEntry[]): string[] {
  const years = new Map<string, { from: number; to: number }>();
  for (const { zone } of entries) {
    if (zone === null) continue;
    const existing = years.get(zone.name) ?? { from: zone.fromYear, to: zone.toYear };
    years.set(zone.name, { from: Math.min(existing.from, zone.fromYear), to: Math.max(existing.to, zone.toYear) });
  }
  return [...years].sort().map(([zone, { from, to }]) => timeZoneText(zone, from, to));
}

/** Text of a property (RFC 5545 section 3.3.11). */
function escaped(text: string): string {
  return text.replaceAll(/[\\;,]/g, String.raw`\$&`).replaceAll('\n', String.raw`\n`);
}
