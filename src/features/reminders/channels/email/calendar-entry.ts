import ICAL from 'ical.js';
import { foldLines } from '../../../../model/text.ts';
import type { Instant } from '../../../../model/time.ts';
import type { Reminder } from '../channel.ts';

const PRODUCT = '-//clinic-mirror//reminders//EN';

/**
 * The appointment as an iCalendar file for the patient's own calendar: an entry to keep, no invitation, so without METHOD.
 * Private, with an id of its own.
 * @param now when it is written (DTSTAMP)
 * @see RFC 5545
 */
export function calendarEntryOf({ id, appointment, content }: Reminder, now: Instant): string | null {
  if (content.calendarEntry === null) return null;
  const { title, location } = content.calendarEntry;
  const calendar = new ICAL.Component('vcalendar');
  calendar.addPropertyWithValue('version', '2.0');
  calendar.addPropertyWithValue('prodid', PRODUCT);
  const event = new ICAL.Component('vevent');
  event.addPropertyWithValue('uid', `${id}@clinic-mirror`);
  event.addPropertyWithValue('dtstamp', utcTime(now));
  event.addPropertyWithValue('dtstart', utcTime(appointment.startAt));
  event.addPropertyWithValue('dtend', utcTime(appointment.endAt));
  event.addPropertyWithValue('summary', title);
  if (location !== null) event.addPropertyWithValue('location', location);
  event.addPropertyWithValue('class', 'PRIVATE');
  calendar.addSubcomponent(event);
  return foldLines(`${calendar.toString()}\r\n`);
}

function utcTime(at: Instant): ICAL.Time {
  return ICAL.Time.fromJSDate(new Date(at), true);
}
