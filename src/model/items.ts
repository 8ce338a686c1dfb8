/**
 * When an item is. Timed: RFC 3339 local time with the offset that held then, plus the IANA zone, so that both the
 * instant and the wall time survive: `2026-03-29T09:00:00+02:00` in `Europe/Rome`. All-day: dates, end exclusive.
 */
export type ItemTime =
  | { kind: 'timed'; start: string; end: string; zone: string }
  | { kind: 'all-day'; startDate: string; endDate: string };

/**
 * What a calendar should hold for one appointment: the projection under the target's policy. Always private, without
 * attendees and reminders; a connector adds those words of its vendor. Texts are plain (a connector escapes them).
 */
export interface CalendarItem {
  title: string;
  description: string | null;
  location: string | null;
  time: ItemTime;
  /** Blocks the time (opaque) or leaves it free. */
  busy: boolean;
}
