import { expect, test } from 'vitest';
import { readingStarts } from './lies.ts';

const NOW = Date.parse('2026-11-23T10:00:00Z');
const DAY_MS = 86_400_000;

test('a parallel read of past appointments does not change the start of the read of future ones', () => {
  const starts = readingStarts();
  const call = (fromDay: number, toDay: number, seconds: number, began = 0) => {
    const at = (day: number) => new Date(NOW + day * DAY_MS + began * 1_000).toISOString();
    const url = `/tenants/t/appointments?from=${at(fromDay)}&to=${at(toDay)}`;
    starts.note('t', { url }, NOW + seconds * 1_000);
  };
  call(-60, -30, 0);
  call(-30, 0, 1);
  call(0, 30, 2);
  call(-400, -370, 3, 3);
  call(30, 60, 4);
  call(30, 60, 5);
  call(-370, -340, 6, 3);
  expect(starts.beganAt('t')).toBe(NOW);
  call(-60, -30, 9, 9);
  expect(starts.beganAt('t')).toBe(NOW);
  call(-30, 0, 10, 9);
  call(0, 30, 11, 9);
  expect(starts.beganAt('t')).toBe(NOW + 9_000);
});
