import { describe, expect, test } from 'vitest';
import { readChanges } from '../../../src/connectors/caldav/collection.ts';
import { toCalendarObject } from '../../../src/connectors/caldav/from-model.ts';
import { caldav } from '../../../src/connectors/caldav/index.ts';
import { DavSession } from '../../../src/connectors/caldav/webdav.ts';
import type { Connector } from '../../../src/connectors/connector.ts';
import { SharedState } from '../../../src/connectors/shared-state.ts';
import { createHttpClient } from '../../../src/core/http/client.ts';
import { silentLogger } from '../../../src/core/log/logger.ts';
import {
  createOperation,
  deleteOperation,
  describeOutcome,
  itemWith,
  keyOf,
  sealedRecordIdOf,
  timed,
} from '../../contract/contract-kit.ts';
import { containerOf } from '../../support/container-of.ts';
import { useRadicale } from '../../support/radicale.ts';
import { MARK, signal } from './scripted-server.ts';

const USERS = [
  { name: 'clinic', password: 'secret' },
  { name: 'other', password: 'secret' },
];
const radicale = useRadicale({ users: USERS });

function context(user = 'clinic') {
  const header = async () => `Basic ${Buffer.from(`${user}:secret`).toString('base64')}`;
  return {
    ownerTag: MARK,
    authorizer: { header, renew: header, quotaUser: null },
    http: createHttpClient({ userAgent: 'test', clock: Date.now }),
    shared: new SharedState(),
    log: silentLogger,
    clock: Date.now,
  };
}

function open(user = 'clinic'): Connector {
  const calendar = { home: 'discover', create: 'Clinic' };
  return caldav.open({ ...context(user), settings: { server: radicale().url, calendar } });
}

async function byHand(method: string, url: string, body?: string, user = 'clinic'): Promise<Response> {
  const authorization = await context(user).authorizer.header();
  return await fetch(url, { method, headers: { authorization }, ...(body === undefined ? {} : { body }) });
}

describe('on a real server', () => {
  test('discovery leads from the base URL to one calendar, even if repeated', async () => {
    const first = await containerOf(open(), null, signal());
    expect(first).toMatch(/\/clinic\/clinic-mirror-mark0mark0mark0m\/$/);
    const all = await Promise.all([containerOf(open(), null, signal()), containerOf(open(), first, signal())]);
    expect(all).toEqual([first, first]);
  });

  test('an object is emptied and deleted when it is erased, with or without its tag', async () => {
    const connector = open();
    const container = await containerOf(connector, null, signal());
    const created = await connector.apply(container, [createOperation('x'), createOperation('y')], signal());
    const [x] = created.map((outcome) => (outcome.result === 'written' ? outcome.versionTag : null));
    const erasures = [deleteOperation('x', x ?? null), deleteOperation('y', null), deleteOperation('z', null)];
    const outcomes = await connector.apply(
      container,
      erasures.map((one) => ({ ...one, erase: true })),
      signal(),
    );
    expect(outcomes.map(describeOutcome)).toEqual(['deleted deleted', 'deleted deleted', 'deleted already-gone']);
    expect(await connector.find(container, [keyOf('x'), keyOf('y')], signal())).toEqual([]);
  });

  test('the calendar of another account is a configuration error, for reads and writes', async () => {
    const theirs = await containerOf(open(), null, signal());
    const connector = caldav.open({ ...context('other'), settings: { calendar: { url: theirs } } });
    const forbidden = { actor: 'settings', retry: 'never', status: 403 };
    await expect(containerOf(connector, null, signal())).rejects.toMatchObject(forbidden);
    await expect(connector.apply(theirs, [createOperation('x')], signal())).rejects.toMatchObject(forbidden);
    await expect(connector.find(theirs, [keyOf('x')], signal())).rejects.toMatchObject(forbidden);
  });

  test('an object that a user renamed is adopted, changed and deleted under its new name', async () => {
    const connector = open();
    const container = await containerOf(connector, null, signal());
    const object = {
      key: keyOf('moved'),
      ownerTag: MARK,
      sealedRecordId: sealedRecordIdOf('moved'),
      item: itemWith(),
      revision: 1,
    };
    const data = toCalendarObject({ ...object, writtenAt: 0, stored: null });
    expect((await byHand('PUT', `${container}by%20hand@home.ics`, data)).status).toBe(201);
    const [adopted] = await connector.apply(container, [createOperation('moved')], signal());
    expect(adopted).toMatchObject({ effect: 'adopted' });
    const remoteId = adopted?.result === 'written' ? adopted.remoteId : null;
    expect(remoteId).toMatch(/^by%20hand(@|%40)home\.ics$/);
    expect(await connector.find(container, [keyOf('moved')], signal())).toMatchObject([{ remoteId }]);
    const operation = createOperation('moved', itemWith({ title: 'New' }));
    const [changed] = await connector.apply(
      container,
      [{ ...operation, kind: 'update', versionTag: null, remoteId }],
      signal(),
    );
    expect(changed).toMatchObject({ effect: 'updated', remoteId });
    const [deleted] = await connector.apply(container, [deleteOperation('moved', null, remoteId)], signal());
    expect(describeOutcome(deleted)).toBe('deleted deleted');
    expect(await connector.find(container, [keyOf('moved')], signal())).toEqual([]);
  });

  test('a window contains every overlapping event, all-day events too', async () => {
    const connector = open();
    const container = await containerOf(connector, null, signal());
    const day = (date: string) => timed(`${date}T23:30:00+01:00`, `${date}T23:50:00+01:00`, 'Europe/Rome');
    await connector.apply(
      container,
      [
        createOperation('before', itemWith({ time: day('2027-01-09') })),
        createOperation('within', itemWith({ time: day('2027-01-10') })),
        createOperation(
          'whole',
          itemWith({ time: { kind: 'all-day', startDate: '2027-01-10', endDate: '2027-01-11' } }),
        ),
        createOperation('after', itemWith({ time: day('2027-01-12') })),
      ],
      signal(),
    );
    const window = { fromAt: Date.UTC(2027, 0, 10), toAt: Date.UTC(2027, 0, 11) };
    const keys: string[] = [];
    for await (const page of connector.read(container, window, signal())) keys.push(...page.map(({ key }) => key));
    expect(keys.sort()).toEqual([keyOf('whole'), keyOf('within')].sort());
  });

  test('changes are read since a token, and all objects are read if the token is unknown', async () => {
    const connector = open();
    const url = new URL(await containerOf(connector, null, signal()));
    const session = new DavSession(context(), url);
    const collection = { session, url, isOwn: false, ownerTag: MARK, clock: Date.now, signal: signal() };
    const first = await readChanges(collection, null);
    const [outcome] = await connector.apply(url.href, [createOperation('new')], signal());
    const second = await readChanges(collection, first.token);
    expect(second).toMatchObject({ isWhole: false, removed: [] });
    expect(second.changed.map(({ pathname }) => pathname)).toEqual([`${url.pathname}${keyOf('new')}.ics`]);
    const versionTag = outcome?.result === 'written' ? outcome.versionTag : null;
    await connector.apply(url.href, [deleteOperation('new', versionTag)], signal());
    expect((await readChanges(collection, second.token)).removed).toHaveLength(1);
    const unknown = await readChanges(collection, `${second.token?.slice(0, -4)}0000`);
    expect(unknown).toMatchObject({ isWhole: true, token: expect.any(String) });
  });
});
