import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type PageSource, type PageTarget, type PagingMemory, readPages } from '../../../src/clinic/http/paging.ts';
import { MirrorError } from '../../../src/core/model/errors.ts';
import type { PageAnswer } from '../../../src/described-api/answers.ts';
import { isJsonObject } from '../../../src/described-api/paths.ts';
import { profileOf, type WrittenProfile } from '../open-client.ts';
import { received } from '../pages.ts';

/** How a clinic pages, whatever the profile thinks. */
interface Server {
  kind: 'offset' | 'page' | 'cursor' | 'link' | 'link-header' | 'whole';
  rows: number;
  cap: number;
  tells: 'nothing' | 'total' | 'has-more' | 'x-total-count';
  /** Cursor and link have common names. */
  isUsual: boolean;
  takesSize: boolean;
  startIndex: 0 | 1;
}

const QUIET: Server = {
  kind: 'whole',
  rows: 0,
  cap: 1_000,
  tells: 'nothing',
  isUsual: true,
  takesSize: true,
  startIndex: 0,
};

function serve(server: Server) {
  const asked: string[] = [];
  const all = Array.from({ length: server.rows }, (_, index) => ({ id: `r${index}` }));
  const load = async (target: PageTarget) => {
    const query =
      'link' in target ? new URL(target.link, 'http://x').searchParams : new URLSearchParams(target.parameters);
    asked.push(query.toString());
    const size = server.takesSize ? Math.min(server.cap, Number(query.get('limit') ?? server.cap)) : server.cap;
    const start = startOf(server, query, size);
    const end = server.kind === 'whole' ? all.length : start + size;
    const hasMore = end < all.length;
    const next = `/list?at=${end}`;
    const body = {
      data: all.slice(start, end),
      ...(server.tells === 'total' && { total: all.length }),
      ...(server.tells === 'has-more' && { hasMore }),
      ...(server.kind === 'cursor' && { [server.isUsual ? 'nextCursor' : 'kx']: hasMore ? String(end) : null }),
      ...(server.kind === 'link' && { links: { [server.isUsual ? 'next' : 'kx']: hasMore ? next : null } }),
    };
    const headers = new Headers();
    if (server.tells === 'x-total-count') headers.set('x-total-count', String(all.length));
    if (server.kind === 'link-header' && hasMore) headers.set('link', `<${next}>; title="a, b"; rel="next last"`);
    return { body, headers };
  };
  return { load, asked, all };
}

function startOf({ kind, startIndex }: Server, query: URLSearchParams, size: number): number {
  if (kind === 'offset') return Number(query.get('offset') ?? startIndex) - startIndex;
  if (kind === 'page') return (Number(query.get('page') ?? startIndex) - startIndex) * size;
  return Number(query.get('at') ?? query.get('cursor') ?? 0);
}

/** What a test sets besides. */
type More = Partial<Omit<PageSource<unknown>, 'load'>> & { load?: (target: PageTarget) => Promise<PageAnswer> };

async function read(server: Server, written: NonNullable<WrittenProfile['paging']>, more: More = {}) {
  const { load, asked, all } = serve(server);
  const memory: PagingMemory = { next: 'unseen' };
  const source: PageSource<unknown> = {
    paging: profileOf({ paging: written }).paging,
    repeats: 'unexpected',
    maxPages: 1_000,
    memory,
    pageSizes: [],
    ...more,
    load: async (target) => received(await (more.load ?? load)(target)),
  };
  const ids = new Set<unknown>();
  let end = null;
  let last = 0;
  for await (const page of readPages(source)) {
    for (const row of page.rows) ids.add(isJsonObject(row) ? row.id : row);
    last = page.rows.length;
    end = page.end;
  }
  return { end, missing: all.length - ids.size, asked, last, memory: source.memory };
}

const proved = { proved: true };
const because = (reason: string) => ({ proved: false, reason });

describe('the end of a list by Link headers', () => {
  const server: Server = { ...QUIET, kind: 'link-header', rows: 86, cap: 17 };

  it('is found by the style that follows them, however the sizes are', async () => {
    for (const rows of [0, 1, 2, 16, 17, 18, 34, 86]) {
      expect(await read({ ...server, rows }, { style: 'link-header' })).toMatchObject({ end: proved, missing: 0 });
    }
  });

  it.each<[NonNullable<WrittenProfile['paging']>]>([
    [{ style: 'none' }],
    [{ style: 'next-link' }],
    [{ style: 'next-link', linkPath: 'data' }],
    [{ style: 'cursor' }],
    [{ style: 'offset-limit', cap: 200, ends: ['short-page'] }],
    [{ style: 'page-size', cap: 200, ends: ['short-page'] }],
  ])('is never proved by another one: %j', async (written) => {
    expect((await read(server, written)).end).toEqual(because('next-page-told'));
  });
});

describe('a list without paging information', () => {
  it.each([0, 1, 2, 3, 9, 11, 37, 86])('is whole with %i rows in one answer under `none`', async (rows) => {
    expect(await read({ ...QUIET, rows }, { style: 'none' })).toMatchObject({ end: proved, missing: 0 });
  });

  it.each([10, 20, 50, 100, 200, 1_000])(
    'is not taken for whole with %i rows, which is a size of pages',
    async (cap) => {
      const server: Server = { ...QUIET, kind: 'offset', rows: cap + 7, cap };
      expect((await read(server, { style: 'none' })).end).toEqual(because('full-page'));
    },
  );

  it('has a full page at its known cap, and never below the cap', async () => {
    const paging = { style: 'none', cap: 37 } as const;
    expect((await read({ ...QUIET, rows: 36 }, paging)).end).toEqual(proved);
    expect((await read({ ...QUIET, rows: 37 }, paging)).end).toEqual(because('full-page'));
    expect((await read({ ...QUIET, rows: 100 }, { style: 'none', cap: 100_000 })).end).toEqual(proved);
  });

  it('is as full as another page of the same reading', async () => {
    const full = { style: 'none' } as const;
    const server = { ...QUIET, rows: 37 };
    expect((await read(server, full, { pageSizes: [37, 12] })).end).toEqual(because('full-page'));
    expect((await read(server, full, { pageSizes: [37, 38] })).end).toEqual(proved);
    expect((await read(server, full, { pageSizes: [36] })).end).toEqual(proved);
    expect((await read({ ...QUIET, rows: 3 }, full, { pageSizes: [3, 3] })).end).toEqual(proved);
    const pageSizes: number[] = [];
    await read(server, full, { pageSizes });
    expect(pageSizes).toEqual([37]);
  });

  it('is requested once, without parameters, and leaves nothing in memory', async () => {
    expect(await read({ ...QUIET, rows: 37 }, { style: 'none' })).toMatchObject({
      asked: [''],
      memory: { next: 'unseen' },
    });
  });

  it('is proved complete by a total or a has-more flag, however full the page is', async () => {
    for (const tells of ['total', 'has-more'] as const) {
      expect((await read({ ...QUIET, rows: 100, tells }, { style: 'none' })).end).toEqual(proved);
    }
  });

  it.each([
    { next: '/list?at=3' },
    { _links: { next: { href: '/list?at=3' } } },
    { meta: { pagination: { next_page: 2 } } },
    { '@odata.nextLink': 'http://x/list?$skip=3' },
    { page_info: { has_next_page: true } },
    { paging: { cursors: { NextCursor: 'c' } } },
    { rows: { next: '/list' } },
    { next: true },
  ])('names a next page in a usual way that the profile does not know: %j', async (beside) => {
    const load = async () => ({ body: { data: [{ id: 'a' }], ...beside }, headers: new Headers() });
    expect((await read(QUIET, { style: 'none', hasMorePath: null }, { load })).end).toEqual(because('next-page-told'));
  });

  it.each([
    { next: null },
    { _links: { next: { href: '' } } },
    { meta: { next_page: null, has_next: false } },
    { next: false },
  ])('names none: %j', async (beside) => {
    const load = async () => ({ body: { data: [{ id: 'a' }], ...beside }, headers: new Headers() });
    expect((await read(QUIET, { style: 'none' }, { load })).end).toEqual(proved);
  });
});

describe('a path to the next page that no answer ever held', () => {
  const wrong = { style: 'next-link', linkPath: 'navigation.following' } as const;
  const server: Server = { ...QUIET, kind: 'link', rows: 82, cap: 41, isUsual: false };

  it('proves nothing: the clinic must return one record for a page of one', async () => {
    const seen = await read(server, wrong);
    expect(seen).toMatchObject({ end: because('end-unproved'), memory: { next: 'not-told' } });
    expect(seen.asked).toEqual(['limit=200', 'limit=1']);
    expect((await read(server, { style: 'cursor' })).end).toEqual(because('end-unproved'));
  });

  it('is probed once per process', async () => {
    const known = await read(server, wrong, { memory: { next: 'not-told' } });
    expect(known).toMatchObject({ end: because('end-unproved'), asked: ['limit=200'] });
    const seen = await read(
      { ...server, cap: 100, isUsual: true },
      { style: 'next-link' },
      { memory: { next: 'seen' } },
    );
    expect(seen).toMatchObject({ end: proved, asked: ['limit=200'] });
  });

  it('is shown by the one row, where small lists leave it out', async () => {
    const asked: string[] = [];
    const load = async (target: PageTarget) => {
      const one = JSON.stringify(target).includes('"1"');
      asked.push(JSON.stringify(target));
      return {
        body: { data: [{ id: 'a' }, { id: 'b' }].slice(0, one ? 1 : 2), ...(one && { links: { next: '/list?at=1' } }) },
        headers: new Headers(),
      };
    };
    const seen = await read(QUIET, { style: 'next-link' }, { load });
    expect(seen).toMatchObject({ end: proved, memory: { next: 'seen' } });
    expect(asked).toHaveLength(2);
  });

  it('is probed as soon as the list has several records, also after a list of one', async () => {
    const memory: PagingMemory = { next: 'unseen' };
    expect((await read({ ...server, rows: 1 }, wrong, { memory })).end).toEqual(proved);
    const seen = await read(server, wrong, { memory });
    expect(seen).toMatchObject({ end: because('end-unproved'), asked: ['limit=200', 'limit=1'] });
  });

  it('as a cursor or a header that was seen needs no question', async () => {
    const cursor = await read({ ...server, kind: 'cursor', rows: 30, isUsual: true }, { style: 'cursor' });
    expect(cursor).toMatchObject({ end: proved, asked: ['limit=200'], memory: { next: 'seen' } });
    for (const relation of ['last', 'prev alternate', 'previous', 'first']) {
      const load = async () => ({
        body: { data: [{ id: 'a' }, { id: 'b' }] },
        headers: new Headers({ link: `</list>; rel="${relation}"` }),
      });
      const seen = await read(QUIET, { style: 'link-header' }, { load });
      expect(seen, relation).toMatchObject({ end: proved, memory: { next: 'seen' } });
    }
    const other = async () => ({
      body: { data: [{ id: 'a' }, { id: 'b' }] },
      headers: new Headers({ link: '</x>; rel="self"' }),
    });
    expect((await read(QUIET, { style: 'link-header' }, { load: other })).memory).toEqual({ next: 'not-asked' });
  });

  it('is no matter where pages are counted: a page that is short against the known cap is the last', async () => {
    for (const style of ['page-size', 'offset-limit'] as const) {
      const seen = await read({ ...QUIET, kind: 'offset', rows: 5, cap: 20 }, { style, cap: 20, ends: ['short-page'] });
      expect([seen.end, seen.asked.length, seen.memory]).toEqual([proved, 1, { next: 'unseen' }]);
    }
  });

  it('an answer that holds it as null shows it', async () => {
    const known = await read({ ...server, rows: 30, isUsual: true }, { style: 'next-link' });
    expect(known).toMatchObject({ end: proved, asked: ['limit=200'] });
  });

  it('is judged by its fullness where the clinic gives all rows anyhow, or takes no size', async () => {
    const deaf = { ...server, takesSize: false };
    expect(await read({ ...deaf, rows: 37 }, wrong)).toMatchObject({ end: proved, memory: { next: 'not-asked' } });
    expect((await read({ ...deaf, rows: 90, cap: 50 }, wrong)).end).toEqual(because('full-page'));
    const sizeless = { ...wrong, sizeParameter: null };
    const notAsked = { next: 'not-asked' };
    expect(await read({ ...deaf, rows: 37 }, sizeless)).toMatchObject({ end: proved, asked: [''], memory: notAsked });
    const asMany = { ...QUIET, rows: 41, takesSize: false };
    expect((await read(asMany, { ...wrong, size: 41 })).end).toEqual(because('full-page'));
    expect((await read(asMany, { ...wrong, size: 42 })).end).toEqual(proved);
  });

  it.each([0, 1])('%i rows need no proof', async (rows) => {
    expect(await read({ ...server, rows }, wrong)).toMatchObject({ end: proved, asked: ['limit=200'] });
    expect((await read({ ...server, rows }, wrong, { memory: { next: 'not-told' } })).end).toEqual(proved);
  });

  it.each([
    [400, proved],
    [422, proved],
    [403, null],
  ])('a clinic that refuses so small a page with %i', async (status, end) => {
    const { load } = serve({ ...server, rows: 37 });
    const refusing = (target: PageTarget) => {
      if (!JSON.stringify(target).includes('"1"')) return load(target);
      throw new MirrorError('refused', { actor: 'contract', code: 'bad-request', retry: 'never', status });
    };
    const reading = read({ ...server, rows: 37 }, wrong, { load: async (target) => refusing(target) });
    if (end === null) await expect(reading).rejects.toMatchObject({ status });
    else expect(await reading).toMatchObject({ end, memory: { next: 'not-asked' } });
  });
});

it.each([
  [[50, 50, 7], 0],
  [[50, 50, 50], 0],
  [[37, 37, 7], 2],
  [[60, 37, 37, 7], 2],
  [[60, 60, 7, 7], 1],
  [[20, 21, 7], 0],
  [[20, 21, 21, 7], 0],
])('pages of %j rows against a cap of 60 are read on while they may be full', async (sizes, left) => {
  const pages = sizes.map((count, page) => Array.from({ length: count }, (_, row) => ({ id: `${page}-${row}` })));
  const load = async () => ({ body: { data: pages.shift() ?? [] }, headers: new Headers() });
  const seen = await read(QUIET, { style: 'offset-limit', size: 200, cap: 60, ends: ['short-page'] }, { load });
  expect([seen.end, pages.length]).toEqual([proved, left]);
});

/**
 * Whether no reader could detect the next page. Such a server counts positions (or uses an uncommon link name), sends no total and no
 * has-more flag, ignores the position of the style, and has an unremarkable page size. A profile with correct parameters and a wrong first
 * page or cap is undetectable too; here both are correct.
 */
function isMute({ kind, tells, isUsual }: Server): boolean {
  const leads = kind === 'link-header' || (isUsual && (kind === 'cursor' || kind === 'link'));
  return tells === 'nothing' && !leads;
}

describe('a paged list whose last page names further rows in another language', () => {
  /** Reads pages of 20, 20 and 10 rows, with other members beside them. */
  const readPaged = (around: object, ignoredPaths: string[] = []) => {
    const sizes = [20, 20, 10];
    const load = async () => {
      const data = Array.from({ length: sizes.shift() ?? 0 }, (_, row) => ({ id: `${sizes.length}-${row}` }));
      return { body: { data, ...around }, headers: new Headers() };
    };
    return read(QUIET, { style: 'offset-limit', cap: 20, ends: ['short-page'], ignoredPaths }, { load });
  };

  it.each([
    ['altre', 'S'],
    ['weitereSeiten', true],
    ['prossimaPagina', 9],
    ['totalePagine', 9],
    ['numeroTotale', 51],
    ['ultima', false],
    ['jetonSuivant', 'abc'],
  ])('is partial by %s: %j, unless the profile ignores the field', async (name, value) => {
    const { end, memory } = await readPaged({ esito: { [name]: value } });
    expect([end, memory.announced]).toEqual([because('next-page-told'), { path: `esito.${name}`, rows: 50 }]);
    expect((await readPaged({ esito: { [name]: value } }, [`esito.${name}`])).end).toEqual(proved);
  });

  it.each([
    ['pagina', 3],
    ['totalePagine', 3],
    ['numeroTotale', 50],
    ['altre', 'N'],
    ['prossimaPagina', null],
    ['ultima', true],
    ['progressivo', 98_734],
    ['elaborata', true],
    ['messaggio', 'x'],
  ])('is complete by %s: %j', async (name, value) => {
    expect((await readPaged({ [name]: value })).end).toEqual(proved);
  });
});

it('no style calls a list of any server whole that lacks rows, but where nothing on the wire could tell', async () => {
  const servers = fc.record<Server>({
    kind: fc.constantFrom('offset', 'page', 'cursor', 'link', 'link-header', 'whole'),
    rows: fc.integer({ min: 0, max: 60 }),
    cap: fc.integer({ min: 1, max: 30 }),
    tells: fc.constantFrom('nothing', 'total', 'has-more', 'x-total-count'),
    isUsual: fc.boolean(),
    takesSize: fc.boolean(),
    startIndex: fc.constantFrom(0, 1),
  });
  const styles = fc.constantFrom<NonNullable<WrittenProfile['paging']>['style']>(
    'none',
    'offset-limit',
    'page-size',
    'cursor',
    'next-link',
    'link-header',
  );
  const counting = fc.constantFrom(['has-more', 'empty-page'], ['total', 'empty-page'], ['empty-page'], ['short-page']);
  await fc.assert(
    fc.asyncProperty(servers, styles, counting, async (server, style, ends) => {
      const counts = style === 'offset-limit' || style === 'page-size';
      const written = {
        style,
        ...(counts && { ends, startIndex: server.startIndex, cap: server.cap }),
        ...(style === 'page-size' && { sizeParameter: 'limit' }),
      } as NonNullable<WrittenProfile['paging']>;
      const { end, missing, last } = await read(server, written);
      if (end?.proved !== true || missing === 0) return;
      expect([isMute(server), [10, 20, 25, 30].includes(last)]).toEqual([true, false]);
    }),
    { numRuns: 2_000 },
  );
});
