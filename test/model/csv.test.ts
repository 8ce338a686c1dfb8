import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { fromCsv, toCsv } from '../../src/model/csv.ts';

/** A first line with no separator in its cells, as headings are. */
const heading = fc.stringMatching(/^[a-z ]{1,12}[a-z]$/);
const cell = fc.string({ unit: fc.constantFrom(...'aè1,;\t"\r\n '), maxLength: 12 });

describe('CSV', () => {
  test('returns every written row, whatever its cells contain', () => {
    const tables = fc.integer({ min: 2, max: 5 }).chain((columns) => {
      const row = fc.array(cell, { minLength: columns, maxLength: columns });
      return fc.tuple(fc.array(heading, { minLength: columns, maxLength: columns }), fc.array(row, { maxLength: 8 }));
    });
    fc.assert(
      fc.property(tables, ([headings, rows]) => {
        const filled = rows.filter((row) => row.some((one) => one !== ''));
        expect(fromCsv(toCsv([headings, ...filled]))).toEqual([headings, ...filled]);
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
