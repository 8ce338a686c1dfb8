import { z } from 'zod';
import type { ConnectorContext, ConnectorModule } from '../../src/connectors/connector.ts';
import { MirrorError } from '../../src/core/model/errors.ts';
import type { Item } from '../../src/core/model/items.ts';
import { done, standIn } from '../stand-in.ts';

const settingsSchema = z.strictObject({ url: z.string() });

/** Targets that a sink stands for: each batch is one request through the product's own HTTP client. */
export const sinkConnectors: ReadonlyMap<string, ConnectorModule<unknown, Item>> = new Map([
  ['sink', standIn('sink', 20, settingsSchema, post)],
  ['single-sink', standIn('single-sink', 1, settingsSchema, post)],
]);

function post({ settings, http }: ConnectorContext<z.infer<typeof settingsSchema>>) {
  return async (_: string, operations: Parameters<typeof done>[0], signal: AbortSignal) => {
    const body = JSON.stringify({ operations: operations.length });
    const request = { label: 'sink.apply', method: 'POST', url: settings.url, body, signal };
    const { status, retryAfterMs } = await http.send(request);
    if (status === 200) return done(operations);
    throw new MirrorError('the sink refuses', {
      ...{ actor: 'remote', code: 'throttled', retry: 'later' },
      ...(retryAfterMs === null ? {} : { retryAfterMs }),
    });
  };
}
