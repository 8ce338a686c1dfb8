import { describe, expect, test } from 'vitest';
import type { ConnectorContext } from '../../../src/connectors/connector.ts';
import { openFeed } from '../../../src/connectors/feed/connector.ts';
import { RETAINED_BEFORE_MS } from '../../../src/connectors/feed/schemas.ts';
import type { FeedEntry, FeedStore } from '../../../src/core/model/feeds.ts';
import type { CalendarItem } from '../../../src/core/model/items.ts';
import type { Operation, Outcome } from '../../../src/core/model/operations.ts';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { itemWith, timed } from '../../contract/contract-kit.ts';

const MARK = 'feedmark0feedmark';
const NEVER = new AbortController().signal;
const WINDOW = { fromAt: Date.UTC(2026, 5, 1), toAt: Date.UTC(2026, 5, 30) };

/** A store that keeps revisions as the one in Redis does. */
function memoryStore() {
  const stored = new Map<string, FeedEntry>();
  const stoodAt = (key: string, revision: number) => {
    const there = stored.get(key);
    return there === undefined ? 'nothing' : there.revision > revision ? 'later' : 'earlier';
  };
  const store: FeedStore = {
    entries: async (keys) => new Map([...stored].filter(([key]) => keys === undefined || keys.includes(key))),
    async put(key, entry) {
      const stood = stoodAt(key, entry.revision);
      if (stood !== 'later') stored.set(key, entry);
      return stood;
    },
    async takeOut(key, revision) {
      const stood = stoodAt(key, revision);
      if (stood === 'earlier') stored.delete(key);
      return stood;
    },
    version: async () => '1',
  };
  return { store, stored };
}

function openWorld(zone = 'Europe/Rome') {
  const { store, stored } = memoryStore();
  let now = WINDOW.fromAt;
  const open = (ownerTag: string) =>
    openFeed({ feedStore: store, ownerTag, zone, clock: () => now++ } as unknown as ConnectorContext<never>);
  const feed = open(MARK);
  const apply = async (operation: Operation, by = feed) => (await by.apply('feed', [operation], NEVER))[0] as Outcome;
  return { stored, feed, open, apply };
}

function write(kind: 'create' | 'update', revision: number, item: Partial<CalendarItem> = {}): Operation {
  const base = { recordId: 'r1', key: 'k1', sealedRecordId: 's1', revision, item: itemWith(item) };
  return kind === 'create' ? { ...base, kind } : { ...base, kind, versionTag: null, remoteId: null };
}

const remove = (revision: number, erase = false): Operation => ({
  ...{ kind: 'delete', recordId: 'r1', key: 'k1', revision, versionTag: null, remoteId: null },
  ...(erase ? { erase: true as const } : {}),
});
const at = (startAt: number) => ({
  time: timed(new Date(startAt).toISOString(), new Date(startAt + HOUR_MS).toISOString(), 'UTC'),
});

describe('a write into a feed', () => {
  test('creates, adopts, updates and recreates', async () => {
    const { apply, stored } = openWorld();
    expect(await apply(write('create', 1))).toMatchObject({ result: 'written', effect: 'created', versionTag: '1' });
    expect(await apply(write('create', 2, { title: 'B' }))).toMatchObject({ effect: 'adopted', versionTag: '2' });
    expect(await apply(write('update', 3, { title: 'C' }))).toMatchObject({ effect: 'updated', versionTag: '3' });
    stored.clear();
    expect(await apply(write('update', 4))).toMatchObject({ effect: 'recreated' });
  });

  test('that repeats the same item leaves the stored event byte for byte unchanged', async () => {
    const { apply, stored } = openWorld();
    await apply(write('create', 1));
    const before = stored.get('k1');
    await apply(write('update', 1));
    expect(await apply(write('create', 5))).toMatchObject({ effect: 'adopted', versionTag: '1' });
    expect(stored.get('k1')).toBe(before);
  });

  test('of an earlier revision is superseded, and reports the stored event', async () => {
    const { apply, stored } = openWorld();
    await apply(write('create', 5, { title: 'Later' }));
    for (const operation of [write('update', 4), write('create', 4, { title: 'Old' }), remove(4)]) {
      expect(await apply(operation)).toMatchObject({
        result: 'superseded',
        revision: 5,
        remote: { item: { title: 'Later' } },
      });
    }
    expect(stored.size).toBe(1);
  });

  test('that deletes succeeds also for an absent event, and an erasure removes later revisions', async () => {
    const { apply, stored } = openWorld();
    expect(await apply(remove(1))).toMatchObject({ result: 'deleted', effect: 'already-gone' });
    await apply(write('create', 5));
    expect(await apply(remove(1, true))).toMatchObject({ result: 'deleted', effect: 'deleted' });
    expect(stored.size).toBe(0);
  });

  test.each([
    [{ busy: false }, 'TRANSP:TRANSPARENT'],
    [{ busy: true }, 'TRANSP:OPAQUE'],
    [{ visibility: 'default' }, 'CLASS:PUBLIC'],
    [{ visibility: 'private' }, 'CLASS:PRIVATE'],
    [{ tentative: true }, 'STATUS:TENTATIVE'],
  ] as const)('with %o is the event %s', async (item, line) => {
    const { apply, stored } = openWorld();
    await apply(write('create', 1, item as Partial<CalendarItem>));
    expect(stored.get('k1')?.event.split('\r\n')).toContain(line);
  });

  test('omits an empty description, an empty place and the owner', async () => {
    const { apply, stored } = openWorld();
    await apply(write('create', 1, { description: '', location: '' }));
    const { event, item } = stored.get('k1')!;
    expect(item).toMatchObject({ description: null, location: null });
    expect(event).not.toMatch(/DESCRIPTION|LOCATION|s1|feedmark/);
  });
});

describe('a read of a feed', () => {
  test('shows the own entries that overlap the window', async () => {
    const { apply, feed, open } = openWorld();
    await apply(write('create', 1, at(WINDOW.fromAt + DAY_MS)));
    await apply({ ...write('create', 1, at(WINDOW.toAt + DAY_MS)), key: 'outside' });
    await apply({ ...write('create', 1, at(WINDOW.fromAt)), key: 'foreign' }, open('anothermark00000'));
    const { items, scope } = await feed.changes('feed', { window: WINDOW, cursor: null }, NEVER);
    expect([scope, items.map(({ key }) => key)]).toEqual(['whole', ['k1']]);
    expect((await feed.find('feed', ['k1', 'outside', 'foreign'], NEVER)).map(({ key }) => key)).toEqual([
      'k1',
      'outside',
    ]);
  });

  test('reads all-day events in the zone of the clinic', async () => {
    const day = { time: { kind: 'all-day', startDate: '2026-05-31', endDate: '2026-06-01' } } as const;
    for (const [zone, keys] of [
      ['Pacific/Honolulu', ['k1']],
      ['Pacific/Auckland', []],
    ] as const) {
      const { apply, feed } = openWorld(zone);
      await apply(write('create', 1, day));
      expect((await feed.changes('feed', { window: WINDOW, cursor: null }, NEVER)).items.map(({ key }) => key)).toEqual(
        keys,
      );
    }
  });

  test('drops own entries that ended longer before the window than the retention', async () => {
    const { apply, feed, stored, open } = openWorld();
    const longAgo = at(WINDOW.fromAt - RETAINED_BEFORE_MS - 2 * HOUR_MS);
    await apply(write('create', 1, longAgo));
    await apply({ ...write('create', 1, at(WINDOW.fromAt - DAY_MS)), key: 'lately' });
    await apply({ ...write('create', 1, longAgo), key: 'foreign' }, open('anothermark00000'));
    await feed.changes('feed', { window: WINDOW, cursor: null }, NEVER);
    expect([...stored.keys()]).toEqual(['lately', 'foreign']);
  });
});

test('a feed is not opened without its store', () => {
  expect(() => openFeed({ ownerTag: MARK, clock: Date.now } as never)).toThrow(TypeError);
});
