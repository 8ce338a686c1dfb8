import fc from 'fast-check';
import { describe, expect, it, test } from 'vitest';
import { type CountedPages, DistinctRows } from '../../../src/clinic/http/distinct-rows.ts';
import { atOnce } from '../../../src/core/model/pieces.ts';

type Ids = readonly (string | null)[];

/** Counts after each page. */
function countsOf(pages: readonly Ids[], counted: CountedPages): number[] {
  const distinct = new DistinctRows(counted);
  return pages.map((ids) => {
    atOnce(distinct.add(ids));
    return distinct.count;
  });
}

describe('the number of distinct rows', () => {
  const page = fc.array(fc.constantFrom('a', 'b', 'c', 'd', null), { maxLength: 4 });

  test('is the same whatever was counted before', () => {
    const walk = fc.array(fc.nat({ max: 4 }), { maxLength: 6 });
    fc.assert(
      fc.property(fc.array(page, { minLength: 5, maxLength: 5 }), fc.array(walk, { maxLength: 4 }), (pages, walks) => {
        const counted: CountedPages = new WeakMap();
        for (const walked of walks) {
          const those = walked.map((at) => pages[at] ?? []);
          const expected = those.map((_, at) => {
            const ids = those.slice(0, at + 1).flat();
            return new Set(ids.filter((id) => id !== null)).size + ids.filter((id) => id === null).length;
          });
          expect(countsOf(those, counted)).toEqual(expected);
        }
      }),
    );
  });

  it('of known pages looks at no id', () => {
    let looked = 0;
    const watched = (ids: Ids): Ids =>
      new Proxy(ids, {
        get(target, name, receiver) {
          looked += 1;
          return Reflect.get(target, name, receiver);
        },
      });
    const [pages, counted] = [[watched(['a', 'b']), watched(['b', 'c'])], new WeakMap() as CountedPages];
    expect(countsOf(pages, counted)).toEqual([2, 3]);
    looked = 0;
    expect(countsOf(pages, counted)).toEqual([2, 3]);
    expect(looked).toBe(0);
  });
});
