import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isVisible, shortened } from '../../src/model/text.ts';

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
