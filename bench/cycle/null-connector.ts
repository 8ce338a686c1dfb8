import { z } from 'zod';
import type { Connector, ConnectorModule } from '../../src/connectors/connector.ts';
import type { Item } from '../../src/model/items.ts';

/** A target that takes everything at once and keeps nothing: what is measured beside it is the cycle's own. */
export const nullConnector: ConnectorModule<unknown, Item> = {
  name: 'null',
  streams: ['appointments'],
  holds: 'events',
  supports: {
    operations: ['create', 'update', 'delete'],
    batchSize: 1_000,
    concurrency: 1,
    createsContainer: true,
    revivesKeys: true,
    keys: 'enforced',
    twinsAreOurs: false,
    erases: [],
  },
  connectionKinds: ['bearer'],
  neededScopes: () => [],
  settingsSchema: z.strictObject({}) as z.ZodType<unknown>,
  open: () => nothing,
};

const nothing: Connector<Item> = {
  prepare: async () => 'nowhere',
  apply: async (_, operations) =>
    operations.map((operation) =>
      operation.kind === 'delete'
        ? { result: 'deleted', effect: 'deleted', recordId: operation.recordId }
        : {
            result: 'written',
            effect: operation.kind === 'create' ? 'created' : 'updated',
            recordId: operation.recordId,
            versionTag: null,
            remoteId: null,
          },
    ),
  async *read() {},
  find: async () => [],
  changes: async () => ({ scope: 'whole', items: [], removed: [], cursor: null }),
};
