import type { z } from 'zod';
import type { HttpClient } from '../http/client.ts';
import type { Logger } from '../log/logger.ts';
import type { MirrorError } from '../model/errors.ts';
import type { FeedStore } from '../model/feeds.ts';
import type { CalendarItem, CrmItem, Item, MappedProperty, Presets, Refusal, StreamName } from '../model/items.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../model/operations.ts';
import type { Clock, Instant, TimeWindow } from '../model/time.ts';
import type { Owner } from './owner.ts';
import type { SharedState } from './shared-state.ts';

/**
 * Who sees to it that there is one object per key. `enforced`: the vendor refuses a second one. `lookedUp`: we look before we make one,
 * and a look may miss what was written less than `lagMs` ago, or is still on its way.
 */
export type KeyPromise = 'enforced' | { lookedUp: { lagMs: number } };

/** What a connector can do, as data: callers and the contract suite read it and never ask for more. */
export interface ConnectorSupports {
  operations: readonly Operation['kind'][];
  /** Operations that one `apply` sends in one request; callers pass at most this many. */
  batchSize: number;
  /** `apply` calls that may be under way at once for one target. */
  concurrency: number;
  /** The connector can create its own calendar. */
  createsContainer: boolean;
  /** A deleted key can be used again (else the connector answers `key-burnt`). */
  revivesKeys: boolean;
  keys: KeyPromise;
  /** Only we can have made a second object with a key: what a person copies carries another, or none. */
  duplicatesAreOurs: boolean;
  /** UTF-16 code units of the texts of an event, where the vendor has a limit: what is longer is shortened, with an ellipsis. */
  longest?: Partial<Record<'title' | 'description' | 'location', number>>;
  /** Presets that the vendor has a place for; `noAlert`: a reminder of `none`. Absent for a CRM. */
  presets?: readonly (keyof Presets | 'noAlert')[];
  /** Streams whose objects a deletion with `erase` takes out for good; others stay in a bin of the vendor, out of its API's reach. */
  erases: readonly StreamName[];
}

/** Gives the Authorization header of a connection. Both throw an `authorization` MirrorError when a person must act. */
export interface Authorizer {
  /** The header's value, refreshed ahead of expiry. */
  header(signal: AbortSignal): Promise<string>;
  /** After a 401: forces one refresh and gives the new value. */
  renew(signal: AbortSignal): Promise<string>;
  /** Opaque id (at most 40 characters) to charge a shared quota to, when the vendor knows one. */
  quotaUser: string | null;
  /** The header that takes the value, where it is not Authorization; lower case. */
  headerName?: string;
  /**
   * Base address that the vendor gave with the token (Salesforce's instance), as of the last call of `header` or `renew`, which
   * must come first; absent where addresses are fixed.
   */
  baseUrl?(): string;
}

/** What a CRM's connector is told of the target beside its settings. */
export interface CrmContext {
  /** `patients`: contacts; `appointments`: activities of a contact; `invoices`: deals of a contact. */
  stream: StreamName;
  /** Every property that items will carry, by name. Checked against the CRM's own list in `prepare`. */
  properties: readonly MappedProperty[];
}

/** What a connector is given to work with one target. */
export interface ConnectorContext<TargetSettings> {
  settings: TargetSettings;
  /**
   * Marks every object as belonging to this daemon, tenant and target: 16 characters of `[0-9a-v]`, keyed, stable.
   * Only objects that carry it are ours; nothing else is ever read as ours, changed or deleted.
   */
  ownerTag: string;
  /** Stands on containers that the connector makes. */
  owner?: Owner;
  /** Absent for a calendar. */
  crm?: CrmContext;
  /** Of a calendar: the clinic's time zone, an IANA name. */
  zone?: string;
  authorizer: Authorizer;
  http: HttpClient;
  /** Where the daemon itself keeps what the target holds: of a feed alone. */
  feedStore?: FeedStore;
  /** What the targets of this daemon have in common with a remote side that several of them write to. */
  shared: SharedState;
  log: Logger;
  clock: Clock;
}

/** What changed in a container, or all that is there. */
export interface RemoteChanges<Wanted extends Item = CalendarItem> {
  /** `whole`: `items` is every object of ours that overlaps the window. `since`: what isn't named is as it was at the cursor. */
  scope: 'whole' | 'since';
  /** Ours only, each once, as they are now. */
  items: RemoteItem<Wanted>[];
  /** With `since`: remote ids of objects that are gone; strangers' and unknown ones may be among them. */
  removed: string[];
  /** To ask with the next time: opaque, without patient data. Null where no feed is offered, so that every reading is whole. */
  cursor: string | null;
}

/** An object that has what one of ours should have, and what a target gives to one object alone. */
export interface Holder {
  /** Of the object of ours that lacks it. */
  key: ItemKey;
  /** Of the object that has it. */
  remoteId: string;
  /** That one is ours too, as with relatives who share an address; else somebody else made it. */
  isOurs: boolean;
  /** Name of the property. */
  property: string;
}

/** A contact of a CRM, whoever made it. */
export interface ExistingContact {
  remoteId: string;
  /** Values of the mapped properties. */
  properties: CrmItem['properties'];
  /** E-mail addresses that the CRM keeps beside. */
  otherAddresses: readonly string[];
  /** Our key; null when it carries none. */
  key: ItemKey | null;
  /** It carries neither a key nor a stamp: a person or another program made it. */
  isFree: boolean;
}

/** What a contact is to carry from now on: the key and the sealed record id of a patient, or with null nothing of ours. */
export interface ContactStamp {
  remoteId: string;
  as: { key: ItemKey; sealedRecordId: string } | null;
}

/** The contacts that were in a CRM before us. All methods throw MirrorError for what concerns the whole target. */
export interface ExistingContacts {
  /** Every one that is free, in pages. */
  list(signal: AbortSignal): AsyncIterable<ExistingContact[]>;
  /** Those of the ids that are there, as they are now, stamped ones too. */
  read(remoteIds: readonly string[], signal: AbortSignal): Promise<ExistingContact[]>;
  /**
   * Writes key and stamp, and nothing else; the caller has read the contacts. Doing it again is safe.
   * @returns why a contact was not written, by remote id
   */
  stamp(stamps: readonly ContactStamp[], signal: AbortSignal): Promise<ReadonlyMap<string, MirrorError>>;
}

/** A vendor's promise to tell us when something changes in a container. What it tells is a hint: a reading decides. */
export interface Subscription {
  /** Our own id, 32 hexadecimal characters of chance; a part of the address. */
  id: string;
  /** What the vendor needs to prolong or end it: opaque. */
  handle: string;
  expiresAt: Instant;
}

/** What is asked of a vendor for a new subscription. */
export interface SubscriptionRequest {
  id: string;
  /** Comes back with every notification: 43 characters of base64url. */
  secret: string;
  /** Where the vendor is to post; ends with the id. */
  address: string;
  /** How long it should last; the vendor may give less. */
  expiresAt: Instant;
}

/** How a target's notifications are begun and ended. All methods throw MirrorError. */
export interface Subscriptions {
  open(container: string, request: SubscriptionRequest, signal: AbortSignal): Promise<Subscription>;
  /** Prolongs a subscription; null when this vendor can't, or doesn't know it any more: the caller opens another. */
  extend(subscription: Subscription, expiresAt: Instant, signal: AbortSignal): Promise<Subscription | null>;
  /** Ends a subscription; one that is gone already is no error. */
  close(subscription: Subscription, signal: AbortSignal): Promise<void>;
}

/** A request that came to a subscription's address. Header names are in lower case. */
export interface NotificationRequest {
  query: URLSearchParams;
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

/** What a notification says. `changed`: look at the target; `missed`: look at all of it; `extend` and `ended`: about the subscription itself. */
export type NotificationEvent = 'opened' | 'changed' | 'missed' | 'extend' | 'ended';

/** How a connector reads a request: a handshake to be answered as plain text, what it says under which secret, or nothing readable. */
export type ReadNotification =
  | { kind: 'handshake'; answer: string }
  | { kind: 'events'; events: readonly { secret: string; event: NotificationEvent }[] }
  | { kind: 'unreadable' };

/** One target, opened. All methods throw MirrorError for what concerns the whole target (login, calendar gone, throttled). */
export interface Connector<Wanted extends Item = CalendarItem> {
  /**
   * Makes sure that the calendar is there: the configured one is checked, one of ours is found by owner tag or created once.
   * @param storedId the container that an earlier call gave, null at first
   * @returns the container's id, to be remembered
   */
  prepare(storedId: string | null, signal: AbortSignal): Promise<string>;
  /**
   * Looks for the calendar without making one; null when there is none yet. Absent where there is nothing to be looked for.
   * @throws MirrorError also `settings`, code `identity-key-changed`, as `prepare`, for one that was made with another identity key
   */
  locate?(signal: AbortSignal): Promise<string | null>;
  /**
   * Carries out at most `supports.batchSize` operations on distinct records.
   * @returns one outcome per operation, in any order; throws only when nothing can be said of any of them (`settle.ts`)
   */
  apply(container: string, operations: readonly Operation<Wanted>[], signal: AbortSignal): Promise<Outcome<Wanted>[]>;
  /** Every object of ours in the container, in pages; restricted to the window when one is given. */
  read(container: string, window: TimeWindow | null, signal: AbortSignal): AsyncIterable<RemoteItem<Wanted>[]>;
  /** Those of the keys that are there (deleted ones are not). */
  find(container: string, keys: readonly ItemKey[], signal: AbortSignal): Promise<RemoteItem<Wanted>[]>;
  /**
   * What changed since a cursor, or everything without one. A cursor that the vendor no longer takes, or that was made for another
   * window, leads to a whole reading.
   */
  changes(
    container: string,
    query: { cursor: string | null; window: TimeWindow },
    signal: AbortSignal,
  ): Promise<RemoteChanges<Wanted>>;
  /**
   * Who has what objects of ours should have, by their keys. Absent where nothing is given to one object alone.
   * @param wanted what the objects should hold
   */
  holders?(wanted: ReadonlyMap<ItemKey, Wanted>, signal: AbortSignal): Promise<Holder[]>;
  /**
   * Addresses of the pages where people work with objects of a container, by remote id; one that has none is missing. Absent where the
   * vendor has no pages.
   */
  pagesOf?(container: string, remoteIds: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Present for contacts that can be read and stamped by their ids. */
  existing?: ExistingContacts;
  /** Absent where the vendor has no notifications. */
  subscriptions?: Subscriptions;
}

/** A connector's one export: what it is, what it needs, how to open it. */
export interface ConnectorModule<TargetSettings = unknown, Wanted extends Item = CalendarItem> {
  readonly name: string;
  /** Streams that its targets can follow; one that holds events follows appointments alone. */
  readonly streams: readonly StreamName[];
  /** What its targets hold: events of a calendar, or objects of a CRM, whose targets have a `crm` part. */
  readonly holds: 'events' | 'objects';
  readonly supports: ConnectorSupports;
  /** What titles of a calendar tell where its file does not say; `appointment` when absent. */
  readonly defaultTitle?: 'appointment' | 'busy';
  /** In place of `supports.keys`, where it depends on the settings or on what is followed. */
  keysOf?(settings: TargetSettings, stream: StreamName): KeyPromise;
  /** In place of `supports.erases`, where it depends on the settings. */
  erasesOf?(settings: TargetSettings): readonly StreamName[];
  /** Properties of the CRM's own by which people refuse; absent where none are known. */
  refusals?(settings: TargetSettings, stream: StreamName): readonly Refusal[];
  /** Kinds of connection that it can use, as in the tenant file. */
  readonly connectionKinds: readonly string[];
  /** OAuth scopes that the connection must have been granted; empty for other logins. */
  neededScopes(settings: TargetSettings, stream: StreamName): readonly string[];
  /** Schema of the vendor's own part of a target in the tenant file (strict: unknown keys refused). */
  readonly settingsSchema: z.ZodType<TargetSettings>;
  open(context: ConnectorContext<TargetSettings>): Connector<Wanted>;
  /** Reads what was posted to a subscription's address; pure. Absent where the vendor has no notifications. */
  readNotification?(request: NotificationRequest): ReadNotification;
}
