import { describe, expect, test } from 'vitest';
import type { Collection } from '../../../src/connectors/caldav/collection.ts';
import { readChanges } from '../../../src/connectors/caldav/collection.ts';
import { DavSession } from '../../../src/connectors/caldav/webdav.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import type { RemoteItem } from '../../../src/core/model/operations.ts';
import type { TimeWindow } from '../../../src/core/model/time.ts';
import { itemWith, keyOf, sealedRecordIdOf } from '../../contract/contract-kit.ts';
import { etag, holding, kindOf, ours, TRUNCATED, withToken } from './scripted-calendar.ts';
import {
  davError,
  LOGIN,
  MARK,
  member,
  multistatus,
  openOn,
  type Script,
  type ScriptedAnswer,
  type ScriptedServer,
  serve,
  signal,
  stored,
} from './scripted-server.ts';

/** A window in which each object is, so that the server's filter is used. */
const ALWAYS: TimeWindow = { fromAt: Date.UTC(2000), toAt: Date.UTC(2100) };

async function readAll(server: ScriptedServer, window: TimeWindow | null = ALWAYS): Promise<RemoteItem[]> {
  const pages: RemoteItem[][] = [];
  for await (const page of openOn(server).read(server.container, window, signal())) pages.push(page);
  return pages.flat();
}

function collectionOf(server: ScriptedServer): Collection {
  const authorizer = { header: async () => LOGIN, renew: async () => LOGIN, quotaUser: null };
  const http = createHttpClient({ userAgent: 'test', clock: Date.now });
  const session = new DavSession({ authorizer, http }, new URL(server.url));
  return { session, url: new URL(server.container), isOwn: false, ownerTag: MARK, clock: () => 0, signal: signal() };
}

const A = `/cal/${keyOf('a')}.ics`;
const B = `/cal/${keyOf('b')}.ics`;
describe('read', () => {
  test('gives what the owner tag finds, and nothing that merely looks so', async () => {
    const objects = {
      [A]: ours('a'),
      '/cal/renamed.ics': ours('b'),
      '/cal/copy.ics': ours('c').replace(/UID:.*\r\n/, 'UID:made-by-a-person\r\n'),
      '/cal/other.ics': ours('d', 'anothermark00000'),
      '/cal/broken.ics': 'BEGIN:VCALENDAR',
    };
    const server = await serve(
      holding(objects, { query: () => multistatus(...Object.keys(objects).map(etag), etag('/cal/')) }),
    );
    const items = await readAll(server);
    expect(items).toMatchObject([
      {
        key: keyOf('a'),
        remoteId: keyOf('a'),
        sealedRecordId: sealedRecordIdOf('a'),
        versionTag: '"1"',
        item: itemWith(),
      },
      { key: keyOf('b'), remoteId: 'renamed.ics' },
    ]);
    expect(items).toHaveLength(2);
  });

  test('without a window gives objects without marks too, whatever the filter finds', async () => {
    const bare = (id: string) => ours(id).replaceAll(/^X-.*\r\n(?:[ \t].*\r\n)*/gm, '');
    const objects = {
      [A]: ours('a'),
      [B]: bare('b'),
      '/cal/renamed.ics': bare('c'),
      '/cal/foreign.ics': ours('d').replace(/UID:.*\r\n/, 'UID:made-by-a-person\r\n'),
    };
    const server = await serve(
      holding(objects, {
        query: () => multistatus(etag(A)),
        list: () => multistatus(...Object.keys(objects).map(etag)),
        sync: () => davError(403, '<d:supported-report/>'),
      }),
    );
    expect((await readAll(server)).map(({ key }) => key)).toEqual([keyOf('a')]);
    const all = await readAll(server, null);
    expect(all.map(({ key, marksLost }) => [key, marksLost === true])).toEqual([
      [keyOf('a'), false],
      [keyOf('b'), true],
      [keyOf('c'), true],
    ]);
  });

  test('gives objects without readable data as existing, and the others as usual', async () => {
    const answering = (status: string) =>
      serve(({ body }) =>
        body.includes('calendar-query')
          ? multistatus(etag(A), etag(B))
          : multistatus(stored(A, '"1"', ours('a')), member(B, status)),
      );
    expect(await readAll(await answering('404 Not Found'))).toHaveLength(1);
    const unread = { key: keyOf('b'), remoteId: keyOf('b'), item: null, unreadable: true };
    for (const status of ['403 Forbidden', '500 Internal Server Error', '200 OK'])
      expect(await readAll(await answering(status))).toMatchObject([{ key: keyOf('a'), item: itemWith() }, unread]);
  });

  test('gives the others if the server fails at each request that names a damaged object', async () => {
    const ids = Array.from({ length: 20 }, (_, index) => `n${index}`);
    const hrefOf = (id: string) => `/cal/${keyOf(id)}.ics`;
    const reading = async (damaged: readonly string[]) => {
      const isHit = (text: string) => damaged.some((id) => text.includes(keyOf(id)));
      const server = await serve((request) => {
        if (request.body.includes('calendar-query')) return multistatus(...ids.map((id) => etag(hrefOf(id))));
        if (isHit(request.body) || isHit(request.path)) return { status: 500 };
        const asked = ids.filter((id) => request.body.includes(keyOf(id)));
        return multistatus(...asked.map((id) => stored(hrefOf(id), '"1"', ours(id))));
      });
      return { read: readAll(server), requests: server.requests };
    };
    const { read, requests } = await reading(['n0', 'n1', 'n7']);
    expect(
      (await read)
        .filter(({ unreadable }) => unreadable === true)
        .map(({ key }) => key)
        .sort(),
    ).toEqual(['n0', 'n1', 'n7'].map((id) => keyOf(id)).sort());
    expect(await read).toHaveLength(ids.length);
    expect(requests.length).toBeLessThan(ids.length + 5);
    // A server that fails at everything is no calendar of damaged objects.
    const failing = await reading(ids);
    await expect(failing.read).rejects.toMatchObject({ actor: 'remote', status: 500 });
    expect(failing.requests.length).toBeLessThan(ids.length);
  });

  test('reads in pages of fifty', async () => {
    const hrefs = Array.from({ length: 101 }, (_, index) => `/cal/${keyOf(`n${index}`)}.ics`);
    const objects = Object.fromEntries(hrefs.map((href, index) => [href, ours(`n${index}`)]));
    const server = await serve(holding(objects, { query: () => multistatus(...hrefs.map(etag)) }));
    expect(await readAll(server)).toHaveLength(101);
    expect(server.requests.map(kindOf)).toEqual(['query', 'multiget', 'multiget', 'multiget']);
  });

  test.each([
    ['refuses it', () => davError(403, '<c:supported-filter/>')],
    ['finds nothing by it', () => multistatus()],
    ['fails at it', () => ({ status: 500 })],
    ['leaves members out (507 within)', () => multistatus(etag(A), TRUNCATED)],
    ['leaves members out (507 as a whole)', () => davError(507, '<d:number-of-matches-within-limits/>')],
  ] as [string, Script][])(
    'lists the whole calendar when the server knows no search by owner tag: %s',
    async (_name, query) => {
      const sync = () => withToken(multistatus(etag(A), etag(B), etag('/cal/x.ics')), 't1');
      const objects = { [A]: ours('a'), [B]: ours('b'), '/cal/x.ics': ours('x', 'anothermark00000') };
      const server = await serve(holding(objects, { query, sync }));
      expect((await readAll(server)).map(({ key }) => key)).toEqual([keyOf('a'), keyOf('b')]);
    },
  );

  test('restricted to a window asks the server for it and trusts no whole listing', async () => {
    const window = { fromAt: Date.UTC(2027, 2, 11), toAt: Date.UTC(2027, 2, 12) };
    const server = await serve(
      holding({ [A]: ours('a') }, { query: () => multistatus(), sync: () => withToken(multistatus(etag(A)), 't1') }),
    );
    expect(await readAll(server, window)).toEqual([]);
    expect(server.requests[0]!.body).toContain('<C:time-range start="20270311T000000Z" end="20270312T000000Z"/>');
    expect(await readAll(server, { fromAt: Date.UTC(2027, 2, 10), toAt: Date.UTC(2027, 2, 11) })).toHaveLength(1);
  });

  test('understands hrefs in other spellings and on other hosts', async () => {
    const asked = '/cal/my%40object.ics';
    const server = await serve(({ body }) =>
      body.includes('calendar-query')
        ? multistatus(etag(asked))
        : multistatus(stored('http://inner.example:8080//cal/my@object.ics', '"1"', ours('a'))),
    );
    expect(await readAll(server)).toMatchObject([{ key: keyOf('a'), remoteId: 'my%40object.ics' }]);
  });

  test('of a calendar that is gone is an error of the target', async () => {
    const server = await serve(() => ({ status: 404 }));
    await expect(readAll(server)).rejects.toMatchObject({ actor: 'settings', code: 'calendar-gone' });
  });

  test('of something that is not XML is an error', async () => {
    const server = await serve(() => ({ status: 207, body: '<d:multistatus xmlns:d="DAV:"><d:resp' }));
    await expect(readAll(server)).rejects.toMatchObject({ code: 'bad-xml' });
  });
});

describe('find', () => {
  test('finds objects under their own names in one request', async () => {
    const server = await serve(holding({ [A]: ours('a'), [B]: ours('b') }, {}));
    const items = await openOn(server).find(server.container, [keyOf('a'), keyOf('b')], signal());
    expect(items.map(({ key }) => key)).toEqual([keyOf('a'), keyOf('b')]);
    expect(server.requests).toHaveLength(1);
  });

  test('finds an object under another name by its owner tag', async () => {
    const objects = { [A]: ours('a'), '/cal/renamed.ics': ours('b') };
    const server = await serve(holding(objects, { query: () => multistatus(...Object.keys(objects).map(etag)) }));
    const items = await openOn(server).find(server.container, [keyOf('a'), keyOf('b'), keyOf('c')], signal());
    expect(items.map(({ remoteId }) => remoteId)).toEqual([keyOf('a'), 'renamed.ics']);
  });
});

describe('changes since a token', () => {
  test('contain new, changed and removed objects', async () => {
    const server = await serve(() => withToken(multistatus(etag(A), member(B, '404 Not Found')), 't2'));
    const changes = await readChanges(collectionOf(server), 't1');
    expect(changes).toMatchObject({ token: 't2', isWhole: false });
    expect(changes.changed.map(({ pathname }) => pathname)).toEqual([A]);
    expect(changes.removed.map(({ pathname }) => pathname)).toEqual([B]);
    expect(server.requests[0]).toMatchObject({ method: 'REPORT', headers: { depth: '0' } });
    expect(server.requests[0]!.body).toContain('<D:sync-token>t1</D:sync-token>');
  });

  test('are followed through pages that a 507 ends', async () => {
    const server = await serve(({ body }) =>
      body.includes('>t1<')
        ? withToken(multistatus(etag(A), TRUNCATED), 't2')
        : withToken(multistatus(etag(B), member(A, '404 Not Found')), 't3'),
    );
    const changes = await readChanges(collectionOf(server), 't1');
    expect(changes.token).toBe('t3');
    expect(changes.changed.map(({ pathname }) => pathname)).toEqual([B]);
    expect(changes.removed.map(({ pathname }) => pathname)).toEqual([A]);
  });

  test.each([
    ['403', davError(403, '<d:valid-sync-token/>')],
    ['409', davError(409, '<d:valid-sync-token/>')],
    ['400', { status: 400 }],
    ['418', { status: 418 }],
    ['500', { status: 500 }],
    ['507 as a whole', davError(507, '<d:number-of-matches-within-limits/>')],
    ['a page that leads nowhere', withToken(multistatus(etag(A), TRUNCATED), 't1')],
  ] as [string, ScriptedAnswer][])('become a whole listing when the token is not taken: %s', async (_name, refusal) => {
    const server = await serve(({ body }) =>
      body.includes('>t1<') ? refusal : withToken(multistatus(etag(A), etag(B), etag('/cal/')), 't9'),
    );
    const changes = await readChanges(collectionOf(server), 't1');
    expect(changes).toMatchObject({ token: 't9', isWhole: true, removed: [] });
    expect(changes.changed).toHaveLength(2);
    expect(server.requests).toHaveLength(2);
  });

  test('come from a PROPFIND listing if the server lacks the report', async () => {
    const server = await serve((request) =>
      kindOf(request) === 'list' ? multistatus(etag('/cal/'), etag(A)) : davError(403, '<d:supported-report/>'),
    );
    const changes = await readChanges(collectionOf(server), null);
    expect(changes).toMatchObject({ token: null, isWhole: true });
    expect(changes.changed.map(({ pathname }) => pathname)).toEqual([A]);
  });

  test('that cannot be read in any way are an error, never an empty calendar', async () => {
    const server = await serve(() => ({ status: 500 }));
    await expect(readChanges(collectionOf(server), null)).rejects.toMatchObject({ actor: 'remote', retry: 'later' });
  });
});
