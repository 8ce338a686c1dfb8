import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { anySign, usualSign } from '../../../src/clinic/http/more-rows.ts';

/** Whether a response of a clinic with five rows announces more. */
function tells(body: unknown, headers: Record<string, string> = {}): boolean {
  return usualSign({ body, headers: new Headers(headers) }, 5) !== null;
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

const ASKED = 'https://clinic.example/v2/tenants/t/appointments?from=2026-12-01&limit=500&giorni=90&studio=4711';

/** The field that says that an unpaged answer with 37 rows lacks rows. */
function signOf(around: object, headers: Record<string, string> = {}): string | null {
  return anySign(
    { body: { righe: [], ...around }, headers: new Headers(headers), url: ASKED },
    { rows: 37, pages: null },
    [],
  );
}

describe('an unpaged answer with 37 records lacks some', () => {
  test.each<[string, object]>([
    ['nextPageToken', { nextPageToken: 'x' }],
    ['@odata.nextLink', { '@odata.nextLink': 'https://clinic.example/odata/a?$skiptoken=9' }],
    ['altre', { altre: 'S' }],
    ['ancora', { ancora: true }],
    ['weitere', { weitere: 'J' }],
    ['hasMore', { hasMore: true }],
    ['moreAvailable', { moreAvailable: 'true' }],
    ['totalCount', { totalCount: 240 }],
    ['gesamt', { gesamt: '240' }],
    ['quante', { quante: 38 }],
    ['restanti', { restanti: 3 }],
    ['pagine', { pagine: 7 }],
    ['last', { last: false }],
    ['ultimaPagina', { ultimaPagina: 'N' }],
    ['esito.paginazione.totale', { esito: { paginazione: { totale: 240 } } }],
    ['risposta.prossima', { risposta: { prossima: { href: '/elenco/2' } } }],
    ['avanti', { avanti: '/v2/tenants/t/appointments?from=2026-12-01&pagina=2' }],
    ['indice', { indice: '?pagina=2' }],
  ])('by %s', (path, around) => expect(signOf(around)).toBe(path));

  test.each([
    ['content-range', 'items 0-36/240'],
    ['x-total-records', '240'],
  ])('by the header %s', (name, value) => expect(signOf({}, { [name]: value })).toBe(`header:${name}`));

  test('except by a field that the profile declares meaningless', () => {
    const answer = { body: { quante: 240, altre: 'S' }, headers: new Headers() };
    expect(anySign(answer, { rows: 37, pages: null }, ['quante'])).toBe('altre');
    expect(anySign(answer, { rows: 37, pages: null }, ['quante', 'altre'])).toBeNull();
  });

  test('whatever the word for a flag, and whatever the total above the count', () => {
    const word = fc.stringMatching(/^q[bcdfghj]{3,8}$/);
    fc.assert(
      fc.property(word, fc.constantFrom(true, 'S', 'sì', 'yes', 'true', 'ja'), (name, value) => {
        expect(signOf({ [name]: value })).toBe(name);
      }),
    );
    fc.assert(
      fc.property(word, fc.integer({ min: 38, max: 9_999_999 }), (name, count) => {
        fc.pre(![90, 500, 4711].includes(count));
        expect(signOf({ [name]: count })).toBe(name);
      }),
    );
  });
});

test.each<[object]>([
  [{ totalCount: 37, count: 37, page: 1, pages: 1, totalPages: 1, pagina: 1, pagine: 1 }],
  [{ altre: 'N', hasMore: false, nextPageToken: '', prossima: null, restanti: 0, weitere: 'nein' }],
  [{ limit: 500, pageSize: 200, giorni: 90, studio: 4711, dimensionePagina: 100, maxResults: 1000 }],
  [{ success: true, ok: true, valid: true, esito: 'OK', status: 200, codice: 4711, active: 'S' }],
  [{ id: 99, requestId: 'a3f9', tenantId: 812, traceId: 'next-9', sessionToken: 'x', csrfToken: 'x' }],
  [
    {
      generatedAt: '2026-12-01T09:00:00Z',
      aggiornato: '2026-12-01',
      timestamp: 1_764_500_000,
      tookMs: 120,
      anno: 2026,
    },
  ],
  [{ version: 3, apiVersion: '2026-12', '@odata.context': 'https://clinic.example/v2/$metadata#Appointments' }],
  [{ last: true, isLast: 'S', complete: true, ultimaPagina: 1, first: true }],
  [{ links: { self: ASKED, first: '?page=1', prev: null, next: null }, link: [{ rel: 'self', href: ASKED }] }],
  [{ self: '?pagina=1&limit=500', rateLimit: { remaining: 99, total: 5_000 }, clinic: { name: 'Sì', letti: 240 } }],
])('an unpaged answer with all 37 records says nothing more: %j', (around) => expect(signOf(around)).toBeNull());

test('repetitions of the request and values without content never announce more', () => {
  const echoes = [...new URL(ASKED).searchParams];
  const nothing = fc.constantFrom<unknown>(null, false, 0, '', ' ', 'N', 'no', 'false', [], {}, '2026-12-03', 37, 1);
  const echo = fc.constantFrom(...echoes.flatMap(([, value]) => [value, Number(value) || value]));
  const name = fc.constantFrom('altre', 'page', 'pagine', 'next', 'weiter', 'totale', 'cursor', 'qbcd', 'hasMore', 'a');
  fc.assert(
    fc.property(name, fc.oneof(nothing, echo), fc.boolean(), (word, value, isWrapped) => {
      fc.pre(!(typeof value === 'number' && value > 0 && ['altre', 'weiter', 'cursor', 'hasMore'].includes(word)));
      // A next page 0 is a page too.
      fc.pre(!(word === 'next' && (typeof value === 'number' || (typeof value === 'string' && value !== ''))));
      fc.pre(!(word === 'pagine' || word === 'page') || value !== 37);
      expect(signOf(isWrapped ? { wrap: { [word]: value } } : { [word]: value })).toBeNull();
    }),
  );
});
