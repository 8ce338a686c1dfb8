import { beforeEach, describe, expect, test } from 'vitest';
import { openApiWorld, problemLike, ROSSI } from '../../operator/control/services-world.ts';
import { AURORA } from '../../operator/http-server/open-services.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
let world: Awaited<ReturnType<typeof openApiWorld>>;

beforeEach(async () => {
  world = await openApiWorld(redis.connect());
  return () => world.app.close();
});

const get = async (path: string, visitor = 'viewer') => (await world.as(visitor)('GET', path)).body;

describe('reminders', () => {
  test('are listed and explained, and their channels are reopened', async () => {
    expect(await get(`/tenants/${ROSSI}/reminders`)).toMatchObject({ tenant: ROSSI, complete: true });
    const settled = await get(`/tenants/${ROSSI}/reminders?state=settled&limit=1`);
    expect(settled.reminders).toMatchObject([{ state: 'dropped', reason: 'booked-late', channel: 'text' }]);
    const told = await get(`/tenants/${ROSSI}/appointments/1/reminders`);
    expect(told).toMatchObject({ appointment: '1', source: { state: 'there' } });
    await world.rossi.closeChannel();
    const path = `/tenants/${ROSSI}/reminder-channels/text/reopen`;
    expect((await world.as('operator')('POST', path, {})).body).toMatchObject({ channel: 'text', changed: true });
  });

  test('of a tenant without any are not found', async () => {
    expect(await world.as('viewer')('GET', `/tenants/${AURORA}/reminders`)).toEqual(problemLike(409, 'no-reminders'));
  });
});
