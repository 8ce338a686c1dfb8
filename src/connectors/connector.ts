import type { z } from 'zod';
import type { HttpDoor } from '../http/door.ts';
import type { Logger } from '../log/logger.ts';
import type { ItemKey, Operation, Outcome, RemoteItem } from '../model/operations.ts';
import type { Clock, TimeWindow } from '../model/time.ts';

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
}

/** Gives the Authorization header of a connection. Both throw an `authorization` MirrorError when a person must act. */
export interface Authorizer {
  /** The header's value, refreshed ahead of expiry. */
  header(signal: AbortSignal): Promise<string>;
  /** After a 401: forces one refresh and gives the new value. */
  renew(signal: AbortSignal): Promise<string>;
  /** Opaque id (at most 40 characters) to charge a shared quota to, when the vendor knows one. */
  quotaUser: string | null;
}

/** What a connector is given to work with one target. */
export interface ConnectorContext<TargetSettings> {
  settings: TargetSettings;
  /**
   * Marks every object as belonging to this daemon, tenant and target: 16 characters of `[0-9a-v]`, keyed, stable.
   * Only objects that bear it are ours; nothing else is ever read as ours, changed or deleted.
   */
  mark: string;
  authorizer: Authorizer;
  http: HttpDoor;
  log: Logger;
  clock: Clock;
}

/** One target, opened. All methods throw MirrorError for what concerns the whole target (login, calendar gone, throttled). */
export interface Connector {
  /**
   * Makes sure that the calendar is there: the configured one is checked, one of ours is found by mark or created once.
   * @param known the container that an earlier call gave, null at first
   * @returns the container's id, to be remembered
   */
  prepare(known: string | null, signal: AbortSignal): Promise<string>;
  /**
   * Carries out at most `supports.batchSize` operations on distinct records.
   * @returns one outcome per operation, in any order; throws only when nothing can be said of any of them
   */
  apply(container: string, operations: readonly Operation[], signal: AbortSignal): Promise<Outcome[]>;
  /** Every object of ours in the container, in pages; restricted to the window when one is given. */
  read(container: string, window: TimeWindow | null, signal: AbortSignal): AsyncIterable<RemoteItem[]>;
  /** Those of the keys that are there (deleted ones are not). */
  find(container: string, keys: readonly ItemKey[], signal: AbortSignal): Promise<RemoteItem[]>;
}

/** A connector's one export: what it is, what it needs, how to open it. */
export interface ConnectorModule<TargetSettings = unknown> {
  readonly name: string;
  readonly supports: ConnectorSupports;
  /** Kinds of connection that it can use, as in the tenant file. */
  readonly connectionKinds: readonly string[];
  /** OAuth scopes that the connection must have been granted; empty for other logins. */
  neededScopes(settings: TargetSettings): readonly string[];
  /** Schema of the vendor's own part of a target in the tenant file (strict: unknown keys refused). */
  readonly settingsSchema: z.ZodType<TargetSettings>;
  open(context: ConnectorContext<TargetSettings>): Connector;
}
