import { expect, test } from 'vitest';
import { useRedis } from '../../../support/redis.ts';
import { usePages } from './open-pages.ts';

const pages = usePages(useRedis({ isStored: true }), { appointments: 0 });

test('the queues are shown to owners, with ids of clinics and names of targets and nothing else of a job', async () => {
  const { body } = await pages().open('owner', '/queues');
  expect(body).toMatch(/push.*Failed.*<span title="doctor">Agenda a1, Agenda a2 \(Model\)</s);
  expect((await pages().open('operator', '/queues')).status).toBe(403);
});
