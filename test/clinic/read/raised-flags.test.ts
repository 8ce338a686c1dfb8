import { expect, test } from 'vitest';
import { anyRaised, compileRaised } from '../../../src/clinic/read/raised-flags.ts';

test.each<[unknown, Parameters<typeof compileRaised>[0]['when'], boolean]>([
  ['searchset', 'searchset', true],
  ['batch', 'searchset', false],
  ['yes', true, true],
  [0, false, true],
  [0, 0, true],
  ['b', ['a', 'b'], true],
  ['2026-03-01', 'present', true],
  ['no', 'present', false],
])('%j with the flag %j: %s', (value, when, isSet) => {
  expect(compileRaised({ path: 'a.b', when })({ a: { b: value } })).toBe(isSet);
});

test('one set flag of several is sufficient, and no flag is never set', () => {
  const flags = [
    { path: 'a', when: true },
    { path: 'b', when: 'x' },
  ];
  expect([{ a: 1 }, { b: 'x' }, { b: 'y' }].map(anyRaised(flags))).toEqual([true, true, false]);
  expect(anyRaised([])({ a: true })).toBe(false);
});
