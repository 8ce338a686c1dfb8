import fc from 'fast-check';
import { beforeEach, describe, expect, test } from 'vitest';
import { stateOfRecord } from '../../../src/operator/control/record-schemas.ts';
import { useRedis } from '../../support/redis.ts';
import { cycle, pull, targetOf } from '../../tenant/cycle.ts';
import { editByHand } from '../../tenant/world.ts';
import { AURORA } from '../http-server/open-services.ts';
import { allPages, openApiWorld, problemLike, ROSSI } from './services-world.ts';

const redis = useRedis();
let world: Awaited<ReturnType<typeof openApiWorld>>;
beforeEach(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

interface Line {
  record: string;
  code: string | null;
  about: string | null;
}

const list = (tenant: string, target: string, state: string, limit = 100) =>
  allPages(
    (query) => world.as('viewer')('GET', `/tenants/${tenant}/targets/${target}/records?state=${state}&${query}`),
    limit,
  ) as Promise<Line[]>;
const records = async (...asked: Parameters<typeof list>) => (await list(...asked)).map(({ record }) => record);

describe('records of a target', () => {
  test('are listed page by page, each once, for any page size and number of links', async () => {
    const { tenant } = world.rossi;
    const expected = [...(await tenant.links.read('doctor')).keys()].sort();
    expect(expected).toHaveLength(30);
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 40 }), async (limit) => {
        expect((await records(ROSSI, 'doctor', 'in-sync', limit)).sort()).toEqual(expected);
      }),
      { numRuns: 6 },
    );
  });

  test('are listed by state, with the code of the reason', async () => {
    const { tenant, clinic, clock, book, model } = world.aurora;
    model.fault = ({ key }) => (key === targetOf(tenant).identity.key('d', 0) ? 'refused' : null);
    book('d', 60);
    await cycle(tenant);
    expect((await records(AURORA, 'doctor', 'in-sync')).sort()).toEqual(['a', 'b', 'c']);
    expect(await list(AURORA, 'doctor', 'failed')).toMatchObject([{ record: 'd', code: expect.any(String) }]);
    clinic.appointments.clear();
    clock.now += 60_000;
    await cycle(tenant);
    const [hold] = await tenant.holds.list();
    expect((await list(AURORA, 'doctor', 'on-hold')).map(({ record, code, about }) => [record, code, about])).toEqual(
      ['a', 'b', 'c', 'd'].map((id) => [id, 'vanished', hold?.id]),
    );
    for (const state of ['in-sync', 'failed', 'pending', 'changed-by-hand'] as const) {
      expect(await list(AURORA, 'doctor', state)).toEqual([]);
    }
  });

  test('that wait for their turn are listed with the reason for the write, and are not in sync', async () => {
    const { tenant, book } = world.aurora;
    book('a', 70);
    book('f', 71);
    await pull(tenant);
    expect((await records(AURORA, 'doctor', 'in-sync')).sort()).toEqual(['b', 'c']);
    expect(await list(AURORA, 'doctor', 'pending', 1)).toMatchObject([
      { record: 'a', code: 'content-changed' },
      { record: 'f', code: 'new' },
    ]);
  });

  test('that a user changed are listed with the changes, and are not in sync', async () => {
    editByHand(world.aurora, 'b', { title: 'Moved by hand' });
    await world.as('operator')('POST', `/tenants/${AURORA}/audit`, {});
    expect(await list(AURORA, 'doctor', 'changed-by-hand')).toMatchObject([
      { record: 'b', code: 'edited', about: 'title' },
    ]);
    expect((await records(AURORA, 'doctor', 'in-sync')).sort()).toEqual(['a', 'c']);
  });

  test('that rules exclude are listed by the last stored plan, and counted before the first plan', async () => {
    const ask = async () =>
      (await world.as('viewer')('GET', `/tenants/${ROSSI}/targets/contacts/records?state=excluded`)).body;
    expect(await ask()).toMatchObject({ items: [], next: null });
    await world.as('operator')('POST', `/tenants/${ROSSI}/plans`, {});
    expect(await ask()).toMatchObject({ asOf: expect.any(Number), counts: expect.any(Object) });
  });

  test.each([
    ['a state that there is not', 'doctor', '?state=well', 400, 'request-invalid'],
    ['no state', 'doctor', '', 400, 'request-invalid'],
    ['a target that there is not', 'nobody', '?state=failed', 404, 'no-such-target'],
    ['a place that nobody gave', 'doctor', '?state=in-sync&after=bm8', 400, 'cursor-unusable'],
    ['more than a page may have', 'doctor', '?state=failed&limit=9000', 400, 'request-invalid'],
  ])('are not listed for %s', async (_, target, query, status, code) => {
    const asked = await world.as('viewer')('GET', `/tenants/${AURORA}/targets/${target}/records${query}`);
    expect(asked).toEqual(problemLike(status, code));
  });

  test.each(stateOfRecord.options)('contain only ids and codes: %s', async (state) => {
    const { body } = await world.as('viewer')('GET', `/tenants/${ROSSI}/targets/contacts/records?state=${state}`);
    expect(Object.keys(body).sort()).toEqual(['asOf', 'counts', 'items', 'next', 'state', 'target']);
  });
});
