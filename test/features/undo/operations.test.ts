import { beforeEach, describe, expect, test } from 'vitest';
import { allPages, openApiWorld, problemLike, ROSSI } from '../../operator/control/services-world.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
let world: Awaited<ReturnType<typeof openApiWorld>>;

beforeEach(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

const get = async (path: string, visitor = 'viewer') => (await world.as(visitor)('GET', path)).body;

describe('a run', () => {
  test('is listed with the others, newest first', async () => {
    const run = await world.rossi.changedRun();
    const runs = await allPages((query) => world.as('viewer')('GET', `/tenants/${ROSSI}/runs?${query}`), 1);
    const stored = await world.rossi.tenant.runs.list(50);
    expect(runs.map((each) => (each as { id: string }).id)).toEqual(stored.map(({ id }) => id));
    expect((await get(`/tenants/${ROSSI}/changing-runs`)).runs).toMatchObject([{ run, updated: 1, deleted: 0 }]);
  });

  test('is undone after a preview of the result', async () => {
    const run = await world.rossi.changedRun();
    const undo = (body: object) => world.as('operator')('POST', `/tenants/${ROSSI}/runs/${run}/undo`, body);
    expect(await undo({})).toEqual(problemLike(400, 'request-invalid'));
    expect((await undo({ dryRun: true })).body).toMatchObject({ dryRun: true, records: [{ record: '1' }] });
    expect(world.entries).toEqual([]);
    expect((await undo({ dryRun: false })).body).toMatchObject({ dryRun: false, records: [{ result: 'restored' }] });
    expect(world.entries).toMatchObject([{ verb: 'undo' }, { verb: 'undo', outcome: 'done' }]);
    const released = await world.as('operator')('POST', `/tenants/${ROSSI}/runs/${run}/release`, {});
    expect(released.body).toEqual({ tenant: ROSSI, released: 0 });
  });

  test('that there is not is not found', async () => {
    const asked = await world.as('operator')('POST', `/tenants/${ROSSI}/runs/none/undo`, { dryRun: true });
    expect(asked).toEqual(problemLike(404, 'no-such-run'));
  });
});
