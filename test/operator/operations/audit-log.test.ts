import { beforeEach, describe, expect, test } from 'vitest';
import { useRedis } from '../../support/redis.ts';
import { allPages, openApiWorld, problemLike, ROSSI } from '../control/services-world.ts';
import { AURORA } from '../http-server/open-services.ts';

const redis = useRedis();
let world: Awaited<ReturnType<typeof openApiWorld>>;

beforeEach(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

const get = async (path: string, visitor = 'viewer') => (await world.as(visitor)('GET', path)).body;

describe('the audit log', () => {
  test('is listed newest first, page by page, each action once, by tenant and verb', async () => {
    await world.as('owner')('POST', `/tenants/${AURORA}/backup`, {});
    await world.as('operator')('POST', `/tenants/${ROSSI}/audit`, { reason: 'INC-9' });
    const all = await allPages((query) => world.as('viewer')('GET', `/audit-log?${query}`), 1);
    const ends = world.entries.filter(({ act }) => act !== null);
    expect(ends).toHaveLength(2);
    expect(all).toEqual(ends.reverse());
    const { items } = await get('/audit-log?verb=audit');
    expect(items).toMatchObject([{ verb: 'audit', outcome: 'done', why: 'INC-9' }]);
  });

  test('shows a user of one tenant only that one', async () => {
    await world.as('owner')('POST', `/tenants/${AURORA}/backup`, {});
    await world.as('owner')('POST', `/tenants/${ROSSI}/backup`, {});
    const [first] = world.entries;
    if (first === undefined) throw new Error('nothing was recorded');
    world.entries.push({ ...first, tenant: null, sequence: world.entries.length + 1 });
    expect((await get('/audit-log', 'viewer')).items).toHaveLength(3);
    const { items } = await get('/audit-log', 'viewer-of-aurora');
    expect(items.map(({ tenant }: { tenant: string }) => tenant)).toEqual([AURORA]);
    expect((await get(`/audit-log?tenant=${ROSSI}`, 'viewer-of-aurora')).items).toEqual([]);
  });

  test('refuses a place that it never gave', async () => {
    expect(await world.as('viewer')('GET', '/audit-log?after=bm8')).toEqual(problemLike(400, 'cursor-unusable'));
  });
});
