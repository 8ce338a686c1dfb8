import { beforeEach, expect, test } from 'vitest';
import { useRedis } from '../../../support/redis.ts';
import { AWAY, openServerAway } from '../../control/server-away.ts';
import { openApiWorld, problemLike, ROSSI } from '../../control/services-world.ts';
import { AURORA } from '../open-services.ts';

const redis = useRedis();
const RETRY = `/servers/${encodeURIComponent(AWAY)}/retry`;
let world: Awaited<ReturnType<typeof openApiWorld>>;
beforeEach(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

test('a server that is away is tried at once for all that wait for it, and that is in the audit log', async () => {
  const { woken, latestMs } = await openServerAway(redis.connect(), world.installation);
  const { status, body } = await world.as('operator')('POST', RETRY, { reason: 'INC-7' });
  expect([status, body]).toEqual([200, { host: AWAY, tenants: [AURORA, ROSSI], targets: 2 }]);
  expect(woken.sort()).toEqual([`${AWAY} ${AURORA}/doctor`, expect.stringContaining(`${AWAY} ${ROSSI}/`)]);
  expect(latestMs()).toBeLessThanOrEqual(3_000);
  expect(world.entries).toMatchObject([
    { verb: 'retry', outcome: 'begun', what: { host: AWAY }, why: 'INC-7', who: { name: 'operator' } },
    { verb: 'retry', outcome: 'done' },
  ]);
});

test('a user who may see one tenant retries only that one, and learns of no other', async () => {
  const { woken } = await openServerAway(redis.connect(), world.installation);
  const { status, body } = await world.as('owner-of-aurora')('POST', RETRY, {});
  expect([status, body]).toEqual([200, { host: AWAY, tenants: [AURORA], targets: 1 }]);
  expect(woken).toEqual([`${AWAY} ${AURORA}/doctor`]);
});

test('who may only look has nothing tried', async () => {
  const { woken } = await openServerAway(redis.connect(), world.installation);
  expect((await world.as('viewer')('POST', RETRY, {})).status).toBe(403);
  expect((await world.as(null)('POST', RETRY, {})).status).toBe(401);
  expect(woken).toEqual([]);
});

test('of a server without waiting work is reported so, and the typed name is in no log', async () => {
  await openServerAway(redis.connect(), world.installation);
  const asked = await world.as('operator')('POST', '/servers/mario.rossi.example/retry', {});
  expect(asked).toEqual(problemLike(asked.status, 'server-not-away'));
  expect(asked.status).toBeGreaterThanOrEqual(400);
  expect(JSON.stringify(world.entries)).not.toContain('mario');
});
