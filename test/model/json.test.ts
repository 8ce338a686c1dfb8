import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { exactNumber, longNumbersIn, parseExactly, parseJson, withLongNumbers } from '../../src/model/json.ts';

describe('a text that goes back', () => {
  test('has its long numbers as numbers again, and its texts as texts', () => {
    const text =
      '{"id":9007199254740993,"code":"9007199254740993","of":[{"id":9007199254740995}],"ids":[9007199254740997]}';
    expect(JSON.stringify(withLongNumbers(parseExactly(text), longNumbersIn(text)))).toBe(text);
    const changed = {
      id: '9007199254740999',
      code: 1,
      exact: exactNumber('9007199254740993'),
      ids: ['9007199254740997'],
    };
    expect(JSON.stringify(withLongNumbers(changed, longNumbersIn(text)))).toBe(
      '{"id":"9007199254740999","code":1,"exact":9007199254740993,"ids":[9007199254740997]}',
    );
  });

  test('is unchanged if no number is long', () => {
    const value = { id: '9007199254740993' };
    expect(withLongNumbers(value, longNumbersIn('{"id":"9007199254740993"}'))).toBe(value);
  });
});

describe('a whole number above 2^53', () => {
  test.each([
    ['{"id":9007199254740993}', { id: '9007199254740993' }],
    ['{"id" : -9007199254740993 }', { id: '-9007199254740993' }],
    ['[7000000000000000001,1]', ['7000000000000000001', 1]],
    ['12345678901234567890', '12345678901234567890'],
    ['[12345678901234567890]', ['12345678901234567890']],
    ['[9007199254740991]', [9007199254740991]],
    ['[0.12345678901234567890,1.5e20,12345678901234567890.5]', [0.12345678901234568, 1.5e20, 12345678901234567000]],
    [
      '["a, 12345678901234567890","\\\\\\"",12345678901234567890]',
      ['a, 12345678901234567890', '\\"', '12345678901234567890'],
    ],
  ])('%s is read with its digits', (text, value) => {
    expect(parseJson(text)).toEqual(value);
  });

  test('is unchanged in any JSON, and invalid JSON is refused', () => {
    const long = fc.bigInt({ min: 2n ** 53n, max: 10n ** 30n }).map(String);
    const digits = fc.string({ unit: fc.constantFrom('"', '\\', ',', ':', ' ', '-', ...'0123456789'), maxLength: 40 });
    fc.assert(
      fc.property(
        long,
        fc.dictionary(digits, fc.oneof(digits, fc.maxSafeInteger(), fc.boolean())),
        digits,
        (id, other, text) => {
          const written = `{"id": ${id},"other":${JSON.stringify(other)},${JSON.stringify(text)}:[${JSON.stringify(text)},-${id}]}`;
          const plain = JSON.parse(written.replaceAll(` ${id},`, ` "${id}",`).replaceAll(`-${id}]`, `"-${id}"]`));
          expect(parseExactly(written)).toEqual(plain);
        },
      ),
      { numRuns: 500 },
    );
    expect(parseJson('{"id": 12345678901234567890')).toBeUndefined();
    expect(parseJson('{"id": 12345678901234567890"}')).toBeUndefined();
    expect(parseJson('{12345678901234567890: 1}')).toEqual(undefined);
  });
});

test('a text of a million digits takes about as long as any other text', () => {
  const [digits, letters] = ['7', 'a'].map((one) => JSON.stringify({ of: one.repeat(1_000_000) }));
  const durationOf = (text = '') => {
    const startedAt = performance.now();
    expect(parseExactly(text)).toEqual(JSON.parse(text));
    return performance.now() - startedAt;
  };
  durationOf(letters);
  expect(durationOf(digits)).toBeLessThan(1_000 + 100 * durationOf(letters));
});

test('a long number next to millions of quotes costs no piece for each of them', () => {
  const texts = '"",'.repeat(400_000);
  const read = (wrong: string) => parseJson(`[${texts}9007199254740993${wrong}]`, 1_000_000);
  expect((read('') as unknown[]).at(-1)).toBe('9007199254740993');
  expect(read('"')).toBeUndefined();
});
