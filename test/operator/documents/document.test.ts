import fc from 'fast-check';
import { expect, test } from 'vitest';
import { isPathSegment } from '../../../src/core/model/path-segment.ts';
import { clinicAddress, explainAddress, holdAddress, joined, time } from '../../../src/operator/documents/document.ts';

test('joined parts have a separator only between existing parts', () => {
  expect(joined([null, 'a', false, 0, 'b', null], ', ')).toEqual(['a', ', ', 0, ', ', 'b']);
  expect(joined([null, false], ', ')).toEqual([]);
});

test('a moment that is not known prints nothing', () => {
  expect(time(null)).toBeNull();
  expect(time(0)).toEqual({ is: 'time', at: 0, hasAge: false });
});

test('the path of a page returns its id, whatever the id contains', () => {
  // Names of tenants and ids of holds never consist of dots; such an id is refused (test/core/model/path-segment.test.ts).
  const names = fc.string({ unit: 'grapheme', minLength: 1 }).filter(isPathSegment);
  const ids = fc.oneof(names, fc.constantFrom('.', '..'));
  fc.assert(
    fc.property(names, ids, (tenant, id) => {
      const explained = new URL(explainAddress(tenant, id), 'https://mirror.test');
      expect(explained.searchParams.get('id')).toBe(id);
      expect(explained.pathname).toBe(`${clinicAddress(tenant)}/explain`);
      fc.pre(isPathSegment(id));
      const hold = new URL(holdAddress(tenant, id), 'https://mirror.test').pathname.split('/');
      expect(hold.map(decodeURIComponent)).toEqual(['', 'tenants', tenant, 'holds', id]);
    }),
  );
});
