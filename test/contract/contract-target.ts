import type { FaultProxy, ProxiedAnswer, ProxyMatch } from '../../sandbox/kit/fault-proxy.ts';
import type {
  Authorizer,
  Connector,
  ConnectorSupports,
  NotificationRequest,
  ReadNotification,
} from '../../src/connectors/connector.ts';
import type { SharedState } from '../../src/connectors/shared-state.ts';
import type { HttpClient } from '../../src/core/http/client.ts';
import type { Logger } from '../../src/core/log/logger.ts';
import type { CalendarItem, Item, MappedProperty } from '../../src/core/model/items.ts';
import type { Operation } from '../../src/core/model/operations.ts';
import type { Instant } from '../../src/core/model/time.ts';

/**
 * The parts that a connector provides for the contract suite: a container (a calendar, or one record type of a CRM) on a real or sandbox
 * server behind a fault proxy, functions that open workers on the container, manual changes on the server, and the vendor's dialect of the
 * faults. Opened again for each case. `Wanted` is the content of the container, `Shown` the adapter's view of it.
 */
export interface TargetOf<Wanted extends Item, Shown extends ShownObject> {
  supports: ConnectorSupports;
  /** What the cases write to; it exists and holds nothing. */
  container: string;
  /** A valid connection. */
  authorizer: Authorizer;
  /** Opens one worker; its requests go through the proxy. */
  open(worker: Worker): Connector<Wanted>;
  proxy: FaultProxy;
  server: ServerOf<Shown>;
  /** What the vendor charged so far, where it charges each write of a batch. */
  charged?(): number;
  /** Present where the connector looks keys up, and where the vendor's search is known to lag. */
  search?: LaggingSearch;
  dialect: ContractDialect<Wanted>;
  close(): Promise<void>;
}

/** The vendor's search. */
export interface LaggingSearch {
  /** From now on it shows what is written only so late. */
  lag(byMs: number): void;
  /** Advances the vendor's clock. */
  pass(ms: number): void;
}

/** A calendar. */
export interface ContractTarget extends TargetOf<CalendarItem, RemoteObject> {
  server: ContractServer;
  /** The connector's, where the vendor has notifications. */
  readNotification?: (request: NotificationRequest) => ReadNotification;
}

/** What the suite chooses for a worker; the rest of the context is the adapter's. */
export interface Worker {
  ownerTag: string;
  authorizer: Authorizer;
  http: HttpClient;
  shared: SharedState;
  log: Logger;
  /** Of a calendar: opens with settings that let the connector create a calendar of this name; otherwise with `container`. */
  createCalendar: string | null;
  /** Of a CRM: the properties of the items, instead of the target's own. */
  properties?: readonly MappedProperty[];
}

/** Manual changes on the server, past the connector and the proxy. */
export interface ServerOf<Shown extends ShownObject> {
  /** Everything in the container that is not deleted, foreign objects included. */
  objects(container?: string): Promise<Shown[]>;
  /** Changes the title as a user does. */
  editByHand(remoteId: string, changes: { title: string }): Promise<void>;
  deleteByHand(remoteId: string): Promise<void>;
  /** A user or another program removes every property by which clinic-mirror recognizes the object. */
  removeMarkByHand(remoteId: string): Promise<void>;
  /** Creates an object without the owner tag, with the given `key` if any. Returns its remote id. */
  putForeign(title: string, key?: string): Promise<string>;
}

/** Manual changes on the account of a calendar. */
export interface ContractServer extends ServerOf<RemoteObject> {
  /** A program that saves the event, or the server itself, drops all properties of clinic-mirror; name and id stay. */
  loseMarks(remoteId: string): Promise<void>;
  /** A client puts an object under another name; gives its remote id there. Absent where names can't be changed. */
  renameByHand?(remoteId: string): Promise<string>;
  /** A user or a program copies an event with all its properties; gives the copy's remote id. Absent where the UID prevents it. */
  copyByHand?(remoteId: string): Promise<string>;
  /** Ids of all calendars of the account. */
  containers(): Promise<string[]>;
  deleteContainer(container: string): Promise<void>;
  /** Number of mails that the server sent or would have sent; null if the server sends none. */
  mails(): Promise<number> | null;
  /** Resolves when no notification is on its way. */
  notificationsSettled?(): Promise<void>;
}

/** An object as a user sees it, read by the adapter without the connector's code. */
export interface ShownObject {
  remoteId: string;
  /** The owner tag that it carries; null for a foreign one. */
  ownerTag: string | null;
  sealedRecordId: string | null;
  title: string;
  /** Changes with every write, so that a case can see that nothing was written. */
  version: string;
}

/** An event of a calendar. */
export interface RemoteObject extends ShownObject {
  /** As shown: without escaping; '' when there is none. */
  description: string;
  location: string;
  /** Timed: instants and the zone of the start. */
  startAt: Instant | null;
  endAt: Instant | null;
  zone: string | null;
  /** All-day: `YYYY-MM-DD`, end exclusive. */
  startDate: string | null;
  endDate: string | null;
  busy: boolean;
  tentative: boolean;
  isPrivate: boolean;
  attendees: number;
  /** Those that ring. */
  alarms: number;
  /** The object forbids programs to add their own alarms. */
  isSilenced: boolean;
  /** URLs in a separate field, outside of the description. */
  links: readonly string[];
  /** The zone on whose clock the server keeps the start, in its own words; null where it keeps none, as of a bare date. */
  clockZone: string | null;
}

/** How this vendor's wire expresses what the cases need. Verbs that a vendor cannot have are absent; their cases are skipped with a reason. */
export interface ContractDialect<Wanted extends Item = CalendarItem> {
  /** Requests that carry writes. */
  writes: ProxyMatch;
  /** Requests of `read`. */
  reads: ProxyMatch;
  /** Requests of `changes` that carry a cursor, where the vendor has a feed. */
  changes?: ProxyMatch;
  /** Requests that open a channel of notifications. */
  opening?: ProxyMatch;
  /** "You are too fast", with the value of Retry-After when given. */
  throttled(retryAfter: string | null): ProxiedAnswer;
  /** The server rejects the credentials. */
  unauthorized(): ProxiedAnswer;
  /** The connection lacks the permission for this (un-ticked scope, read-only calendar). */
  forbidden(): ProxiedAnswer;
  /** The server is failing: 503. */
  unavailable(): ProxiedAnswer;
  /** Most HTTP requests that n first creates may cost, in calls of `supports.batchSize`. */
  requestsForCreates(n: number): number;
  /** Most HTTP requests that n updates and n deletes may cost, where that differs from creates. */
  requestsForUpdates?(n: number): number;
  requestsForDeletes?(n: number): number;
  /** Units that the vendor charges for n updates, if not one for each. */
  unitsForUpdates?(n: number): number;
  /** Most HTTP requests that reading n objects may cost. */
  requestsForReading(n: number): number;
  /** Most HTTP requests that n creates may cost whose first answer was lost after the server had carried them out. */
  requestsForRetriedCreates(n: number): number;
  /** Answers 404 to all requests for objects, while the container exists. Absent if those are all requests. */
  hideObjects?(): void;
  /** Adds unknown fields and values to an answer of `read`. */
  withUnknownFields(answer: ProxiedAnswer): ProxiedAnswer;
  /**
   * Makes the server refuse this operation permanently (400 or similar), by changing the operation or by arming the proxy. Returns the
   * operation to send.
   */
  poison(operation: Operation<Wanted>): Operation<Wanted>;
  /** Makes the server answer this one operation, an update that names no remote id, with a passing failure, once. */
  failOnce(operation: Operation<Wanted>): void;
  /** The server no longer takes the cursors that it gave so far. */
  expireCursors?(): void;
  /** The server's pages of changes hold this many objects from now on. */
  changesPageLength?(length: number): void;
  /** Lets the server run the operation and drops only its answer, once. */
  dropAnswerOf?(operation: Operation<Wanted>): void;
  /** Gives the answers within the next write in the opposite order. */
  reverseAnswers?(): void;
  /** The server takes at most this many operations in a request from now on. */
  lowerBatchLimit?(limit: number): void;
  /** The server's pages of `read` hold this many objects from now on. */
  pageLength?(length: number): void;
  /** The server gives an empty page that has a successor before the first one. */
  emptyFirstPage?(): void;
}
