import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PropertyCatalogue } from '../../../sandbox/hubspot/properties.ts';
import { RecordStore, type StoredRecord } from '../../../sandbox/hubspot/record-store.ts';
import { SearchIndex } from '../../../sandbox/hubspot/search-index.ts';
import { readValue } from '../../../sandbox/hubspot/values.ts';

const property = (type: string, fieldType: string) =>
  new PropertyCatalogue().create(
    'contacts',
    {
      name: 'a',
      label: 'a',
      type,
      fieldType,
      groupName: 'contactinformation',
      options: [
        { label: 'x', value: 'x', displayOrder: 0, hidden: false },
        { label: 'y', value: 'y', displayOrder: 1, hidden: false },
      ],
    },
    0,
  );

const record = (id: string, key: string, archivedAt?: number): StoredRecord => ({
  id,
  properties: key === '' ? {} : { key },
  createdAt: 0,
  updatedAt: 0,
  archivedAt,
});

function newStore(): RecordStore {
  return new RecordStore({ uniqueProperties: () => ['key'], onWrite: () => {} });
}

describe('a value', () => {
  const anything = fc.oneof(
    fc.string(),
    fc.integer().map(String),
    fc.maxSafeInteger().map(String),
    fc.date({ noInvalidDate: true }).map((at) => at.toISOString()),
    fc.date({ noInvalidDate: true }).map((at) => at.toISOString().slice(0, 10)),
    fc.constantFrom('', 'x', 'x;y', ';x', 'true', '1.5', '-0', '2027-03-28T02:30:00+01:00'),
  );

  it.each([
    ['string', 'text'],
    ['number', 'number'],
    ['date', 'date'],
    ['datetime', 'date'],
    ['bool', 'booleancheckbox'],
    ['enumeration', 'select'],
    ['enumeration', 'checkbox'],
  ])('of type %s shown as %s that was stored can be written again and stays the same', (type, fieldType) => {
    const of = property(type, fieldType);
    fc.assert(
      fc.property(anything, (value) => {
        const read = readValue(of, value);
        if ('stored' in read) {
          expect(readValue(of, read.stored)).toEqual(read);
        } else {
          expect(read.fault.code).toMatch(/^INVALID_/);
        }
      }),
    );
  });
});

describe('the store', () => {
  const write = fc.record({
    id: fc.constantFrom('1', '2', '3'),
    key: fc.constantFrom('', 'a', 'b'),
    gone: fc.boolean(),
  });

  it('finds by key what a search through all live records finds', () => {
    fc.assert(
      fc.property(fc.array(write), (writes) => {
        const store = newStore();
        for (const { id, key, gone } of writes) {
          const holder = key === '' ? undefined : store.findBy('key', key);
          if (holder === undefined || holder.id === id || gone) {
            store.put(record(id, key, gone ? 1 : undefined));
          }
        }
        for (const key of ['a', 'b']) {
          const live = store.values().filter((each) => each.archivedAt === undefined && each.properties.key === key);
          expect(live.length).toBeLessThanOrEqual(1);
          expect(store.findBy('key', key)).toEqual(live[0]);
        }
      }),
    );
  });

  it('is as before when writes that belong together break off', () => {
    fc.assert(
      fc.property(fc.array(write), fc.array(write), (before, after) => {
        const store = newStore();
        const apply = (writes: typeof before): void => {
          for (const { id, key, gone } of writes) {
            if (gone) {
              store.remove(id);
            } else if ((store.findBy('key', key)?.id ?? id) === id) {
              store.put(record(id, key));
            }
          }
        };
        const seen = () => ({
          records: Object.fromEntries(store.values().map((each) => [each.id, each])),
          found: ['a', 'b'].map((key) => store.findBy('key', key)),
        });
        apply(before);
        const expected = seen();
        expect(() =>
          store.atomically(() => {
            apply(after);
            throw new Error('broken off');
          }),
        ).toThrow('broken off');
        expect(seen()).toEqual(expected);
      }),
    );
  });
});

describe('the index of search', () => {
  it('shows each write when its time has come, the newest of several', () => {
    const index = new SearchIndex();
    index.note('1', record('1', 'a'), 10);
    index.note('1', record('1', 'b'), 20);
    index.note('2', record('2', 'c'), 20);
    index.note('1', undefined, 30);
    const keys = (until: number) => index.records(until).map(({ properties }) => properties.key);
    expect(keys(9)).toEqual([]);
    expect(keys(10)).toEqual(['a']);
    expect(keys(20)).toEqual(['b', 'c']);
    expect(keys(30)).toEqual(['c']);
  });
});
