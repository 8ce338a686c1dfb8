import { expect } from 'vitest';
import type { Hold } from '../../../src/core/model/plan.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/core/model/time.ts';
import type { TestRedis } from '../../support/redis.ts';
import { book, createReminderWorld, patientOf, type ReminderWorld } from './reminder-world.ts';

/** Number of appointments. */
export const COUNT = 20;
export const all = Array.from({ length: COUNT }, (_, index) => index);

/**
 * Opens a world with appointments on the 17th, every ten minutes from 10:00. All patients were reminded, and it is the 16th, five minutes
 * after the last reminder.
 */
export async function told(redis: TestRedis, file: object = {}): Promise<ReminderWorld> {
  const world = createReminderWorld(redis.connect(), { file });
  for (const index of all)
    world.clinic.patientList.push(patientOf(`q${index}`, { mobilePhone: `+39 333 76543${10 + index}` }));
  shift(world, all, 0);
  await world.cycle();
  await world.advance(24 * HOUR_MS + COUNT * 10 * MINUTE_MS - 5 * MINUTE_MS);
  expect(world.gateway.delivered).toHaveLength(COUNT);
  return world;
}

/** What the clinic answers from now on: these appointments begin so many hours later, or are cancelled. */
export function shift(
  world: ReminderWorld,
  which: readonly number[],
  hours: number,
  own: Parameters<typeof book>[3] = {},
) {
  for (const index of which) book(world, `a${index}`, 48 + index / 6 + hours, { patientId: `q${index}`, ...own });
}

export async function cycles(world: ReminderWorld, hours = 1): Promise<void> {
  for (let minutes = 0; minutes < hours * 60; minutes += 15) {
    await world.cycle();
    await world.advance(15 * MINUTE_MS);
  }
}

export const texts = (world: ReminderWorld) => world.gateway.delivered.map(({ content }) => content.text);
export const sent = (world: ReminderWorld) => world.gateway.delivered.length - COUNT;
export const wrong = async (world: ReminderWorld) => (await world.tenant.reminders?.ledger.wrong(world.now)) ?? [];
export const reasons = async (world: ReminderWorld) => [...new Set((await wrong(world)).map(({ reason }) => reason))];
export const holds = async (world: ReminderWorld): Promise<[Hold['state'], number][]> =>
  (await world.tenant.holds.list()).map(({ state, recordIds }) => [state, recordIds.length]);

export async function decide(world: ReminderWorld, state: 'approved' | 'rejected'): Promise<void> {
  const [open] = (await world.tenant.holds.list()).filter((hold) => hold.state === 'open');
  await world.tenant.holds.decide(open?.id ?? '', { state, now: world.now, expiresAt: world.now + 7 * DAY_MS });
}
