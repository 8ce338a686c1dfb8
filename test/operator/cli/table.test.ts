import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { PLAIN_COLUMNS, withOutputOptions } from '../../../src/operator/cli/output.ts';
import { renderAge, renderTable, renderTime, wrap } from '../../../src/operator/cli/table.ts';
import { NOW } from '../../domain/arbitraries.ts';

const texts = fc.lorem({ maxCount: 25 });

describe('a table', () => {
  const columns = ['name', { heading: 'count', right: true }];

  test('aligns its columns, with numbers to the right', () => {
    expect(
      renderTable(columns, [
        ['a', '1'],
        ['long name', '1000'],
      ]).split('\n'),
    ).toEqual(['name       count', '─────────  ─────', 'a              1', 'long name   1000']);
  });

  test('cuts the widest text if the table is too wide, never a number', () => {
    const [, , row = ''] = renderTable(columns, [['x'.repeat(200), '1234567']]).split('\n');
    expect(row).toHaveLength(PLAIN_COLUMNS);
    expect(row).toMatch(/^x+… {2}1234567$/);
  });

  test('without rows shows its headings', () => {
    expect(renderTable(columns, []).split('\n')).toHaveLength(2);
  });
});

test('a text is wrapped at its spaces, without loss', () => {
  fc.assert(
    fc.property(texts, fc.integer({ min: 30, max: 120 }), (text, width) => {
      const broken = withOutputOptions({ textColumns: width }, () => wrap(text, '  ')).split('\n');
      for (const line of broken) expect(line.length).toBeLessThanOrEqual(width);
      expect(broken.map((line) => line.slice(2)).join(' ')).toBe(text);
    }),
  );
});

test.each([
  [null, 'never'],
  [NOW + 5_000, '0 s'],
  [NOW - 119_000, '119 s'],
  [NOW - 120_000, '2 min'],
  [NOW - 7_140_000, '119 min'],
  [NOW - 7_200_000, '2 h'],
  [NOW - 172_800_000, '2 d'],
])('the age of %s is %s', (at, expected) => {
  expect(renderAge(at, NOW)).toBe(expected);
});

test('a time is in UTC, with its zone', () => {
  expect(renderTime(NOW)).toBe('2026-06-15 08:00:00Z');
  expect(renderTime(null)).toBe('–');
});
