import { describe, expect, it } from 'vitest';
import { CONTACTS, KEY, startBench } from './support.ts';

const SEARCH = `${CONTACTS}/search`;
const where = (propertyName: string, operator: string, more: object = {}) => ({
  filterGroups: [{ filters: [{ propertyName, operator, ...more }] }],
});

async function startWithPeople() {
  let now = Date.now();
  const bench = await startBench({ now: () => now, searchLagMs: 0, searchesPerSecond: 1000 });
  for (const [key, firstname, city] of [
    ['a', 'Anna', 'Chur'],
    ['b', 'Bruno', 'Basel'],
    ['c', 'Carla', ''],
  ] as const) {
    bench.sandbox.add('contacts', { [KEY]: key, firstname, city, email: `${key}@clinic.example` });
    now += 1000;
  }
  const find = async (body: object): Promise<string[]> => {
    const answer = await bench.call('POST', SEARCH, { properties: ['firstname'], ...body });
    return answer.body.results.map(({ properties }: { properties: Record<string, string> }) => properties.firstname);
  };
  return { ...bench, find };
}

describe('a search', () => {
  it.each([
    ['EQ', where('city', 'EQ', { value: 'chur' }), ['Anna']],
    ['NEQ', where('city', 'NEQ', { value: 'Chur' }), ['Bruno']],
    ['IN', where(KEY, 'IN', { values: ['a', 'c'] }), ['Anna', 'Carla']],
    ['NOT_IN', where(KEY, 'NOT_IN', { values: ['a', 'c'] }), ['Bruno']],
    ['HAS_PROPERTY', where('city', 'HAS_PROPERTY'), ['Anna', 'Bruno']],
    ['NOT_HAS_PROPERTY', where('city', 'NOT_HAS_PROPERTY'), ['Carla']],
    ['CONTAINS_TOKEN', where('email', 'CONTAINS_TOKEN', { value: 'b@*' }), ['Bruno']],
    ['GT', where('createdate', 'GT', { value: '2000-01-01' }), ['Anna', 'Bruno', 'Carla']],
    ['LT', where('createdate', 'LT', { value: '2000-01-01' }), []],
    ['BETWEEN', where('createdate', 'BETWEEN', { value: '1999-01-01', highValue: '2000-01-01' }), []],
    ['free text', { query: 'CARLA' }, ['Carla']],
    ['an order', { sorts: [{ propertyName: 'firstname', direction: 'DESCENDING' }] }, ['Carla', 'Bruno', 'Anna']],
    [
      'groups, of which one must fit',
      {
        filterGroups: [
          ...where('city', 'EQ', { value: 'Chur' }).filterGroups,
          ...where(KEY, 'EQ', { value: 'b' }).filterGroups,
        ],
      },
      ['Anna', 'Bruno'],
    ],
  ])('knows %s', async (_what, body, expected) => {
    const { find } = await startWithPeople();
    expect(await find(body)).toEqual(expected);
  });

  it('has its limits', async () => {
    const { call } = await startWithPeople();
    const filter = { propertyName: 'city', operator: 'EQ', value: 'x' };
    const filters = (count: number) => ({ filters: Array.from({ length: count }, () => filter) });
    const refused: object[] = [
      { limit: 201 },
      { query: 'x'.repeat(3001) },
      { filterGroups: Array.from({ length: 6 }, () => filters(1)) },
      { filterGroups: [filters(7)] },
      { filterGroups: Array.from({ length: 5 }, () => filters(4)) },
      { filterGroups: [{ filters: [{ ...filter, operator: 'LIKE' }] }] },
      { limit: 200, after: '9801' },
    ];
    for (const body of refused) {
      expect(await call('POST', SEARCH, body)).toMatchObject({ status: 400, body: { category: 'VALIDATION_ERROR' } });
    }
    expect((await call('POST', SEARCH, { limit: 200, after: '9800' })).status).toBe(200);
  });

  it('is paged', async () => {
    const { call } = await startWithPeople();
    const first = await call('POST', SEARCH, { limit: 2 });
    expect(first.body).toMatchObject({ total: 3, paging: { next: { after: '2' } } });
    const second = await call('POST', SEARCH, { limit: 2, after: '2' });
    expect(second.body.results).toHaveLength(1);
    expect(second.body.paging).toBeUndefined();
  });

  it('returns writes and deletions late, so a search before a create duplicates the contact', async () => {
    let now = Date.now();
    const { call, sandbox } = await startBench({ now: () => now, searchLagMs: 4000 });
    const id = sandbox.add('contacts', { email: 'a@b.example' });
    const total = async (): Promise<number> => (await call('POST', SEARCH, {})).body.total;
    now += 3999;
    expect(await total()).toBe(0);
    expect((await call('POST', CONTACTS, { properties: { email: 'a@b.example' } })).status).toBe(409);
    now += 1;
    expect(await total()).toBe(1);
    sandbox.archive('contacts', id);
    expect(await total()).toBe(1);
    now += 4000;
    expect(await total()).toBe(0);
  });

  it('is limited to five calls a second, and returns no limit headers', async () => {
    let now = Date.now();
    const { call, sandbox } = await startBench({ now: () => now });
    for (let count = 0; count < 5; count++) {
      const answer = await call('POST', SEARCH, {});
      expect(answer.status).toBe(200);
      expect(answer.headers.get('x-hubspot-ratelimit-remaining')).toBeNull();
    }
    expect(await call('POST', SEARCH, {})).toMatchObject({
      status: 429,
      body: { policyName: 'SECONDLY', message: 'You have reached your secondly limit.', errorType: 'RATE_LIMIT' },
    });
    expect((await call('GET', CONTACTS)).status).toBe(200);
    now += 1000;
    expect((await call('POST', SEARCH, {})).status).toBe(200);
    expect(sandbox.counts.searches).toBe(7);
  });
});
