import { describe, expect, test } from 'vitest';
import { compileStatuses, statusMeant } from '../../../src/clinic/read/statuses.ts';
import { profileOf, type WrittenProfile } from '../open-client.ts';

type Written = NonNullable<WrittenProfile['appointments']>;

function statusOf(written: Written, raw: string | null, row: Record<string, unknown> = {}) {
  return compileStatuses(profileOf({ appointments: written }).appointments)(raw, row);
}

describe('the status of a row', () => {
  test('is told by words however they are spelled', () => {
    for (const word of ['NO SHOW', 'no-show', 'noshow', 'No_Show']) expect(statusOf({}, word)).toBe('no_show');
  });

  test('is told by a number, whose sign counts', () => {
    const statuses = { 1: 'booked', '-1': 'cancelled' } as const;
    expect(['1', '-1', '-2'].map((raw) => statusOf({ statuses }, raw))).toEqual(['booked', 'cancelled', 'unknown']);
    expect(statusOf({ statuses: { 1: 'booked' } }, '-1')).toBe('unknown');
  });

  test('is told by signs and letters, whose case counts where both are named', () => {
    const statuses = { '-': 'booked', '@': 'arrived', C: 'confirmed', c: 'cancelled', x: 'no_show' } as const;
    expect(['-', '@', 'C', 'c', 'X', '_'].map((raw) => statusOf({ statuses }, raw))).toEqual([
      'booked',
      'arrived',
      'confirmed',
      'cancelled',
      'no_show',
      'unknown',
    ]);
  });

  test.each([
    ['any value', 'present', ['x', 1, true, '0000-00-00'], [null, false, 'false', 0, '0', '', undefined]],
    ['one value', 1, [1], [true, '1', 2, null]],
    ['some values', ['present', 'late', 1], ['present', 'late', 1], ['absent', true, '1', null]],
    ['yes', true, [true, 1, '1', 'True', 'sì'], [false, 0, 'no', 'x', 2, null]],
    ['no', [false], [false, 0, '0', 'N'], [true, 1, '', 'x', null]],
  ] as const)('is told by a flag that %s raises', (_what, when, raising, others) => {
    const flags = [{ path: 'seen.at', when: typeof when === 'object' ? [...when] : when, status: 'arrived' as const }];
    const read = (at: unknown) => statusOf({ flags }, 'Booked', { seen: { at } });
    expect(raising.map(read)).toEqual(raising.map(() => 'arrived'));
    expect(others.map(read)).toEqual(others.map(() => 'booked'));
  });
});

test('a status that somebody names is the clinic’s own word as it is before another one that is spelled alike', () => {
  const { appointments } = profileOf({ appointments: { statuses: { C: 'confirmed', c: 'cancelled' } } });
  expect(statusMeant('c', appointments)).toEqual({ status: 'cancelled', word: 'c', isTheirs: true });
  expect(statusMeant('C', appointments)).toEqual({ status: 'confirmed', word: 'C', isTheirs: true });
});
