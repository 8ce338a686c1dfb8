import { beforeEach, describe, expect, test } from 'vitest';
import { useRedis } from '../../support/redis.ts';
import { allPages, BROKEN, openApiWorld, problemLike, ROSSI } from '../control/services-world.ts';
import { AURORA } from '../http-server/open-services.ts';

const redis = useRedis();
let world: Awaited<ReturnType<typeof openApiWorld>>;
beforeEach(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

describe('tenants', () => {
  test('are listed with both parts of their state and their problems', async () => {
    const { body } = await world.as('viewer')('GET', '/tenants');
    expect(body.next).toBeNull();
    expect(body.items).toMatchObject([
      { tenant: AURORA, name: 'Aurora', sync: 'in-sync', health: 'ok', targets: 1, pending: 0, faults: 0 },
      { tenant: BROKEN, name: null, sync: 'unknown', health: 'action-required', faults: 1 },
      { tenant: ROSSI, targets: 2 },
    ]);
    expect(body.items[1].problems).toMatchObject([{ code: 'tenant-set-aside', health: 'action-required' }]);
  });

  test('come page by page, and only those that the visitor may see', async () => {
    const ask = (visitor: string) => (query: string) => world.as(visitor)('GET', `/tenants?${query}`);
    expect((await allPages(ask('viewer'), 1)).map((item) => (item as { tenant: string }).tenant)).toEqual([
      AURORA,
      BROKEN,
      ROSSI,
    ]);
    expect(await allPages(ask('viewer-of-aurora'), 100)).toMatchObject([{ tenant: AURORA }]);
  });

  test('are not listed after an unknown position in the list', async () => {
    for (const after of ['', 'nonsense', Buffer.from('{"a":1}').toString('base64url')]) {
      expect(await world.as('viewer')('GET', `/tenants?after=${after}`)).toEqual(problemLike(400, 'cursor-unusable'));
    }
  });

  test('with faults report them when one of the tenants is requested', async () => {
    expect(await world.as('viewer')('GET', `/tenants/${BROKEN}`)).toEqual(problemLike(409, 'tenant-set-aside'));
  });
});

describe('one tenant', () => {
  test('is shown completely, with the same targets, connections and problems as their lists', async () => {
    const { status, body } = await world.as('viewer')('GET', `/tenants/${ROSSI}`);
    expect([status, body.tenant, body.targets.length]).toEqual([200, ROSSI, 2]);
    const { body: targets } = await world.as('viewer')('GET', `/tenants/${ROSSI}/targets`);
    expect(targets.targets).toEqual(body.targets);
    const { body: connections } = await world.as('viewer')('GET', `/tenants/${ROSSI}/connections`);
    expect(connections.connections).toEqual(body.connections);
    const { body: problems } = await world.as('viewer')('GET', `/tenants/${ROSSI}/problems`);
    expect(problems.problems).toEqual(body.problems);
  });
});

describe('problems', () => {
  test('of all tenants are listed tenant by tenant, for users who may see them', async () => {
    const { body } = await world.as('viewer')('GET', '/problems');
    expect(body.problems).toMatchObject([{ tenant: BROKEN, code: 'tenant-set-aside' }]);
    const { body: theirs } = await world.as('viewer-of-aurora')('GET', '/problems');
    expect(theirs).toEqual({ problems: [], next: null });
  });
});
