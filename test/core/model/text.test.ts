import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isVisible, shortened, shownName } from '../../../src/core/model/text.ts';

describe('the visible part of a text', () => {
  test.each([
    '',
    ' ',
    '\n\t',
    '\u200b',
    '\u2060\ufeff',
    '\u00ad',
    '\u3164',
    '\u115f\u1160',
    '\u2800',
    '\u00a0\u2003',
    '\ufe0f',
  ])('of %j is nothing', (text) => {
    expect(isVisible(text)).toBe(false);
  });

  test.each(['a', ' . ', '李', '🦷', '\u200ba', '\u0301', '\ufffd'])('of %j is something', (text) => {
    expect(isVisible(text)).toBe(true);
  });
});

describe('a text of at most so many characters', () => {
  test('is the text itself as long as it fits, to the last character', () => {
    expect(shortened('abcde', 5)).toBe('abcde');
    expect(shortened('abcdef', 5)).toBe('abcd…');
  });

  test('loses whole visible characters, and space before the ellipsis', () => {
    expect(shortened('abc 🦷defg', 6)).toBe('abc…');
    expect(shortened('ab👨‍👩‍👧cd', 9)).toBe('ab…');
    expect(shortened('👨‍👩‍👧', 4)).toBe('…');
  });

  test('is never longer, begins as the text does, and is unchanged when shortened again', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme', maxLength: 60 }), fc.integer({ min: 1, max: 60 }), (text, most) => {
        const short = shortened(text, most);
        expect(short.length).toBeLessThanOrEqual(most);
        expect(shortened(short, most)).toBe(short);
        if (text.length > most) expect(text.startsWith(short.slice(0, -1))).toBe(true);
        else expect(short).toBe(text);
      }),
    );
  });
});

describe('a name of a person', () => {
  test.each([
    ['Anna', 'Anna'],
    ['Maria  Pia\n', 'Maria Pia'],
    ["D'Angelo-Rossi", "D'Angelo-Rossi"],
    ['M. Rossi', 'M. Rossi'],
    ['M.Rossi', 'M. Rossi'],
    ['Anna https://evil.example/pay', 'Anna evil. example pay'],
    ['http://http://evil.example', 'evil. example'],
    ['evil.example', 'evil. example'],
    ['anna@evil.example', 'anna@ evil. example'],
    ['tel:+39061234', 'tel: +39061234'],
  ])('%j is %j: no part can be opened', (name, expected) => {
    expect(shownName(name)).toBe(expected);
  });

  test('has at most 60 characters, and nothing that becomes a link', () => {
    const part = fc.constantFrom('a', 'https://', 'www.', '.', '/', '@', ':', 'evil.example', ' ', '\u200b', 'è', '1');
    fc.assert(
      fc.property(fc.string({ unit: part, maxLength: 40 }), (name) => {
        const shownOne = shownName(name);
        expect(shownOne.length).toBeLessThanOrEqual(60);
        expect(shownOne).not.toMatch(/:\/\/|[\p{L}\p{N}][.@:/]+[\p{L}\p{N}]/u);
      }),
      { numRuns: 1_000 },
    );
  });
});
