import type { Connector, ConnectorContext, ConnectorModule } from '../connectors/connector.ts';
import { ownerOf } from '../connectors/owner.ts';
import type { SharedState } from '../connectors/shared-state.ts';
import { type HttpClient, withBudget } from '../core/http/client.ts';
import type { Logger } from '../core/log/logger.ts';
import { lazily } from '../core/model/cache.ts';
import type { Item, StreamName } from '../core/model/items.ts';
import type { Clock } from '../core/model/time.ts';
import { openForm } from '../domain/open-crm.ts';
import { traitsOf } from '../domain/target-traits.ts';
import { createTargetIdentity } from '../engine/identity.ts';
import type { TenantFeeds } from '../features/feeds/store.ts';
import type { TargetConfiguration, TenantConfiguration } from '../settings/configuration.ts';
import type { RedisClient } from '../state/redis.ts';
import type { Sealer } from '../state/sealing.ts';
import {
  createSubscriptionDirectory,
  createSubscriptionStore,
  type StoredSubscription,
} from '../tenant/subscription-store.ts';
import type { OpenTarget, TenantNotifications } from '../tenant/tenant.ts';
import { type OpenConnection, requireEntry } from './open-connection.ts';

/** Connectors by name. */
export type Connectors = ReadonlyMap<string, ConnectorModule<unknown, Item>>;

/** Dependencies of a tenant's connectors. */
export interface ConnectorParts {
  connectors: Connectors;
  tenant: string;
  zone: string;
  identityKey: Uint8Array;
  /** Fingerprint of the identity key. */
  identity: string;
  /** By the purpose of a connector. */
  httpOf: Readonly<Record<'calendars' | 'crms', HttpClient>>;
  remotes: SharedState;
  feeds: Pick<TenantFeeds, 'feedStore'>;
  log: Logger;
  clock: Clock;
  connections: ReadonlyMap<string, OpenConnection>;
}

/** Cached knowledge of a target. */
export type CachedTarget = Pick<OpenTarget, 'fingerprints' | 'preparedContainer' | 'idleTarget'>;

/** Opens a configured target. Sends nothing. @param cached knowledge from an earlier opening */
function openTarget(target: TargetConfiguration, cached: CachedTarget, parts: ConnectorParts): OpenTarget {
  const module = requireEntry(parts.connectors, target.connector);
  const refusalsOf = (stream: StreamName) => module.refusals?.(target.settings, stream) ?? [];
  const { stream, form, crm, properties } = openForm(target, parts.zone, refusalsOf);
  const identity = createTargetIdentity(parts.identityKey, parts.tenant, target.formerly ?? target.id, form);
  const owner = ownerOf(parts.tenant, target.formerly ?? target.id, parts.identity);
  const context = crm === null ? { owner, zone: parts.zone } : { crm: { stream, properties } };
  const { supports, keysOf, erasesOf } = module;
  const connectionKind = requireEntry(parts.connections, target.connection).kind;
  const { fingerprints } = cached;
  const connector = lazily(() => openConnector(target, { ownerTag: identity.ownerTag, ...context }, parts));
  return {
    id: target.id,
    stream,
    crm,
    configuration: target,
    identity,
    vendor: module.vendor,
    supports: {
      ...supports,
      keys: keysOf?.(target.settings, stream) ?? supports.keys,
      erases: erasesOf?.(target.settings) ?? supports.erases,
    },
    get connector() {
      return connector();
    },
    fingerprints,
    ...traitsOf({ stream, configuration: target, crm, identity, fingerprints, connectionKind }),
    get preparedContainer() {
      return cached.preparedContainer;
    },
    set preparedContainer(container) {
      cached.preparedContainer = container;
    },
    get idleTarget() {
      return cached.idleTarget;
    },
    set idleTarget(idle) {
      cached.idleTarget = idle;
    },
  };
}

/** Opens a tenant's targets by id. @param cached knowledge from an earlier opening */
export function openTargets(
  tenant: TenantConfiguration,
  cached: ReadonlyMap<string, CachedTarget>,
  parts: ConnectorParts,
): Map<string, OpenTarget> {
  const targets = [...tenant.targets.values()];
  return new Map(targets.map((target) => [target.id, openTarget(target, requireEntry(cached, target.id), parts)]));
}

/**
 * Opens the change notifications of a tenant's targets.
 * @param parts.proofs encrypts with the identity key
 * @param url receiver URL for vendors; null if unreachable
 */
export function openNotifications(
  parts: ConnectorParts & { redis: RedisClient; id: string; proofs: Sealer },
  url: string | null,
): TenantNotifications {
  const { redis, id, identityKey, proofs, clock } = parts;
  return {
    url,
    store: createSubscriptionStore(redis, id, proofs),
    directory: createSubscriptionDirectory(redis, identityKey, clock),
    subscriptionsOf: (subscription) =>
      parts.connections.has(subscription.connection) ? openSubscriptions(subscription, parts) : null,
  };
}

/** A connector with the settings at the time of the subscription: the target's settings possibly changed since, or the target is gone. */
function openSubscriptions(
  subscription: Pick<StoredSubscription, 'connector' | 'connection' | 'settings'>,
  parts: ConnectorParts,
) {
  const module = parts.connectors.get(subscription.connector);
  const settings = module?.settingsSchema.safeParse(subscription.settings);
  const { kind } = requireEntry(parts.connections, subscription.connection);
  if (settings?.success !== true || module?.connectionKinds.includes(kind) !== true) return null;
  const opened = openConnector(
    { ...subscription, id: 'subscriptions', settings: settings.data },
    { ownerTag: '' },
    parts,
  );
  return opened.subscriptions ?? null;
}

/** @param ours owner tag of the connector's objects; nothing is read or written without a owner tag */
function openConnector(
  {
    id,
    connector,
    connection: login,
    settings,
  }: Pick<TargetConfiguration, 'id' | 'connector' | 'connection' | 'settings'>,
  ours: Pick<ConnectorContext<unknown>, 'ownerTag' | 'owner' | 'zone' | 'crm'>,
  parts: ConnectorParts,
): Connector<Item> {
  const connection = requireEntry(parts.connections, login);
  const module = requireEntry(parts.connectors, connector);
  const http = parts.httpOf[module.holds === 'events' ? 'calendars' : 'crms'];
  return module.open({
    settings,
    ...ours,
    authorizer: connection.authorizer(id),
    http: connection.budget === null ? http : withBudget(http, connection.budget),
    feedStore: parts.feeds.feedStore(id),
    shared: parts.remotes,
    log: parts.log.child({ target: id }),
    clock: parts.clock,
  });
}

/** Returns the distinct required scopes of a connection's targets. */
export function scopesOfTargets(tenant: TenantConfiguration, connection: string, connectors: Connectors): string[] {
  const targets = [...tenant.targets.values()].filter((target) => target.connection === connection);
  const scopes = targets.flatMap(({ connector, settings, crm }) =>
    requireEntry(connectors, connector).neededScopes(settings, crm?.stream ?? 'appointments'),
  );
  return [...new Set(scopes)];
}
