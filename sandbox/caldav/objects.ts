import ICAL from 'ical.js';

/** A calendar object, unchanged from the PUT. */
export interface CalendarObject {
  data: string;
  etag: string;
  uid: string;
}

/** What a text has to be to be kept. Names the condition of RFC 4791 section 5.3.2.1 that it doesn't meet. */
export type Reading = { uid: string; hasEnd: boolean; hasLength: boolean } | { unmet: string };

/** Parses the body of a PUT. */
export function readObject(data: string): Reading {
  const calendar = parse(data);
  if (calendar === null) return { unmet: 'valid-calendar-data' };
  const events = calendar.getAllSubcomponents('vevent');
  const uids = new Set(events.map((event) => String(event.getFirstPropertyValue('uid') ?? '')));
  const [uid = ''] = uids;
  if (events.length === 0) return { unmet: 'supported-calendar-component' };
  if (uids.size !== 1 || uid === '' || calendar.hasProperty('method')) {
    return { unmet: 'valid-calendar-object-resource' };
  }
  const hasEnd = events.every((event) => event.hasProperty('dtend') || event.hasProperty('duration'));
  const at = (event: ICAL.Component, name: string) => event.getFirstPropertyValue(name)?.toString();
  const hasLength = hasEnd && events.every((event) => at(event, 'dtend') !== at(event, 'dtstart'));
  return { uid, hasEnd, hasLength };
}

/** Its events; none where it can't be read. */
export function eventsIn(data: string): ICAL.Component[] {
  return parse(data)?.getAllSubcomponents('vevent') ?? [];
}

function parse(data: string): ICAL.Component | null {
  try {
    const parsed: unknown = ICAL.parse(data);
    return Array.isArray(parsed) && parsed[0] === 'vcalendar' ? new ICAL.Component(parsed) : null;
  } catch {
    return null;
  }
}
