import { describe, expect, test } from 'vitest';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { useRedis } from '../../support/redis.ts';
import { book, createReminderWorld, patientOf, type ReminderWorld } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });
const listed = async (world: ReminderWorld) =>
  ((await world.tenant.reminders?.ledger.wrong(world.now)) ?? []).map(({ reason, isUntold }) => [reason, isUntold]);

/** The reminder of an appointment was due, and is not sent. */
async function untold(happens: (world: ReminderWorld) => unknown): Promise<ReminderWorld> {
  const world = createReminderWorld(redis.connect());
  book(world, 'one', 48);
  await world.cycle();
  await world.advance(DAY_MS - 1);
  await happens(world);
  await world.advance(3 * HOUR_MS);
  await world.cycle();
  return world;
}

const withPatient = (own: Parameters<typeof patientOf>[1]) => (world: ReminderWorld) =>
  world.clinic.patientList.splice(0, 1, patientOf('p1', own));

describe('a patient whom no message told', () => {
  test.each<[string, string, (world: ReminderWorld) => unknown]>([
    ['has no number', 'no-address', withPatient({ mobilePhone: null, phone: null })],
    ['is unknown to the clinic', 'patient-gone', ({ clinic }) => clinic.patientList.splice(0)],
    ['was told or not: the worker died', 'unclear', ({ gateway }) => gateway.answers.push('accept-and-die')],
    [
      'has a number that the gateway refuses',
      'refused',
      ({ gateway }) => gateway.answers.push({ result: 'refused', code: 'x', optedOut: false, channelGone: false }),
    ],
  ])('is listed: the patient %s', async (_, reason, happens) => {
    const world = await untold(happens);
    expect(await listed(world)).toEqual([[reason, true]]);
    await world.cycle();
    expect(await listed(world)).toEqual([[reason, true]]);
    const status = await world.tenant.reminders?.status([], world.now);
    expect(status?.wrong).toMatchObject([{ appointmentId: 'one', channel: 'text', reason }]);
    await world.advance(DAY_MS);
    expect(await listed(world), 'the list ends with the appointment').toEqual([]);
  });

  test.each<[string, (world: ReminderWorld) => void]>([
    ['cancelled', (world) => void book(world, 'one', 48, { status: 'cancelled' })],
    ['moved', (world) => void book(world, 'one', 80)],
  ])('leaves the list when the appointment is %s', async (_, happens) => {
    const world = await untold(withPatient({ mobilePhone: null, phone: null }));
    happens(world);
    await world.cycle();
    expect(await listed(world)).toEqual([]);
  });

  test.each<[string, (world: ReminderWorld) => unknown]>([
    ['is inactive', withPatient({ isActive: false })],
    ['has arrived', (world) => book(world, 'one', 48, { status: 'arrived' })],
    ['cancelled', (world) => book(world, 'one', 48, { status: 'cancelled' })],
  ])('is not listed: the patient %s', async (_, happens) => {
    expect(await listed(await untold(happens))).toEqual([]);
  });
});
