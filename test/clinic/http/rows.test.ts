import { describe, expect, test } from 'vitest';
import { announcesMore } from '../../../src/clinic/http/rows.ts';

/** Whether a response of a clinic with five rows announces more. */
function tells(body: unknown, headers: Record<string, string> = {}): boolean {
  return announcesMore({ body, headers: new Headers(headers) }, 5);
}

describe('a response announces more records than it contains', () => {
  test.each([
    'next',
    'nextLink',
    'next_page',
    'nextUrl',
    'next-href',
    'NextPageUrl',
    'nextCursor',
    'next_page_token',
    'nextToken',
    'continuationToken',
    '@odata.nextLink',
    '@OData.nextlink',
  ])('by %s, with any value but none', (name) => {
    for (const value of ['/list?page=2', 'abc', 2, 0, { href: '/list?page=2' }])
      expect(tells({ [name]: value })).toBe(true);
    for (const value of [null, '', false, true, [], {}, { href: null }, { href: '' }])
      expect(tells({ [name]: value })).toBe(false);
  });

  test.each(['hasMore', 'has_next', 'hasNextPage', 'morePages'])('by %s, when it is true', (name) => {
    expect(tells({ [name]: true })).toBe(true);
    for (const value of [false, 'true', 1, null, { next: 'x' }]) expect(tells({ [name]: value })).toBe(false);
  });

  test.each(['links', '_links', 'meta', 'metadata', 'paging', 'pagination', 'page', 'pageInfo', 'cursors'])(
    'by a keyword within %s, at any depth',
    (name) => {
      expect(tells({ data: [], [name]: { next: 'x' } })).toBe(true);
      expect(tells({ [name]: { cursors: { hasMore: true } } })).toBe(true);
      for (const inner of [{ prev: 'x' }, { next: null }, 'next', null, [{ next: 'x' }]])
        expect(tells({ [name]: inner })).toBe(false);
    },
  );

  test.each(['X-Total-Count', 'X-Total'])('by %s, when it is more than came', (name) => {
    expect(tells({}, { [name]: '6' })).toBe(true);
    for (const count of ['5', '4', 'many', '']) expect(tells({}, { [name]: count })).toBe(false);
  });

  test.each(['link', 'links'])('by one of its %s that leads to the next page', (name) => {
    const self = { rel: 'self', href: '/list' };
    for (const next of [
      { rel: 'next', href: '/list?page=2' },
      { relation: 'NEXT', url: '/list?page=2' },
    ])
      expect(tells({ data: [], [name]: [self, next] })).toBe(true);
    for (const next of [{ rel: 'prev', href: '/list' }, { rel: 'next', href: '' }, { href: '/list?page=2' }, 'next'])
      expect(tells({ data: [], [name]: [self, next] })).toBe(false);
  });

  test('by one word among others', () => {
    expect(tells({ data: [], total: 5, next: null, meta: {}, hasMore: true })).toBe(true);
    expect(tells({}, { 'x-total': '7', 'x-total-count': '5' })).toBe(true);
  });
});

test.each([
  { what: 'rows alone', body: [{ next: 'x', hasMore: true }] },
  { what: 'rows that have such words', body: { data: [{ next: 'x' }], row: { next: 'x' } } },
  {
    what: 'words that only look alike',
    body: { nextAppointment: 'x', '@odata.next.appointment': 'x', x_next: 'x', 'next@odata.link': 'x' },
  },
  { what: 'text', body: 'next' },
  { what: 'nothing', body: null },
])('no further page for $what', ({ body }) => expect(tells(body)).toBe(false));
