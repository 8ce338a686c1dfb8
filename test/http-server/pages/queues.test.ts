import { expect, test } from 'vitest';
import { useRedis } from '../../support/redis.ts';
import { openViewsWorld } from './views-world.ts';

const redis = useRedis({ isStored: true });

test('the queues are shown to owners, with ids of clinics and targets and nothing else of a job', async () => {
  const world = await openViewsWorld(redis.connect(), { appointments: 0 });
  const { body } = await world.open('owner', '/queues');
  expect(body).toMatch(/push.*Failed.*doctor/s);
  expect((await world.open('operator', '/queues')).status).toBe(403);
  await world.close();
});
