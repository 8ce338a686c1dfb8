import { expect, test } from 'vitest';
import { HOUR_MS } from '../../../src/core/model/time.ts';
import { addFeatureMetrics } from '../../../src/features/metrics.ts';
import { createMetrics } from '../../../src/operator/control/metrics.ts';
import { openInstallation } from '../../operator/control/open-installation.ts';
import { useRedis } from '../../support/redis.ts';
import { book, createReminderWorld, ID } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });

test('the metrics count waiting, sent and dropped reminders, and their delay', async () => {
  const world = createReminderWorld(redis.connect());
  for (const [id, inHours] of Object.entries({ one: 30, two: 31, three: 48 })) book(world, id, inHours);
  await world.cycle();
  book(world, 'two', 31, { status: 'cancelled' });
  await world.cycle();
  await world.advance(10 * HOUR_MS);
  const metrics = createMetrics(() => openInstallation({ tenants: [world.tenant] }));
  addFeatureMetrics(metrics)(ID, 7_000);
  const text = await metrics.render();
  expect(text).toContain(`clinic_mirror_reminders_pending{tenant="${ID}"} 1`);
  expect(text).toContain(`clinic_mirror_reminders{tenant="${ID}",state="planned",reason="none"} 3`);
  expect(text).toContain(`clinic_mirror_reminders{tenant="${ID}",state="sent",reason="none"} 1`);
  expect(text).toContain(`clinic_mirror_reminders{tenant="${ID}",state="dropped",reason="cancelled"} 1`);
  expect(text).toContain(`clinic_mirror_reminder_lag_seconds_bucket{le="15",tenant="${ID}"} 1`);
});
