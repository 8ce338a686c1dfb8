import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseJson } from '../../../src/core/model/json.ts';
import { parseInPieces } from '../../../src/core/model/json-pieces.ts';
import { atOnce } from '../../../src/core/model/pieces.ts';

const parse = (text: string, mostValues?: number) => atOnce(parseInPieces(Buffer.from(text), mostValues));
const valueIn = (text: string) => {
  const parsed = parse(text);
  return 'value' in parsed ? parsed.value : undefined;
};
/** Longer than one piece. */
const LONG = 'x'.repeat(70_000);
/** Any JSON with long strings, so that the text is cut at any depth. */
const long = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: 'large' },
    fc.constantFrom<unknown>(LONG, `"[{,\\${LONG}`, `{"a":"é${LONG}"}`, 1, null, '', -0.5, '\\"', []),
    fc.array(tie('value'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom('a', 'b', '__proto__', '"', '7', 'value'), tie('value'), { maxKeys: 4 }),
  ),
})).value;
const spaced = fc.constantFrom('', ' ', '\n\t');

test('any text has the value of the parser, and a text with a wrong sign has none', () => {
  fc.assert(
    fc.property(long, spaced, fc.nat(), fc.constantFrom(...'[]{},:"0 '), (value, space, at, sign) => {
      const text = `${space}${JSON.stringify([value, LONG, value], null, space)}${space}`;
      expect(valueIn(text)).toEqual(JSON.parse(text));
      // The signs outside the long strings.
      const marks = [...text.matchAll(/[[\]{},:"]/g)].map(({ index }) => index);
      const changed = marks[at % marks.length] ?? 0;
      const damaged = text.slice(0, changed) + sign + text.slice(changed + 1);
      expect(valueIn(damaged)).toEqual(parseJson(damaged));
      const without = text.slice(0, changed) + text.slice(changed + 1);
      expect(valueIn(without)).toEqual(parseJson(without));
    }),
    { numRuns: 20 },
  );
});

describe('a text of many pieces', () => {
  const rows = Array.from({ length: 20_000 }, (_, id) => ({ id, name: `row ${id}`, tags: ['a', { b: '' }] }));
  const page = JSON.stringify({ '@odata.context': 'x', value: rows, next: null });

  test('is parsed with a break in each piece', () => {
    const work = parseInPieces(Buffer.from(`\uFEFF${page}`));
    let breaks = 0;
    for (let step = work.next(); ; step = work.next()) {
      if (step.done === true) {
        expect(step.value).toMatchObject({ value: JSON.parse(page) });
        break;
      }
      breaks += 1;
    }
    expect(breaks).toBe(Math.floor(page.length / 32_780));
  });

  test.each([
    ['a second value', `${page}{}`],
    ['a sign before it', `x${page}`],
    ['no end', page.slice(0, -1)],
    ['another end', `${page.slice(0, -1)}]`],
    ['no comma after the list', page.replace('],"next"', '] "next"')],
    ['two commas after the list', page.replace('],"next"', '],,"next"')],
    ['a comma before the end', page.replace('],"next":null', '],')],
    ['a comma before the end of the list', page.replace('],"next"', ',],"next"')],
    ['no comma between two lists', `[${JSON.stringify(rows)}${JSON.stringify(rows)}]`],
    ['a value before the list', page.replace('"value":', '"value":0')],
    ['a list without a name', page.replace('"value":', '')],
  ])('with %s is malformed', (_, text) => {
    expect(text).not.toBe(page);
    expect(parseJson(text)).toBeUndefined();
    expect(parse(text)).toMatchObject({ fault: 'malformed' });
  });

  test('shares one limit of values, and numbers above 2^53 keep their digits', () => {
    const numbers = (count: number) => `[${'9007199254740993,'.repeat(count)}0]`;
    expect(valueIn(numbers(20_000))).toEqual(parseJson(numbers(20_000)));
    const zeros = `[${'0,'.repeat(99_998)}0]`;
    expect(parse(zeros, 100_000)).toMatchObject({ value: { length: 99_999 }, cost: 100_000 });
    expect(parse(zeros, 99_999)).toMatchObject({ fault: 'costly' });
  });

  test.each([
    ['levels', `${'['.repeat(101)}"${LONG}"${']'.repeat(101)}`],
    ['one string of 2 MiB', `["${'é'.repeat(1_048_600)}"]`],
    ['one number of 2 MiB', `[1,${'7'.repeat(2_097_200)}]`],
    ['space of 2 MiB', `[1,${' '.repeat(2_097_200)}1]`],
  ])('with too many %s is refused', (_, text) => {
    expect(parse(text)).toMatchObject({ fault: 'costly' });
  });
});
