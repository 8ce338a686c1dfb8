import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { toField } from '../../../sandbox/salesforce/fields.ts';
import { RecordStore, type StoredRecord } from '../../../sandbox/salesforce/store.ts';
import { contact, KEY, startBench } from './support.ts';

const FIELD = toField({ name: 'Key__c', type: 'string', externalId: true });

/** A change: which record gets which key, or none; `undefined` removes it. */
const change = fc.tuple(fc.integer({ min: 0, max: 5 }), fc.constantFrom('a', 'A', 'b', null, undefined));

function apply(store: RecordStore, [at, key]: [number, string | null | undefined]): void {
  const id = `0035g00000000${at}0AAA`;
  const before = store.find(id);
  if (key !== undefined) {
    store.put({ id, type: 'Contact', fields: { Key__c: key }, createdAt: 0, modifiedAt: 0 });
  } else if (before) {
    store.remove(before);
  }
}

/** All records, and what the index finds. */
function contents(store: RecordStore): { all: StoredRecord[]; found: string[][] } {
  const byId = (one: { id: string }, other: { id: string }): number => one.id.localeCompare(other.id);
  return {
    all: store.all('Contact').toSorted(byId),
    found: ['a', 'b'].map((key) =>
      store
        .withKey('Contact', FIELD, key)
        .toSorted(byId)
        .map(({ id }) => id),
    ),
  };
}

function newStore(): RecordStore {
  return new RecordStore(() => [FIELD]);
}

describe('the store', () => {
  it('finds by key what a search of all records finds', () => {
    fc.assert(
      fc.property(fc.array(change), (changes) => {
        const store = newStore();
        for (const each of changes) {
          apply(store, each);
        }
        const { all, found } = contents(store);
        const searched = ['a', 'b'].map((key) =>
          all.filter(({ fields }) => String(fields.Key__c).toLowerCase() === key).map(({ id }) => id),
        );
        expect(found).toEqual(searched);
      }),
    );
  });

  it('is after a failed attempt what it was before, also around attempts that succeeded inside', () => {
    fc.assert(
      fc.property(fc.array(change), fc.array(fc.tuple(fc.boolean(), fc.array(change))), (first, attempts) => {
        const store = newStore();
        for (const each of first) {
          apply(store, each);
        }
        const before = contents(store);
        const isKept = store.attempt(() => {
          for (const [isInnerKept, changes] of attempts) {
            const innerBefore = contents(store);
            store.attempt(() => {
              for (const each of changes) {
                apply(store, each);
              }
              return isInnerKept;
            });
            if (!isInnerKept) {
              expect(contents(store)).toEqual(innerBefore);
            }
          }
          return false;
        });
        expect(isKept).toBe(false);
        expect(contents(store)).toEqual(before);
      }),
    );
  });
});

describe('collections of any rows', () => {
  it('leave with allOrNone all rows or none, and without it exactly the good ones', async () => {
    const { sandbox, upsert } = await startBench();
    const row = fc.record({ key: fc.constantFrom('a', 'b', 'c', 'd'), isGood: fc.boolean() });
    const rows = fc.uniqueArray(row, { selector: ({ key }) => key, minLength: 1 });
    let run = 0;
    await fc.assert(
      fc.asyncProperty(rows, fc.boolean(), async (given, allOrNone) => {
        run += 1;
        const title = `run ${run}`;
        await upsert(
          given.map(({ key, isGood }) => contact(key, { Title: title, ...(isGood ? {} : { LastName: null }) })),
          { allOrNone },
        );
        const written = sandbox.records('Contact').filter(({ Title }) => Title === title);
        const good = given.filter(({ isGood }) => isGood);
        const expected = allOrNone && good.length < given.length ? [] : good;
        expect(written.map((record) => record[KEY]).toSorted()).toEqual(expected.map(({ key }) => key).toSorted());
      }),
      { numRuns: 40 },
    );
  });
});
