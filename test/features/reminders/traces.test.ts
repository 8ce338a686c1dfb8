import { expect, test } from 'vitest';
import { reminderKeys } from '../../../src/features/reminders/keys.ts';
import { createReminderTraces } from '../../../src/features/reminders/traces.ts';
import { useRedis } from '../../support/redis.ts';

const redis = useRedis();
const TENANT = 'studio-rossi';

test('the reminders of appointments are found with their lifetime, and erased with all that names them', async () => {
  const connection = redis.connect();
  for (const [id, appointmentId] of [
    ['m1', 'a1'],
    ['m2', 'a1'],
    ['m3', 'a2'],
  ] as const) {
    await connection.hset(reminderKeys.reminder(TENANT, id), { appointmentId, reference: `ref-${id}`, recipient: 'h' });
    await connection.pexpire(reminderKeys.reminder(TENANT, id), 60_000);
    await connection.sadd(reminderKeys.remindersOf(TENANT, appointmentId), id);
    await connection.zadd(reminderKeys.remindersOpen(TENANT), '1', id);
    await connection.set(reminderKeys.reminderReport(TENANT, `ref-${id}`), id);
  }
  const traces = createReminderTraces(connection, TENANT);
  const found = await traces.find(null, ['a1']);
  expect(found.reminders.map(({ id, appointmentId }) => [id, appointmentId]).sort()).toEqual([
    ['m1', 'a1'],
    ['m2', 'a1'],
  ]);
  expect(found.reminders.every(({ remainingMs }) => remainingMs > 0 && remainingMs <= 60_000)).toBe(true);
  expect(await traces.erase(found, ['a1'])).toEqual({ reminders: 2, answerLinks: 0 });
  expect(await traces.find(null, ['a1', 'a2'])).toMatchObject({ reminders: [{ id: 'm3' }] });
  expect(await connection.zrange(reminderKeys.remindersOpen(TENANT), '0', '-1')).toEqual(['m3']);
  expect(await connection.keys('*report*')).toEqual([reminderKeys.reminderReport(TENANT, 'ref-m3')]);
  expect((await createReminderTraces(connection, 'another').find(null, ['a2'])).reminders).toEqual([]);
});
