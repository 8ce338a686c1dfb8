import type { Account } from './account.ts';
import type { Calendar } from './calendar.ts';
import type { CalendarObject } from './objects.ts';

/** What a path leads to. */
export interface Place {
  /** The requested path, decoded. */
  path: string;
  /** Set for a calendar and for an object in a calendar, even if absent. */
  calendarName?: string;
  calendar?: Calendar;
  /** Of an object. */
  name?: string;
  object?: CalendarObject;
}

/** Finds what a path leads to; undefined outside of the account. */
export function placeAt(account: Account, pathname: string): Place | undefined {
  const path = decodeURIComponent(pathname);
  const home = decodeURIComponent(account.homePath);
  if (['/', decodeURIComponent(account.principalPath), home].includes(path)) return { path };
  if (!path.startsWith(home)) return undefined;
  const [calendarName = '', name = '', ...more] = path.slice(home.length).split('/');
  if (more.length > 0) return undefined;
  const calendar = account.calendars.get(calendarName);
  const object = calendar?.objects.get(name);
  return {
    path,
    calendarName,
    ...(calendar === undefined ? {} : { calendar }),
    ...(name === '' ? {} : { name }),
    ...(object === undefined ? {} : { object }),
  };
}
