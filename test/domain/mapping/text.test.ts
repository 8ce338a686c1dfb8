import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { cleanLine, cleanLines, titleCase } from '../../../src/domain/mapping/text.ts';

/** Texts with difficult characters: controls, lone surrogates, combining accents, direction marks, formulas, apostrophes. */
const hostile = fc
  .array(
    fc.oneof(
      fc.string({ unit: 'binary', maxLength: 3 }),
      fc.string({ unit: 'grapheme', maxLength: 3 }),
      fc.constantFrom(
        '=',
        '+',
        '-',
        '@',
        "'",
        '\t',
        '\r',
        '\n',
        '\u0000',
        '\u0301',
        'e',
        ' ',
        '\u00A0',
        '\u2028',
        '\u3000',
      ),
      fc.constantFrom(
        '\uD83D',
        '\uDE00',
        '\u202E',
        '\u200D',
        '\uFEFF',
        '\u0085',
        '＝',
        '1',
        ',',
        '\u1100',
        '\u1161',
        'İ',
        'ß',
        'ŉ',
      ),
    ),
    { maxLength: 12 },
  )
  .map((parts) => parts.join(''));

describe('a text is cleaned', () => {
  test.each([
    ['  Anna ', 'Anna'],
    ['Maria\u00A0 \tPia', 'Maria Pia'],
    ['Nicolo\u0300', 'Nicol\u00F2'],
    ['Ro\u0000ssi\u0007', 'Rossi'],
    ['invoice\u202Egpj.exe', 'invoicegpj.exe'],
    ['\u{1F469}\u200D\u2695\uFE0F 医師', '\u{1F469}\u200D\u2695\uFE0F 医師'],
    ['علي\u200Cرضا', 'علي\u200Cرضا'],
    ['half \uD83D', 'half \uFFFD'],
    ["D'ANGELO-de Luca", "D'ANGELO-de Luca"],
    [' \u200A\u3000 ', ''],
  ])('%j becomes %j', (text, cleaned) => {
    expect(cleanLine(text)).toBe(cleaned);
  });

  test('line breaks become spaces in a single line, and stay in multi-line text', () => {
    const street = ' Via Roma 1\r\n\r\n interno  3\u2028scala B\r';
    expect(cleanLine(street)).toBe('Via Roma 1 interno 3 scala B');
    expect(cleanLines(street)).toBe('Via Roma 1\ninterno 3\nscala B');
  });

  test('doing it twice changes nothing, whatever the text', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        for (const clean of [cleanLine, cleanLines]) expect(clean(clean(text))).toBe(clean(text));
      }),
      { numRuns: 1_000 },
    );
  });

  test('what is left is sound Unicode, without controls and spaces around', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const cleaned = cleanLine(text);
        expect(cleaned.isWellFormed()).toBe(true);
        expect(cleaned.normalize('NFC')).toBe(cleaned);
        expect(cleaned).not.toMatch(/\p{Cc}|[\u202A-\u202E\u2066-\u2069]|^\s|\s$|\s\s/u);
      }),
      { numRuns: 1_000 },
    );
  });

  test('no letter, digit or sign is lost', () => {
    const seen = (text: string) =>
      text.normalize('NFC').replace(/[\s\p{Cc}\p{Zs}\u202A-\u202E\u2066-\u2069\uFEFF]/gu, '');
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        expect(seen(cleanLine(text))).toBe(seen(text));
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('names in capitals', () => {
  test.each([
    ['DE LUCA-ROSSI', 'De Luca-Rossi'],
    ["D'ANGELO", "D'Angelo"],
    ['maria pia', 'Maria Pia'],
    ['McDonald', 'McDonald'],
    ['ÉLODIE', 'Élodie'],
    ['VAN DER BERG', 'Van Der Berg'],
    ['李 明', '李 明'],
  ])('%s becomes %s', (text, expected) => {
    expect(titleCase(text)).toBe(expected);
  });

  test('doing it twice changes nothing', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(titleCase(titleCase(text))).toBe(titleCase(text));
      }),
      { numRuns: 1_000 },
    );
  });
});
