import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { boundedBy } from '../../src/connectors/bounded.ts';
import type { Connector } from '../../src/connectors/connector.ts';
import type { CalendarItem } from '../../src/core/model/items.ts';
import type { Link, Outcome, RemoteItem } from '../../src/core/model/operations.ts';
import { STORED_LIMITS } from '../../src/core/model/stored-limits.ts';
import { createLinkFormat } from '../../src/state/formats.ts';

const KEY = 'k'.repeat(32);
const ITEM = { title: 'Appointment' } as CalendarItem;
const LONG = 'x'.repeat(STORED_LIMITS.remoteId + 1);
const itemOf = (remoteId: string, versionTag: string | null): RemoteItem => ({
  ...{ key: KEY, sealedRecordId: 'sealed', remoteId, versionTag, item: ITEM, revision: 7 },
});

/** A connector whose server chooses every string. */
function connectorOf(sent: { outcome?: Outcome; items?: RemoteItem[]; cursor?: string; id?: string }): Connector {
  const { outcome, items = [], cursor = null, id = 'calendar' } = sent;
  const subscription = { id: 's', handle: id, expiresAt: 1 };
  return boundedBy({
    prepare: async () => id,
    apply: async () => (outcome === undefined ? [] : [outcome]),
    async *read() {
      yield items;
    },
    find: async () => items,
    changes: async () => ({ scope: 'whole', items, removed: [], cursor }),
    subscriptions: { open: async () => subscription, extend: async () => subscription, close: async () => {} },
  });
}

const signal = () => new AbortController().signal;
const applied = async (outcome: Outcome) => (await connectorOf({ outcome }).apply('c', [], signal()))[0];

describe('an object whose id is too long', () => {
  test('is present and unreadable in every fetch, without its id', async () => {
    const connector = connectorOf({ items: [itemOf(LONG, '"1"'), itemOf('short', '"2"')] });
    const expected = [
      {
        key: KEY,
        sealedRecordId: 'sealed',
        remoteId: KEY,
        versionTag: null,
        item: null,
        unreadable: true,
        revision: 7,
      },
      itemOf('short', '"2"'),
    ];
    expect(await connector.find('c', [], signal())).toEqual(expected);
    expect((await Array.fromAsync(connector.read('c', null, signal()))).flat()).toEqual(expected);
    const window = { fromAt: 0, toAt: 1 };
    expect((await connector.changes('c', { cursor: null, window }, signal())).items).toEqual(expected);
  });

  test('fails only its own operation, by name', async () => {
    const written = { recordId: 'a', result: 'written', effect: 'created', versionTag: '"1"', remoteId: LONG } as const;
    const superseded = { recordId: 'a', result: 'superseded', revision: 9, remote: itemOf(LONG, null) } as const;
    for (const outcome of [written, superseded])
      expect(await applied(outcome)).toMatchObject({
        result: 'failed',
        error: { code: 'value-too-long', concerns: 'item' },
      });
  });
});

test('a tag that is too long counts as none, and a cursor that is too long makes the next fetch complete', async () => {
  const tag = `"${'t'.repeat(STORED_LIMITS.versionTag)}"`;
  const written = { recordId: 'a', result: 'written', effect: 'updated', versionTag: tag, remoteId: null } as const;
  expect(await applied(written)).toEqual({ ...written, versionTag: null });
  const remote = itemOf('short', tag);
  expect(await applied({ recordId: 'a', result: 'superseded', revision: 9, remote })).toMatchObject({
    remote: { remoteId: 'short', versionTag: null, item: ITEM },
  });
  const connector = connectorOf({ items: [remote], cursor: 'c'.repeat(STORED_LIMITS.cursor + 1) });
  const window = { fromAt: 0, toAt: 1 };
  const changes = await connector.changes('c', { cursor: null, window }, signal());
  expect([changes.cursor, changes.items[0]?.versionTag]).toEqual([null, null]);
});

test('an id of a calendar or subscription that is too long is refused', async () => {
  const connector = connectorOf({ id: 'x'.repeat(STORED_LIMITS.container + 1) });
  const tooLong = { code: 'value-too-long' };
  for (const creates of [true, false])
    await expect(connector.prepare(null, { creates }, signal())).rejects.toMatchObject({
      ...{ ...tooLong, concerns: 'target' },
    });
  const request = { id: 's', secret: 'secret', address: 'https://example.org/s', expiresAt: 1 };
  await expect(connector.subscriptions?.open('c', request, signal())).rejects.toMatchObject(tooLong);
  const subscription = { id: 's', handle: 'h', expiresAt: 1 };
  await expect(connector.subscriptions?.extend(subscription, 2, signal())).rejects.toMatchObject(tooLong);
});

test('whatever a server sends, up to a megabyte, a stored link has at most 2,048 characters', async () => {
  const format = createLinkFormat(new Uint8Array(32).fill(1), 'tenant');
  const lengths = fc.oneof(fc.integer({ min: 0, max: 2_000 }), fc.integer({ min: 0, max: 1_048_576 }));
  const text = fc
    .record({ length: lengths, unit: fc.constantFrom('x', '"', 'é', '\t', '€') })
    .map(({ length, unit }) => unit.repeat(length));
  await fc.assert(
    fc.asyncProperty(text, text, fc.boolean(), async (remoteId, tag, isWeak) => {
      const versionTag = isWeak ? `W/"${tag}"` : `"${tag}"`;
      const outcome = await applied({ recordId: 'a', result: 'written', effect: 'created', versionTag, remoteId });
      const [item] = await connectorOf({ items: [itemOf(remoteId, versionTag)] }).find('c', [], signal());
      const stored = outcome?.result === 'written' ? [outcome, item] : [item];
      for (const one of stored) {
        const base = {
          recordId: 'r'.repeat(200),
          fingerprint: 'f'.repeat(16),
          startAt: 0,
          endAt: 3_600_000,
          idAttempt: 1,
        };
        const link: Link = { ...base, drift: null, remoteId: one!.remoteId, versionTag: one!.versionTag };
        const encoded = format.encode('target', link);
        expect(encoded.length).toBeLessThanOrEqual(2_048);
        expect(format.decode('target', link.recordId, encoded)).toMatchObject({
          remoteId: link.remoteId === '' ? null : link.remoteId,
          versionTag: link.versionTag,
        });
      }
    }),
    { numRuns: 200 },
  );
});
