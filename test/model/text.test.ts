import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { isVisible, shortened, shown, shownLine, shownName } from '../../src/model/text.ts';

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

describe('a text of another party', () => {
  /** Letters of several scripts, joiners, and characters that act or hide. */
  const texts = fc.string({
    unit: fc.oneof(
      fc.constantFrom(...'aèЖ1 .\t\n', '\u0627', '\u0915', '👩', '\u200c', '\u200d', '\ud800'),
      fc.constantFrom('\u0000', '\u001b', '\u009b', '\u009d', '\u202e', '\u2066', '\u200b', '\ufeff', '\u{e0041}'),
      fc.string({ unit: 'binary', minLength: 1, maxLength: 1 }),
    ),
    maxLength: 20,
  });

  test('has no character that acts or hides, and is unchanged when shown again', () => {
    fc.assert(
      fc.property(texts, (text) => {
        const once = shown(text);
        expect(once).not.toMatch(/[^\P{Cc}\t\n]|[\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]/u);
        expect(once.isWellFormed()).toBe(true);
        expect(shown(once)).toBe(once);
        expect(shownLine(shownLine(text))).toBe(shownLine(text));
      }),
      { numRuns: 1_000 },
    );
  });

  test.each([
    ['Anna\u200b Rossi', 'Anna Rossi'],
    ['Anna\u202eissoR', 'AnnaissoR'],
    ['A\u200dnna', 'Anna'],
    ['می\u200cخواهم', 'می\u200cخواهم'],
    ['क्\u200dष', 'क्\u200dष'],
    ['👩\u200d⚕️', '👩\u200d⚕️'],
    ['a\r\nb\u2028c', 'a\nb\nc'],
    ['\u009b31mred\u009d0;title', '31mred0;title'],
  ])('%j is shown as %j', (text, expected) => {
    expect(shown(text)).toBe(expected);
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
