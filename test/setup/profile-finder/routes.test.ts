import { describe, expect, test } from 'vitest';
import { compared, undecidedAt, withAppointments } from './documents.ts';

const ROW = { type: 'object', properties: { id: { type: 'string' } } };

/** A document of these paths, each with the scopes that reading it needs. */
function withPaths(paths: Record<string, readonly string[]>): string {
  const entries = Object.entries(paths).map(([path, scopes]) => [
    path,
    { get: { security: [{ oauth: scopes }], responses: {} } },
  ]);
  return JSON.stringify({ openapi: '3.0.3', paths: Object.fromEntries(entries) });
}

const findingOf = (document: string, location: string) =>
  compared(document).findings.find((one) => one.location === location);

test('missing operations are no difference, except those required for the sync', () => {
  const { findings } = compared(withAppointments(ROW));
  const routes = (result: string) =>
    findings.filter((one) => one.area === 'routes' && one.result === result).map(({ location }) => location);
  expect(routes('differs')).toEqual(['userInfo.read', 'agendas.list', 'appointments.read', 'locations.list']);
  expect(routes('absent')).toContain('invoices.create');
});

describe('the prefix of paths', () => {
  test('is the part of most paths before a known path, with any parameter names and spelling', () => {
    const document = withPaths({
      '/api/v9/tenants/{studio}/Price_Lists': [],
      '/api/v9/tenants/{studio}/agendas/{idAgenda}': [],
      '/old/tenants/{studio}/locations': [],
    });
    expect(findingOf(document, 'pathPrefix')).toMatchObject({ result: 'differs', there: '/api/v9' });
    expect(findingOf(document, 'priceLists.list')).toMatchObject({ result: 'fits' });
    expect(findingOf(document, 'agendas.read')).toMatchObject({ result: 'fits' });
    // Under another prefix an operation is another one.
    expect(findingOf(document, 'locations.list')).toMatchObject({ result: 'differs' });
  });

  test('is a question if no path is known', () => {
    expect(undecidedAt(withPaths({ '/pets': [] }), 'pathPrefix')?.ask).toContain('is it the right document?');
  });
});

describe('scopes', () => {
  const paths = (scopes: Record<'agendas' | 'patients' | 'treatments', string[]>) =>
    withPaths(Object.fromEntries(Object.entries(scopes).map(([list, needed]) => [`/v2/tenants/{id}/${list}`, needed])));

  test('have the prefix that most operations require, and one that no profile can express is reported', () => {
    const document = paths({ agendas: ['Studio.Agenda'], patients: ['Studio.patients'], treatments: ['read:all'] });
    expect(compared(document).changes).toContainEqual(
      expect.objectContaining({ path: ['scopePrefix'], value: 'Studio.' }),
    );
    const told = compared(document).findings.filter(({ area, result }) => area === 'scopes' && result === 'differs');
    expect(told.map(({ location }) => location)).toEqual(['scopePrefix', 'treatments.list']);
  });

  test('without a known name are questions', () => {
    expect(undecidedAt(paths({ agendas: ['all'], patients: [], treatments: [] }), 'scopePrefix')?.ask).toContain(
      'which scopes',
    );
  });
});
