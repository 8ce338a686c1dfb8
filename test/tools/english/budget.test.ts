import { describe, expect, test } from 'vitest';
import { type Budget, budgetFaults, type Measure } from '../../../tools/english/budget.ts';

const BUDGET: Budget = {
  idioms: { 'comment src': 1 },
  usual: 0.5,
  pronounsOfPage: 9,
  pages: { 'docs/old.md': 12 },
  pronounsOfAll: 7,
};
const measure = (words: number, idioms: number, pronouns = 0): Measure => ({
  words,
  idioms: Array.from({ length: idioms }, () => ({ path: 'src/a.ts', line: 3, message: 'anew => again' })),
  pronouns,
});
const faults = (folders: Record<string, Measure>, pages: Record<string, Measure> = {}) =>
  budgetFaults(
    new Map(Object.entries({ 'comment src': measure(1_000, 10), ...folders })),
    new Map(Object.entries(pages)),
    BUDGET,
  );

describe('a folder', () => {
  test('may have as many idioms as its budget', () => {
    expect(faults({})).toEqual([]);
  });

  test('above its budget is reported with each idiom and its place', () => {
    expect(faults({ 'comment src': measure(200, 6) })).toEqual([
      'comment src: 1.2 idioms in 100 words, at most 1 allowed',
      ...Array(6).fill('  src/a.ts:3: anew => again'),
    ]);
  });

  test('far below its budget makes the budget fall', () => {
    expect(faults({ 'comment src': measure(1_000, 8) })).toEqual([
      'comment src: 0.8 idioms in 100 words: lower the budget of 1 in tools/english/budget.json',
    ]);
  });

  test('without a budget has the usual one', () => {
    expect(faults({ 'document docs': measure(1_000, 5) })).toEqual([]);
    expect(faults({ 'document docs': measure(1_000, 6) })[0]).toContain('0.6 idioms in 100 words, at most 0.5');
  });

  test('that is gone has no budget', () => {
    const [fault] = budgetFaults(new Map(), new Map(), BUDGET);
    expect(fault).toContain('comment src: no such folder');
  });
});

describe('pronouns', () => {
  test('have a higher limit on a page that is not rewritten yet, and only until then', () => {
    const others = { 'docs/b.md': measure(2_000, 0, 20) };
    expect(faults({}, { 'docs/old.md': measure(100, 0, 12), ...others })).toEqual([]);
    expect(faults({}, { 'docs/old.md': measure(100, 0, 9), ...others })).toEqual([
      'docs/old.md: 9.0 % pronouns: delete its limit in tools/english/budget.json',
    ]);
  });

  test('are limited for each page and for all pages together', () => {
    expect(faults({}, { 'docs/a.md': measure(100, 0, 10), 'docs/b.md': measure(900, 0, 45) })).toEqual([
      'docs/a.md: 10.0 % pronouns, at most 9 % allowed: name the noun',
    ]);
    expect(faults({}, { 'docs/a.md': measure(100, 0, 8) })).toEqual([
      'all documents: 8.0 % pronouns, at most 7 % allowed',
    ]);
  });
});
