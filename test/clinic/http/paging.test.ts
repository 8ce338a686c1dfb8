import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import {
  isPassing,
  type ListEnd,
  type PageSource,
  type PageTarget,
  readPages,
} from '../../../src/clinic/http/paging.ts';
import type { Paging } from '../../../src/clinic/schema/paging.ts';
import { isJsonObject } from '../../../src/described-api/paths.ts';
import { profileOf, type WrittenProfile } from '../open-client.ts';
import { received } from '../pages.ts';

type Row = { id: string };
type Tamper = (answer: Record<string, unknown>, page: number) => void;

function pagingOf(paging: NonNullable<WrittenProfile['paging']>): Paging {
  return profileOf({ paging }).paging;
}

/** A list server that supports every style of paging and returns at most `cap` rows, whatever the request. */
function listServer(rows: readonly Row[], paging: Paging, cap: number, tamper: Tamper = () => {}) {
  let pages = 0;
  return async (target: PageTarget): Promise<unknown> => {
    const told =
      'link' in target ? new URL(target.link, 'http://x').searchParams : new URLSearchParams(target.parameters);
    const start = startOf(told, paging, cap);
    const size = paging.style === 'none' ? rows.length : Math.min(paging.size, cap);
    const hasMore = start + size < rows.length;
    const answer: Record<string, unknown> = {
      data: rows.slice(start, start + size),
      hasMore,
      total: rows.length,
      nextCursor: hasMore ? String(start + size) : null,
      links: hasMore ? { next: `/list?cursor=${start + size}` } : {},
    };
    pages += 1;
    tamper(answer, pages);
    if (paging.style !== 'link-header') return answer;
    return withHeaders(answer, hasMore ? { link: `</list?cursor=${start + size}>; rel="next"` } : {});
  };
}

function startOf(told: URLSearchParams, paging: Paging, cap: number): number {
  if (paging.style === 'offset-limit') return Number(told.get('offset')) - paging.startIndex;
  if (paging.style === 'page-size') return (Number(told.get('page')) - paging.startIndex) * Math.min(paging.size, cap);
  return Number(told.get('cursor') ?? 0);
}

/** Answers with headers, as a server of `Link` headers gives them. */
function withHeaders(body: unknown, headers: Record<string, string>) {
  return { body, headers: new Headers(headers) };
}

async function readAll(
  load: (target: PageTarget) => Promise<unknown>,
  paging: Paging,
  maxPages = 1_000,
  more: Partial<PageSource<unknown>> = {},
) {
  const rows: unknown[] = [];
  let end: ListEnd | null = null;
  let pages = 0;
  const source: PageSource<unknown> = {
    paging,
    repeats: 'unexpected',
    maxPages,
    memory: { next: 'unseen' },
    pageSizes: [],
    ...more,
    async load(target) {
      const answer = await load(target);
      if (isJsonObject(answer) && answer.headers instanceof Headers) {
        return received({ body: answer.body, headers: answer.headers });
      }
      return received({ body: answer, headers: new Headers() });
    },
  };
  for await (const page of readPages(source)) {
    rows.push(...page.rows);
    end = page.end;
    pages += 1;
  }
  return { rows, end, pages };
}

function someRows(count: number): Row[] {
  return Array.from({ length: count }, (_, index) => ({ id: `r${index}` }));
}

const anyPaging = fc.oneof(
  fc.constant(pagingOf({ style: 'none' })),
  ...(['offset-limit', 'page-size'] as const).flatMap((style) =>
    [0, 1].flatMap((startIndex) =>
      [['has-more'], ['total'], ['empty-page']].map((ends) => fc.constant({ style, startIndex, ends })),
    ),
  ),
  fc.constant({ style: 'cursor' as const }),
  fc.constant({ style: 'next-link' as const }),
  fc.constant({ style: 'link-header' as const }),
);

describe('an unchanged list', () => {
  it('is read and proved completely in every style, even if the server caps pages silently', async () => {
    const sizes = fc.record({
      count: fc.integer({ min: 0, max: 60 }),
      size: fc.integer({ min: 1, max: 20 }),
      cap: fc.integer({ min: 1, max: 20 }),
    });
    await fc.assert(
      fc.asyncProperty(anyPaging, sizes, async (written, { count, size, cap }) => {
        const paging = written.style === 'none' ? pagingOf({ style: 'none' }) : pagingOf({ ...written, size } as never);
        const rows = someRows(count);
        const read = await readAll(listServer(rows, paging, cap), paging);
        expect(read.end).toEqual({ proved: true });
        expect(read.rows).toEqual(rows);
      }),
      { numRuns: 300 },
    );
  });

  it('ends at a short page only against the known cap', async () => {
    const paging = pagingOf({ style: 'page-size', size: 50, cap: 10, ends: ['short-page'], totalPath: null });
    const read = await readAll(listServer(someRows(25), paging, 10), paging);
    expect(read).toMatchObject({ end: { proved: true }, pages: 3 });
    expect(read.rows).toHaveLength(25);
  });

  it('uses the next rule if the first has no result', async () => {
    const paging = pagingOf({ style: 'offset-limit', size: 10, ends: ['has-more', 'empty-page'] });
    const load = listServer(someRows(25), paging, 10, (answer) => delete answer.hasMore);
    expect(await readAll(load, paging)).toMatchObject({ end: { proved: true }, pages: 4 });
  });
});

describe('the total in a response', () => {
  const byTotal = pagingOf({ style: 'offset-limit', size: 10, ends: ['total'] });

  it('ends the list when the total is reached', async () => {
    expect(await readAll(listServer(someRows(25), byTotal, 10), byTotal)).toMatchObject({
      end: { proved: true },
      pages: 3,
    });
    expect(await readAll(listServer(someRows(20), byTotal, 10), byTotal)).toMatchObject({
      end: { proved: true },
      pages: 2,
    });
  });

  it('is not reached: an empty page ends the list, which is not whole', async () => {
    const load = listServer(someRows(25), byTotal, 10, (answer) => Object.assign(answer, { total: 35 }));
    expect(await readAll(load, byTotal)).toMatchObject({ end: { proved: false, reason: 'total-mismatch' }, pages: 4 });
  });

  it.each([
    ['25', 'total-mismatch'],
    ['15', null],
    ['1e2', null],
    ['25e0', null],
    ['-3', null],
    ['many', null],
    [2.5, null],
  ])('is a string of digits or an integer: %s', async (total, reason) => {
    const paging = pagingOf({ style: 'offset-limit', size: 20, ends: ['has-more'] });
    const load = listServer(someRows(15), paging, 20, (answer) => Object.assign(answer, { total }));
    const end = reason === null ? { proved: true } : { proved: false, reason };
    expect((await readAll(load, paging)).end).toEqual(end);
  });
});

it('a has-more flag may be a string', async () => {
  const paging = pagingOf({ style: 'offset-limit', size: 10, ends: ['has-more'] });
  const load = listServer(someRows(25), paging, 10, (answer) =>
    Object.assign(answer, { hasMore: String(answer.hasMore) }),
  );
  expect(await readAll(load, paging)).toMatchObject({ end: { proved: true }, pages: 3 });
});

it('a short page says nothing where the cap of pages is not known', async () => {
  // The settings refuse this profile; if accepted, no list may be judged complete too early.
  const known = pagingOf({ style: 'offset-limit', size: 10, cap: 10, ends: ['short-page', 'empty-page'] });
  const paging = { ...known, cap: null } as Paging;
  const read = await readAll(
    listServer(someRows(25), { ...paging, size: 7 } as Paging, 7, (answer) => delete answer.total),
    paging,
  );
  expect(read).toMatchObject({ end: { proved: true }, pages: 5 });
});

it('a list is begun again when it moved, or the server stumbled, and for nothing else', () => {
  const reasons = [
    'total-mismatch',
    'repeated-page',
    'page-cap',
    'end-unproved',
    'next-page-told',
    'full-page',
  ] as const;
  expect(reasons.filter(isPassing)).toEqual(['total-mismatch', 'repeated-page']);
});

describe('a list that does not come whole', () => {
  const byField = pagingOf({ style: 'offset-limit', size: 10, ends: ['has-more'] });
  const rows = someRows(35);

  it.each([1, 2, 3])('ends early at page %i: the total betrays it', async (lastPage) => {
    const load = listServer(rows, byField, 10, (answer, page) => {
      if (page === lastPage) answer.hasMore = false;
    });
    const read = await readAll(load, byField);
    expect(read).toMatchObject({ end: { proved: false, reason: 'total-mismatch' }, pages: lastPage });
  });

  it('lacks rows in the middle of a page: the total betrays it', async () => {
    const load = listServer(rows, byField, 10, (answer, page) => {
      if (page === 2 && Array.isArray(answer.data)) answer.data = answer.data.slice(0, 9).concat([{ id: 'r0' }]);
    });
    expect((await readAll(load, byField)).end).toEqual({ proved: false, reason: 'total-mismatch' });
  });

  it('is rejected if it shrank during the read: a record moved up unseen, though the total matches', async () => {
    const moving = [...rows];
    const load = listServer(moving, byField, 10, (answer, page) => {
      answer.total = moving.length;
      if (page === 1) moving.shift();
    });
    const read = await readAll(load, byField);
    expect(read.rows).toHaveLength(34);
    expect(read.end).toEqual({ proved: false, reason: 'total-mismatch' });
  });

  it('grew at its end while it was read: every row was seen, so it is whole', async () => {
    const growing = [...rows];
    const load = listServer(growing, byField, 10, (_answer, page) => {
      if (page === 2) growing.push({ id: 'new' });
    });
    const read = await readAll(load, byField);
    expect(read).toMatchObject({ end: { proved: true } });
    expect(read.rows).toHaveLength(36);
  });

  it('repeats a page for ever', async () => {
    const first = rows.slice(0, 10);
    const load = async () => ({ data: first, hasMore: true, total: 35 });
    expect(await readAll(load, byField)).toMatchObject({ end: { proved: false, reason: 'repeated-page' }, pages: 2 });
  });

  it('is rejected if a record repeats without a total: another record may be missing', async () => {
    const load = listServer(rows, byField, 10, (answer, page) => {
      delete answer.total;
      if (page === 3 && Array.isArray(answer.data)) answer.data = [{ id: 'r0' }];
    });
    expect((await readAll(load, byField)).end).toEqual({ proved: false, reason: 'repeated-page' });
  });

  it('goes in a circle of empty pages', async () => {
    const paging = pagingOf({ style: 'cursor' });
    const load = async () => ({ data: [], nextCursor: 'again' });
    expect((await readAll(load, paging)).end).toEqual({ proved: false, reason: 'repeated-page' });
  });

  it('has more pages than the profile allows', async () => {
    expect(await readAll(listServer(rows, byField, 10), byField, 3)).toMatchObject({
      end: { proved: false, reason: 'page-cap' },
      pages: 3,
    });
  });

  it.each<[string, NonNullable<WrittenProfile['paging']>, Tamper]>([
    ['no has-more field', { style: 'offset-limit', ends: ['has-more'] }, (answer) => delete answer.hasMore],
    [
      'more is a text',
      { style: 'offset-limit', ends: ['has-more'] },
      (answer) => Object.assign(answer, { hasMore: 'forse' }),
    ],
    [
      'an empty page that promises more',
      { style: 'offset-limit', ends: ['has-more'] },
      (answer) => Object.assign(answer, { data: [], hasMore: true }),
    ],
    ['no total', { style: 'page-size', ends: ['total'] }, (answer) => delete answer.total],
    [
      'more, but no cursor',
      { style: 'cursor', ends: ['has-more'] },
      (answer) => Object.assign(answer, { hasMore: true, nextCursor: null }),
    ],
    ['more, but no paging', { style: 'none' }, (answer) => Object.assign(answer, { hasMore: true })],
  ])('can not be proved: %s', async (_what, written, tamper) => {
    const paging = pagingOf(written);
    const read = await readAll(listServer(someRows(5), paging, 10, tamper), paging);
    expect(read.end).toEqual({ proved: false, reason: 'end-unproved' });
  });
});

it('rows without an id are counted against the total', async () => {
  const paging = pagingOf({ style: 'none' });
  const load = async () => ({ data: [{ id: 'a' }, {}, null], total: 3 });
  expect((await readAll(load, paging)).end).toEqual({ proved: true });
});

it('several empty pages on the way of a cursor are passed', async () => {
  const answers = [
    { data: [{ id: 'a' }], nextCursor: '1' },
    { data: [], nextCursor: '2' },
    { data: [], nextCursor: '3' },
    { data: [{ id: 'b' }], nextCursor: null },
  ];
  const read = await readAll(async () => answers.shift(), pagingOf({ style: 'cursor' }));
  expect(read).toMatchObject({ rows: [{ id: 'a' }, { id: 'b' }], end: { proved: true }, pages: 4 });
});

it('an empty page on the way of a cursor is passed', async () => {
  const paging = pagingOf({ style: 'cursor' });
  const answers = [
    { data: [{ id: 'a' }], nextCursor: '1' },
    { data: [], nextCursor: '2' },
    { data: [{ id: 'b' }], nextCursor: null },
  ];
  const read = await readAll(async () => answers.shift(), paging);
  expect(read).toMatchObject({ rows: [{ id: 'a' }, { id: 'b' }], end: { proved: true }, pages: 3 });
});
