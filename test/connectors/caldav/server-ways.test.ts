import { describe, expect, onTestFinished, test } from 'vitest';
import { DIALECT_NAMES, type DialectName } from '../../../sandbox/caldav/index.ts';
import { startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import type { Connector } from '../../../src/connectors/connector.ts';
import {
  createOperation,
  deleteOperation,
  describeOutcome,
  itemWith,
  keyOf,
  timed,
  updateOperation,
  written,
} from '../../contract/contract-kit.ts';
import { containerOf } from '../../support/container-of.ts';
import { DavHands } from './dav-hands.ts';
import { LOGIN, openOn, signal } from './scripted-server.ts';
import { openWays, type ServerWithWays } from './server-ways.ts';

interface World extends ServerWithWays {
  connector: Connector;
  hands: DavHands;
  pathOf(recordId: string): string;
}

async function open(dialect: DialectName): Promise<World> {
  const server = await openWays(dialect);
  const { url, homePath } = server.sandbox;
  return {
    ...server,
    connector: openOn(server),
    hands: new DavHands({ url, homePath, login: LOGIN }),
    pathOf: (recordId) => `${server.calendarPath}${keyOf(recordId)}.ics`,
  };
}

const AT_ONCE = itemWith({ time: timed('2027-03-10T09:00:00+01:00', '2027-03-10T09:00:00+01:00', 'Europe/Rome') });
const WINDOW = { fromAt: Date.UTC(2027, 2, 1), toAt: Date.UTC(2027, 3, 1) };

test.each(DIALECT_NAMES)(
  'an event without a length is accepted by every server, and read unchanged: %s',
  async (dialect) => {
    const { connector, container } = await open(dialect);
    const [outcome] = await connector.apply(container, [createOperation('a', AT_ONCE)], signal());
    expect(describeOutcome(outcome)).toBe('written created');
    expect(await connector.find(container, [keyOf('a')], signal())).toMatchObject([{ item: AT_ONCE }]);
  },
);

test('an event that a user moved to another calendar of an account with unique UIDs blocks no other event', async () => {
  const world = await open('cyrus');
  const { connector, container, hands, sandbox, pathOf } = world;
  const created = await connector.apply(
    container,
    ['a', 'b'].map((id) => createOperation(id)),
    signal(),
  );
  const [a, b] = created.map((outcome) => written(outcome).versionTag);
  const elsewhere = sandbox.addCalendar('private');
  await hands.move(pathOf('a'), `${elsewhere}moved.ics`);
  const changed = itemWith({ title: 'Changed' });
  const work = [updateOperation('a', changed, a!), updateOperation('b', changed, b!), createOperation('c')];
  const outcomes = await connector.apply(container, work, signal());
  expect(outcomes.map(describeOutcome)).toEqual(['key-burnt', 'written updated', 'written created']);
  const [again] = await connector.apply(container, [createOperation('a', changed, 1)], signal());
  expect(describeOutcome(again)).toBe('written created');
  expect(await hands.members(elsewhere)).toHaveLength(1);
  expect(await hands.members(world.calendarPath)).toHaveLength(3);
});

test('a UID that is taken is known within a 207 too: the renamed event is adopted, and nothing else stops', async () => {
  const { connector, container, hands, calendarPath, pathOf } = await open('xandikos');
  await connector.apply(container, [createOperation('a')], signal());
  await hands.move(pathOf('a'), `${calendarPath}renamed.ics`);
  const work = [createOperation('a', itemWith({ title: 'Changed' })), createOperation('b')];
  const [a, b] = await connector.apply(container, work, signal());
  expect(a).toMatchObject({ result: 'written', effect: 'adopted', remoteId: 'renamed.ics' });
  expect(describeOutcome(b)).toBe('written created');
  expect(await hands.members(calendarPath)).toHaveLength(2);
});

describe.each(DIALECT_NAMES)('a calendar that is gone, at a server with the ways of %s', (dialect) => {
  const GONE = { actor: 'settings', code: 'calendar-gone', retry: 'never' };

  async function gone() {
    const world = await open(dialect);
    const { connector, container, hands, calendarPath } = world;
    const created = await connector.apply(
      container,
      ['a', 'b'].map((id) => createOperation(id)),
      signal(),
    );
    const { cursor } = await connector.changes(container, { cursor: null, window: WINDOW }, signal());
    await hands.send('DELETE', calendarPath);
    const tags = created.map((outcome) => written(outcome).versionTag);
    return { ...world, cursor, tags };
  }

  test('is known by every write', async () => {
    const { connector, container, tags } = await gone();
    const changed = itemWith({ title: 'Changed' });
    for (const operation of [
      createOperation('new'),
      { ...createOperation('new'), mayExist: true },
      updateOperation('a', changed, tags[0]!),
      updateOperation('a', changed, null),
      deleteOperation('b', tags[1]!),
      deleteOperation('b', null),
    ]) {
      await expect(connector.apply(container, [operation], signal()), operation.kind).rejects.toMatchObject(GONE);
    }
  });

  test('is detected by every read, and never treated as empty', async () => {
    const { connector, container, cursor } = await gone();
    await expect(Array.fromAsync(connector.read(container, null, signal()))).rejects.toMatchObject(GONE);
    await expect(Array.fromAsync(connector.read(container, WINDOW, signal()))).rejects.toMatchObject(GONE);
    await expect(connector.find(container, [keyOf('a')], signal())).rejects.toMatchObject(GONE);
    await expect(connector.find(container, [keyOf('a'), keyOf('b')], signal())).rejects.toMatchObject(GONE);
    for (const since of [null, cursor]) {
      await expect(connector.changes(container, { cursor: since, window: WINDOW }, signal())).rejects.toMatchObject(
        GONE,
      );
    }
  });

  test('is recreated by a sync if clinic-mirror created it, and the error names that command', async () => {
    const { container, sandbox } = await gone();
    const own = openOn(
      { container },
      { calendar: { home: new URL('.', container.slice(0, -1)).href, create: 'Clinic' } },
    );
    const writing = own.apply(container, [createOperation('new')], signal());
    await expect(writing).rejects.toMatchObject({ ...GONE, remedy: expect.stringContaining('clinic-mirror sync') });
    const again = await containerOf(own, container, signal());
    const [outcome] = await own.apply(again, [createOperation('new')], signal());
    expect(describeOutcome(outcome)).toBe('written created');
    const configured = openOn({ container }).apply(container, [createOperation('new')], signal());
    await expect(configured).rejects.toMatchObject({ ...GONE, remedy: expect.stringContaining('restore') });
    expect(sandbox.homePath).toContain('/calendars/');
  });
});

describe('at a server that passes over the owner tag once the time fits', () => {
  async function among(strangers: number) {
    const world = await open('lenient');
    const { connector, container, hands, calendarPath } = world;
    await connector.apply(
      container,
      ['a', 'b', 'c'].map((id) => createOperation(id)),
      signal(),
    );
    await hands.move(world.pathOf('c'), `${calendarPath}renamed.ics`);
    const data = await (await hands.send('GET', world.pathOf('a'))).text();
    for (let index = 0; index < strangers; index += 1) {
      const theirs = data.replace(/X-CLINIC-MIRROR.*\r\n/g, '').replace(/UID:.*/, `UID:theirs-${index}`);
      await hands.put(`${calendarPath}theirs-${index}.ics`, theirs);
    }
    world.requests.length = 0;
    world.bodies.length = 0;
    return world;
  }

  test('a read of a window requests no foreign event', async () => {
    const { connector, container, requests, bodies } = await among(60);
    const items = (await Array.fromAsync(connector.read(container, WINDOW, signal()))).flat();
    expect(items.map(({ key }) => key).sort()).toEqual(['a', 'b', 'c'].map((id) => keyOf(id)).sort());
    expect(bodies.join('\n')).not.toContain('theirs-');
    expect(requests).toEqual(['REPORT', 'REPORT', 'REPORT']);
  });

  test('a read of a window costs no more if clinic-mirror created all objects', async () => {
    const { connector, container, hands, calendarPath, pathOf, requests } = await among(0);
    await hands.move(`${calendarPath}renamed.ics`, pathOf('c'));
    requests.length = 0;
    expect((await Array.fromAsync(connector.read(container, WINDOW, signal()))).flat()).toHaveLength(3);
    expect(requests).toEqual(['REPORT', 'REPORT']);
  });
});

test('if a multiget omits absent objects, one listing finds every object', async () => {
  const { connector, container, requests } = await open('lenient');
  await connector.apply(container, [createOperation('there')], signal());
  const absent = Array.from({ length: 40 }, (_, index) => keyOf(`absent-${index}`));
  requests.length = 0;
  const found = await connector.find(container, [...absent, keyOf('there')], signal());
  expect(found.map(({ key }) => key)).toEqual([keyOf('there')]);
  expect(requests).toEqual(['REPORT', 'PROPFIND', 'REPORT']);
});

test('if a multiget fails because of absent objects, one listing finds them, and one request reads the others', async () => {
  const { connector, container, requests } = await open('abrupt');
  await connector.apply(
    container,
    ['one', 'other'].map((id) => createOperation(id)),
    signal(),
  );
  const absent = Array.from({ length: 40 }, (_, index) => keyOf(`absent-${index}`));
  requests.length = 0;
  const found = await connector.find(container, [...absent, keyOf('one'), keyOf('other')], signal());
  expect(found.map(({ key }) => key).sort()).toEqual([keyOf('one'), keyOf('other')].sort());
  // The refusal, the request for the calendar alone, the listing, the existing objects, and the search for renamed ones.
  expect(requests).toEqual(['REPORT', 'PROPFIND', 'PROPFIND', 'REPORT', 'REPORT']);
});

test('after a crash one check and one listing serve all creates of a call, without a search by UID', async () => {
  const { connector, container, requests, bodies } = await open('standard');
  const creates = Array.from({ length: 20 }, (_, index) => createOperation(`r${index}`));
  await connector.apply(container, creates.slice(0, 10), signal());
  [requests.length, bodies.length] = [0, 0];
  const again = creates.map((create) => ({ ...create, mayExist: true }));
  const outcomes = await connector.apply(container, again, signal());
  expect(outcomes.map(describeOutcome)).toEqual(
    creates.map((_, index) => (index < 10 ? 'written adopted' : 'written created')),
  );
  const queries = bodies.filter((body) => body.includes('calendar-query'));
  expect(queries).toHaveLength(1);
  expect(queries[0]).not.toContain('name="UID"');
  // One check of all objects, and a write for each missing one.
  expect(requests.filter((method) => method !== 'PUT')).toEqual(['REPORT', 'REPORT']);
  expect(requests.filter((method) => method === 'PUT')).toHaveLength(10);
});

test('one object that the server fails to read costs no other create of the call', async () => {
  const { sandbox, calendarPath, hands } = await open('standard');
  const proxy = await startFaultProxy(sandbox.url);
  onTestFinished(() => proxy.close());
  const container = `${proxy.url}${calendarPath}`;
  const connector = openOn({ container });
  await connector.apply(container, [createOperation('bad'), createOperation('there')], signal());
  const fault = { kind: 'answer', answer: { status: 500, headers: {}, body: 'no' } } as const;
  proxy.add({ method: /^REPORT$/, body: new RegExp(keyOf('bad')), times: Number.POSITIVE_INFINITY, fault });
  proxy.add({ method: /^GET$/, url: new RegExp(keyOf('bad')), times: Number.POSITIVE_INFINITY, fault });
  const creates = ['bad', 'there', 'new'].map((id) => ({ ...createOperation(id), mayExist: true }));
  const outcomes = await connector.apply(container, creates, signal());
  expect(outcomes.map(describeOutcome).slice(1)).toEqual(['written adopted', 'written created']);
  expect(outcomes[0]).toMatchObject({ result: 'failed', error: { actor: 'remote', retry: 'later', status: 500 } });
  expect(await hands.members(calendarPath)).toHaveLength(3);
});
