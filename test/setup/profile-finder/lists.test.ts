import { describe, expect, test } from 'vitest';
import { clinicProfileSchema } from '../../../src/clinic/schema/profile.ts';
import { compareSpecification } from '../../../src/setup/profile-finder/compare.ts';
import { propose } from '../../../src/setup/profile-finder/findings.ts';
import { type QueryParameter, queryParameter, readSpecification } from '../../../src/setup/profile-finder/openapi.ts';
import { changed, compared, DOCUMENTED, withAppointments } from './documents.ts';

describe('windows', () => {
  const row = { type: 'object', properties: { id: { type: 'string' } } };
  const parameter = (name: string, schema: object, required = true) => ({ name, in: 'query', required, schema });
  const time = { type: 'string', format: 'date-time' };

  test('by start are recognised by their names, and begin earlier', () => {
    const seconds = { type: 'integer', description: 'Unix seconds' };
    const document = withAppointments(row, {}, [parameter('starts_from', seconds), parameter('starts_to', seconds)]);
    const { appointments } = propose(DOCUMENTED, compared(document).changes).profile;
    expect(appointments.filters).toMatchObject({ from: 'starts_from', to: 'starts_to' });
    expect(appointments.window).toMatchObject({ format: 'epoch-seconds', leadHours: 168 });
  });

  test('with an unclear end are questions, and no time is added to the query', () => {
    const { findings, changes } = compared(
      withAppointments(row, {}, [parameter('starts_from', time), parameter('horizon', time)]),
    );
    const asked = findings.filter(({ location }) => location === 'appointments.query').map(({ ask }) => ask);
    expect(asked).toEqual([
      expect.stringContaining('which end of a window'),
      expect.stringContaining('which end of a window'),
    ]);
    expect(changes.filter(({ path }) => path.includes('query'))).toEqual([]);
  });
});

describe('paging', () => {
  const number = (name: string, more: object = {}) => ({ name, in: 'query', schema: { type: 'integer', ...more } });
  test.each([
    [
      'offset and limit',
      [number('skip'), number('take', { maximum: 50 })],
      { style: 'offset-limit', offsetParameter: 'skip', limitParameter: 'take', cap: 50, size: 50 },
    ],
    [
      'pages from 0',
      [number('page', { minimum: 0 }), number('size')],
      { style: 'page-size', pageParameter: 'page', sizeParameter: 'size', startIndex: 0 },
    ],
    ['nothing', [], { style: 'none' }],
  ])('by %s', (_what, parameters, paging) => {
    const row = { type: 'object', properties: { id: { type: 'string' } } };
    expect(changed(withAppointments(row, {}, parameters), 'paging')).toMatchObject(paging);
  });
});

describe('a filter for changes', () => {
  const row = { type: 'object', properties: { id: { type: 'string' }, start: { type: 'string' } } };
  const PLACE = 'appointments.rereading.changedSince.parameter';
  const named = (name: string) => withAppointments(row, {}, [{ name, in: 'query', schema: { type: 'string' } }]);
  const profileWith = (parameter: string | null) =>
    clinicProfileSchema.parse({ appointments: { rereading: { changedSince: { parameter } } } });
  const found = (document: string, parameter: string | null) => {
    const { findings, changes } = compareSpecification(readSpecification(document), profileWith(parameter));
    const change = changes.find(({ path }) => path.join('.') === PLACE);
    return [findings.find(({ location }) => location === PLACE)?.result, change?.value];
  };

  test('is a question, and never proposed automatically', () => {
    expect(found(named('modified_since'), null)).toEqual(['undecided', undefined]);
    expect(found(named('colour'), null)).toEqual([undefined, undefined]);
  });

  test('that the profile names is compared', () => {
    expect(found(named('q'), 'q')).toEqual(['fits', undefined]);
    expect(found(named('updatedAfter'), 'q')).toEqual(['differs', 'updatedAfter']);
    expect(found(named('colour'), 'q')).toEqual(['differs', null]);
  });
});

describe('a document of a list of agendas', () => {
  const comparedList = (operation: object) =>
    compareSpecification(
      readSpecification(
        JSON.stringify({ openapi: '3.0.0', info: {}, paths: { '/v2/tenants/{tenantId}/agendas': { get: operation } } }),
      ),
      DOCUMENTED,
    );
  const rows = { 'application/json': { schema: { type: 'array', items: { properties: { id: { type: 'string' } } } } } };
  const named = (...names: string[]) => names.map((name) => ({ name, in: 'query', schema: { type: 'integer' } }));
  const pagingIn = ({ changes }: ReturnType<typeof comparedList>) =>
    changes.filter(({ path }) => path.at(-1) === 'paging');

  test('with a Link header in the answer proposes that style, with the parameter for the size', () => {
    const found = comparedList({
      parameters: named('page', 'per_page'),
      responses: { 200: { headers: { LINK: { schema: { type: 'string' } } }, content: rows } },
    });
    expect(pagingIn(found)).toMatchObject([{ value: { style: 'link-header', sizeParameter: 'per_page' } }]);
    const failing = comparedList({
      parameters: named('page', 'per_page'),
      responses: { 200: { content: rows }, 400: { headers: { Link: {} } } },
    });
    expect(pagingIn(failing)).toMatchObject([{ value: { style: 'page-size' } }]);
  });

  test.each(['page', 'offset', 'cursor', 'limit', 'size', 'per_page', '$top', '$skip', 'page[number]', 'page[size]'])(
    'with only the parameter %s asks how the list pages, and proposes nothing',
    (name) => {
      const found = comparedList({ parameters: named(name), responses: { 200: { content: rows } } });
      expect(pagingIn(found)).toEqual([]);
      expect(found.findings).toContainEqual(
        expect.objectContaining({
          location: 'agendas.paging',
          result: 'undecided',
          ask: expect.stringContaining(name),
        }),
      );
    },
  );

  test('with an observed cursor or link under any name proposes that style', () => {
    const observed = (query: QueryParameter[], next: { cursorPath: string | null; linkPath: string | null }) => {
      const [operation] = readSpecification(
        JSON.stringify({
          ...{ openapi: '3.0.0', info: {} },
          paths: { '/v2/tenants/{tenantId}/agendas': { get: { responses: { 200: { content: rows } } } } },
        }),
      ).operations;
      return pagingIn(compareSpecification({ operations: [{ ...operation!, query, next }] }, DOCUMENTED));
    };
    const cursor = queryParameter('segno', { isCursor: true });
    expect(observed([cursor], { cursorPath: 'esito.segno', linkPath: null })).toMatchObject([
      { value: { style: 'cursor', cursorParameter: 'segno', cursorPath: 'esito.segno', sizeParameter: null } },
    ]);
    expect(observed([], { cursorPath: null, linkPath: 'weiter' })).toMatchObject([
      { value: { style: 'next-link', linkPath: 'weiter' } },
    ]);
  });

  test('without such parameters proposes no paging as likely, and has a question about complete lists', () => {
    const found = comparedList({ responses: { 200: { content: rows } } });
    expect(pagingIn(found)).toMatchObject([{ value: { style: 'none' }, comment: expect.stringContaining('likely') }]);
    expect(found.findings).toContainEqual(
      expect.objectContaining({ result: 'undecided', ask: expect.stringContaining('paging.cap') }),
    );
  });
});
