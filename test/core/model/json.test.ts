import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  costOf,
  exactNumber,
  isModestJson,
  longNumbersIn,
  MOST_VALUES,
  parseJson,
  withLongNumbers,
} from '../../../src/core/model/json.ts';

describe('a text that goes back', () => {
  test('has its long numbers as numbers again, and its texts as texts', () => {
    const text =
      '{"id":9007199254740993,"code":"9007199254740993","of":[{"id":9007199254740995}],"ids":[9007199254740997]}';
    expect(JSON.stringify(withLongNumbers(parseJson(text), longNumbersIn(text)))).toBe(text);
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
          expect(parseJson(written)).toEqual(plain);
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
    expect(parseJson(text)).toEqual(JSON.parse(text));
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

describe('the cost of a text', () => {
  const cost = (value: unknown) => costOf(Buffer.from(JSON.stringify(value)), MOST_VALUES);
  const range = <Made>(length: number, make: (index: number) => Made) =>
    Array.from({ length }, (_, index) => make(index));
  const named = (names: readonly string[]) => Object.fromEntries(names.map((name) => [name, 0]));

  test('is the same for known names, whatever the strings contain', () => {
    fc.assert(
      fc.property(
        fc.dictionary(fc.string(), fc.jsonValue(), { maxKeys: 20 }),
        fc.integer({ min: 1, max: 20 }),
        (row, times) => {
          const [none, one, two] = [cost([]), cost([row]), cost([row, row])];
          expect(cost(Array(times).fill(row))).toBe(one + (times - 1) * (two - one));
          expect(two - one).toBeLessThanOrEqual(one - none + 1);
        },
      ),
    );
  });

  test.each([
    ['20,000 rows of thirty members', () => range(20_000, (n) => ({ ...named(range(27, (at) => `f${at}`)), id: n }))],
    [
      'rows that leave out other fields',
      () =>
        range(1_000, (n) =>
          named(range(30, (at) => `f${at}`).filter((_, at) => at % 3 > 0 || (n * 7_919) & (1 << at))),
        ),
    ],
    ['an object for each of 5,000 ids', () => named(range(5_000, (n) => `patient ${n}`))],
    ['rows with times, whose colons are no names', () => range(60_000, () => ['10:00:00.000', '11:00:00+01:00'])],
  ])('allows %s', (_, make) => {
    const value = make();
    expect(parseJson(JSON.stringify(value))).toEqual(value);
  });

  test.each([
    ['names without end', () => named(range(200_000, (n) => `k${n}`))],
    ['a new name in each row', () => range(50_000, (n) => named([`k${n}`]))],
    [
      'names in ever new orders',
      () => range(1_000, (n) => named(range(100, (at) => `f${(n * at * 7_919 + at) % 5_003}`))),
    ],
    ['wide rows', () => range(300, () => named(range(1_000, (at) => `f${at}`)))],
    ['short texts', () => range(MOST_VALUES / 2, (n) => String(n))],
  ])('refuses %s, also behind blanks or a byte order mark', (_, make) => {
    const text = JSON.stringify(make());
    for (const before of ['', ' '.repeat(1_000), '\uFEFF']) expect(parseJson(before + text)).toBeUndefined();
  });

  test('is no higher than the limit for names with equal hashes', () => {
    const names: string[] = [];
    // The hash multiplies by 0x01000193 (FNV-1a): all names of one bucket, found by trying.
    for (let n = 0; names.length < 400; n += 1) if (bucketOf(`n${n}`) === 0) names.push(`n${n}`);
    const rows = range(2_000, (n) => named([names[n % names.length] ?? '']));
    expect(cost(rows)).toBeGreaterThan(2_000 * 12);
  });

  test('of any JSON is measured, and what is allowed equals JSON.parse', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 5 }), fc.constantFrom('', ' ', '\n\t'), (any, indent) => {
        const isLong = (one: unknown) => typeof one === 'number' && Math.abs(one) > Number.MAX_SAFE_INTEGER;
        const value: unknown = JSON.parse(JSON.stringify(any), (_, one) => (isLong(one) ? 1.5 : one));
        const text = indent + JSON.stringify(value, null, indent);
        expect(isModestJson(Buffer.from(text))).toBe(true);
        expect(parseJson(text)).toEqual(JSON.parse(text));
      }),
    );
  });
});

function bucketOf(name: string): number {
  let hash = 0;
  for (const byte of Buffer.from(name)) hash = Math.imul(hash ^ byte, 0x01_00_01_93);
  return (hash ^ (hash >>> 15)) & 4_095;
}
