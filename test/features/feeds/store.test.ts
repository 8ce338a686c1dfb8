import { describe, expect, test } from 'vitest';
import { feedKeys } from '../../../src/features/feeds/keys.ts';
import { createFeedDirectory, createTenantFeeds } from '../../../src/features/feeds/store.ts';
import { createSealer } from '../../../src/state/sealing.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis({ appendOnly: false });
const RING = [{ id: 'k1', key: Buffer.alloc(32, 9) }];

function open() {
  const connection = redis.connect();
  const feedsOf = (tenant: string, identityKey = Buffer.alloc(32, 7)) =>
    createTenantFeeds(connection, tenant, createSealer(RING, tenant), identityKey);
  return { connection, feedsOf, feeds: feedsOf('rossi'), directory: createFeedDirectory(connection) };
}

describe('the URL of a feed', () => {
  test('is found by its token until another one is made or it is withdrawn', async () => {
    const { feeds, directory } = open();
    expect(await feeds.access('door')).toBeNull();
    const first = await feeds.rotate('door', NOW);
    expect(await directory.find(first)).toEqual({ tenant: 'rossi', target: 'door' });
    const second = await feeds.rotate('door', NOW + 1);
    expect([await directory.find(first), await feeds.isCurrent('door', first)]).toEqual([null, false]);
    expect(await feeds.isCurrent('door', second)).toBe(true);
    expect([await feeds.withdraw('door'), await feeds.withdraw('door')]).toEqual([true, false]);
    expect([await directory.find(second), await feeds.isCurrent('door', second)]).toEqual([null, false]);
  });

  test('is of its target, its tenant and the identity key, whatever Redis says of it', async () => {
    const { connection, feeds, feedsOf } = open();
    const token = await feeds.rotate('door', NOW);
    const access = await connection.hgetall(feedKeys.feedAccess('rossi', 'door'));
    expect(Object.values(access).join(' ')).not.toContain(token);
    await connection.hset(feedKeys.feedAccess('rossi', 'room'), access);
    await connection.hset(feedKeys.feedAccess('bianchi', 'door'), access);
    expect(await feeds.isCurrent('room', token)).toBe(false);
    expect(await feedsOf('bianchi').isCurrent('door', token)).toBe(false);
    expect(await feedsOf('rossi', Buffer.alloc(32, 8)).isCurrent('door', token)).toBe(false);
  });

  test('counts its fetches from when it was made', async () => {
    const { feeds } = open();
    await feeds.rotate('door', NOW);
    expect(await feeds.access('door')).toEqual({ madeAt: NOW, fetchedAt: null, fetches: 0 });
    await feeds.recordFetch('door', NOW + 5);
    await feeds.recordFetch('door', NOW + 9);
    expect(await feeds.access('door')).toEqual({ madeAt: NOW, fetchedAt: NOW + 9, fetches: 2 });
  });
});

describe('the requests of a minute', () => {
  test('are 30 for a token and 60 for a caller, and the next minute begins at 0', async () => {
    const { directory } = open();
    const admitted = async (token: string, caller: string, count: number) => {
      let all = 0;
      for (let each = 0; each < count; each += 1) if (await directory.admit(token, caller, NOW)) all += 1;
      return all;
    };
    expect(await admitted('one', 'home', 31)).toBe(30);
    expect(await admitted('two', 'home', 30)).toBe(29);
    expect(await admitted('two', 'office', 1)).toBe(1);
    expect(await directory.admit('one', 'home', NOW + 60_000)).toBe(true);
  });
});

describe('an entry of a feed', () => {
  const entryOf = (revision: number, text: string) => ({ revision, text }) as never;

  test('is not replaced or removed by an earlier write, and each change has another version', async () => {
    const { feeds, connection } = open();
    const store = feeds.feedStore('door');
    expect(await store.version()).toBe('0');
    expect(await store.put('a', entryOf(5, 'five'))).toBe('nothing');
    expect(await store.put('a', entryOf(4, 'four'))).toBe('later');
    expect(await store.takeOut('a', 4)).toBe('later');
    expect(await store.put('a', entryOf(6, 'six'))).toBe('earlier');
    expect(await store.entries()).toEqual(new Map([['a', { revision: 6, text: 'six' }]]));
    expect(JSON.stringify(await connection.hgetall(feedKeys.feed('rossi', 'door')))).not.toContain('six');
    const before = await store.version();
    expect(await store.takeOut('b', 1)).toBe('nothing');
    expect(await store.version()).toBe(before);
    expect(await store.takeOut('a', 6)).toBe('earlier');
    expect(await store.version()).not.toBe(before);
    expect(await store.entries(['a', 'b'])).toEqual(new Map());
    expect(await store.entries([])).toEqual(new Map());
  });
});
