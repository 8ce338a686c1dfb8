import { describe, expect, test } from 'vitest';
import { MOST_REQUESTS, probePaging } from '../../../src/setup/probe/questions.ts';
import { type Answering, askerOf } from './asked-clinic.ts';

const ROWS = Array.from({ length: 40 }, (_, index) => ({ id: `a${index}` }));

/** A list of 40 rows, with at most 15 in an answer. @param position the first requested row */
function listing(size: string, position: (query: URLSearchParams) => number): Answering {
  return (query) => {
    const from = position(query);
    const rows = ROWS.slice(from, from + Math.min(Number(query.get(size) ?? 10), 15));
    return { body: { data: rows, total: ROWS.length, next_cursor: `c${from + rows.length}` } };
  };
}

const pagingOf = (answer: Answering, paging = {}) => probePaging(askerOf(answer).asker, [], paging);

describe('the paging of a list is found by asking for two rows', () => {
  const count = (name: string) => (query: URLSearchParams) => Number(query.get(name) ?? 0);
  const page = (first: number) => (query: URLSearchParams) =>
    (Number(query.get('page') ?? first) - first) * Number(query.get('limit') ?? 10);

  test.each([
    ['rows that are skipped', listing('take', count('skip')), 'take', { name: 'skip', first: 0 }],
    ['pages from 1', listing('limit', page(1)), 'limit', { name: 'page', first: 1 }],
    ['pages from 0', listing('limit', page(0)), 'limit', { name: 'page', first: 0 }],
    [
      'a cursor',
      listing('limit', (query) => Number((query.get('after') ?? 'c0').slice(1))),
      'limit',
      { name: 'after', first: null },
    ],
  ] as const)('by %s, with the most rows that come at once', async (_what, answer, size, position) => {
    const found = await pagingOf(answer);
    expect(found?.query).toMatchObject([{ name: size, maximum: 15 }, position]);
    expect(found).toMatchObject({ largest: [[size, '15']], hasLinkHeader: false });
    expect(found?.rows).toHaveLength(15);
  });

  test('by the names of the profile before any other', async () => {
    const { asker, asked } = askerOf(listing('zeilen', count('ab')));
    const paging = { limitParameter: 'zeilen', offsetParameter: 'ab' };
    expect((await probePaging(asker, [], paging))?.query.map(({ name }) => name)).toEqual(['zeilen', 'ab']);
    // One request without parameters, one for two rows, one for the next two, and one for many.
    expect(asked).toHaveLength(4);
  });

  test('although the server once gives the same rows again', async () => {
    let stumbles = 1;
    const answer = listing('limit', (query) => (query.has('offset') && stumbles-- > 0 ? 0 : count('offset')(query)));
    expect((await pagingOf(answer))?.query.map(({ name }) => name)).toEqual(['limit', 'offset']);
  });

  test('by a Link header, which needs no position', async () => {
    const found = await pagingOf((query) => {
      return { ...listing('limit', () => 0)(query, ''), headers: { link: '</list?x=2>; rel="next"' } };
    });
    expect(found).toMatchObject({ hasLinkHeader: true, query: [{ name: 'limit', maximum: 15 }] });
  });

  test.each([
    ['segnalibro', 'segnalibro'],
    ['nextPageToken', 'pageToken'],
    ['esito.prossimo', 'prossimo'],
  ])('by a cursor at %s, although no parameter gives fewer rows', async (path, parameter) => {
    const [name = '', inner] = path.split('.');
    const found = await pagingOf((query) => {
      const from = Number((query.get(parameter) ?? 'c0').slice(1));
      const token = from + 15 < ROWS.length ? `c${from + 15}` : null;
      const next = inner === undefined ? { [name]: token } : { [name]: { [inner]: token } };
      return {
        body: { righe: ROWS.slice(from, from + 15), altre: token === null ? 'N' : 'S', conteggio: 40, ...next },
      };
    });
    expect(found).toMatchObject({
      query: [{ name: parameter, isCursor: true }],
      envelope: { cursorPath: path, linkPath: null },
    });
  });

  test('by a link under any name, which needs no parameter', async () => {
    const found = await pagingOf(() => ({ body: { righe: ROWS, weiter: '/v1/list?ab=2' } }));
    expect(found).toMatchObject({ query: [], envelope: { cursorPath: null, linkPath: 'weiter' } });
  });

  test('and is none where no parameter gives fewer rows', async () => {
    const found = await pagingOf(() => ({ body: ROWS }));
    expect(found).toMatchObject({ query: [], largest: [], hasLinkHeader: false });
    expect(found?.rows).toHaveLength(ROWS.length);
  });

  test('and cannot be found with four rows, which are too few', async () => {
    expect(await pagingOf(() => ({ body: ROWS.slice(0, 4) }))).toBe(null);
  });
});

describe('the questions of a probe', () => {
  test('probe-exhausted: end after 120, before another request to the clinic', async () => {
    const { asker, asked } = askerOf(() => ({ body: [] }));
    for (let request = 0; request < MOST_REQUESTS; request += 1) await asker.ask('appointments');
    await expect(asker.ask('appointments')).rejects.toMatchObject({ actor: 'contract', code: 'probe-exhausted' });
    expect(asked).toHaveLength(MOST_REQUESTS);
  });

  test('probe-refused: without any rows each refusal counts by its status; probe-empty: one answer is enough', async () => {
    const statuses = [400, 422, 400];
    const { asker } = askerOf(() => {
      const status = statuses.shift() ?? 200;
      return { status, body: status === 200 ? [] : { message: `no ${status}` } };
    });
    for (let request = 0; request < 3; request += 1) await asker.ask('appointments');
    expect(asker.noEvidence()).toMatchObject({ code: 'probe-refused' });
    expect(asker.noEvidence().message).toContain('2 with 400, 1 with 422');
    expect(asker.noEvidence().vendorMessages()).toEqual(['no 400']);
    // Other questions are no evidence.
    await asker.ask('agendas');
    await asker.ask('appointments', [], 'a1');
    expect(asker.noEvidence()).toMatchObject({ code: 'probe-refused' });
    await asker.ask('appointments');
    expect(asker.noEvidence()).toMatchObject({ actor: 'settings', code: 'probe-empty' });
  });

  test('are ended by a refusal that is unrelated to them', async () => {
    await expect(askerOf(() => ({ status: 401 })).asker.ask('appointments')).rejects.toMatchObject({
      code: 'token-refused',
    });
  });
});
