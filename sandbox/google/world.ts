import { randomBytes } from 'node:crypto';
import type { Counts } from '../kit/counts.ts';
import { Cursors } from './cursors.ts';
import { EventStore } from './event-store.ts';
import type { Settings } from './options.ts';

/** What an account may do in a calendar, in rising order. */
export type Role = 'none' | 'freeBusyReader' | 'reader' | 'writerWithoutPrivateAccess' | 'writer' | 'owner';

/** A role in a calendar and its holder. */
export interface AclRule {
  /** `type:value`, or `default`. */
  id: string;
  role: Role;
  scope: { type: 'default' | 'user' | 'group' | 'domain'; value?: string };
  change: number;
}

/** A calendar with its events and access rules. */
export interface Calendar {
  id: string;
  summary: string;
  description: string | undefined;
  location: string | undefined;
  timeZone: string;
  /** The account that owns the data. */
  owner: string;
  primary: boolean;
  /** The Cloud project that created the calendar, for the scope calendar.app.created; undefined if a user created it. */
  createdByProject: string | undefined;
  acl: Map<string, AclRule>;
  events: EventStore;
  change: number;
  /** Sync tokens carry this number; raising it makes the older ones invalid. */
  syncGeneration: number;
}

/** A user or a service account. */
export interface Account {
  email: string;
  /** Ids of the calendars in its list, in order. */
  calendarList: Set<string>;
  isServiceAccount: boolean;
}

/** Everything that the sandbox remembers about accounts and calendars. */
export class World {
  readonly settings: Settings;
  readonly counts: Counts;
  readonly accounts = new Map<string, Account>();
  readonly calendars = new Map<string, Calendar>();
  readonly cursors = new Cursors();
  /** When an account made calendars through the API (epoch ms), for the use limit. */
  readonly madeCalendarsAt = new Map<string, number[]>();
  /** Listeners for every write to a calendar's events. */
  readonly onEventChange: ((calendarId: string) => void)[] = [];
  #change = 0;

  constructor(settings: Settings, counts: Counts) {
    this.settings = settings;
    this.counts = counts;
  }

  now(): number {
    return this.settings.now();
  }

  get lastChange(): number {
    return this.#change;
  }

  nextChange(): number {
    this.#change += 1;
    return this.#change;
  }

  /** The account, made with its primary calendar when it is new. */
  account(email: string, isServiceAccount = false): Account {
    const known = this.accounts.get(email);
    if (known) {
      return known;
    }
    const account: Account = { email, calendarList: new Set(), isServiceAccount };
    this.accounts.set(email, account);
    this.#addCalendar({ id: email, owner: email, summary: email, primary: true, timeZone: this.settings.timeZone });
    return account;
  }

  /** A new secondary calendar of the account. */
  createCalendar(
    owner: string,
    calendar: Pick<Calendar, 'summary'> &
      Partial<Pick<Calendar, 'description' | 'location' | 'timeZone' | 'createdByProject'>>,
  ): Calendar {
    this.account(owner);
    const id = `c_${randomBytes(32).toString('hex')}@group.calendar.google.com`;
    return this.#addCalendar({ timeZone: this.settings.timeZone, ...calendar, id, owner, primary: false });
  }

  deleteCalendar(id: string): boolean {
    for (const account of this.accounts.values()) {
      account.calendarList.delete(id);
    }
    return this.calendars.delete(id);
  }

  roleOf(calendar: Calendar, email: string): Role {
    const domain = email.slice(email.indexOf('@') + 1);
    const rules = [`user:${email}`, `group:${email}`, `domain:${domain}`, 'default'];
    const roles = rules.map((id) => calendar.acl.get(id)?.role ?? 'none');
    return roles.reduce((best, role) => (rank(role) > rank(best) ? role : best));
  }

  /** Sets or replaces a rule. A changed rule makes the calendar's sync tokens invalid, as at the vendor. */
  setRule(calendar: Calendar, scope: AclRule['scope'], role: Role): AclRule {
    const id = scope.type === 'default' ? 'default' : `${scope.type}:${scope.value}`;
    const known = calendar.acl.get(id);
    if (known?.role === role) {
      return known;
    }
    const rule: AclRule = { id, role, scope, change: this.nextChange() };
    calendar.acl.set(id, rule);
    calendar.syncGeneration += 1;
    return rule;
  }

  expireSyncTokens(): void {
    for (const calendar of this.calendars.values()) {
      calendar.syncGeneration += 1;
    }
  }

  #addCalendar(
    given: Pick<Calendar, 'id' | 'owner' | 'summary' | 'primary' | 'timeZone'> & Partial<Calendar>,
  ): Calendar {
    const calendar: Calendar = {
      description: undefined,
      location: undefined,
      createdByProject: undefined,
      acl: new Map(),
      events: new EventStore(),
      change: this.nextChange(),
      syncGeneration: 0,
      ...given,
    };
    this.calendars.set(calendar.id, calendar);
    this.setRule(calendar, { type: 'user', value: calendar.owner }, 'owner');
    this.accounts.get(calendar.owner)?.calendarList.add(calendar.id);
    return calendar;
  }
}

const RANKS: Record<Role, number> = {
  none: 0,
  freeBusyReader: 1,
  reader: 2,
  writerWithoutPrivateAccess: 3,
  writer: 4,
  owner: 5,
};

/** Order of the roles, for comparing. */
export function rank(role: Role): number {
  return RANKS[role];
}

/** True for the name of a role. */
export function isRole(role: unknown): role is Role {
  return typeof role === 'string' && Object.hasOwn(RANKS, role);
}

/** The etag of something whose last write had this number. */
export function etagOf(change: number): string {
  return `"${3_400_000_000_000_000 + change}"`;
}
