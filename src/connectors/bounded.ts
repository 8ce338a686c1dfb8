import type { Item } from '../core/model/items.ts';
import type { Outcome, RemoteItem } from '../core/model/operations.ts';
import { isStorable, storable, storableTag, tooLong } from '../core/model/stored-limits.ts';
import type { Connector, Subscription } from './connector.ts';

/**
 * Wraps a connector: no id, version tag, cursor or handle that a caller stores is longer than `core/model/stored-limits.ts` allows. One object
 * with an unusable id never affects others: its operation fails by name, and a fetch reports the object as unreadable.
 */
export function boundedBy<Wanted extends Item>(connector: Connector<Wanted>): Connector<Wanted> {
  const { subscriptions } = connector;
  const itemsOf = (items: RemoteItem<Wanted>[]) => items.map(boundedItem);
  return {
    ...connector,
    prepare: async (...call) => storable('container', await connector.prepare(...call)),
    apply: async (...call) => (await connector.apply(...call)).map(boundedOutcome),
    async *read(...call) {
      for await (const items of connector.read(...call)) yield itemsOf(items);
    },
    find: async (...call) => itemsOf(await connector.find(...call)),
    async changes(...call) {
      const { items, cursor, ...rest } = await connector.changes(...call);
      return {
        ...rest,
        items: itemsOf(items),
        cursor: cursor !== null && isStorable('cursor', cursor) ? cursor : null,
      };
    },
    ...(subscriptions !== undefined && {
      subscriptions: {
        ...subscriptions,
        open: async (...call) => boundedSubscription(await subscriptions.open(...call)),
        extend: async (...call) => boundedSubscription(await subscriptions.extend(...call)),
      },
    }),
  };
}

function boundedItem<Wanted extends Item>(item: RemoteItem<Wanted>): RemoteItem<Wanted> {
  const versionTag = storableTag(item.versionTag);
  if (isStorable('remoteId', item.remoteId)) return versionTag === item.versionTag ? item : { ...item, versionTag };
  // The marks stay, so that the object counts as present.
  return { ...item, remoteId: item.key, versionTag: null, item: null, unreadable: true };
}

function boundedOutcome<Wanted extends Item>(outcome: Outcome<Wanted>): Outcome<Wanted> {
  const { recordId } = outcome;
  const isRefused = (id: string | null | undefined) => id != null && !isStorable('remoteId', id);
  if (outcome.result === 'superseded' && isRefused(outcome.remote?.remoteId))
    return { recordId, result: 'failed', error: tooLong('remoteId') };
  if (outcome.result === 'superseded' && outcome.remote !== null)
    return { ...outcome, remote: boundedItem(outcome.remote) };
  if (outcome.result !== 'written') return outcome;
  if (isRefused(outcome.remoteId)) return { recordId, result: 'failed', error: tooLong('remoteId') };
  return { ...outcome, versionTag: storableTag(outcome.versionTag) };
}

function boundedSubscription<Found extends Subscription | null>(subscription: Found): Found {
  storable('remoteId', subscription === null ? null : subscription.handle);
  return subscription;
}
