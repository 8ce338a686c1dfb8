import fc from 'fast-check';
import { expect, test } from 'vitest';
import { cursorOf, pageOf } from '../../../src/operator/control/paging.ts';

const nameOf = (item: string) => item;

test('pages contain each item once, in order, despite changes between two pages', () => {
  const names = fc.uniqueArray(fc.string({ minLength: 1, maxLength: 3 }));
  fc.assert(
    fc.property(names, names, fc.integer({ min: 1, max: 5 }), (stay, others, limit) => {
      const passing = others.filter((name) => !stay.includes(name));
      const seen: string[] = [];
      let after: string | null = null;
      for (let page = 0; page === 0 || after !== null; page += 1) {
        const list = page % 2 === 0 ? [...passing, ...stay] : stay;
        const { items, next }: { items: string[]; next: string | null } = pageOf(list, { after, limit }, nameOf);
        expect(items.length).toBeLessThanOrEqual(limit);
        seen.push(...items);
        after = next;
      }
      expect(seen).toEqual([...new Set(seen)].sort((one, other) => (one < other ? -1 : 1)));
      expect(seen.filter((name) => stay.includes(name))).toHaveLength(stay.length);
    }),
  );
});

test('a full last page has no next page', () => {
  expect(pageOf(['b', 'a'], { after: null, limit: 2 }, nameOf)).toEqual({ items: ['a', 'b'], next: null });
  expect(pageOf([], { after: null, limit: 2 }, nameOf)).toEqual({ items: [], next: null });
});

test.each(['', '!', cursorOf(7), cursorOf(null), cursorOf({ name: 'a' })])('%j is no position in a list', (after) => {
  expect(() => pageOf(['a'], { after, limit: 1 }, nameOf)).toThrow(
    expect.objectContaining({ code: 'cursor-unusable', actor: 'settings' }),
  );
});
