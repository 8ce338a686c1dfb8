import { afterAll, beforeAll, beforeEach, describe, expect, onTestFinished, test } from 'vitest';
import { type FaultProxy, startFaultProxy } from '../../../sandbox/kit/fault-proxy.ts';
import type { CrmItem, MappedProperty } from '../../../src/core/model/items.ts';
import { containerOf } from '../../support/container-of.ts';
import { contact, effectOf, type OpenTarget, openTarget, signal } from './harness.ts';
import { type JsonServer, startJsonServer } from './json-server.ts';

const PERSON: readonly MappedProperty[] = [
  { name: 'firstName', kind: 'text' },
  { name: 'lastName', kind: 'text' },
  { name: 'email', kind: 'text' },
  { name: 'phone', kind: 'text' },
  { name: 'visits', kind: 'number' },
  { name: 'newsletter', kind: 'boolean' },
  { name: 'dates.born', kind: 'date' },
  { name: 'dates.lastVisit', kind: 'instant' },
];

/** Settings for json-server as in a tenant file, with pages of three. */
const rows = (collection: string, body: object) => ({
  keyField: 'mirrorKey',
  stampField: 'mirror.stamp',
  find: { call: { method: 'GET', path: `/${collection}`, query: { mirrorKey: '{{keys}}' } }, listPath: '.', size: 20 },
  get: { call: { method: 'GET', path: `/${collection}/{{id}}`, nothing: [404] } },
  create: { call: { method: 'POST', path: `/${collection}`, body }, recordPath: '.' },
  update: { call: { method: 'PUT', path: `/${collection}/{{id}}`, body, nothing: [404] }, recordPath: '.' },
  delete: { call: { method: 'DELETE', path: `/${collection}/{{id}}`, nothing: [404] } },
  list: {
    call: { method: 'GET', path: `/${collection}`, query: { _sort: 'id', _page: '{{page}}', _limit: '{{size}}' } },
    listPath: '.',
    paging: { style: 'link-header', size: 3 },
  },
});
const description = {
  streams: {
    patients: rows('contacts', { '...': '{{properties}}' }),
    appointments: rows('activities', { person: '{{contactId}}', from: '{{startAt}}', '...': '{{properties}}' }),
  },
};

const BY_HAND = { id: 1, firstName: 'By', lastName: 'Hand', email: 'rossi@family.example', mirrorKey: '' };
const ROSSI = {
  lastName: 'Rossi',
  email: 'rossi@family.example',
  phone: '+390612345678',
  visits: 3,
  newsletter: true,
  'dates.born': '1980-02-29',
  'dates.lastVisit': '2027-03-01T09:30:00.000Z',
};

describe('json-server, described by hand', () => {
  let server: JsonServer;
  let proxy: FaultProxy;
  let people: OpenTarget;

  beforeAll(async () => {
    server = await startJsonServer({ contacts: [BY_HAND], activities: [] });
    proxy = await startFaultProxy(server.url);
  });
  beforeEach(async () => {
    proxy.clear();
    for (const collection of ['contacts', 'activities']) {
      for (const { id, mirrorKey } of await server.rows(collection)) {
        if (mirrorKey !== '') await fetch(`${server.url}/${collection}/${id}`, { method: 'DELETE' });
      }
    }
    proxy.forget();
    people = openTarget({ settings: { baseUrl: proxy.url, description }, properties: PERSON, timeoutMs: 5_000 });
  });
  afterAll(async () => {
    await proxy?.close();
    await server?.stop();
  });

  const ours = async () => (await server.rows('contacts')).filter(({ mirrorKey }) => mirrorKey !== '');
  const family = () =>
    ['Anna', 'Bruno', 'Carla', 'Dino'].map((firstName) =>
      people.create(`p-${firstName}`, contact({ ...ROSSI, firstName })),
    );

  test('a created contact is read unchanged, by list and by key', async () => {
    const item = contact({ ...ROSSI, firstName: 'Anna' });
    expect(await containerOf(people.connector, null, signal())).toContain('/contacts');
    const outcome = await people.written(people.create('p1', item));
    expect(outcome.effect).toBe('created');
    expect(outcome.stored).toEqual(item);
    const [listed] = await people.readAll();
    const [found] = await people.find('p1');
    expect(listed).toEqual(found);
    expect(people.identity.fingerprint(listed?.item as CrmItem)).toBe(people.identity.fingerprint(item));
    expect(people.identity.recordIdOf(listed?.sealedRecordId ?? '')).toBe('p1');
    expect(listed?.remoteId).toBe(outcome.remoteId);
  });

  test("a family of four with one e-mail address and number is four contacts, and a user's own contact remains unchanged", async () => {
    const outcomes = await people.apply(...family());
    expect(outcomes.map(effectOf)).toEqual(['created', 'created', 'created', 'created']);
    expect((await ours()).map(({ firstName }) => firstName)).toEqual(['Anna', 'Bruno', 'Carla', 'Dino']);
    expect(await server.rows('contacts')).toContainEqual(BY_HAND);
  });

  test('a second run writes nothing: the same creates and updates only look', async () => {
    const first = await people.apply(...family());
    proxy.forget();
    const updates = first.map((outcome, index) => {
      const { recordId, item } = family()[index] as Extract<ReturnType<typeof family>[number], { kind: 'create' }>;
      return people.update(recordId, item, outcome.result === 'written' ? outcome.remoteId : null);
    });
    expect((await people.apply(...family())).map(effectOf)).toEqual(Array(4).fill('adopted'));
    expect((await people.apply(...updates)).map(effectOf)).toEqual(Array(4).fill('updated'));
    expect(proxy.requests.map(({ method }) => method)).toEqual(['GET', 'GET']);
  });

  test('an update changes the one object, and clears empty properties', async () => {
    const { remoteId } = await people.written(people.create('p1', contact({ ...ROSSI, firstName: 'Anna' })));
    const changed = contact({ ...ROSSI, firstName: 'Anna Maria', phone: null, visits: 0, newsletter: false });
    await people.written(people.update('p1', changed, remoteId));
    expect(await ours()).toHaveLength(1);
    expect((await people.readAll())[0]?.item).toEqual(changed);
  });

  test('every page is read, and of every object that carries our owner tag once', async () => {
    const ids = Array.from({ length: 10 }, (_, index) => `p${index}`);
    await people.apply(...ids.map((id) => people.create(id, contact({ ...ROSSI, firstName: id }))));
    proxy.forget();
    const read = await people.readAll();
    expect(read.map(({ sealedRecordId }) => people.identity.recordIdOf(sealedRecordId ?? '')).sort()).toEqual(ids);
    // Ten managed objects and one made by hand, three to a page.
    expect(proxy.requests).toHaveLength(4);
    const others = openTarget({ settings: { baseUrl: proxy.url, description }, properties: PERSON, target: 'another' });
    expect(await others.readAll()).toEqual([]);
  });

  test.each(['lost-answer', 'cut-body', 'cut'] as const)(
    'a create that fails with %s is one object after the next attempt',
    async (kind) => {
      proxy.add({ method: /^POST$/, fault: { kind } });
      const create = people.create('p1', contact({ ...ROSSI, firstName: 'Anna' }));
      expect(effectOf((await people.apply(create))[0])).toBe('connection-failed');
      expect(effectOf((await people.apply(create))[0])).toBe(kind === 'cut' ? 'created' : 'adopted');
      expect(await ours()).toHaveLength(1);
    },
  );

  test('a deleted object is recreated by an update, and its delete succeeds', async () => {
    const item = contact({ ...ROSSI, firstName: 'Anna' });
    const { remoteId } = await people.written(people.create('p1', item));
    await fetch(`${server.url}/contacts/${remoteId}`, { method: 'DELETE' });
    expect((await people.written(people.update('p1', item, remoteId))).effect).toBe('recreated');
    expect((await people.apply(people.remove('p1', remoteId))).map(effectOf)).toEqual(['deleted']);
    expect((await people.apply(people.remove('p1', remoteId))).map(effectOf)).toEqual(['already-gone']);
    expect(await ours()).toEqual([]);
  });

  test('of two objects with one key the known one is written; if none is known, only that record fails', async () => {
    const item = contact({ ...ROSSI, firstName: 'Anna' });
    await people.written(people.create('p1', item));
    const [original] = await ours();
    const { id: _id, ...copy } = original ?? {};
    await fetch(`${server.url}/contacts`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(copy),
    });
    const before = await ours();
    const outcomes = await people.apply(
      people.update('p1', contact({ ...ROSSI, firstName: 'Changed' }), null),
      people.create('p2', contact({ ...ROSSI, firstName: 'Bruno' })),
    );
    expect(outcomes.map(effectOf)).toEqual(['several-matches', 'created']);
    expect((await ours()).slice(0, 2)).toEqual(before);
    await people.written(people.update('p1', contact({ ...ROSSI, firstName: 'Changed' }), String(original?.id)));
    expect((await ours()).map(({ firstName }) => firstName)).toEqual(['Changed', 'Anna', 'Bruno']);
  });

  test('an object without stamp and key remains unchanged', async () => {
    const item = contact({ ...ROSSI, firstName: 'Anna' });
    const { remoteId } = await people.written(people.create('p1', item));
    const theirs = { firstName: 'Theirs', lastName: 'Now', mirrorKey: '' };
    const address = `${server.url}/contacts/${remoteId}`;
    await fetch(address, {
      method: 'PUT',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(theirs),
    });
    onTestFinished(async () => {
      await fetch(address, { method: 'DELETE' });
    });
    const outcomes = await people.apply(people.update('p1', contact({ ...ROSSI, firstName: 'X' }), remoteId));
    expect(outcomes.map(effectOf)).toEqual(['recreated']);
    await people.apply(people.remove('p1'));
    expect((await people.apply(people.remove('p1', remoteId))).map(effectOf)).toEqual(['already-gone']);
    expect(await (await fetch(address)).json()).toMatchObject(theirs);
  });

  test('an activity names its contact by id; without the contact only the activity fails, and is retried', async () => {
    const { remoteId } = await people.written(people.create('p1', contact({ ...ROSSI, firstName: 'Anna' })));
    const visits = openTarget({
      settings: { baseUrl: proxy.url, description },
      stream: 'appointments',
      properties: [{ name: 'title', kind: 'text' }],
      target: 'visits',
    });
    const visit = (recordId: string, patient: string): CrmItem => ({
      properties: { title: recordId },
      contactKey: people.identity.key(patient, 0),
      startAt: Date.parse('2027-03-01T09:30:00Z'),
    });
    const outcomes = await visits.apply(visits.create('v1', visit('v1', 'p1')), visits.create('v2', visit('v2', 'p2')));
    expect(outcomes.map(effectOf).sort()).toEqual(['contact-missing', 'created']);
    expect(outcomes.find(({ recordId }) => recordId === 'v2')).toMatchObject({
      error: { actor: 'remote', retry: 'later' },
    });
    expect(await server.rows('activities')).toMatchObject([{ person: remoteId, from: '2027-03-01T09:30:00.000Z' }]);
    expect((await visits.readAll())[0]?.item).toEqual(visit('v1', 'p1'));
    const day = (date: string) => ({ fromAt: Date.parse(date), toAt: Date.parse(date) + 86_400_000 });
    const onDay = async (date: string) =>
      (await visits.connector.changes('container', { cursor: null, window: day(date) }, signal())).items.length;
    expect([await onDay('2027-03-01'), await onDay('2027-03-02')]).toEqual([1, 0]);
  });

  test('a server that drops the filter is noticed before anything is written', async () => {
    // Without any object that has the property, json-server leaves the filter out.
    const careless = await startJsonServer({ contacts: [{ id: 1, lastName: 'Hand' }], activities: [] });
    onTestFinished(() => careless.stop());
    const target = openTarget({ settings: { baseUrl: careless.url, description }, properties: PERSON });
    await expect(containerOf(target.connector, null, signal())).rejects.toMatchObject({
      code: 'key-filter-ignored',
      actor: 'settings',
    });
  });
});
