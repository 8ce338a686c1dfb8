import { describe, expect, test } from 'vitest';
import type { TimeWindow } from '../../../src/core/model/time.ts';
import { itemWith, keyOf } from '../../contract/contract-kit.ts';
import { etag, holding, kindOf, ours, TRUNCATED, withToken } from './scripted-calendar.ts';
import {
  davError,
  found,
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

const WINDOW: TimeWindow = { fromAt: Date.parse('2027-02-01T00:00:00Z'), toAt: Date.parse('2027-05-01T00:00:00Z') };
const hrefOf = (recordId: string) => `/cal/${keyOf(recordId)}.ics`;
const [A, B, C] = [hrefOf('a'), hrefOf('b'), hrefOf('c')];
const THEIRS = ours('theirs', 'anothermark00000');

function ask(server: ScriptedServer, cursor: string | null, container = server.container) {
  return openOn(server).changes(container, { cursor, window: WINDOW }, signal());
}

/** Answers sync-collection by the token of the request; `''` begins. */
function feed(answers: Readonly<Record<string, ScriptedAnswer>>): Script {
  return ({ body }) => {
    const token = /<D:sync-token>([^<]*)</.exec(body)?.[1] ?? '';
    return answers[token] ?? davError(403, '<d:valid-sync-token/>');
  };
}

const ALL = withToken(multistatus(etag(A), etag(B), etag('/cal/theirs.ics')), 'urn:1');
const OBJECTS = { [A]: ours('a'), [B]: ours('b'), '/cal/theirs.ics': THEIRS };
const query = () => multistatus(etag(A), etag(B));

describe('changes', () => {
  test('are those of the members that the report names, read with as few requests as can be', async () => {
    const changed = multistatus(
      etag(A),
      etag('/cal/theirs.ics'),
      etag('/cal/vanishing.ics'),
      member(B, '404 Not Found'),
      member('/cal/renamed.ics', '404 Not Found'),
    );
    const sync = feed({ '': ALL, 'urn:1': withToken(changed, 'urn:2'), 'urn:2': withToken(multistatus(), 'urn:2') });
    const server = await serve(holding(OBJECTS, { sync, query }));
    const first = await ask(server, null);
    expect(first).toMatchObject({ scope: 'whole', items: [{ key: keyOf('a') }, { key: keyOf('b') }], removed: [] });
    server.requests.splice(0);
    const second = await ask(server, first.cursor);
    expect(second).toMatchObject({ scope: 'since', items: [{ key: keyOf('a'), item: itemWith() }] });
    expect(second.removed.sort()).toEqual(['renamed.ics', 'theirs.ics', 'vanishing.ics', keyOf('b')].sort());
    expect(server.requests.map(kindOf)).toEqual(['sync', 'multiget']);
    server.requests.splice(0);
    expect(await ask(server, second.cursor)).toMatchObject({ scope: 'since', items: [], removed: [] });
    expect(server.requests.map(kindOf)).toEqual(['sync']);
  });

  test('that are cut off by 507 are followed to their end', async () => {
    const sync = feed({
      '': ALL,
      'urn:1': withToken(multistatus(etag(A), TRUNCATED), 'urn:1a'),
      'urn:1a': withToken(multistatus(etag(C), member(B, '404 Not Found')), 'urn:2'),
      'urn:2': withToken(multistatus(), 'urn:2'),
    });
    const server = await serve(holding({ ...OBJECTS, [C]: ours('c') }, { sync, query }));
    const { cursor } = await ask(server, null);
    const second = await ask(server, cursor);
    expect(second.items.map(({ key }) => key)).toEqual([keyOf('a'), keyOf('c')]);
    expect(second.removed).toEqual([keyOf('b')]);
    expect(await ask(server, second.cursor)).toMatchObject({ scope: 'since', items: [] });
  });

  test.each([429, 503])('of which a page fails with %d are an error, not the end', async (status) => {
    const sync = feed({ '': ALL, 'urn:1': withToken(multistatus(etag(A), TRUNCATED), 'urn:1a'), 'urn:1a': { status } });
    const server = await serve(holding(OBJECTS, { sync, query }));
    const { cursor } = await ask(server, null);
    await expect(ask(server, cursor)).rejects.toMatchObject({ actor: 'remote', retry: 'later' });
  });

  test('whose objects cannot be read are an error, so that the cursor does not move past them', async () => {
    const sync = feed({ '': ALL, 'urn:1': withToken(multistatus(etag(A)), 'urn:2') });
    let isBroken = false;
    const multiget: Script = () =>
      isBroken ? { status: 500 } : multistatus(stored(A, '"1"', ours('a')), stored(B, '"1"', ours('b')));
    const server = await serve(holding(OBJECTS, { sync, query, multiget }));
    const { cursor } = await ask(server, null);
    isBroken = true;
    await expect(ask(server, cursor)).rejects.toThrow();
    isBroken = false;
    expect(await ask(server, cursor)).toMatchObject({ scope: 'since', items: [{ key: keyOf('a') }] });
  });

  test('that arrived during the listing are reported again by the next read', async () => {
    let token = 1;
    const objects: Record<string, string> = { ...OBJECTS };
    const changed = () => withToken(token > 1 ? multistatus(etag(C)) : multistatus(), `urn:${token}`);
    const sync: Script = ({ body }) => (/<D:sync-token></.test(body) ? ALL : changed());
    const listing = () => {
      objects[C] = ours('c');
      token = 2;
      return query();
    };
    const server = await serve(holding(objects, { sync, query: listing }));
    const { cursor, items } = await ask(server, null);
    expect(items).toHaveLength(2);
    expect(await ask(server, cursor)).toMatchObject({ scope: 'since', items: [{ key: keyOf('c') }] });
  });
});

describe('a sync token', () => {
  test.each([
    ['403', davError(403, '<d:valid-sync-token/>')],
    ['409', davError(409, '<d:valid-sync-token/>')],
    ['400', { status: 400 }],
    ['500', { status: 500 }],
    ['a bare 507', davError(507, '<d:number-of-matches-within-limits/>')],
  ])('that is refused by %s causes a full read and a new token', async (_name, answer) => {
    const again = withToken(multistatus(etag(A), etag(B)), 'urn:9');
    let first: ScriptedAnswer = ALL;
    const sync: Script = (request) =>
      feed({ '': first, 'urn:1': answer, 'urn:9': withToken(multistatus(), 'urn:9') })(request);
    const server = await serve(holding(OBJECTS, { sync, query }));
    const { cursor } = await ask(server, null);
    first = again;
    const whole = await ask(server, cursor);
    expect(whole).toMatchObject({ scope: 'whole', removed: [] });
    expect(whole.items).toHaveLength(2);
    expect(await ask(server, whole.cursor)).toMatchObject({ scope: 'since', items: [], removed: [] });
  });

  test('of another calendar is not shown to this one', async () => {
    const server = await serve(holding(OBJECTS, { sync: feed({ '': ALL }), query }));
    const { cursor } = await ask(server, null, `${server.url}/cal`);
    server.requests.splice(0);
    expect((await ask(server, cursor)).scope).toBe('whole');
    expect(server.requests.some(({ body }) => body.includes('urn:1'))).toBe(false);
  });

  test('that the server has none of leaves every reading whole', async () => {
    const list = () => multistatus(etag('/cal/'), etag(A), etag(B));
    const server = await serve(holding(OBJECTS, { sync: () => multistatus(etag(A), etag(B)), list, query }));
    expect(await ask(server, null)).toMatchObject({ scope: 'whole', cursor: null });
  });

  test('that the server has none of is replaced by the tag of the calendar: an equal tag proves that nothing changed', async () => {
    let tag = 'one';
    const list: Script = ({ headers }) => {
      const own = `<s:getctag xmlns:s="http://calendarserver.org/ns/">${tag}</s:getctag><d:resourcetype><d:collection/></d:resourcetype>`;
      return headers.depth === '0' ? multistatus(found('/cal/', own)) : multistatus(etag('/cal/'), etag(A), etag(B));
    };
    const server = await serve(holding(OBJECTS, { sync: () => ({ status: 501 }), query, list }));
    const first = await ask(server, null);
    expect(first).toMatchObject({ scope: 'whole', items: [{}, {}] });
    server.requests.splice(0);
    const second = await ask(server, first.cursor);
    expect(second).toEqual({ scope: 'since', items: [], removed: [], cursor: first.cursor });
    expect(server.requests).toHaveLength(1);
    tag = 'two';
    const third = await ask(server, second.cursor);
    expect(third).toMatchObject({ scope: 'whole', items: [{}, {}] });
    expect(third.cursor).not.toBe(first.cursor);
  });

  test.each([400, 403, 405, 501])(
    'is not needed where the report is refused by %d: read whole, without a cursor',
    async (status) => {
      const list = () => multistatus(etag('/cal/'), etag(A), etag(B));
      const server = await serve(holding(OBJECTS, { sync: () => ({ status }), query, list }));
      const { scope, items, cursor } = await ask(server, null);
      expect({ scope, count: items.length, cursor }).toEqual({ scope: 'whole', count: 2, cursor: null });
    },
  );
});
