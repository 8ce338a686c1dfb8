import { expect, test } from 'vitest';
import { DAY_MS } from '../../../src/core/model/time.ts';
import { prepare } from '../../../src/features/reminders/prepare.ts';
import { useRedis } from '../../support/redis.ts';
import { NEVER } from '../../tenant/cycle.ts';
import { book, createReminderWorld } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });

test('a reminder is prepared at its time, or earlier for a message with other visits', async () => {
  const world = createReminderWorld(redis.connect());
  book(world, 'one', 48);
  await world.cycle();
  world.now += DAY_MS - 1;
  const { tenant } = world;
  if (tenant.reminders === null) throw new Error('the tenant has no reminders');
  const [entry] = await tenant.reminders.ledger.open();
  const claim = await tenant.reminders.ledger.claim(entry?.id ?? '');
  if (claim === null || 'busyMs' in claim) throw new Error('the reminder is not claimed');
  const now = await prepare(tenant, tenant.reminders, claim, { signal: NEVER });
  expect(now).toMatchObject({ wakeAt: world.now + 1, notSent: true });
  const early = await prepare(tenant, tenant.reminders, claim, { signal: NEVER, early: true });
  expect(early).toMatchObject({ reminder: { recipient: { phone: '+393331234567' } }, rule: { id: 'day-before' } });
  world.clinic.appointments.delete('one');
  const gone = await prepare(tenant, tenant.reminders, claim, { signal: NEVER, early: true });
  expect(gone).toMatchObject({ finish: { state: 'dropped', reason: 'vanished' } });
});
