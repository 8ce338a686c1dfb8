import { expect, test } from 'vitest';
import { budgetUse, openBudgetShare, readBudgetUse } from '../../src/state/budget.ts';
import { keys } from '../../src/state/keys.ts';
import { useRedis } from '../support/redis.ts';

const redis = useRedis();
const NEVER = new AbortController().signal;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Half past an hour, at half of a day. */
const NOON = 20_000 * DAY + DAY / 2;

test('what a budget granted is counted as it is granted, by participant and together, and forgotten after two days', async () => {
  const connection = redis.connect();
  const { used } = keys.budget('client-1');
  await connection.hset(used, { 'hour:1': 7, 'day:1:aurora': 7 });
  const take = (who: string, units: number) =>
    openBudgetShare(connection, {
      budget: 'client-1',
      participant: who,
      limits: { requestsPerMinute: 6_000, burst: 100 },
      priority: 'background',
    }).take(NEVER, units);
  await take('aurora', 3);
  await take('belvedere', 1);
  await take('aurora', 1);
  const use = await readBudgetUse(connection, 'client-1');
  expect(use).toEqual({
    lastHour: 5,
    lastDay: new Map([
      ['aurora', 4],
      ['belvedere', 1],
    ]),
  });
  // Of hours and days that count no more nothing is left.
  expect(await connection.hlen(used)).toBe(3);
  expect(await connection.pttl(used)).toBeGreaterThan(DAY);
});

test('of the hour and the day before counts as much as lies within the last hour and the last 24', () => {
  const now = NOON + HOUR / 4;
  const [hour, day] = [Math.floor(now / HOUR), Math.floor(now / DAY)];
  const granted = {
    ...{ [`hour:${hour}`]: 10, [`hour:${hour - 1}`]: 40, [`hour:${hour - 2}`]: 1_000 },
    ...{ [`day:${day}:aurora`]: 100, [`day:${day - 1}:aurora`]: 960, [`day:${day - 2}:aurora`]: 5_000 },
  };
  const { lastHour, lastDay } = budgetUse(Object.entries(granted), now);
  expect(lastHour).toBeCloseTo(10 + 40 * (3 / 4));
  expect(lastDay.get('aurora')).toBeCloseTo(100 + 960 * (11.75 / 24));
});
