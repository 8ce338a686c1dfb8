import { randomUUID } from 'node:crypto';
import type { Counts } from '../kit/counts.ts';
import { EventStore, type StoredEvent } from './event-store.ts';
import { newCalendarId } from './ids.ts';
import type { Settings } from './options.ts';

/** A calendar of a mailbox; its events are in the mailbox's store. */
export interface Calendar {
  id: string;
  name: string;
  color: string;
  isDefault: boolean;
  /** Extended properties by canonical id. */
  properties: ReadonlyMap<string, string>;
  change: number;
}

/** A user with a mailbox. */
export interface Mailbox {
  /** The user's object id. */
  id: string;
  /** Email address and user principal name. */
  mail: string;
  /** Without a licence every call answers MailboxNotEnabledForRESTAPI. */
  licensed: boolean;
  calendars: Map<string, Calendar>;
  defaultCalendarId: string;
  events: EventStore;
  /** Accounts (email addresses) that may also read and write the mailbox. */
  sharedWith: Set<string>;
  /** Delta links carry this number; raising it makes the older ones invalid. */
  deltaGeneration: number;
  /** How a delta link that became invalid is answered. */
  deltaEnd: DeltaEnd;
}

/** 410 with a Location, or 404 syncStateNotFound: both mean a full round. */
export type DeltaEnd = 'gone' | 'not-found';

/** A write to an event, as reported to subscriptions. */
export interface EventChange {
  mailbox: Mailbox;
  event: StoredEvent;
  changeType: 'created' | 'updated' | 'deleted';
}

/** Everything that the sandbox remembers about mailboxes. */
export class World {
  readonly settings: Settings;
  readonly counts: Counts;
  /** Listeners for every write to an event. */
  readonly onEventChange: ((change: EventChange) => void)[] = [];
  readonly #byId = new Map<string, Mailbox>();
  readonly #byMail = new Map<string, Mailbox>();
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

  get mailboxes(): Mailbox[] {
    return [...this.#byId.values()];
  }

  /** Returns the mailbox with this object id or email address; undefined if there is none. */
  find(idOrMail: string): Mailbox | undefined {
    const key = idOrMail.toLowerCase();
    return this.#byId.get(key) ?? this.#byMail.get(key);
  }

  /** Returns the mailbox of an email address, created with its default calendar if it does not exist. */
  mailbox(mail: string): Mailbox {
    const known = this.find(mail);
    if (known) {
      return known;
    }
    const mailbox: Mailbox = {
      id: randomUUID(),
      mail,
      licensed: true,
      calendars: new Map(),
      defaultCalendarId: '',
      events: new EventStore(),
      sharedWith: new Set(),
      deltaGeneration: 0,
      deltaEnd: 'gone',
    };
    mailbox.defaultCalendarId = this.addCalendar(mailbox, 'Calendar', true).id;
    this.#byId.set(mailbox.id, mailbox);
    this.#byMail.set(mail.toLowerCase(), mailbox);
    return mailbox;
  }

  addCalendar(mailbox: Mailbox, name: string, isDefault = false, color = 'auto'): Calendar {
    const properties = new Map<string, string>();
    const calendar: Calendar = { id: newCalendarId(), name, color, isDefault, properties, change: this.nextChange() };
    mailbox.calendars.set(calendar.id, calendar);
    return calendar;
  }

  tell(change: EventChange): void {
    for (const listener of this.onEventChange) {
      listener(change);
    }
  }
}
