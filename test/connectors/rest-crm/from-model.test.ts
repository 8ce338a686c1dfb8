import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { toStamp } from '../../../src/connectors/owner.ts';
import { descriptionSchema } from '../../../src/connectors/rest-crm/description.ts';
import {
  idAt,
  isSameItem,
  propertiesOf,
  readRow,
  type Scope,
  selection,
  stampValues,
  writeValues,
} from '../../../src/connectors/rest-crm/from-model.ts';
import { profiles } from '../../../src/connectors/rest-crm/schemas.ts';
import type { CrmItem, PropertyValue, StreamName } from '../../../src/core/model/items.ts';

const MARK = 'restcrmmark00000';
const KEY = '0123456789abcdefghijklmnopqrstuv';
const CONTACT_KEY = 'v'.repeat(32);
const AT = Date.UTC(2026, 5, 22, 8);

interface Choice {
  stream?: StreamName;
  names?: 'nested' | 'flat';
  stampField?: string | null;
  contact?: string;
}

function scopeOf({ stream = 'patients', names = 'nested', stampField = 'mirror.stamp', contact }: Choice = {}): Scope {
  const base = descriptionSchema.parse(profiles.espocrm);
  const { stampField: _, ...usual } = base.streams.patients!;
  const row = { id: 'id', versionTag: 'version', ...(contact === undefined ? {} : { contact }) };
  const resource = { ...usual, keyField: 'mirror.key', row, ...(stampField === null ? {} : { stampField }) };
  return {
    description: { ...base, names },
    resource,
    stream,
    properties: [
      { name: 'name.first', kind: 'text' },
      { name: 'visits', kind: 'number' },
    ],
    choices: new Map([['name.first', { toValue: new Map([['Anna', 'A']]), toWord: new Map([['A', 'Anna']]) }]]),
    ownerTag: MARK,
  } as unknown as Scope;
}

const ITEM: CrmItem = {
  properties: { 'name.first': 'Anna', visits: 3 },
  contactKey: CONTACT_KEY,
  contactRecreations: 2,
  startAt: AT,
};
const SENT = { key: KEY, sealedRecordId: 'v1.sealed'.replace('.', '_'), item: ITEM, revision: 7 };

/** The row that a CRM makes of a write. */
function rowOf(scope: Scope, sent = SENT, more: object = {}) {
  return { id: 'c1', version: 4, ...(writeValues(scope, sent, null).properties as object), ...more };
}

describe('a write', () => {
  test('puts a name with dots into objects if the description nests them, otherwise under the whole name', () => {
    expect(JSON.parse(JSON.stringify(writeValues(scopeOf(), SENT, 'p1')))).toMatchObject({
      key: KEY,
      contactId: 'p1',
      properties: { name: { first: 'A' }, visits: 3, mirror: { key: KEY } },
    });
    expect({ ...(writeValues(scopeOf({ names: 'flat' }), SENT, 'p1').properties as object) }).toMatchObject({
      'name.first': 'A',
      'mirror.key': KEY,
    });
  });

  test('leaves out what the item does not have, and the stamp where the CRM keeps none', () => {
    const properties = { visits: null };
    const { properties: body } = writeValues(
      scopeOf({ stampField: null }),
      { ...SENT, item: { ...ITEM, properties } },
      null,
    );
    expect(JSON.parse(JSON.stringify(body))).toEqual({ visits: null, mirror: { key: KEY } });
  });

  test('returns unchanged from the sent row, for any values', () => {
    const values = fc.record({ 'name.first': fc.constantFrom('Anna', 'Bruno', null), visits: fc.option(fc.integer()) });
    fc.assert(
      fc.property(
        values,
        fc.constantFrom('nested', 'flat'),
        fc.option(fc.integer({ min: 1, max: 99 })),
        (properties, names, revision) => {
          const scope = scopeOf({ names });
          const sent = { ...SENT, revision: revision ?? 1, item: { ...ITEM, properties } };
          const read = readRow(scope, scope.resource, rowOf(scope, sent))!;
          expect(read).toMatchObject({
            id: 'c1',
            key: KEY,
            owner: 'ours',
            remote: { versionTag: '4', item: sent.item },
          });
          expect(isSameItem(scope, read, sent, null)).toBe(true);
        },
      ),
    );
  });
});

describe('a row', () => {
  const read = (row: unknown, choice: Choice = {}) => {
    const scope = scopeOf(choice);
    return readRow(scope, scope.resource, row);
  };

  test.each([
    ['without an id', { visits: 1 }],
    ['with an empty id', { id: '' }],
    ['that is a list', []],
    ['that is null', null],
  ])('%s is none', (_, row) => {
    expect(read(row)).toBeNull();
  });

  test('whose key was written by another program has no key', () => {
    for (const key of ['', 'x'.repeat(32), KEY.toUpperCase(), `${KEY}0`, 7]) {
      expect(read({ id: 1, mirror: { key } })).toMatchObject({ id: '1', key: null, owner: 'bare' });
    }
  });

  test('that carries the stamp of another target is foreign, one with a damaged stamp is bare; neither has an item', () => {
    const stamp = toStamp('anothermark00000', { sealedRecordId: 's', contactKey: null, startAt: AT });
    expect(read({ id: '1', mirror: { stamp } })).toMatchObject({ owner: 'foreign', remote: { item: null } });
    expect(read({ id: '1', mirror: { stamp: 'damaged' } })).toMatchObject({ owner: 'bare', remote: { item: null } });
  });

  test('without a stamp has an item only where the CRM keeps none, and only of a contact', () => {
    const row = { id: '1', visits: 3 };
    expect(read(row, { stampField: null })?.remote.item).toEqual({
      ...{ properties: { 'name.first': null, visits: 3 }, contactKey: null, startAt: 0 },
    });
    expect(read(row, { stampField: null, stream: 'invoices' })?.remote.item).toBeNull();
  });

  test.each([
    ['an id', 'p1', ['p1']],
    ['a number', 7, ['7']],
    ['an object', { id: 'p1' }, ['p1']],
    ['a list', ['p1', { id: 'p2' }, {}], ['p1', 'p2']],
    ['null', null, []],
    ['nothing', undefined, null],
  ])('identifies its contacts by %s', (_, link, contactIds) => {
    expect(read({ id: '1', parent: link }, { contact: 'parent' })?.contactIds).toEqual(contactIds);
  });
});

describe('an object is not as the write leaves it', () => {
  const scope = scopeOf({ contact: 'parent' });
  const stored = readRow(scope, scope.resource, rowOf(scope, SENT, { parent: 'p1' }))!;
  const changed = (item: Partial<CrmItem>) => ({ ...SENT, item: { ...ITEM, ...item } });

  test('where anything of it differs', () => {
    expect(isSameItem(scope, stored, SENT, 'p1')).toBe(true);
    for (const sent of [
      ...[
        { ...SENT, revision: 8 },
        { ...SENT, sealedRecordId: 'other' },
      ],
      ...[{ contactKey: null }, { contactRecreations: 3 }, { startAt: AT + 1_000 }].map(changed),
      changed({ properties: { visits: 4 } }),
    ]) {
      expect(isSameItem(scope, stored, sent, 'p1')).toBe(false);
    }
  });

  test('if it belongs to another contact; if the row shows no contact, the contact is treated as unchanged', () => {
    expect(isSameItem(scope, stored, SENT, 'p2')).toBe(false);
    expect(isSameItem(scope, { ...stored, contactIds: null }, SENT, 'p2')).toBe(true);
  });

  test('but a property that is not written may be anything', () => {
    expect(isSameItem(scope, stored, changed({ properties: { visits: 3 } }), 'p1')).toBe(true);
  });
});

test('key and stamp of a contact are written separately, and removed again', () => {
  const scope = scopeOf();
  const as = { key: KEY, sealedRecordId: 'sealed' };
  const stamp = toStamp(MARK, { sealedRecordId: 'sealed', contactKey: null, startAt: 0 });
  expect(JSON.parse(JSON.stringify(stampValues(scope, as)))).toEqual({ mirror: { key: KEY, stamp } });
  expect(JSON.parse(JSON.stringify(stampValues(scope, null)))).toEqual({ mirror: { key: null, stamp: null } });
  expect({ ...stampValues(scopeOf({ names: 'flat', stampField: null }), as) }).toEqual({ 'mirror.key': KEY });
});

test('an id is a string or a number at its path', () => {
  const ids: [unknown, string | null][] = [
    ['a', 'a'],
    [0, '0'],
    ['', null],
    [null, null],
    [true, null],
    [{}, null],
  ];
  for (const [id, read] of ids) expect(idAt({ data: { id } }, 'data.id')).toBe(read);
});

test('of what is no row no property is read', () => {
  const read = (row: unknown): Record<string, PropertyValue> => propertiesOf(scopeOf(), row);
  expect(read('text')).toEqual({});
  expect(read({ name: { first: 'A' } })).toEqual({ 'name.first': 'Anna', visits: null });
});

test('a call requests each member once: the first name of nested ones, the whole name of flat ones', () => {
  const fieldsOf = (choice: Choice) => {
    const scope = scopeOf(choice);
    return selection(scope, scope.resource).fields;
  };
  expect(fieldsOf({})).toBe('id,mirror,name,visits');
  expect(fieldsOf({ names: 'flat' })).toBe('id,mirror.key,mirror.stamp,name.first,visits');
});
