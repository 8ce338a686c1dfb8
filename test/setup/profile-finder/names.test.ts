import { describe, expect, test } from 'vitest';
import { isByStart, plainName, statusOfWord, WINDOWS } from '../../../src/setup/profile-finder/names.ts';

describe('the names of a window', () => {
  test.each([
    ['starts_from', 'starts_to'],
    ['startsFrom', 'startsTo'],
    ['starts_after', 'starts_before'],
    ['start[gte]', 'start[lt]'],
  ])('%s and %s select appointments by their start', (from, to) => expect(isByStart(from, to)).toBe(true));

  test.each([
    ['from', 'to'],
    ['start_date', 'endDate'],
    ['start', 'end'],
    ['ends_after', 'starts_before'],
  ])('%s and %s leave it open', (from, to) => expect(isByStart(from, to)).toBe(false));

  test('are pairs of two names, each once in its spelling', () => {
    const pairs = WINDOWS.map((pair) => pair.join(' '));
    expect(new Set(pairs).size).toBe(pairs.length);
    expect(WINDOWS.filter(([from, to]) => plainName(from) === plainName(to))).toEqual([]);
  });
});

test('the word of a state is known in any spelling, another one is not', () => {
  expect(['No-Show', 'NON_PRESENTATO', 'in corso', 'sospeso'].map(statusOfWord)).toEqual([
    'no_show',
    'no_show',
    'in_progress',
    null,
  ]);
});
