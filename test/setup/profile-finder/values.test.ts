import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { createZone, formatInstant } from '../../../src/clinic/read/timestamps.ts';
import {
  epochUnitOfNumber,
  formOfExample,
  sampled,
  spotsOf,
  timeFormOf,
} from '../../../src/setup/profile-finder/values.ts';

const member = (values: readonly unknown[], path: string) =>
  spotsOf(sampled(values)).find((spot) => spot.path === path)?.schema;
const row = (state: unknown) => ({ status: state });

describe('the form of a time', () => {
  const anyInstant = fc.integer({ min: Date.parse('2000-01-02'), max: Date.parse('2099-12-30') });

  test.each(['utc', 'offset', 'local', 'local-space'] as const)(
    '%s is known by any time that is written so',
    (form) => {
      const zone = createZone('Europe/Rome');
      fc.assert(
        fc.property(anyInstant, (at) => {
          expect(formOfExample(formatInstant(at, form, zone))).toBe(form);
        }),
      );
    },
  );

  test('is not known where examples differ, or there are none', () => {
    expect(timeFormOf(null, ['2026-03-20T10:00:00Z', '2026-03-20T10:00:00+01:00'])).toBe(null);
    expect([timeFormOf(null, []), timeFormOf(null, ['at ten'])]).toEqual([null, null]);
    expect(timeFormOf('ms', ['2026-03-20T10:00:00Z'])).toBe('epoch-ms');
  });

  test('of numbers is recognised by their size: seconds or milliseconds of the present, and no other count', () => {
    fc.assert(
      fc.property(anyInstant, (at) => {
        expect([epochUnitOfNumber(Math.floor(at / 1_000)), epochUnitOfNumber(at)]).toEqual(['seconds', 'ms']);
      }),
    );
    expect([0, -1, 90, 123_456, 99_999_999_999_999].map(epochUnitOfNumber)).toEqual(Array(5).fill(null));
  });
});

describe('samples of values', () => {
  test('hold the words of a state, of no other field, and no word that may be a name', () => {
    const rows = [
      { status: 'Booked', city: 'Roma', state: { name: 'open' } },
      { status: 'Dott. Rossi, Mario', city: 'Milano', state: { name: 'void' } },
    ];
    expect(member(rows, 'status')?.words).toEqual(['Booked']);
    expect(member(rows, 'city')).toMatchObject({ type: 'string', words: null, example: null });
    expect(member(rows, 'state.name')?.words).toEqual(['open', 'void']);
  });

  test('with more than 25 different words are no enumeration', () => {
    const words = Array.from({ length: 26 }, (_, index) => `word${index}`);
    expect(member(words.slice(1).map(row), 'status')?.words).toHaveLength(25);
    expect(member(words.map(row), 'status')?.words).toBe(null);
  });

  test('of numbers are times only if all but 0 count the same', () => {
    const epochUnit = (...values: number[]) => sampled(values).epochUnit;
    expect(epochUnit(1_773_997_200, 0)).toBe('seconds');
    expect(epochUnit(1_773_997_200, 1_773_997_200_000)).toBe(null);
    expect(epochUnit(1_773_997_200, 17)).toBe(null);
    expect(member([row(1), row(2.5)], 'status')).toMatchObject({ type: 'number', words: null });
  });

  test('of texts are times only if all are, with an example of one', () => {
    expect(sampled(['2026-03-20', '2026-03-20 10:00:00'])).toMatchObject({
      format: 'date-time',
      example: '2026-03-20 10:00:00',
    });
    expect(sampled(['2026-03-20', '2026-03-21'])).toMatchObject({ format: 'date', example: null });
    expect(sampled(['2026-03-20', 'tomorrow'])).toMatchObject({ format: null, example: null });
  });

  test('contain fields of only one sample, and no type if types differ', () => {
    expect(spotsOf(sampled([{ id: 1 }, { note: { text: 'x' } }, null])).map(({ path }) => path)).toEqual([
      'id',
      'note',
      'note.text',
    ]);
    expect(sampled([1, 'one']).type).toBe(null);
    expect(sampled([null, undefined]).type).toBe(null);
    expect(sampled([[]])).toMatchObject({ type: 'array', rows: { type: 'object' } });
  });
});

test('paths that no profile can name are left out, and what is deeper than three objects', () => {
  const deep = { a: { b: { c: { d: 1 } } }, 'with space': 1, 'with.dot': 1, '': 1 };
  expect(spotsOf(sampled([deep])).map(({ path }) => path)).toEqual(['a', 'a.b', 'a.b.c']);
});
