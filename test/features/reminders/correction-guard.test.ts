import { describe, expect, test } from 'vitest';
import type { Hold } from '../../../src/model/plan.ts';
import { DAY_MS, HOUR_MS, MINUTE_MS } from '../../../src/model/time.ts';
import { useRedis } from '../../support/redis.ts';
import { book, createReminderWorld, type ReminderWorld } from './reminder-world.ts';

const redis = useRedis({ appendOnly: false });

const COUNT = 20;
const all = Array.from({ length: COUNT }, (_, index) => index);

/**
 * Opens a world with appointments on the 17th, every ten minutes from 10:00. All patients were reminded, and it is the 16th, five minutes
 * after the last reminder.
 */
async function told(file: object = {}): Promise<ReminderWorld> {
  const world = createReminderWorld(redis.connect(), { file });
  shift(world, all, 0);
  await world.cycle();
  await world.advance(24 * HOUR_MS + COUNT * 10 * MINUTE_MS - 5 * MINUTE_MS);
  expect(world.gateway.delivered).toHaveLength(COUNT);
  return world;
}

/** What the clinic answers from now on: these appointments begin so many hours later, or are cancelled. */
function shift(world: ReminderWorld, which: readonly number[], hours: number, own: Parameters<typeof book>[3] = {}) {
  for (const index of which) book(world, `a${index}`, 48 + index / 6 + hours, own);
}

async function cycles(world: ReminderWorld, hours = 1): Promise<void> {
  for (let minutes = 0; minutes < hours * 60; minutes += 15) {
    await world.cycle();
    await world.advance(15 * MINUTE_MS);
  }
}

const texts = (world: ReminderWorld) => world.gateway.delivered.map(({ content }) => content.text);
const sent = (world: ReminderWorld) => world.gateway.delivered.length - COUNT;
const wrong = async (world: ReminderWorld) => (await world.tenant.reminders?.ledger.wrong(world.now)) ?? [];
const reasons = async (world: ReminderWorld) => [...new Set((await wrong(world)).map(({ reason }) => reason))];
const holds = async (world: ReminderWorld): Promise<[Hold['state'], number][]> =>
  (await world.tenant.holds.list()).map(({ state, recordIds }) => [state, recordIds.length]);

async function decide(world: ReminderWorld, state: 'approved' | 'rejected'): Promise<void> {
  const [open] = (await world.tenant.holds.list()).filter((hold) => hold.state === 'open');
  await world.tenant.holds.decide(open?.id ?? '', { state, now: world.now, expiresAt: world.now + 7 * DAY_MS });
}

describe('when everything begins an hour later at once', () => {
  test('no message leaves, one hold lists all, and it ends automatically once the zone is repaired', async () => {
    const world = await told();
    shift(world, all, 1);
    await cycles(world, 3);
    expect(sent(world)).toBe(0);
    expect(await holds(world)).toEqual([['open', COUNT]]);
    expect((await world.tenant.holds.list())[0]).toMatchObject({ kind: 'corrections', linkCount: COUNT });
    expect(await wrong(world)).toHaveLength(COUNT);
    expect(await reasons(world)).toEqual(['corrections-held']);
    shift(world, all, 0);
    await cycles(world, 3);
    expect({ sent: sent(world), holds: await holds(world), wrong: await wrong(world) }).toEqual({
      sent: 0,
      holds: [],
      wrong: [],
    });
  });

  test('the same when only the zone of the clinic is another one', async () => {
    const world = await told();
    const moved = { id: 'l1', name: 'Studio', address: null, zone: 'Europe/London' };
    world.clinic.locationList.push(moved);
    shift(world, all, 0, { locationId: 'l1' });
    await cycles(world);
    expect([sent(world), await holds(world)]).toEqual([0, [['open', COUNT]]]);
    world.clinic.locationList.splice(0, 1, { ...moved, zone: 'Europe/Rome' });
    await cycles(world);
    expect([sent(world), await holds(world), await wrong(world)]).toEqual([0, [], []]);
  });

  test('the same when the appointments change one after the other', async () => {
    const world = await told();
    for (const index of all) {
      shift(world, [index], -1);
      await world.cycle();
      await world.advance(2 * MINUTE_MS);
    }
    // The first ten are not more than the count allows.
    expect(sent(world)).toBe(10);
    expect(await holds(world)).toEqual([['open', COUNT - 10]]);
  });

  test('the same when each list breaks off before most of them', async () => {
    const world = await told();
    shift(world, all, -1);
    await cycles(world);
    // The patient is told the time that is true at that moment.
    book(world, 'late', 53);
    await cycles(world, 3);
    expect(texts(world).at(-1)).toContain('15:00');
    const before = sent(world);
    book(world, 'late', 51.5);
    for (const index of all) world.clinic.unlisted.add(`a${index}`);
    world.clinic.truncatedAfter = 1;
    await cycles(world);
    expect([sent(world), await holds(world)]).toEqual([before, [['open', COUNT + 1]]]);
  });

  test('the same when each list shows another part of them', async () => {
    const world = await told();
    for (const part of [all.slice(0, 10), all.slice(10)]) {
      shift(world, part, -1);
      world.clinic.unlisted.clear();
      for (const index of all) if (!part.includes(index)) world.clinic.unlisted.add(`a${index}`);
      world.clinic.truncatedAfter = part.length;
      await cycles(world, 0.5);
    }
    expect(sent(world)).toBe(10);
    expect(await holds(world)).toEqual([['open', 10]]);
  });

  test('corrections that wait for the end of the night are held too', async () => {
    const world = await told();
    await world.advance(10 * HOUR_MS);
    shift(world, all.slice(0, 8), -1);
    await world.cycle();
    expect(await reasons(world)).toEqual([null]);
    shift(world, all, -1);
    await cycles(world, 8);
    expect([sent(world), await holds(world)]).toEqual([0, [['open', COUNT]]]);
  });
});

test('the age of a withdrawn correction starts when it is planned again', async () => {
  const world = await told();
  await world.advance(10 * HOUR_MS);
  for (const hours of [-1, 0]) {
    shift(world, all.slice(0, 8), hours);
    await world.cycle();
  }
  await world.advance(2 * HOUR_MS);
  shift(world, all.slice(0, 8), -1);
  await world.cycle();
  await world.advance(15 * MINUTE_MS);
  shift(world, all, -1);
  await cycles(world, 7);
  expect([sent(world), await holds(world)]).toEqual([0, [['open', COUNT]]]);
});

describe('a decision', () => {
  test('sends all corrections of a true change', async () => {
    const world = await told();
    shift(world, all.slice(0, 15), 0, { status: 'cancelled' });
    await cycles(world);
    expect([sent(world), await holds(world)]).toEqual([0, [['open', 15]]]);
    await decide(world, 'approved');
    await cycles(world);
    expect([sent(world), await holds(world), await wrong(world)]).toEqual([15, [['approved', 15]], []]);
    expect(world.gateway.delivered.slice(COUNT).every(({ correction }) => correction === 'cancelled')).toBe(true);
    // Approved corrections do not count towards the limit of later ones.
    shift(world, [16], -1);
    await cycles(world);
    expect([sent(world), await wrong(world)]).toEqual([16, []]);
  });

  test('is about what the hold said: the same appointments are held again when they change again', async () => {
    const world = await told();
    shift(world, all, -1);
    await cycles(world);
    await decide(world, 'approved');
    await cycles(world);
    expect(sent(world)).toBe(COUNT);
    shift(world, all, -2);
    await cycles(world);
    expect(sent(world)).toBe(COUNT);
    expect(await holds(world)).toEqual(expect.arrayContaining([['open', COUNT]]));
  });

  test('that refuses leaves the patients listed, and sends nothing, reminders of the new time included', async () => {
    const world = await told();
    shift(world, all, 1);
    await cycles(world);
    await decide(world, 'rejected');
    await cycles(world, 5);
    expect([sent(world), await holds(world), await reasons(world)]).toEqual([
      0,
      [['rejected', COUNT]],
      ['corrections-refused'],
    ]);
    shift(world, all, 0);
    await cycles(world);
    expect([sent(world), await wrong(world)]).toEqual([0, []]);
  });
});

test('a few corrections, or a small share, are not held', async () => {
  const few = await told();
  shift(few, all.slice(0, 10), -1);
  await cycles(few);
  expect([sent(few), await holds(few)]).toEqual([10, []]);
  await redis.connect().flushall();
  const share = await told({ correctionGuard: { share: 0.9, count: 10 } });
  shift(share, all.slice(0, 18), -1);
  await cycles(share);
  expect([sent(share), await holds(share)]).toEqual([18, []]);
});
