import ICAL from 'ical.js';

/** An event, parsed from its iCalendar data. */
export interface CalendarEvent {
  /** UID. */
  id: string;
  title: string;
  /** Epoch ms; of an all-day event the midnight of its date in UTC. */
  startAt: number;
  endAt: number;
}

/** The events in a text of iCalendar. */
export function eventsOf(text: string): CalendarEvent[] {
  const calendar = new ICAL.Component(ICAL.parse(text));
  const zones = new Map(
    calendar
      .getAllSubcomponents('vtimezone')
      .map((zone) => [String(zone.getFirstPropertyValue('tzid')), new ICAL.Timezone(zone)]),
  );
  return calendar.getAllSubcomponents('vevent').map((component) => {
    const instant = (name: string) => {
      const property = component.getFirstProperty(name);
      const time = property?.getFirstValue() as ICAL.Time;
      if (time.isDate) return Date.UTC(time.year, time.month - 1, time.day);
      const zone = zones.get(String(property?.getFirstParameter('tzid') ?? ''));
      if (zone !== undefined) time.zone = zone;
      return time.toUnixTime() * 1_000;
    };
    const title = String(component.getFirstPropertyValue('summary') ?? '');
    return {
      id: String(component.getFirstPropertyValue('uid') ?? ''),
      title,
      startAt: instant('dtstart'),
      endAt: instant(component.hasProperty('dtend') ? 'dtend' : 'dtstart'),
    };
  });
}
