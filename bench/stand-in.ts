import type { z } from 'zod';
import type { Connector, ConnectorContext, ConnectorModule } from '../src/connectors/connector.ts';
import type { Item } from '../src/core/model/items.ts';
import type { Operation, Outcome } from '../src/core/model/operations.ts';

/** A connector without storage, so that measurements contain only the daemon's own work. */
export function standIn<Settings>(
  name: string,
  batchSize: number,
  settingsSchema: z.ZodType<Settings>,
  apply: (context: ConnectorContext<Settings>) => Connector<Item>['apply'],
): ConnectorModule<unknown, Item> {
  return {
    ...{ name, vendor: name, streams: ['appointments'], holds: 'events' },
    supports: {
      ...{ operations: ['create', 'update', 'delete'], batchSize, concurrency: 1 },
      ...{ revivesKeys: true, keys: 'enforced', duplicatesAreOurs: false, erases: [] },
    },
    connectionKinds: ['bearer'],
    neededScopes: () => [],
    settingsSchema,
    open: (context) => ({
      prepare: async () => name,
      apply: apply(context as ConnectorContext<Settings>),
      async *read() {},
      find: async () => [],
      changes: async () => ({ scope: 'whole', items: [], removed: [], cursor: null }),
    }),
  };
}

/** Everything was carried out. */
export function done(operations: readonly Operation<Item>[]): Outcome<Item>[] {
  return operations.map(({ kind, recordId }) => {
    if (kind === 'delete') return { result: 'deleted', effect: 'deleted', recordId };
    const effect = kind === 'create' ? 'created' : 'updated';
    return { result: 'written', effect, recordId, versionTag: null, remoteId: null };
  });
}
