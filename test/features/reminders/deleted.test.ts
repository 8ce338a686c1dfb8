import { expect, test } from 'vitest';
import { DAY_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import { deletedAsCancelled } from '../../../src/features/reminders/deleted.ts';
import { appointmentOf } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { book, createReminderWorld, type ReminderWorld } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });
const CANCELLATION = 'Appuntamento di mercoledì 17 giugno alle 10:00 annullato, Studio Rossi.';

/** A patient was told; the clinic then marks the appointment as deleted, and its record may still be readable. */
async function deleted(isReadable: boolean): Promise<ReminderWorld> {
  const world = createReminderWorld(redis.connect());
  const appointment = book(world, 'one', 48);
  await world.cycle();
  await world.advance(DAY_MS);
  world.clinic.appointments.delete('one');
  const { readAppointment } = world.clinic;
  world.clinic.readAppointment = async (id, signal) => {
    const answer = await readAppointment(id, signal);
    return isReadable && 'absent' in answer ? { ...answer, deleted: appointment } : answer;
  };
  for (let cycles = 0; cycles < 4; cycles += 1) {
    await world.cycle();
    await world.advance(MINUTE_MS);
  }
  await world.advance(10 * MINUTE_MS);
  await world.cycle();
  return world;
}

const reasons = async (world: ReminderWorld) =>
  ((await world.tenant.reminders?.ledger.wrong(world.now)) ?? []).map(({ reason }) => reason);

test('a deleted appointment whose record is readable gets its cancellation, once', async () => {
  const world = await deleted(true);
  expect(world.gateway.delivered.slice(1).map(({ content }) => content.text)).toEqual([CANCELLATION]);
  await world.cycle();
  await world.advance(30 * MINUTE_MS);
  expect(world.gateway.delivered).toHaveLength(2);
  expect(await reasons(world)).toEqual([]);
});

test('without a readable record the patient is listed', async () => {
  const world = await deleted(false);
  expect(world.gateway.delivered).toHaveLength(1);
  expect(await reasons(world)).toEqual(['vanished']);
});

test('only a readable deleted record is cancelled', () => {
  const appointment = appointmentOf('one');
  expect(deletedAsCancelled({ absent: true, deleted: appointment })).toEqual({
    found: { ...appointment, status: 'cancelled' },
  });
  for (const answer of [{ absent: true } as const, { found: appointment }])
    expect(deletedAsCancelled(answer)).toBe(answer);
});
