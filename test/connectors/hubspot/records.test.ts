import { describe, expect, test } from 'vitest';
import type { CrmItem } from '../../../src/core/model/items.ts';
import { keyOf } from '../../contract/contract-kit.ts';
import { ours, run, SCOPE, update, write } from './scripted-account.ts';
import { contact, KEY, meeting, NO_SIGNAL, STAMP, startWorld } from './support.ts';

const DAY_MS = 86_400_000;
const START_AT = Date.parse('2026-12-01T09:00:00Z');

describe('a reading', () => {
  test('returns the written values unchanged', async () => {
    const world = await startWorld();
    const define = (name: string, type: string, fieldType: string) =>
      world.sandbox.createProperty('contacts', { name, label: name, type, fieldType });
    define('visits', 'number', 'number');
    define('born', 'date', 'date');
    define('seen', 'datetime', 'date');
    define('vip', 'bool', 'booleancheckbox');
    define('notes', 'string', 'textarea');
    const target = await world.target({
      properties: [
        { name: 'visits', kind: 'number' },
        { name: 'born', kind: 'date' },
        { name: 'date_of_birth', kind: 'date' },
        { name: 'seen', kind: 'instant' },
        { name: 'vip', kind: 'boolean' },
        { name: 'notes', kind: 'text' },
      ],
    });
    const full: CrmItem = {
      properties: {
        visits: -12.5,
        born: '1904-02-29',
        date_of_birth: '1904-02-29',
        seen: '2026-11-20T09:15:00.123Z',
        vip: false,
        notes: '=SUM(A1)\n<b>"ä" 🙂 שלום</b>',
      },
      contactKey: null,
      startAt: 0,
    };
    const names = Object.keys(full.properties);
    const empty = { ...full, properties: Object.fromEntries(names.map((name) => [name, null])) };
    const [a, b] = await target.write(target.create('a', full), target.create('b', empty));
    expect([a?.stored, b?.stored]).toEqual([full, empty]);
    const items = await target.readAll();
    expect(items.map(({ item }) => item)).toEqual([full, empty]);
    expect(items.map(({ sealedRecordId }) => target.identity.recordIdOf(sealedRecordId!))).toEqual(['a', 'b']);
    const prints = items.map(({ item }) => target.identity.fingerprint(item!));
    expect(prints).toEqual([full, empty].map((item) => target.identity.fingerprint(item)));
  });

  test.each([99, 100, 101, 200])('of %i contacts goes through all pages, past those of others', async (count) => {
    const world = await startWorld();
    const target = await world.target();
    const ids = Array.from({ length: count - 1 }, (_, index) => `record-${index}`);
    world.sandbox.add('contacts', { firstname: 'Stranger' });
    for (let first = 0; first < ids.length; first += 100) {
      await target.write(...ids.slice(first, first + 100).map((id) => target.create(id, contact())));
    }
    const before = world.sandbox.counts.httpRequests;
    const items = await target.readAll({ fromAt: START_AT, toAt: START_AT + DAY_MS });
    expect(items.map(({ sealedRecordId }) => target.identity.recordIdOf(sealedRecordId!))).toEqual(ids);
    expect(world.sandbox.counts.httpRequests - before).toBe(Math.ceil(count / 100));
  });

  test('of meetings returns those of the window by their stamps', async () => {
    const world = await startWorld();
    const target = await world.target({ stream: 'appointments' });
    const starts = [START_AT - 1_000, START_AT, START_AT + DAY_MS - 1_000, START_AT + DAY_MS];
    await target.write(...starts.map((startAt, index) => target.create(`${index}`, meeting(null, startAt))));
    const items = await target.readAll({ fromAt: START_AT, toAt: START_AT + DAY_MS });
    expect(items.map(({ sealedRecordId }) => target.identity.recordIdOf(sealedRecordId!))).toEqual(['1', '2']);
    const window = { fromAt: START_AT + DAY_MS, toAt: START_AT + 2 * DAY_MS };
    const changes = await target.connector.changes(target.container, { cursor: 'lost', window }, NO_SIGNAL);
    expect(changes).toMatchObject({ scope: 'whole', removed: [], cursor: null });
    expect(changes.items.map(({ item }) => item?.startAt)).toEqual([START_AT + DAY_MS]);
  });

  test('shows the changes of a user', async () => {
    const world = await startWorld();
    const target = await world.target();
    const [written] = await target.write(target.create('a', contact()));
    world.sandbox.edit('contacts', written!.remoteId!, { firstname: 'By hand' });
    const [item] = await target.readAll();
    const { fingerprint } = target.identity;
    expect(target.identity.differingFields(fingerprint(written!.stored!), fingerprint(item!.item!))).toEqual([
      'firstname',
    ]);
  });

  test('omits a record without a stamp, but a lookup by key finds it', async () => {
    const world = await startWorld();
    const target = await world.target();
    const [a] = await target.write(target.create('a', contact()), target.create('b', contact()));
    world.sandbox.edit('contacts', a!.remoteId!, { [STAMP]: '' });
    expect((await target.readAll()).map(({ key }) => key)).toEqual([target.identity.key('b', 0)]);
    const keys = ['a', 'b', 'c'].map((id) => target.identity.key(id, 0));
    const found = await target.connector.find(target.container, keys, NO_SIGNAL);
    const isEmpty = new Map(found.map(({ key, item }) => [key, item === null]));
    expect(isEmpty).toEqual(
      new Map([
        [keys[0], true],
        [keys[1], false],
      ]),
    );
    world.sandbox.edit('contacts', a!.remoteId!, { [STAMP]: 'another0target00.x.0.' });
    expect(await target.connector.find(target.container, keys.slice(0, 1), NO_SIGNAL)).toEqual([]);
  });

  test('of a contact whose key was removed shows the contact without a key', async () => {
    const world = await startWorld();
    const target = await world.target();
    const [a] = await target.write(target.create('a', contact()));
    world.sandbox.edit('contacts', a!.remoteId!, { [KEY]: '' });
    expect(await target.readAll()).toMatchObject([
      { key: '', remoteId: a!.remoteId, sealedRecordId: target.identity.sealedRecordId('a') },
    ]);
  });
});

describe('updates', () => {
  test('check the records under their keys first, and write them', async () => {
    const { calls, labels, words } = await run(SCOPE, { contacts: [ours('a', '1')] }, update('a', {}, '1'), write('b'));
    expect(labels).toEqual(['objects.read', 'objects.upsert']);
    expect(calls[0]?.body).toMatchObject({ inputs: [{ id: keyOf('a') }], properties: ['k', 's', 'email'] });
    expect(words).toEqual(['written updated', 'written created']);
  });

  test('of what is gone make it again', async () => {
    const { labels, words } = await run(SCOPE, {}, update('a'));
    expect(labels).toEqual(['objects.read', 'objects.upsert']);
    expect(words).toEqual(['written recreated']);
  });

  test('whose key leads to another record, after a merge, write nothing into that record', async () => {
    const { labels, words } = await run(SCOPE, { silentOf: [keyOf('a')] }, update('a', {}, '1'));
    expect([labels, words]).toEqual([['objects.read', 'objects.upsert'].slice(0, 1), ['key-burnt']]);
  });

  test('whose record carries the stamp of another target write nothing', async () => {
    const foreign = ours('a', '1', {}, { ownerTag: 'anothermark00000' });
    const { labels, words } = await run(SCOPE, { contacts: [foreign] }, update('a', {}, '1'));
    expect([labels, words]).toEqual([['objects.read'], ['key-burnt']]);
  });

  test('restore the key of a record after its removal by a user', async () => {
    const keyless = ours('a', '1', { k: '' });
    const { calls, labels, words, objects } = await run(
      SCOPE,
      { contacts: [keyless] },
      update('a', { lastname: 'A' }, '1'),
    );
    expect(labels).toEqual(['objects.read', 'objects.read', 'objects.update', 'objects.upsert']);
    expect(calls[1]?.body).toMatchObject({ inputs: [{ id: '1' }], properties: ['k', 's', 'email'] });
    expect(calls[2]?.body).toEqual({ inputs: [{ id: '1', properties: { k: keyOf('a') } }] });
    expect(words).toEqual(['written updated']);
    expect(objects.contacts).toHaveLength(1);
  });

  test.each([
    ['of another record', ours('b', '1', { k: '' })],
    ['without a stamp', { id: '1', values: {} }],
    ['that has a key', ours('a', '1', { k: keyOf('b') })],
  ])('whose id leads to a record %s leave that record', async (_, record) => {
    const before = { ...record.values };
    const { labels, words, objects } = await run(SCOPE, { contacts: [record] }, update('a', {}, '1'));
    expect(labels).toEqual(['objects.read', 'objects.read', 'objects.upsert']);
    expect(words).toEqual(['written recreated']);
    expect(objects.contacts?.[0]?.values).toEqual(before);
  });
});

test('an update whose id leads to the merged record leaves that record', async () => {
  const other = ours('b', '2', { k: '' });
  const { words, objects } = await run(SCOPE, { contacts: [other], mergedInto: { 1: '2' } }, update('a', {}, '1'));
  expect(words).toEqual(['written recreated']);
  expect(objects.contacts?.[0]).toEqual(ours('b', '2', { k: '' }));
});
