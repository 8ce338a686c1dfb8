import { z } from 'zod';
import type { Connector, ConnectorContext, ConnectorModule } from '../../src/connectors/connector.ts';
import { MirrorError } from '../../src/model/errors.ts';
import type { Item } from '../../src/model/items.ts';
import type { Operation, Outcome } from '../../src/model/operations.ts';

interface SinkSettings {
  url: string;
}

/** Targets that a sink stands for: each batch is one request through the product's own door, and nothing is kept. */
export const sinkConnectors: ReadonlyMap<string, ConnectorModule<unknown, Item>> = new Map([
  ['sink', sinkConnector('sink', 20)],
  ['single-sink', sinkConnector('single-sink', 1)],
]);

function sinkConnector(name: string, batchSize: number): ConnectorModule<unknown, Item> {
  return {
    name,
    streams: ['appointments'],
    holds: 'events',
    supports: {
      operations: ['create', 'update', 'delete'],
      batchSize,
      concurrency: 1,
      createsContainer: true,
      revivesKeys: true,
      keys: 'enforced',
      twinsAreOurs: false,
      erases: [],
    },
    connectionKinds: ['bearer'],
    neededScopes: () => [],
    settingsSchema: z.strictObject({ url: z.string() }) as z.ZodType<unknown>,
    open: (context) => openSink(context as ConnectorContext<SinkSettings>),
  };
}

function openSink({ settings, http }: ConnectorContext<SinkSettings>): Connector<Item> {
  return {
    prepare: async () => 'sink',
    async apply(_, operations, signal) {
      const body = JSON.stringify({ operations: operations.length });
      const request = { label: 'sink.apply', method: 'POST', url: settings.url, body, signal };
      const { status, retryAfterMs } = await http.send(request);
      if (status === 200) return operations.map(outcomeOf);
      throw new MirrorError('the sink refuses', {
        ...{ actor: 'remote', code: 'throttled', retry: 'later' },
        ...(retryAfterMs === null ? {} : { retryAfterMs }),
      });
    },
    async *read() {},
    find: async () => [],
    changes: async () => ({ scope: 'whole', items: [], removed: [], cursor: null }),
  };
}

function outcomeOf({ kind, recordId }: Operation<Item>): Outcome<Item> {
  if (kind === 'delete') return { result: 'deleted', effect: 'deleted', recordId };
  const effect = kind === 'create' ? 'created' : 'updated';
  return { result: 'written', effect, recordId, versionTag: null, remoteId: null };
}
