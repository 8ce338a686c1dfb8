import { describe, expect, test } from 'vitest';
import { type ListEnd, type PageSource, type PageTarget, readPages } from '../../../src/clinic/http/paging.ts';
import { headersOf } from '../../../src/described-api/answers.ts';
import { profileOf, type WrittenProfile } from '../open-client.ts';
import { received } from '../pages.ts';

type Written = NonNullable<WrittenProfile['paging']>;

interface Told {
  ids: string[];
  /** Fields next to the rows in the body. */
  body?: object;
  headers?: Record<string, string>;
}

/** Reads the answers in order, and returns the requested targets. */
async function read(paging: Written, answers: readonly Told[], repeats: PageSource<unknown>['repeats'] = 'unexpected') {
  const asked: PageTarget[] = [];
  const pages = readPages({
    paging: profileOf({ paging }).paging,
    repeats,
    maxPages: 50,
    memory: { next: 'unseen' },
    pageSizes: [],
    async load(target) {
      const { ids = [], body = {}, headers = {} } = answers[asked.length] ?? {};
      asked.push(target);
      return received({ body: { ...body, data: ids.map((id) => ({ id })) }, headers: new Headers(headers) });
    },
  });
  let end: ListEnd | null = null;
  let [rows, repeated] = [0, 0];
  for await (const page of pages) {
    rows += page.rows.length;
    repeated += page.repeated;
    end = page.end;
  }
  return { asked, rows, repeated, end };
}

const PROVED = { proved: true };

describe('paging in headers', () => {
  test('a cursor', async () => {
    const paging = { style: 'cursor', cursorPath: 'header:X-Next-Cursor', sizeParameter: null } as const;
    const told = await read(paging, [{ ids: ['a', 'b'], headers: { 'x-next-cursor': 'two' } }, { ids: ['c'] }]);
    expect(told).toMatchObject({ rows: 3, end: PROVED });
    expect(told.asked).toEqual([{ parameters: [] }, { parameters: [['cursor', 'two']] }]);
  });

  test('a link', async () => {
    const paging = { style: 'next-link', linkPath: 'header:X-Next', sizeParameter: null } as const;
    const told = await read(paging, [{ ids: ['a', 'b'], headers: { 'x-next': '/list?from=b' } }, { ids: ['c'] }]);
    expect(told).toMatchObject({ rows: 3, end: PROVED, asked: [{ parameters: [] }, { link: '/list?from=b' }] });
  });

  test('whether more follow', async () => {
    const paging: Written = { style: 'page-size', ends: ['has-more'], hasMorePath: 'header:X-More', totalPath: null };
    const more = (value: string) => ({ headers: { 'x-more': value } });
    expect(
      await read(paging, [
        { ids: ['a'], ...more('true') },
        { ids: ['b'], ...more('false') },
      ]),
    ).toMatchObject({
      rows: 2,
      end: PROVED,
    });
    expect(await read(paging, [{ ids: ['a'] }])).toMatchObject({ end: { proved: false, reason: 'end-unproved' } });
  });

  test('a total, which must agree', async () => {
    const paging: Written = {
      style: 'page-size',
      ends: ['total'],
      hasMorePath: null,
      totalPath: 'header:X-Total-Count',
    };
    const [first, second] = ['a', 'b'].map((id) => ({ ids: [id], headers: { 'x-total-count': '2' } }));
    expect(await read(paging, [first, second] as Told[])).toMatchObject({ rows: 2, end: PROVED });
    expect(await read(paging, [first, { ...second, ids: [] }] as Told[])).toMatchObject({
      end: { proved: false, reason: 'total-mismatch' },
    });
  });

  test('matches header names in any case', () => {
    const of = (paging: Written) => headersOf(profileOf({ paging }).paging);
    expect(of({ style: 'cursor', cursorPath: 'header:X-Next', totalPath: 'header:X-Sum', hasMorePath: null })).toEqual([
      'x-sum',
      'x-next',
    ]);
    expect(of({ style: 'offset-limit' })).toEqual([]);
  });
});

describe('the link to the next page', () => {
  const self = { rel: 'self', relation: 'self', href: '/list', url: '/list' };

  test('is followed out of a list of links until none leads on', async () => {
    const answers = [
      { ids: ['a'], body: { link: [self, { relation: 'next', url: '/list?p=2' }] } },
      { ids: ['b'], body: { link: [self] } },
    ];
    const told = await read({ style: 'next-link', linkPath: 'link' }, answers);
    expect(told).toMatchObject({ rows: 2, end: PROVED });
    expect(told.asked[1]).toEqual({ link: '/list?p=2' });
  });
});

describe('rows that come twice', () => {
  const byPage = { style: 'page-size', size: 3, hasMorePath: null } as const;
  const twice = (total?: number) =>
    [['a', 'b', 'b'], ['c', 'd', 'd'], ['e'], []].map((ids) => ({ ids, body: total === undefined ? {} : { total } }));

  test('mean that the list moved, unless the profile defines them as repeats', async () => {
    const paging = { ...byPage, ends: ['empty-page' as const] };
    expect(await read(paging, twice())).toMatchObject({ end: { proved: false, reason: 'repeated-page' } });
    for (const repeats of ['counted-each', 'counted-once'] as const)
      expect(await read(paging, twice(), repeats)).toMatchObject({ rows: 7, repeated: 2, end: PROVED });
  });

  test.each([
    ['counted-each', 7],
    ['counted-once', 5],
  ] as const)('are counted by a total as the profile says: %s', async (repeats, total) => {
    const paging = { ...byPage, ends: ['total' as const] };
    expect(await read(paging, twice(total), repeats)).toMatchObject({ rows: 7, repeated: 2, end: PROVED });
    expect((await read(paging, twice(total + 1), repeats)).end).toEqual({ proved: false, reason: 'total-mismatch' });
    const other = repeats === 'counted-each' ? 'counted-once' : 'counted-each';
    expect((await read(paging, twice(total), other)).end).toEqual({ proved: false, reason: 'total-mismatch' });
  });

  test('are no page that came again', async () => {
    const paging = { ...byPage, ends: ['empty-page' as const] };
    const circle = [['a', 'b', 'c'], ['a', 'b', 'c'], []].map((ids) => ({ ids }));
    expect(await read(paging, circle, 'counted-each')).toMatchObject({
      end: { proved: false, reason: 'repeated-page' },
    });
  });
});
