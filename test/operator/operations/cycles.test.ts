import { beforeEach, describe, expect, test } from 'vitest';
import { useRedis } from '../../support/redis.ts';
import { waitFor } from '../../support/wait-for.ts';
import { allPages, openApiWorld, problemLike } from '../control/services-world.ts';
import { AURORA } from '../http-server/open-services.ts';

const redis = useRedis();
const PLANS = `/tenants/${AURORA}/plans`;
let world: Awaited<ReturnType<typeof openApiWorld>>;
beforeEach(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

/** A plan of one appointment that moved and one that is new. */
async function plan(): Promise<string> {
  world.aurora.book('b', 50);
  world.aurora.book('d', 60);
  const { status, body } = await world.as('operator')('POST', PLANS);
  expect(status).toBe(200);
  return body.id;
}

describe('a plan', () => {
  test('lists the changes line by line and without a fingerprint, and writes nothing', async () => {
    const id = await plan();
    const { body } = await world.as('viewer')('GET', `${PLANS}/${id}`);
    expect(body.targets).toMatchObject([{ target: 'doctor', lines: 2, operations: { update: 1, create: 1 } }]);
    const lines = await allPages((query) => world.as('viewer')('GET', `${PLANS}/${id}/lines?${query}`), 1);
    expect(lines).toMatchObject([
      {
        ...{ target: 'doctor', record: 'b', operation: 'update', decision: 'write' },
        fieldChanges: [{ field: 'time', before: { kind: 'time' }, after: { kind: 'time' } }],
      },
      { target: 'doctor', record: 'd', operation: 'create', reason: 'new' },
    ]);
    expect(JSON.stringify(lines)).not.toContain('fingerprint');
    expect((await world.aurora.tenant.links.read('doctor')).size).toBe(3);
    expect(world.entries).toEqual([]);
  });

  test('has lines of an existing target; a missing one is reported', async () => {
    const id = await plan();
    const { body } = await world.as('viewer')('GET', `${PLANS}/${id}/lines?target=doctor`);
    expect(body.items).toHaveLength(2);
    const unknown = await world.as('viewer')('GET', `${PLANS}/${id}/lines?target=docter`);
    expect(unknown.status).toBe(404);
    expect(unknown.body).toMatchObject({ code: 'no-such-target' });
  });

  test('is applied, and that is in the audit log with its reason', async () => {
    const id = await plan();
    const { status, body } = await world.as('operator')('POST', `${PLANS}/${id}/apply`, { reason: 'INC-7' });
    expect([status, body.run.error, body.targets[0].sync]).toEqual([200, null, 'in-sync']);
    expect((await world.aurora.tenant.links.read('doctor')).size).toBe(4);
    expect(world.entries).toMatchObject([
      { verb: 'apply', outcome: 'begun', what: { plan: id }, why: 'INC-7', who: { name: 'operator' } },
      { verb: 'apply', outcome: 'done' },
    ]);
  });

  test('is not applied to a world that drifted, and the answer says where', async () => {
    const id = await plan();
    world.aurora.book('d', 61);
    const asked = await world.as('operator')('POST', `${PLANS}/${id}/apply`, {});
    expect(asked).toEqual(problemLike(409, 'plan-drifted'));
    expect(asked.body.about).toBe('doctor d (otherwise)');
    expect((await world.aurora.tenant.links.read('doctor')).size).toBe(3);
  });

  test('that was not stored is not found', async () => {
    expect(await world.as('viewer')('GET', `${PLANS}/${'0'.repeat(24)}`)).toEqual(problemLike(404, 'no-such-plan'));
    const applied = await world.as('operator')('POST', `${PLANS}/Mario%20Rossi/apply`, {});
    expect(applied).toEqual(problemLike(404, 'no-such-plan'));
    expect(JSON.stringify(world.entries)).not.toContain('Mario');
  });
});

describe('a cycle', () => {
  test('is run on demand', async () => {
    world.aurora.book('d', 60);
    const { status, body } = await world.as('operator')('POST', `/tenants/${AURORA}/sync`, {});
    expect([status, body.targets[0].links]).toEqual([200, 4]);
  });

  test('that takes longer is a task, which reports its end, in other processes too', async () => {
    const asked = await world.as('operator')('POST', `/tenants/${AURORA}/sync`, {}, { prefer: 'respond-async' });
    expect([asked.status, asked.headers.location]).toEqual([202, asked.body.address]);
    const path = asked.body.address.replace('/api/v1', '');
    const read = async () => (await world.as('operator')('GET', path)).body;
    await waitFor(async () => (await read()).state === 'done', { what: 'the end of the task' });
    expect(await read()).toMatchObject({ id: asked.body.task, kind: 'sync', error: null, result: { tenant: AURORA } });
    const other = await openApiWorld(redis.connect());
    expect((await other.as('operator')('GET', path)).body).toMatchObject({ state: 'done', kind: 'sync' });
    await other.app.close();
  });

  test('that fails as a task says why', async () => {
    const path = `${PLANS}/${'0'.repeat(24)}/apply`;
    const asked = await world.as('operator')('POST', path, {}, { prefer: 'wait=0' });
    const task = asked.body.address.replace('/api/v1', '');
    const read = async () => (await world.as('operator')('GET', task)).body;
    await waitFor(async () => (await read()).state === 'failed', { what: 'the end of the task' });
    expect(await read()).toMatchObject({ result: null, error: { code: 'no-such-plan' } });
  });

  test('of a task that is not there is not found', async () => {
    expect(await world.as('operator')('GET', `/tenants/${AURORA}/tasks/none`)).toEqual(
      problemLike(404, 'no-such-task'),
    );
  });
});
