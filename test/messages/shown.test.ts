import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { shownLine } from '../../src/core/model/text.ts';
import { shown } from '../../src/messages/shown.ts';

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
    ['A\u0300\u200d', 'A\u0300'],
    ['می\u200cخواهم', 'می\u200cخواهم'],
    ['क्\u200dष', 'क्\u200dष'],
    ['👩\u200d⚕️', '👩\u200d⚕️'],
    ['a\r\nb\u2028c', 'a\nb\nc'],
    ['\u009b31mred\u009d0;title', '31mred0;title'],
  ])('%j is shown as %j', (text, expected) => {
    expect(shown(text)).toBe(expected);
  });
});
