import { describe, expect, test } from 'vitest';
import { descriptionSchema, erasedStreams, hasContacts } from '../../../src/connectors/rest-crm/description.ts';
import { profiles } from '../../../src/connectors/rest-crm/schemas.ts';

const { streams } = descriptionSchema.parse(profiles.espocrm!);
const PATIENTS = streams.patients!;

/** Paths of the faults of a description whose contacts are changed. */
function faultsOf(change: object, more: object = {}): string[] {
  const patients = { ...structuredClone(profiles.espocrm!).streams.patients, ...change };
  const result = descriptionSchema.safeParse({ streams: { patients, ...more } });
  return (result.error?.issues ?? []).map(({ path }) => path.join('.'));
}

describe('a description', () => {
  test('with usable calls has no fault', () => {
    expect(faultsOf({})).toEqual([]);
  });

  test.each<[string, object, string]>([
    [
      'values of patients in a URL',
      { create: { call: { method: 'POST', path: '/x/{{properties}}' }, id: 'id' } },
      'create.call',
    ],
    ['a deletion without an id', { delete: { call: { method: 'DELETE', path: '/x' } } }, 'delete.call'],
    [
      'several keys with one key in the request',
      { find: { call: { method: 'GET', path: '/x/{{key}}' }, listPath: '.', size: 2 } },
      'find.size',
    ],
    [
      'several deletions without ids',
      {
        deleteMany: { call: { method: 'POST', path: '/x' }, size: 2, listPath: '.', status: 's', taken: [1], id: 'id' },
      },
      'deleteMany.call',
    ],
    [
      'pages that would all be the first',
      { list: { call: { method: 'GET', path: '/x' }, listPath: '.', paging: { style: 'offset-limit' } } },
      'list.paging',
    ],
    [
      'a header that the program sets',
      { erase: { call: { method: 'DELETE', path: '/x/{{id}}', headers: { Cookie: 'x' } } } },
      'erase.call.headers.Cookie',
    ],
    [
      'a header of the connection to a proxy',
      { erase: { call: { method: 'DELETE', path: '/x/{{id}}', headers: { 'Proxy-Authorization': 'x' } } } },
      'erase.call.headers.Proxy-Authorization',
    ],
    ['a page by another scheme than http', { page: 'javascript:{{id}}' }, 'page'],
    ['a path with a query', { erase: { call: { method: 'DELETE', path: '/x?{{id}}' } } }, 'erase.call.path'],
  ])('is at fault for %s', (_, change, path) => {
    expect(faultsOf(change)).toEqual([`streams.patients.${path}`]);
  });

  test('is at fault for invoices that carry no stamp, or whose contacts can not be found', () => {
    const { stampField: _, ...invoices } = structuredClone(profiles.espocrm!).streams.patients as {
      stampField?: string;
    };
    expect(faultsOf({}, { invoices })).toEqual(['streams.invoices.stampField']);
    const alone = descriptionSchema.safeParse({ streams: { invoices: { ...invoices, stampField: 'stamp' } } });
    expect(alone.error?.issues.map(({ path }) => path.join('.'))).toEqual(['streams.patients']);
  });
});

test('existing contacts are found if a stamp, a read by id, and a complete list distinguish them', () => {
  const list = { ...PATIENTS.list, call: { ...PATIENTS.list.call, query: {} } };
  const ownedList = { ...list, call: { ...list.call, query: { where: '{{ownerTag}}' } } };
  const known = { ...PATIENTS, stampField: 'stamp', get: { call: list.call, recordPath: '.' }, list };
  const { stampField: _, ...unstamped } = known;
  const { get: __, ...ungot } = known;
  const { listAll: ___, ...owned } = { ...known, list: ownedList };
  expect(hasContacts(known)).toBe(true);
  expect([unstamped, ungot, owned].map(hasContacts)).toEqual([false, false, false]);
  expect(hasContacts({ ...owned, listAll: { call: list.call } })).toBe(true);
});

test('streams with permanent deletion are those without a bin, or with a call that empties the bin', () => {
  const { erase: _, ...kept } = PATIENTS;
  const binned = { ...kept, delete: { ...PATIENTS.delete, isForGood: false } };
  const patients = { ...binned, delete: { ...binned.delete, isForGood: true } };
  const invoices = { ...binned, erase: { call: PATIENTS.delete.call } };
  const described = { streams: { patients, appointments: binned, invoices } } as never;
  expect(erasedStreams(described)).toEqual(['patients', 'invoices']);
});
