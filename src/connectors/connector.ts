import type { z } from 'zod';
import type { HttpClient } from '../core/http/client.ts';
import type { Logger } from '../core/log/logger.ts';
import type { MirrorError } from '../core/model/errors.ts';
import type { FeedStore } from '../core/model/feeds.ts';
import type { CalendarItem, CrmItem, Item, MappedProperty, Presets, Refusal, StreamName } from '../core/model/items.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../core/model/operations.ts';
import type { Clock, Instant, TimeWindow } from '../core/model/time.ts';
import type { KeyPromise, RemoteChanges, TargetSupports } from '../engine/ports.ts';
import type { VendorErrors } from './errors.ts';
import type { Owner } from './owner.ts';
import type { SharedState } from './shared-state.ts';

/** Capabilities of a connector, as data. Callers and the contract suite stay within these capabilities. */
export interface ConnectorSupports extends TargetSupports {
  operations: readonly Operation['kind'][];
  /** Whether a deleted key can be used again (otherwise the connector returns `key-burnt`). */
  revivesKeys: boolean;
  /** The vendor's limits for texts of an event, in UTF-16 code units. Longer texts are shortened with an ellipsis. */
  longest?: Partial<Record<'title' | 'description' | 'location', number>>;
  /** Presets that the vendor supports; `noAlert`: a reminder of `none`. Absent for a CRM. */
  presets?: readonly (keyof Presets | 'noAlert')[];
  /**
   * Streams whose objects a deletion with `erase` removes permanently. Other objects stay in the vendor's recycle bin, which its API cannot
   * access.
   */
  erases: readonly StreamName[];
}

/** Provides the Authorization header of a connection. Both methods throw an `authorization` MirrorError if an operator must act. */
export interface Authorizer {
  /** Returns the header's value, refreshed before expiry. */
  header(signal: AbortSignal): Promise<string>;
  /** Forces one refresh after a 401 and returns the new value. */
  renew(signal: AbortSignal): Promise<string>;
  /** Opaque id (at most 40 characters) for charging a shared quota, if the vendor supports such ids. */
  quotaUser: string | null;
  /** Header name for the value, in lower case, if not Authorization. */
  headerName?: string;
  /**
   * Returns the base URL that the vendor sent with the token (Salesforce's instance), as of the last `header` or `renew`, which must be
   * called first. Absent for vendors with fixed URLs.
   */
  baseUrl?(): string;
}

/** Data about the target for a CRM connector, in addition to its settings. */
export interface CrmContext {
  /** `patients`: contacts; `appointments`: activities of a contact; `invoices`: deals of a contact. */
  stream: StreamName;
  /** All properties of items, by name. `prepare` compares them with the CRM's list. */
  properties: readonly MappedProperty[];
}

/** Data and services for a connector of one target. */
export interface ConnectorContext<TargetSettings> {
  settings: TargetSettings;
  /**
   * Identifies the daemon, tenant and target of an object: 16 characters of `[0-9a-v]`, keyed, stable. Objects without this owner tag are
   * foreign, and are never changed or deleted.
   */
  ownerTag: string;
  /** Written to containers that the connector creates. */
  owner?: Owner;
  /** Absent for a calendar. */
  crm?: CrmContext;
  /** For a calendar: the clinic's time zone, an IANA name. */
  zone?: string;
  authorizer: Authorizer;
  http: HttpClient;
  /** Storage in the daemon for the target's events; only for feeds. */
  feedStore?: FeedStore;
  /** State of a vendor that several targets of this daemon share. */
  shared: SharedState;
  log: Logger;
  clock: Clock;
}

/** Object with a unique value that an own object should have. */
export interface Holder {
  /** Key of the own object without the value. */
  key: ItemKey;
  /** Remote id of the object with the value. */
  remoteId: string;
  /** Whether the object with the value is an own object too, as for relatives with a shared e-mail address. */
  isOurs: boolean;
  /** Name of the property. */
  property: string;
}

/** Contact of a CRM from any creator. */
export interface ExistingContact {
  remoteId: string;
  /** Values of the mapped properties. */
  properties: CrmItem['properties'];
  /** Additional e-mail addresses in the CRM. */
  otherAddresses: readonly string[];
  /** Key, or null if the contact has none. */
  key: ItemKey | null;
  /** Whether the contact has neither key nor stamp, and therefore comes from a user or a different program. */
  isFree: boolean;
}

/** New key and encrypted record id of a contact; null clears both. */
export interface ContactStamp {
  remoteId: string;
  as: { key: ItemKey; sealedRecordId: string } | null;
}

/** Contacts of a CRM that can be fetched and stamped by id. All methods throw MirrorError for failures of the whole target. */
export interface Contacts<Wanted extends Item = CrmItem> {
  /** Lists all free contacts, in pages. */
  list(signal: AbortSignal): AsyncIterable<ExistingContact[]>;
  /** Fetches the current state of the existing contacts among the ids, including stamped ones. */
  read(remoteIds: readonly string[], signal: AbortSignal): Promise<ExistingContact[]>;
  /**
   * Writes only key and stamp of contacts that the caller has fetched. A repetition is harmless.
   * @returns by remote id, the reason why a contact was not written
   */
  stamp(stamps: readonly ContactStamp[], signal: AbortSignal): Promise<ReadonlyMap<string, MirrorError>>;
  /**
   * Finds the contacts that have unique values of own contacts. Absent if the vendor has no unique values.
   * @param wanted desired content of the own contacts, by key
   */
  holders?(wanted: ReadonlyMap<ItemKey, Wanted>, signal: AbortSignal): Promise<Holder[]>;
}

/**
 * A vendor's promise to send notifications of changes in a container. A notification only starts a fetch, and the fetch shows the changes.
 */
export interface Subscription {
  /** Id from clinic-mirror, 32 random hexadecimal characters; part of the notification URL. */
  id: string;
  /** Opaque data for extending or closing the subscription. */
  handle: string;
  expiresAt: Instant;
}

/** Request for a new subscription. */
export interface SubscriptionRequest {
  id: string;
  /** Secret in each notification: 43 characters of base64url. */
  secret: string;
  /** Notification URL, whose last segment is the id. */
  address: string;
  /** Desired expiry; the vendor may choose an earlier one. */
  expiresAt: Instant;
}

/** Opens, extends and closes a target's subscriptions. All methods throw MirrorError. */
export interface Subscriptions {
  open(container: string, request: SubscriptionRequest, signal: AbortSignal): Promise<Subscription>;
  /**
   * Extends a subscription. Returns null if the vendor cannot extend it or no longer knows it; the caller then opens a new subscription.
   */
  extend(subscription: Subscription, expiresAt: Instant, signal: AbortSignal): Promise<Subscription | null>;
  /** Closes a subscription; an absent subscription is not an error. */
  close(subscription: Subscription, signal: AbortSignal): Promise<void>;
}

/** Request to a notification URL. Header names are in lower case. */
export interface NotificationRequest {
  query: URLSearchParams;
  headers: Readonly<Record<string, string | undefined>>;
  body: string;
}

/** Meaning of a notification. `changed`: fetch changes; `missed`: fetch the whole target; `extend` and `ended` concern the subscription. */
export type NotificationEvent = 'opened' | 'changed' | 'missed' | 'extend' | 'ended';

/** Parsed notification request: a handshake with its plain text response, events with their secrets, or unreadable. */
export type ReadNotification =
  | { kind: 'handshake'; answer: string }
  | { kind: 'events'; events: readonly { secret: string; event: NotificationEvent }[] }
  | { kind: 'unreadable' };

/** Stored remote ids by key; null if the id is derived from the key. */
export type RemoteIds = ReadonlyMap<ItemKey, string | null>;

/** One opened target. All methods throw MirrorError for failures of the whole target (authorization, missing calendar, throttling). */
export interface Connector<Wanted extends Item = CalendarItem> {
  /**
   * Returns the container to write to: checks the configured calendar, or finds the dedicated calendar by stored id or owner tag, or creates
   * it once. A CRM's container always exists; its connector checks the mapping, and may create clinic-mirror's own properties.
   * @param storedId container id from an earlier call, null at first
   * @param choice.creates whether a missing dedicated calendar is created; false for a calendar means that nothing is written
   * @returns the container's id, which the caller stores; null only without `creates`, if the dedicated calendar does not exist
   * @throws MirrorError also `settings`, code `identity-key-changed`, for a dedicated calendar from a different identity key
   */
  prepare(storedId: string | null, choice: { creates: boolean }, signal: AbortSignal): Promise<string | null>;
  /**
   * Carries out at most `supports.batchSize` operations on distinct records.
   * @returns one outcome per operation, in any order; throws only if no operation has an outcome (`outcomes.ts`)
   */
  apply(container: string, operations: readonly Operation<Wanted>[], signal: AbortSignal): Promise<Outcome<Wanted>[]>;
  /**
   * Fetches own objects in the container, in pages: those that begin in the window, as far as the vendor lists them by owner tag; without a
   * window all, also objects without marks whose name or id has the form of a key.
   */
  read(container: string, window: TimeWindow | null, signal: AbortSignal): AsyncIterable<RemoteItem<Wanted>[]>;
  /**
   * Fetches the existing objects among the keys, without deleted objects.
   * @param remoteIds stored remote ids by key, null for a derived one: an object without marks is also found by its id
   */
  find(
    container: string,
    keys: readonly ItemKey[],
    signal: AbortSignal,
    remoteIds?: RemoteIds,
  ): Promise<RemoteItem<Wanted>[]>;
  /**
   * Fetches the changes since a cursor, or all objects without a cursor. If the vendor rejects the cursor, or the cursor is for a different
   * window, the fetch is complete.
   */
  changes(
    container: string,
    query: { cursor: string | null; window: TimeWindow },
    signal: AbortSignal,
  ): Promise<RemoteChanges<Wanted>>;
  /**
   * Returns URLs of web pages for objects of a container, by remote id, without objects that have no page. Absent if the vendor has no
   * pages.
   */
  pagesOf?(container: string, remoteIds: readonly string[], signal: AbortSignal): Promise<ReadonlyMap<string, string>>;
  /** Contacts that existed before clinic-mirror. Absent if the target has none, or they cannot be fetched and stamped by id. */
  contacts?: Contacts<Wanted>;
  /** Absent if the vendor has no notifications. */
  subscriptions?: Subscriptions;
}

/** Single export of a connector: its capabilities, its requirements, and its constructor. */
export interface ConnectorModule<TargetSettings = unknown, Wanted extends Item = CalendarItem> {
  readonly name: string;
  /** Name of the vendor or of the kind of target, for readers. */
  readonly vendor: string;
  /** Streams that the connector's targets support; a calendar connector supports only appointments. */
  readonly streams: readonly StreamName[];
  /** Content of the targets: events of a calendar, or objects of a CRM, whose targets have a `crm` part. */
  readonly holds: 'events' | 'objects';
  readonly supports: ConnectorSupports;
  /** Default titles of calendar events if the target's file sets none; `appointment` when absent. */
  readonly defaultTitle?: 'appointment' | 'busy';
  /** Replaces `supports.keys` if the value depends on the settings or the stream. */
  keysOf?(settings: TargetSettings, stream: StreamName): KeyPromise;
  /** Replaces `supports.erases` if the value depends on the settings. */
  erasesOf?(settings: TargetSettings): readonly StreamName[];
  /** Properties of the CRM for patients' refusals; absent if none are known. */
  refusals?(settings: TargetSettings, stream: StreamName): readonly Refusal[];
  /** Supported kinds of connection, as in the tenant file. */
  readonly connectionKinds: readonly string[];
  /** OAuth scopes that the connection requires; empty for connections without OAuth. */
  neededScopes(settings: TargetSettings, stream: StreamName): readonly string[];
  /** Schema of the vendor-specific part of a target in the tenant file (strict: unknown keys are refused). */
  readonly settingsSchema: z.ZodType<TargetSettings>;
  /** Loads the errors of the vendor, for explanations of their codes. Absent for a connector with its own texts. */
  errors?(): Promise<VendorErrors>;
  open(context: ConnectorContext<TargetSettings>): Connector<Wanted>;
  /** Parses a request to a notification URL; pure. Absent if the vendor has no notifications. */
  readNotification?(request: NotificationRequest): ReadNotification;
}
