import { describe, expect, test } from 'vitest';
import { addressIn, hasMore, type PagingPaths, readCount, readNext } from '../../src/described-api/answers.ts';

test('a total is a number, digits or the end of a range', () => {
  expect([240, '240', ' items 0-24/319 ', 'items */7', 0].map(readCount)).toEqual([240, 240, 319, 7, 0]);
  for (const value of [-1, 1.5, '1.5', 'many', '', null, true, {}]) expect(readCount(value)).toBeNull();
});

const answer = (body: unknown, headers: Record<string, string> = {}) => ({ body, headers: new Headers(headers) });

test('a flag for further pages is true, false or unknown, in the body or a header', () => {
  const more = (value: unknown) =>
    hasMore({ style: 'none', hasMorePath: 'meta.more' }, answer({ meta: { more: value } }));
  expect([true, 'true', false, 'false', 1, 0, null].map(more)).toEqual([true, true, false, false, null, null, null]);
  const byHeader: PagingPaths = { style: 'none', hasMorePath: 'header:X-More' };
  expect(hasMore(byHeader, answer({}, { 'x-more': 'false' }))).toBe(false);
  expect(hasMore({ style: 'none', hasMorePath: null }, answer({}))).toBeNull();
  expect(hasMore({ style: 'none' }, answer({}))).toBeNull();
});

test.each<[PagingPaths, string | null]>([
  [{ style: 'cursor', cursorPath: 'next' }, '7'],
  [{ style: 'next-link', linkPath: 'link' }, '/a?p=2'],
  [{ style: 'link-header' }, '/b?p=2'],
  [{ style: 'offset-limit' }, null],
])('the next page by %j is %s', (paging, next) => {
  const told = answer({ next: 7, link: { href: '/a?p=2' } }, { link: '</b?p=2>; rel=next' });
  expect(readNext(paging, told)).toBe(next);
  expect(readNext(paging, answer({ next: '', link: null }))).toBeNull();
});

describe('the link to the next page', () => {
  const self = { rel: 'self', relation: 'self', href: '/list', url: '/list' };

  test.each([
    ['a text', '/next'],
    ['an object with href', { href: '/next' }],
    ['an object with url', { url: '/next' }],
    ['one of several, by rel', [self, { rel: 'next', href: '/next' }]],
    ['one of several, by relation', [self, { relation: 'Next', url: '/next' }]],
  ])('is %s', (_what, links) => {
    expect(addressIn(links)).toBe('/next');
  });

  test.each([[null], [undefined], [''], [{}], [[]], [[self]], [['/next']], [[{ href: '/next' }]], [true]])(
    'is none in %j',
    (links) => {
      expect(addressIn(links)).toBeNull();
    },
  );
});
