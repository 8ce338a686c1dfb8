import { describe, expect, test } from 'vitest';
import { MirrorError } from '../../../src/core/model/errors.ts';
import { DAY_MS, HOUR_MS } from '../../../src/core/model/time.ts';
import { NOW } from '../../domain/arbitraries.ts';
import { useRedis } from '../../support/redis.ts';
import { book, createReminderWorld, type ReminderWorld } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });

/** An appointment in two days, whose reminder is due in 24 hours. */
async function booked(): Promise<ReminderWorld> {
  const world = createReminderWorld(redis.connect());
  book(world, 'one', 48);
  await world.cycle();
  return world;
}

describe('a reminder', () => {
  test('follows an appointment that is moved', async () => {
    const world = await booked();
    book(world, 'one', 54, { updatedAt: NOW + HOUR_MS });
    await world.advance(2 * HOUR_MS);
    await world.cycle();
    expect(world.alarms.wakes.size).toBe(1);
    await world.advance(3 * DAY_MS);
    expect(world.gateway.delivered.map(({ appointment }) => appointment.startAt)).toEqual([NOW + 54 * HOUR_MS]);
    expect(await world.fate()).toBe('sent, dropped moved');
  });

  test('comes after all when the appointment is moved back', async () => {
    const world = await booked();
    book(world, 'one', 54);
    await world.cycle();
    book(world, 'one', 48);
    await world.cycle();
    await world.advance(3 * DAY_MS);
    expect(world.gateway.delivered.map(({ appointment }) => appointment.startAt)).toEqual([NOW + 48 * HOUR_MS]);
  });

  test.each<[string, (world: ReminderWorld) => void, string]>([
    ['cancelled', (world) => book(world, 'one', 48, { status: 'cancelled' }), 'dropped cancelled'],
    ['gone', (world) => world.clinic.appointments.delete('one'), 'dropped vanished'],
    ['without a patient', (world) => book(world, 'one', 48, { patientId: null }), 'dropped excluded'],
  ])('is withdrawn by the cycle that learns that the appointment is %s', async (_, change, fate) => {
    const world = await booked();
    change(world);
    await world.cycle();
    // One that is gone is missed by two cycles first.
    if (fate.endsWith('vanished')) {
      expect(await world.fate()).toBe('planned');
      await world.cycle();
    }
    expect(await world.fate()).toBe(fate);
    expect(world.alarms.wakes.size).toBe(0);
    await world.advance(3 * DAY_MS);
    expect(world.gateway.calls).toEqual([]);
  });

  test('stays when a list that breaks off does not show its appointment', async () => {
    const world = await booked();
    world.clinic.truncatedAfter = 0;
    await world.cycle();
    expect(await world.fate()).toBe('planned');
    await world.advance(2 * DAY_MS);
    expect(await world.fate()).toBe('sent');
  });
  test('lost alarms are set again by the next cycle, also when the clinic is away', async () => {
    const world = await booked();
    world.alarms.wakes.clear();
    world.clinic.listError = new MirrorError('away', { actor: 'remote', code: 'server-error', retry: 'later' });
    await world.cycle();
    await world.advance(2 * DAY_MS);
    expect(await world.fate()).toBe('sent');
  });
});

describe('an appointment that is booked late', () => {
  test('has no reminder when it would come at once', async () => {
    const world = createReminderWorld(redis.connect());
    book(world, 'one', 24.5);
    await world.cycle();
    expect(await world.fate()).toBe('dropped booked-late');
    await world.advance(DAY_MS);
    expect(world.gateway.calls).toEqual([]);
  });

  test('has one when it was booked as early as the minimum lead requires', async () => {
    const world = createReminderWorld(redis.connect());
    book(world, 'one', 25);
    await world.cycle();
    await world.advance(DAY_MS);
    expect(await world.fate()).toBe('sent');
  });

  test('that was first seen late and booked long before has one', async () => {
    const world = createReminderWorld(redis.connect());
    book(world, 'one', 24.5, { updatedAt: NOW - 2 * HOUR_MS });
    await world.cycle();
    await world.advance(DAY_MS);
    expect(await world.fate()).toBe('sent');
  });

  test('further ahead than the horizon waits for a later cycle', async () => {
    const world = createReminderWorld(redis.connect());
    book(world, 'one', 24 * 10);
    await world.cycle();
    expect(await world.entries()).toEqual([]);
    await world.advance(7.5 * DAY_MS);
    await world.cycle();
    await world.advance(3 * DAY_MS);
    expect(await world.fate()).toBe('sent');
  });
});

test('without room of the tenant in Redis, a new reminder waits, and existing reminders are sent', async () => {
  const world = await booked();
  const { storage } = world.tenant;
  const fullBytes = 2 * (await storage.read()).limitBytes;
  await storage.add(fullBytes);
  book(world, 'two', 50);
  await world.cycle();
  expect(await world.fate('two')).toBe('');
  await world.advance(24 * HOUR_MS);
  expect(await world.fate('one')).toBe('sent');
  await storage.add(-fullBytes);
  await world.cycle();
  expect(await world.fate('two')).toBe('planned');
});
