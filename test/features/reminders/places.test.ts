import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { comparableAddress } from '../../../src/features/reminders/places.ts';

describe('an address is the same location', () => {
  test.each([
    ['Via Roma, 12/A', 'via  roma 12 a'],
    ['Citta’ di Castello', 'Città di Castello'],
    ['Sant’Angelo in Vado', "sant'angelo in vado"],
    ['STRASSE 4', 'Straße 4'],
    ['Via S. Marco 3', ' via s.marco 3 '],
    ['Via Roma 12 ', 'Via Roma 12'],
  ])('%s and %s', (one, other) => {
    expect(comparableAddress(one)).toBe(comparableAddress(other));
  });

  test('with marks, spaces and commas between its words, in any case', () => {
    const words = fc.array(fc.stringMatching(/^[a-z0-9]{1,6}$/), { minLength: 1, maxLength: 5 });
    const gaps = fc.array(fc.constantFrom(' ', ', ', ' - ', '  ', '. '), { minLength: 5, maxLength: 5 });
    fc.assert(
      fc.property(words, gaps, (parts, between) => {
        const written = parts.map((part, index) => `${part.toUpperCase()}${between[index]}`).join('');
        expect(comparableAddress(written)).toBe(comparableAddress(parts.join(' ')));
      }),
    );
  });
});

test.each([
  ['Via Roma 12', 'Via Roma 13'],
  ['Via Roma 12/3', 'Via Roma 123'],
  ['Via Roma 12', 'Via Romana 12'],
  ['Via Roma 12', null],
  ['कि', 'की'],
])('%s and %s are two places', (one, other) => {
  expect(comparableAddress(one)).not.toBe(comparableAddress(other));
});
