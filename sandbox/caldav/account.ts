import { Calendar } from './calendar.ts';
import type { CaldavSandboxOptions, Quirks } from './options.ts';
import { DIALECTS } from './options.ts';

/** One account: its credentials, its calendars, and the quirks of its server. */
export class Account {
  readonly user: string;
  readonly password: string;
  readonly quirks: Quirks;
  readonly calendars = new Map<string, Calendar>();
  #made = 0;

  constructor({ dialect = 'standard', quirks = {}, user = 'clinic', password = 'secret' }: CaldavSandboxOptions) {
    this.user = user;
    this.password = password;
    this.quirks = { ...DIALECTS[dialect], ...quirks };
  }

  get authorization(): string {
    return `Basic ${Buffer.from(`${this.user}:${this.password}`).toString('base64')}`;
  }

  get principalPath(): string {
    return `/principals/${encodeURIComponent(this.user)}/`;
  }

  get homePath(): string {
    return `/calendars/${encodeURIComponent(this.user)}/`;
  }

  addCalendar(name: string, displayName = name, description = ''): Calendar {
    this.#made += 1;
    const calendar = new Calendar(`${name}-${this.#made}`, displayName, description);
    this.calendars.set(name, calendar);
    return calendar;
  }

  /** Returns the path of another object with this UID, if this server requires unique UIDs. */
  whereUidIs(uid: string, at: { calendar: string; name: string }): string | undefined {
    const { uidsAreUniqueIn } = this.quirks;
    for (const [calendarName, calendar] of uidsAreUniqueIn === 'nothing' ? [] : this.calendars) {
      const isHere = calendarName === at.calendar;
      if (!isHere && uidsAreUniqueIn === 'calendar') continue;
      const name = calendar.nameOfUid(uid, isHere ? at.name : '');
      if (name !== undefined) return `${this.homePath}${calendarName}/${name}`;
    }
    return undefined;
  }
}
